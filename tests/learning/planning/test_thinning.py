"""A thinned release: the two halves' errors are independent, of the sizes that are stated. Seeds are fixed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from confide.lab.simulation.offline import simulate_offline
from confide.learning.planning.evaluation import policy_value
from confide.learning.planning.logged import logged_model
from confide.learning.planning.thinning import TAU, noised_cells, thinned
from confide.mdp import Policy, Spec
from confide.mdp.knowledge import Knowledge
from confide.privacy import Guarantee
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import unpack
from confide.protocol.releases import CountRelease, Radius

SPEC = Spec(50, 12, 4)
SIGMA, FAILURE = 7.0, 0.05
REACH = 5.0
"""Standard errors within which a statistic must lie; seeds are fixed, so this says how special they are."""


def release_of(parts: tuple[str, ...], last: str, truth: float, seed: int) -> CountRelease:
    from scipy.special import ndtri

    question = CountQuestion(SPEC, parts, last)
    rng = np.random.default_rng(seed)
    cells = truth + SIGMA * rng.standard_normal(question.cells)
    covered = SPEC.states**2 * SPEC.actions + 4 * SPEC.states * SPEC.actions
    radius = Radius(*[SIGMA * float(-ndtri(FAILURE / covered / 2))] * 5)
    return CountRelease(question, 1000, unpack(question, cells), radius, FAILURE, Guarantee.none())


@pytest.mark.parametrize(
    ("parts", "last"), [(("centred", "transitions"), "counted"), (("visits", "centred", "transitions"), "dropped")]
)
def test_errors_of_the_parts_are_independent(parts: tuple[str, ...], last: str) -> None:
    knowledge = Knowledge.declared(SPEC, ends=False)
    release = release_of(parts, last, 0.0, 1)
    result = logged_model(release, knowledge)
    quiet = replace(result, moves=0 * result.moves, visits=0 * result.visits)  # no chance, only noise
    choosing, judging = thinned(release, quiet)
    for name in ("moved", "visited", "paid"):
        one, other = (getattr(noised_cells(half, knowledge), name) for half in (choosing, judging))
        if one is None:
            continue
        first, second = one.ravel() / SIGMA, other.ravel() / SIGMA
        error = 1 / math.sqrt(first.size)
        assert abs(np.corrcoef(first, second)[0, 1]) < REACH * error
        for sample, wanted in ((first, 1 + TAU**2), (second, 1 + 1 / TAU**2)):
            assert abs(float((sample**2).mean()) / wanted - 1) < REACH * error * math.sqrt(2)
            for wrong in (2 / 3, 3 / 2):
                assert abs(float((sample**2).mean()) * wrong**2 / wanted - 1) > REACH * error * math.sqrt(2)
    # Fresh noise that is half as large again would leave the parts opposed.
    given = release.counts.transitions
    fresh = 1.5 * (choosing.counts.transitions - given) / TAU
    assert np.corrcoef((given + TAU * fresh).ravel(), (given - fresh / TAU).ravel())[0, 1] < -REACH / math.sqrt(
        given.size
    )


def test_the_luck_of_counts_is_parted_too() -> None:
    """Of Poisson counts without noise: the parts are about uncorrelated, though no one knows their variance."""
    knowledge = Knowledge.declared(SPEC, ends=False)
    rng = np.random.default_rng(2)
    question = CountQuestion(SPEC, ("centred", "transitions"))
    cells = np.zeros(question.cells)
    cells[question.slices["transitions"]] = rng.poisson(30.0, SPEC.states**2 * SPEC.actions)
    release = CountRelease(question, 1000, unpack(question, cells), Radius.zero(), FAILURE, Guarantee.none())
    choosing, judging = thinned(release, logged_model(release, knowledge))
    both = [half.counts.transitions.ravel() - 30.0 for half in (choosing, judging)]
    assert abs(np.corrcoef(*both)[0, 1]) < 0.1
    again, _ = thinned(release, logged_model(release, knowledge))
    np.testing.assert_array_equal(again.counts.transitions, choosing.counts.transitions)  # so that a refit agrees


def test_with_much_data_the_estimates_are_the_truth() -> None:
    run = simulate_offline("clinic", None, 10**10, 2, known_rewards=False)
    for value, result, gain in zip(run.values, run.estimates, run.gains, strict=True):
        assert result.value == pytest.approx(value, abs=2e-3) and result.high - result.low < 0.01
        assert gain.value == pytest.approx(value - run.practice_value, abs=2e-3)


def test_a_policy_that_says_as_now_is_worth_what_people_make_of_it() -> None:
    from confide.lab.environments import clinic

    world, usual = clinic.clinic(4), clinic.practice(4)
    kept = Policy(np.zeros_like(usual.probabilities), np.ones(usual.probabilities.shape[:2], dtype=np.bool_))
    assert policy_value(world, kept.followed_by(usual.probabilities)) == policy_value(world, usual)
