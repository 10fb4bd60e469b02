"""A release thinned into two whose errors are independent: one half chooses a policy, the other judges it.

A policy looks better than it is in the very numbers that chose it. So draw Z, as post-processing, with the variance of
the release's errors, and take X + tau Z for choosing and X - Z/tau for judging. If X has independent normal errors of
variance v, these two have covariance v - v = 0, hence are independent, with variances (1 + tau^2) v and
(1 + 1/tau^2) v: nothing is lost but that (Rasines and Young 2023, "Splitting strategies for post-selection inference").

v is the privacy noise, which is known, and the sampling error of who was logged: a count varies about as a Poisson number does, so
its own estimate stands for the variance of that. Sampling error is thinned as far as this estimate is right; where it is too large
the parts' errors are opposed, which makes judging stricter.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...mdp.knowledge import Knowledge
from ...mdp.possible_cells import PossibleCells
from ...protocol.kinds.counts import DROPPED
from ...protocol.releases.release import Array, CountRelease, Counts, Radius
from .consistency import Mask
from .logged import LoggedModel, noise_deviation

TAU = 0.7
"""Choosing then has 1.22 times the noise of the release, judging 1.74 times."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that noise was added to. moved: (L, cells) of possible transitions; visited: (L, S, A), None where it is the sum of
    `moved`; paid: (L, S, A), the sum of rewards minus `middle` a visit, None where rewards are known. louder: by what the noise of
    `visited` exceeds that of other cells.
    """

    moved: Array
    visited: Array | None
    paid: Array | None
    middle: float
    louder: float = 1.0


def noised_cells(release: CountRelease, knowledge: Knowledge) -> Cells:
    """The numbers that got noise of their own; all of the same variance, but that visits may have more."""
    moved = knowledge.ways.picked(release.counts.transitions) * possible(release, knowledge)
    paid, louder = None if knowledge.rewards is not None else release.centred, release.visits_apart
    visited = None if louder is None else release.counts.visits
    return Cells(moved, visited, paid, release.reward_centre, louder or 1.0)


def possible(release: CountRelease, knowledge: Knowledge) -> Mask:
    """(L, cells): which transition counts have noise, of those that are possible."""
    spec = knowledge.spec
    mask = np.repeat(knowledge.acting.ravel()[knowledge.ways.rows][None], spec.layers, axis=0)
    if spec.layers > 1 and release.question.last == DROPPED:
        mask[-1] = False
    return mask


def thinned(release: CountRelease, model: LoggedModel, tau: float = TAU) -> tuple[CountRelease, CountRelease]:
    """The release that chooses, and the one that judges. model: what the whole release says, for the size of sampling error."""
    knowledge = model.knowledge
    counts = release.counts
    told = counts.transitions if counts.transitions.size else np.stack([counts.visits, counts.rewards])
    rng = np.random.default_rng(list(hashlib.sha256(np.ascontiguousarray(told).data).digest()))
    noise, pairs = noise_deviation(release, knowledge), knowledge.acting
    cells, where = noised_cells(release, knowledge), possible(release, knowledge)
    shape, ways = model.visits.shape, knowledge.ways
    expected = (ways.each(model.moves) * model.rows.chances)[where]
    luck, moved = np.zeros(where.shape), np.zeros(where.shape)
    luck[where] = np.sqrt(expected) * rng.standard_normal(expected.shape)
    moved[where] = luck[where] + noise * rng.standard_normal(expected.shape)
    # Who visits a pair is paid there, so the sampling error of visits is in all sums; the last step's may be in visits only.
    rest = np.maximum(model.visits - model.moves, 0.0)
    lucky = ways.summed(luck) + np.sqrt(rest) * rng.standard_normal(shape)
    visited = ways.summed(moved)
    if cells.visited is not None:
        visited = np.where(pairs, lucky + cells.louder * noise * rng.standard_normal(shape), 0.0)
    mean = model.rewards[..., 1:]
    own = np.sqrt(model.visits * mean * (1 - mean) + noise**2) * rng.standard_normal(shape)
    paid = np.where(pairs, own + (mean - cells.middle) * lucky, 0.0)
    added = AddedLuck(moved, visited, paid)
    chooses, judges = _shifted(release, ways, cells, tau, added), _shifted(release, ways, cells, -1 / tau, added)
    if release.visited is None:
        return chooses, judges
    # Visits that were asked for by themselves have noise of their own; what they share with the judging part is sampling error.
    asked = release.visited._replace(counts=release.visited.counts + tau * np.where(pairs, lucky, 0.0))
    return replace(chooses, visited=asked), replace(judges, visited=None)


class AddedLuck(NamedTuple):
    """What is added to one part of a release and taken off the other: to transitions, visits and rewards."""

    moved: Array
    visited: Array
    paid: Array


def _shifted(release: CountRelease, ways: PossibleCells, cells: Cells, times: float, added: AddedLuck) -> CountRelease:
    """The release with this many times the added sampling error in its cells."""
    counts, (moved, visited, paid) = release.counts, added
    visits = counts.visits + times * visited
    rewards = counts.rewards if cells.paid is None else cells.paid + times * paid + cells.middle * visits
    louder = float(np.sqrt(1 + times**2))
    radius = Radius(*(louder * size for size in release.radius))
    transitions = counts.transitions.copy()
    transitions.reshape(len(moved), -1)[:, ways.places] += times * moved
    return replace(release, counts=Counts(visits, rewards, rewards, transitions), radius=radius)
