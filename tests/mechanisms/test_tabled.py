"""Noise that is given by its table: its loss, its sums, and which tables are refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from confide.mechanisms import randomizer
from confide.mechanisms.randomizer import Tabled
from confide.privacy import Sensitivity
from examples.own_noise import TruncatedLaplace
from tests.refusals import refused

NOISE = TruncatedLaplace(scale=2.0, bound=9)
SHIFTS = Sensitivity(3.0, math.sqrt(5), ((2.0, 1), (1.0, 1)), 2)


def hockey_stick(shifts: tuple[int, ...], epsilon: float) -> float:
    """delta of several cells that are shifted by this many grids, from the definition."""
    table, here, there = NOISE.table(), np.ones(1), np.ones(1)
    for shift in shifts:
        wide = np.zeros(len(table) + shift)
        wide[: len(table)] = table
        here, there = np.outer(here, wide).ravel(), np.outer(there, np.roll(wide, shift)).ravel()
    return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
def test_the_loss_is_that_of_the_definition(epsilon: float) -> None:
    """Rounded up, by a thousandth of epsilon at most for each of two shifts."""
    found, exact = NOISE.loss(SHIFTS).delta(epsilon), hockey_stick((2, 1), epsilon)
    assert exact <= found * (1 + 1e-9) and found <= 1.01 * hockey_stick((2, 1), epsilon - 0.002) + 1e-12
    assert found > hockey_stick((1, 1), epsilon), "the larger shift counts"
    assert NOISE.loss(SHIFTS.scaled(20)).delta(epsilon) == 1.0, "no two outputs in common"


@pytest.mark.parametrize("users", [1, 2, 5, 37])
def test_the_law_of_a_sum_is_the_convolution(users: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = np.ones(1)
    for _ in range(users):
        exact = np.convolve(exact, NOISE.table())
    cumulative, places = np.cumsum(exact), np.arange(len(exact)) - len(exact) // 2
    grid = (np.arange(20_000) + 0.5) / 20_000

    class Stratified:
        """One draw from each of as many equal parts; of several draws, each in another order."""

        def __init__(self) -> None:
            self.orders = np.random.default_rng(3)

        def random(self, shape: Any) -> np.ndarray:
            return self.orders.permutation(grid)

    drawn = NOISE.sum_of(np.zeros(20_000), users, np.ones(20_000), Stratified())  # type: ignore[arg-type]
    found = np.searchsorted(np.sort(drawn), places, side="right") / 20_000
    assert np.abs(found - cumulative).max() < (1e-3 if users in (1, 2) else 0.02)
    monkeypatch.setattr(randomizer, "LARGEST_SUM", 64)
    apart = NOISE.sum_of(np.zeros(20_000), users, np.ones(20_000), Stratified())  # type: ignore[arg-type]
    assert apart.std() == pytest.approx(drawn.std(), rel=0.05)


@pytest.mark.parametrize("doublings", [1, 4, 12])
def test_a_table_of_sums_has_the_moments_of_the_sum(doublings: int) -> None:
    cumulative = randomizer._distribution(NOISE, doublings)
    mass, places = np.diff(cumulative, prepend=0.0), np.arange(len(cumulative)) - len(cumulative) // 2
    assert (mass * places).sum() == pytest.approx(0.0, abs=1e-6)
    assert (mass * places**2).sum() == pytest.approx(2**doublings * NOISE.variance(), rel=1e-9)


@dataclass(frozen=True)
class Given(Tabled):
    """Noise of a table that may be wrong."""

    given: tuple[float, ...]
    grid: float = 1.0
    name: str = "given"

    def table(self) -> np.ndarray:
        return np.array(self.given)

    def steps(self, noise: Any, shape: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("given", [(0.5, 0.5), (0.5, 0.3, 0.2), (0.4, 0.2, 0.4), (0.5, 0.0, 0.5), (0.3, 0.3, 0.3)])
def test_tables_whose_loss_is_not_known_are_refused(given: tuple[float, ...]) -> None:
    with refused("noise-not-log-concave"):
        Given(given).loss(SHIFTS)
