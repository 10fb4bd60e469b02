"""The likelihood of a linear fit's releases, which an attacker computes from them: it is the true one, and no other passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.lab.audit.asking import fit_log_ratio
from confide.lab.audit.fits import FitRuns, fit_targets, last_cell, linear_plan
from confide.lab.audit.people import pairs
from confide.lab.audit.reservoir import Reservoir
from confide.mdp import Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Central

SPEC, RUNS = Spec(2, 2, 2, "per-step"), 400


@pytest.mark.parametrize("split", [False, True])
def test_a_likelihood_ratio_is_one_on_average_where_it_is_turned_around(split: bool) -> None:
    """E_P[Q/P] = 1 for all outputs of a law P, and E_P[(Q/P)^4] > 1, as if noise were half of what it is."""
    plan: Any = linear_plan(SPEC, Central(2.0, 0.01), split)
    target = fit_targets("fit", plan, SPEC, fixed_length=True)[0]
    assert target.claimed is last_cell
    for world, sign in ((0, -1.0), (1, 1.0)):
        ratios = np.exp(sign * target.sample(world, RUNS, Reservoir(ReplayableNoise(world)))[:, -1])
        deviation = float(ratios.std() / np.sqrt(RUNS))
        assert deviation < 0.1
        assert abs(ratios.mean() - 1) < 5 * deviation
        assert abs((ratios**4).mean() - 1) > 5 * deviation


def test_two_people_who_are_turned_around_turn_the_ratio() -> None:
    plan: Any = linear_plan(SPEC, Central(1.0, 0.01))
    runs = FitRuns(plan, SPEC, fixed_length=True)
    one, other = pairs(SPEC)[0]
    released = runs.released(one, ReplayableNoise(4))
    both = runs.ways(one), runs.ways(other)
    ratio = fit_log_ratio(plan, both, released)
    assert ratio != 0 and fit_log_ratio(plan, both[::-1], released) == pytest.approx(-ratio)
    assert fit_log_ratio(plan, (both[0], both[0]), released) == 0


def test_both_ways_to_be_in_halves_are_thought_of() -> None:
    plan: Any = linear_plan(SPEC, Central(1.0, 0.01), split=True)
    ways = FitRuns(plan, SPEC, fixed_length=True).ways(pairs(SPEC)[0][1])
    assert len(ways) == 2
    first, second = (way.moves for way in ways)  # type: ignore[attr-defined]
    assert np.array_equal(first[::-1], second) and not np.array_equal(first, second)
