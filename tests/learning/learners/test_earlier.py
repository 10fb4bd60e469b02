"""Learners that go on from earlier contracts: sums of releases, weighed by their true noise; and bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from confide.learning import learners
from confide.learning.learners import Context, state_bytes
from confide.learning.learners.earlier import Earlier, together
from confide.mdp import Spec
from confide.privacy import Guarantee
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases.release import CURATORS, PEOPLES, CountRelease, Counts, Noise, Radius
from tests.refusals import refused

SPEC = Spec(3, 2, 4)
PAIRS = (1, 3, 2)


def release(users: int, noise: float = 0.0, own: float = CURATORS, seed: int = 0, people: float = 0.0) -> CountRelease:
    """Counts of this many users, plus Gaussian noise of this variance in each cell of transitions."""
    rng = np.random.default_rng(seed)
    rows = users * SPEC.horizon / 18 * np.ones((*PAIRS, 3))
    moved = rows + rng.normal(0, noise**0.5, rows.shape)
    counts = Counts(moved.sum(3), 0.4 * rows.sum(3), np.zeros(PAIRS), moved)
    if people:
        counts = counts._replace(people=np.full(PAIRS, people))
    law = Noise(own, noise, noise, 1.0, 3 * noise)
    return CountRelease(CountQuestion(SPEC), users, counts, Radius(1, 2, 3, 4, 5), 0.1, Guarantee("joint", 1.0), law)


def earlier(of: CountRelease) -> Earlier:
    return Earlier(of, b"")


def test_without_a_contract_before_a_release_is_itself() -> None:
    now = release(10)
    assert together(None, now) is now


def test_people_s_own_noise_and_none_add_up() -> None:
    for own, noise in ((PEOPLES, 7.0), (CURATORS, 0.0)):
        one, other = release(100, noise, own, 1), release(50, 3 * noise, own, 2)
        both = together(earlier(one), other)
        assert both.users == 150 and both.noise.transitions == 4 * noise and both.noise.visits == 12 * noise
        assert np.array_equal(both.counts.transitions, one.counts.transitions + other.counts.transitions)
        assert both.radius == Radius(2, 4, 6, 8, 10) and both.failure == pytest.approx(0.2)
    asked = together(earlier(release(100, 1.0, PEOPLES, people=20.0)), release(50, 1.0, PEOPLES))
    assert np.array_equal(asked.counts.people, np.full(PAIRS, 70.0))


def test_a_curator_s_noise_is_weighed() -> None:
    """By hand: one user pays 2/3 visits to a pair. 4 v/(n rho) is 6 of the first, and 60 of one with a tenth of the users."""
    one, other = release(1000, 1000.0, seed=1), release(100, 1000.0, seed=2)
    both = together(earlier(one), other)
    weight = (1 / 61) / (1 / 7)
    assert both.counts.visits == pytest.approx(one.counts.visits + weight * other.counts.visits)
    assert both.noise.transitions == pytest.approx(1000 * (1 + weight**2))
    assert both.users == 1100
    few = together(earlier(release(100, 1000.0, seed=1)), release(1000, 1000.0, seed=2))
    assert few.noise.transitions == pytest.approx(both.noise.transitions), "whichever is the noisy one"
    assert together(earlier(one), release(1000, 1000.0)).noise.transitions == pytest.approx(2000.0)


def test_weighed_ratios_err_less_than_sums_and_than_either_alone() -> None:
    """Of 400 pairs of releases, a ninth of the users in one: the mean square error of rows. False alarms below 1e-6 (it is 0.55
    and 0.9 times as large, with a standard error of 0.03)."""
    errors = np.zeros(3)
    for seed in range(400):
        one, other = release(9000, 40000.0, seed=seed), release(1000, 40000.0, seed=1000 + seed)
        both, plain = together(earlier(one), other), one.counts.transitions + other.counts.transitions
        for at, moved in enumerate((both.counts.transitions, plain, one.counts.transitions)):
            errors[at] += ((moved / moved.sum(3, keepdims=True) - 1 / 3) ** 2).sum()
    assert errors[0] < 0.8 * errors[1] and errors[0] < errors[2]


def test_what_cannot_be_added_is_refused() -> None:
    with refused("earlier-other-question"):
        together(earlier(release(10, 1.0, PEOPLES)), release(10, 1.0, CURATORS))
    other = replace(release(10), question=CountQuestion(Spec(3, 2, 5)))
    learner = learners.make("ucbvi")
    with refused("earlier-other-sizes"):
        Earlier(other, b"").begin(learner, Context(SPEC, 100), np.random.default_rng(0))


def test_bytes_and_how_a_learner_goes_on() -> None:
    learner, rng = learners.make("ucbvi"), np.random.default_rng(0)
    assert isinstance(learner, learners.TabularLearner)
    first = release(1000)
    state = learner.learn(learner.begin(Context(SPEC, 1000), rng), first)
    kept = Earlier(first, state_bytes.to_bytes(replace(state, mixture=None)), "ucbvi")
    again = Earlier.from_bytes(kept.to_bytes())
    assert again.to_bytes() == kept.to_bytes() and again.learner == "ucbvi"
    for words in ("ucbvi", "another"):
        begun = again.begin(learner, Context(SPEC, 500), np.random.default_rng(1), words)
        assert begun.context.users == 1500 and begun.users == 1000
        after = learner.learn(begun, together(again, release(200, seed=3)))
        assert after.users == 1200
    with refused("earlier-unreadable"):
        Earlier.from_bytes(b"x")
    with refused("earlier-unreadable"):
        Earlier.from_bytes(kept.to_bytes()[:-3])
