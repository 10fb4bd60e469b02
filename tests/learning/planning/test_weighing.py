"""Whose reports are listened to: weights, what they leave of the noise, and that nothing becomes biased."""

from __future__ import annotations

import numpy as np
import pytest

from confide.learning.planning.evaluation import occupancy
from confide.learning.planning.induction import ROWS, workspace
from confide.learning.planning.weighing import expect, no_weighted_counts, weigh
from confide.mdp import PER_STEP, STATIONARY, Model, Policy, Spec
from confide.protocol.releases.release import Counts, Estimates, Noise, Radius

SIZES = (3, 2, 4)


def some(spec: Spec, rng: np.random.Generator) -> Counts:
    pairs = (spec.layers, spec.states, spec.actions)
    return Counts(*(rng.normal(50, 20, pairs) for _ in range(3)), rng.normal(20, 10, (*pairs, spec.states)))


def estimates(counts: Counts, users: float, variance: float = 1.0) -> Estimates:
    """Estimates whose noise is each user's own, and has this variance in all."""
    return Estimates(
        counts,
        Radius(0.0, 0.0, 0.0, 0.0, 0.0),
        Noise(1.0, variance, variance, 1.0, counts.visits.shape[1] * variance),
        users,
    )


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_noise_of_a_curator_leaves_plain_sums(kind: str) -> None:
    spec, rng = Spec(*SIZES, kind), np.random.default_rng(0)
    weighted = no_weighted_counts(spec)
    for users in (10.0, 15.0, 40.0):
        weighted.expected[:] = rng.random(weighted.expected.shape)
        counts = some(spec, rng)
        weigh(estimates(counts, users), 0.0, spec.horizon, weighted)
    for mine, theirs in ((0, 0), (1, 1), (3, 3)):
        assert np.allclose(weighted.counts[mine], counts[theirs], rtol=1e-12)
    assert np.allclose(weighted.people, 40.0)


def test_people_with_less_noise_are_heard_more() -> None:
    """Groups of ever less noise: weights are in proportion to rho/(rho + v) of each, scaled as if all were like the last."""
    spec, rng, most = Spec(*SIZES), np.random.default_rng(4), 4
    weighted, mine = no_weighted_counts(spec), (8.0, 2.0, 0.5)
    ends, weights, gains, before, total = (5.0, 30.0, 90.0), [], [], None, 0.0
    for users, v, met in zip(ends, mine, (0.0, *ends), strict=False):
        total += v * (users - met)
        weighted.expected[:] = rho = rng.random(weighted.expected.shape) + 0.1
        counts = some(spec, rng)
        weights.append(rho / (rho + v))
        gains.append(counts.visits - (0 if before is None else before.visits))
        weigh(estimates(counts, users, total), total / users, spec.horizon, weighted)
        before = counts
    last = 1 + mine[-1] / most
    sums = sum(last * weight * gain for weight, gain in zip(weights, gains, strict=True))
    sizes = np.diff(ends, prepend=0.0)
    noise = sum((last * weight) ** 2 * v * many for weight, v, many in zip(weights, mine, sizes, strict=True))
    assert np.allclose(weighted.counts.visits, sums)
    assert np.allclose(total / ends[-1] * weighted.people, noise)


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_groups_are_added_with_their_weights(kind: str) -> None:
    """Against the formula of the module, on what is new in each release."""
    spec, rng, noise = Spec(*SIZES, kind), np.random.default_rng(1), 2.5
    weighted, most = no_weighted_counts(spec), 4 if kind == STATIONARY else 1
    sums, people = np.zeros_like(weighted.people), np.zeros_like(weighted.people)
    rows, before, seen = np.zeros_like(weighted.plain.transitions), None, 0.0
    for users in (7.0, 20.0, 21.0):
        rho = rng.random(weighted.expected.shape) * (rng.random(weighted.expected.shape) < 0.7)
        weighted.expected[:] = rho
        counts = some(spec, rng)
        u = (1 + noise / most) * rho / (rho + noise)
        sums += u * (counts.visits - (0 if before is None else before.visits))
        rows += u[..., None] * (counts.transitions - (0 if before is None else before.transitions))
        people += u**2 * (users - seen)
        weigh(estimates(counts, users, users), noise, spec.horizon, weighted)
        before, seen = counts, users
    assert np.allclose(weighted.counts.visits, sums) and np.allclose(weighted.counts.transitions, rows)
    assert np.allclose(weighted.people, people)


def test_a_pair_nobody_is_sent_to_keeps_what_it_has() -> None:
    spec, rng = Spec(*SIZES), np.random.default_rng(2)
    weighted = no_weighted_counts(spec)
    weighted.expected[:] = 1.0
    weigh(estimates(some(spec, rng), 10.0, 10.0), 1.0, spec.horizon, weighted)
    kept = [part.copy() for part in weighted.counts]
    weighted.expected[:] = 0.0
    weigh(estimates(some(spec, rng), 1000.0, 1000.0), 1.0, spec.horizon, weighted)
    assert all(np.array_equal(one, two) for one, two in zip(kept, weighted.counts, strict=True))


def test_a_release_is_weighed_once() -> None:
    """However often a learner plans after it; later people have less noise here, which must not be forgotten either."""
    spec, rng = Spec(*SIZES), np.random.default_rng(5)
    first, second = (estimates(some(spec, rng), users, noise) for users, noise in ((10.0, 10.0), (40.0, 12.0)))
    kept = []
    for times in (1, 3):
        weighted = no_weighted_counts(spec)
        weighted.expected[:] = 0.5
        for release in (first, second):
            for _ in range(times):
                weigh(release, 1.0, spec.horizon, weighted)
        kept.append(np.concatenate([np.ravel(part) for part in (*weighted.counts, weighted.people, weighted.noise)]))
    assert np.array_equal(*kept) and np.ptp(kept[0]) > 0


def test_weights_are_the_best() -> None:
    """Groups of which ever fewer visit: the mean of weighed sums has less variance than that of plain ones."""
    rng, noise, draws, rate = np.random.default_rng(3), 100.0, 400, 0.3
    spec, shares = Spec(1, 1, 1), (1.0, 0.5, 0.01, 0.0)
    plain, weighed, claimed = np.zeros(draws), np.zeros(draws), 0.0
    for draw in range(draws):
        weighted, visits, rewards = no_weighted_counts(spec), np.zeros((1, 1, 1)), np.zeros((1, 1, 1))
        for group, share in enumerate(shares, start=1):
            size = 10**6
            here = rng.binomial(size, share)
            visits = visits + here
            rewards = rewards + rng.binomial(here, rate) + np.sqrt(noise * size) * rng.standard_normal()
            weighted.expected[:] = share
            newest = Counts(visits, rewards, rewards, visits[..., None])
            weigh(estimates(newest, group * 1e6, group * 1e6), noise, 1, weighted)
        plain[draw] = rewards.item() / visits.item()
        weighed[draw] = weighted.counts.rewards.item() / weighted.counts.visits.item()
        claimed = np.sqrt(noise * weighted.people.item()) / weighted.counts.visits.item()
    least = np.sqrt(noise / 1e6 / sum(share**2 for share in shares))
    assert weighed.std() == pytest.approx(least, rel=0.2) and claimed == pytest.approx(least, rel=0.02)
    assert weighed.std() < 0.8 * plain.std()
    assert abs(weighed.mean() - rate) < 5 * least / np.sqrt(draws)


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("believed", [1.0, 0.3, 0.0])
def test_expected_visits_are_those_of_the_model(kind: str, believed: float) -> None:
    """As far as it is believed; for the rest, any state may come next."""
    spec, rng = Spec(*SIZES, kind), np.random.default_rng(4)
    pairs = (spec.layers, spec.states, spec.actions)
    transitions = rng.dirichlet(np.ones(spec.states), size=pairs)
    policy = rng.dirichlet(np.ones(spec.actions), size=(spec.horizon, spec.states))
    work, weighted = workspace(spec), no_weighted_counts(spec)
    work.transitions[:] = transitions.reshape(spec.layers, -1, spec.states).transpose(0, 2, 1)
    weighted.plain.visits[:] = rng.random(pairs)
    weighted.plain.visits[0, 1] = -5.0  # no one was seen there
    work.pairs[ROWS] = believed
    others = rng.random(pairs)
    weighted.expected[:] = others
    expect(work, policy, weighted, 0.25)
    mixed = weighted.expected.copy()
    expect(work, policy, weighted)
    assert np.allclose(mixed, 0.75 * others + 0.25 * weighted.expected)
    transitions = believed * transitions + (1 - believed) / spec.states
    start = np.maximum(weighted.plain.visits[0].sum(axis=1), 0)
    model = Model(transitions, np.zeros(pairs), start / start.sum(), spec.horizon)
    visits = occupancy(model, Policy(policy))
    visits = visits.reshape(spec.horizon, spec.states, spec.actions)
    assert np.allclose(weighted.expected, visits if kind == PER_STEP else visits.sum(axis=0, keepdims=True))
