"""Whose reports say something about a pair, where every user's noise is their own.

Under local privacy a person who never was at (s, a) adds as much noise to its counts as one who was. In plain sums,
what was once learned about an action drowns again as soon as people stop taking it, and must be paid for once more.
So those who came between two releases are weighed before they are added. With rho(s, a) the visits expected of one of
them, and v the variance of one person's noise, sums over m people carry m rho of what is sought, with a variance of at
most m (rho + v). Hence the best weights of groups are rho / (rho + v), here scaled to be 1 for a pair that every user
is at, all the time (rho = M: H visits, or 1 in a model per step):

    u = (1 + v/M) rho / (rho + v).

The noise of a weighed sum has variance v sum u^2 m. Later people may have less noise than earlier ones; then v is that of the
newcomers, what is known already is scaled like them, and every user counts in m by how noisy they are beside the average.

A pair without expected visits keeps what it has, noise included. Weights are fixed before the people they weigh arrive, so
nothing becomes biased, however wrong rho may be: it comes from the estimated model, with the shares of visits so far in place
of the unknown start (which, per step, they are).

Noise that a curator adds to sums is not people's own: there v is taken for 0, and all weights are 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...mdp import Spec
from ...protocol.releases.release import Array, Counts, Estimates
from .induction import ROWS, Workspace
from .inlined import inlined


class WeightedCounts(NamedTuple):
    """Counts in which people are weighed by how much they say about a pair: carried from release to release.

    counts: the weighed sums; plain: the last release. people: (L, S, A), sum of u^2 m; users: (1,), of the last release;
    noise: (2,), its variance of a transition count, and v of those who were new in it.
    expected: (L, S, A), the visits expected of one person of the next group; flow: (2, S), scratch.
    """

    counts: Counts
    plain: Counts
    people: Array
    users: Array
    noise: Array
    expected: Array
    flow: Array


def no_weighted_counts(spec: Spec) -> WeightedCounts:
    """The weighted counts before the first user."""
    pairs = (spec.layers, spec.states, spec.actions)

    def zeros() -> Counts:
        visits, rewards, squares, people = (np.zeros(pairs) for _ in range(4))
        return Counts(visits, rewards, squares, np.zeros((*pairs, spec.states)), people)

    return WeightedCounts(
        zeros(), zeros(), np.zeros(pairs), np.zeros(1), np.zeros(2), np.zeros(pairs), np.zeros((2, spec.states))
    )


@inlined
def people_in_counts(counts: Counts, users: float, layer: int, s: int, a: int) -> float:
    """How many people's noise is in the counts of a pair: of those who were asked about it, or of every user."""
    return counts.people[layer, s, a] if counts.people.size > 0 else users


@compiled
def weigh(estimates: Estimates, variance: float, horizon: int, weighted: WeightedCounts) -> None:
    """Add what is new in a release to the weighed sums; variance: v of the average person, or 0 if noise is not people's own.

    A release that is already in them changes nothing.
    """
    counts, _, noise, users = estimates
    if users == weighted.users[0]:
        return
    layers, states, actions = counts.visits.shape
    most = 1.0 if layers > 1 or counts.people.size > 0 else float(horizon)
    fresh, known, scale = 1.0, 1.0, 1.0  # how noisy newcomers are, and those before them, beside the average of now
    before = weighted.users[0]
    if variance > 0.0 and users > before > 0.0:
        fresh = (noise.transitions - weighted.noise[0]) / (users - before) * users / noise.transitions
        known = weighted.noise[0] / before * users / noise.transitions
        scale = (1.0 + variance * fresh / most) / (1.0 + weighted.noise[1] / most)
    variance *= fresh
    weighted.users[0], weighted.noise[0], weighted.noise[1] = users, noise.transitions, variance
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                u = 1.0
                if variance > 0.0:
                    rho = min(most, weighted.expected[layer, s, a])
                    u = (1.0 + variance / most) * rho / (rho + variance)
                people = people_in_counts(counts, users, layer, s, a)
                newcomers = people - weighted.plain.people[layer, s, a]
                weighted.people[layer, s, a] *= known * scale * scale
                weighted.people[layer, s, a] += fresh * u * u * newcomers
                weighted.plain.people[layer, s, a] = people
                weighted.counts.visits[layer, s, a] = scale * weighted.counts.visits[layer, s, a] + u * (
                    counts.visits[layer, s, a] - weighted.plain.visits[layer, s, a]
                )
                weighted.counts.rewards[layer, s, a] = scale * weighted.counts.rewards[layer, s, a] + u * (
                    counts.rewards[layer, s, a] - weighted.plain.rewards[layer, s, a]
                )
                weighted.plain.visits[layer, s, a] = counts.visits[layer, s, a]
                weighted.plain.rewards[layer, s, a] = counts.rewards[layer, s, a]
                for t in range(states):
                    weighted.counts.transitions[layer, s, a, t] = scale * weighted.counts.transitions[
                        layer, s, a, t
                    ] + u * (counts.transitions[layer, s, a, t] - weighted.plain.transitions[layer, s, a, t])
                    weighted.plain.transitions[layer, s, a, t] = counts.transitions[layer, s, a, t]


@compiled
def expect(work: Workspace, policy: Array, weighted: WeightedCounts, share: float = 1.0) -> None:
    """Write the visits expected of a person who follows the policy through the estimated model.

    The rows ROWS of its pairs say how far each is believed; for the rest, any state may come next. share: how many of the next
    people follow this policy; the others are expected where the plans before it have written.
    """
    horizon, states, actions = policy.shape
    layers = weighted.expected.shape[0]
    total = 0.0
    for s in range(states):
        here = 0.0
        for a in range(actions):
            here += weighted.plain.visits[0, s, a] / max(1.0, weighted.plain.people[0, s, a])
        weighted.flow[0, s] = max(0.0, here)
        total += max(0.0, here)
    for s in range(states):
        weighted.flow[0, s] = weighted.flow[0, s] / total if total > 0.0 else 1.0 / states
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                weighted.expected[layer, s, a] *= 1.0 - share
    for h in range(horizon):
        layer = h if layers > 1 else 0
        now, after = h % 2, 1 - h % 2
        for s in range(states):
            weighted.flow[after, s] = 0.0
        for s in range(states):
            for a in range(actions):
                mass = weighted.flow[now, s] * policy[h, s, a]
                if mass > 0.0:
                    weighted.expected[layer, s, a] += share * mass
                    sure = work.pairs[ROWS, layer, s * actions + a]
                    for t in range(states):
                        p = sure * work.transitions[layer, t, s * actions + a] + (1.0 - sure) / states
                        weighted.flow[after, t] += mass * p
