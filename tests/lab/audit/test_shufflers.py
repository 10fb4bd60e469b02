"""What is known of shuffled sums: their loss and likelihood, against all that can happen; and people as far apart as the price."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, skellam

from confide.lab.audit.catalogue import AuditEntry
from confide.lab.audit.likelihood import flipped_loss
from confide.lab.audit.people import exact_message, pairs, pairs_of
from confide.lab.audit.shufflers import OneOfSteps, sum_of_noise
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.skellam import SkellamShare
from confide.privacy import Guarantee

FLIP = 0.3


def laws(
    people: int, rows: int, width: int, horizon: int, categories: list[list[int]]
) -> list[Counter[tuple[int, ...]]]:
    """How likely every output is if the last of the people is like the first of two, or like the second: by trying everything."""
    results: list[Counter[tuple[int, ...]]] = [Counter(), Counter()]
    for world, law in enumerate(results):
        for steps in product(range(horizon), repeat=people):
            for bits in product((0, 1), repeat=people * width):
                sums, many, chance = np.zeros((rows, width), dtype=int), [0] * rows, horizon**-people
                for person, step in enumerate(steps):
                    row, hers = step if rows > 1 else 0, categories[world if person == people - 1 else 0][step]
                    statement = bits[person * width : (person + 1) * width]
                    many[row] += 1
                    sums[row] += statement
                    for cell, bit in enumerate(statement):
                        chance *= FLIP if bit != (cell == hers) else 1 - FLIP
                law[*sums.ravel().tolist(), *many] += chance
    return results


@pytest.mark.parametrize(
    ("people", "rows", "told_of"),
    [(3, 1, [[0], [1]]), (2, 2, [[0, 0], [1, 1]]), (2, 2, [[0, 1], [1, 1]]), (3, 1, [[0, 0], [1, 0]])],
    ids=["one step", "per step", "one alike", "pooled"],
)
def test_one_who_tells_of_a_step_among_others(people: int, rows: int, told_of: list[list[int]]) -> None:
    first, second = laws(people, rows, 2, len(told_of[0]), told_of)
    hidden = OneOfSteps(FLIP, people, rows, 2, told_of)
    seen = sorted(first)
    ratios = hidden.claimed(np.array(seen, dtype=np.float64))
    assert ratios == pytest.approx([math.log(first[one] / second[one]) for one in seen])
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        ways = ((first, second), (second, first))
        worst = max(sum(max(p[one] - math.exp(epsilon) * q[one], 0.0) for one in seen) for p, q in ways)
        assert hidden.loss().delta(epsilon) == pytest.approx(worst, abs=1e-3)


def test_sums_of_bits_are_charged_whichever_way_tells_more() -> None:
    """Ten ones against nine: that a one is missing shows more than that it is there."""
    mechanism, trials = RandomizedResponse(0.75), np.array([10])
    from scipy.stats import binom

    all_ones = binom.pmf(np.arange(11), 10, 1 - mechanism.flip)
    others = binom.pmf(np.arange(10), 9, 1 - mechanism.flip)
    nine = np.convolve(others, [1 - mechanism.flip, mechanism.flip])
    ways = [np.maximum(p - math.exp(0.4) * q, 0).sum() for p, q in ((all_ones, nine), (nine, all_ones))]
    exact = flipped_loss(mechanism, (np.array([10.0]), np.array([9.0])), trials)
    assert max(ways) > 1.2 * min(ways)
    assert exact.delta(0.4) == pytest.approx(max(ways), abs=1e-3)


@pytest.mark.parametrize("name", ["toeplitz", "tree-gaussian"])
def test_people_as_far_apart_as_a_budget_says_are_found(name: str) -> None:
    design = AuditEntry(name, "joint", "tight", setting="budgeted").design(Guarantee("joint", 1.0, 0.01))
    grid, price = design.mechanism.grid, design.act.sensitivity.l2

    def apart(two: object) -> float:
        first, second = (exact_message(design, person, grid) for person in two)  # type: ignore[attr-defined]
        return float(np.linalg.norm(first - second))

    assert max(apart(two) for two in pairs(design.question.spec)) < 0.85 * price
    assert max(apart(two) for two in pairs_of(design)) == pytest.approx(price)


FALSE_ALARM = 1e-9


@pytest.mark.parametrize(("rate", "people"), [(40, 30), (9, 12)])
def test_sums_of_poisson_shares_that_are_drawn_at_once_have_the_law_of_devices_together(rate: int, people: int) -> None:
    """Drawn share by share and at once: both pass Pearson's test against the law that outputs are judged by, and fail that of 2/3
    and 3/2 as much noise."""
    share, many, honest = SkellamShare(rate, people), 60_000, people - 2
    each = share.steps(ReplayableNoise(7), (honest, many)).sum(axis=0)
    for drawn in (each, sum_of_noise(share, honest, many, ReplayableNoise(8))):
        far = int(4 * math.sqrt(2 * rate))
        places = np.arange(-far, far + 1)
        seen = np.bincount(np.clip(drawn, -far, far) + far, minlength=len(places))

        def misfit(times: float, seen: np.ndarray = seen, places: np.ndarray = places) -> tuple[float, int]:
            mean = times * honest * share.mean
            expected = many * skellam.pmf(places, mean, mean)
            common = expected >= 20
            rest = many - float(expected[common].sum()), many - int(seen[common].sum())
            apart = float(((seen - expected)[common] ** 2 / expected[common]).sum())
            return apart + (rest[1] - rest[0]) ** 2 / rest[0], int(common.sum())

        statistic, freedom = misfit(1.0)
        assert statistic < chi2.isf(FALSE_ALARM, freedom)
        for wrong in (2 / 3, 3 / 2):
            statistic, freedom = misfit(wrong)
            assert statistic > chi2.isf(FALSE_ALARM, freedom)
