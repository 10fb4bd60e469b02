"""The noise in what groups of judging people release: of the scale that is paid for, neither less nor more."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest, laplace, norm

import confide as cf
from confide.analysis.fitting.adopting import JudgePlan
from confide.data.privatizers.judged import JudgedAggregate
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Guarantee
from confide.protocol.kinds.judged import EACH, GROUPS, SQUARE_UNIT, SQUARES
from confide.protocol.trusts.central import std

FALSE_ALARM = 1e-6
"""How often one of these comparisons would fail by chance, if seeds were not fixed."""

RELEASES, NAMES = 800, ("f", "m", "other")
SUMS, SQUARED, SIZES = range(3)
PEOPLE = np.array([[0.5, 0], [-0.25, 0], [1.0, 1], [0.0, 1], [-1.0, 1]])
"""Shares of a clip, all of them on the grid, and groups: no user is in the third, whose noise is that of the others."""

LAWS = {"gaussian": norm.cdf, "laplace": laplace(scale=np.sqrt(0.5)).cdf}
"""Of noise with a standard deviation of 1."""

PROMISES: dict[str, Guarantee] = {"gaussian": cf.Central(rho=0.5), "laplace": cf.Central(epsilon=1.0)}


def exact() -> NDArray[np.float64]:
    """(3 groups, 3) the sums of shares, those of their squares, and how many there are."""
    mine = [PEOPLE[PEOPLE[:, 1] == group, 0] for group in range(len(NAMES))]
    return np.array([[shares.sum(), (shares**2).sum(), len(shares)] for shares in mine])


def released(mechanism: str) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """(releases, 3 groups, 3) by how much values are off, the deviations that are stated, and that of the mechanism."""
    plan = JudgePlan.of(0.3, PROMISES[mechanism], mechanism, groups=NAMES)
    assert plan.designs is not None
    design, noise, found = plan.designs[GROUPS], ReplayableNoise(7), []
    for _ in range(RELEASES):
        aggregate = JudgedAggregate(design, noise, simulated=True)
        aggregate.take_numbers(PEOPLE, np.full(PEOPLE.shape, 0.5))
        release = aggregate.close()
        found.append(np.reshape(release.sums, (len(NAMES), 3)) - exact())
    return np.array(found), np.reshape(release.noise, (len(NAMES), 3)), std(design)


def drawn(off: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
    """The noise in each of the three cells of a group: what values say is undone."""
    size = off[..., SIZES] * EACH
    square = (off[..., SQUARED] - off[..., SIZES] / 2) * SQUARES / SQUARE_UNIT
    return {SUMS: off[..., SUMS].ravel(), SQUARED: square.ravel(), SIZES: size.ravel()}


@pytest.mark.parametrize("mechanism", LAWS)
def test_every_cell_has_noise_of_the_scale_that_is_paid_for(mechanism: str) -> None:
    off, _, deviation = released(mechanism)
    for cell in drawn(off).values():
        assert kstest(cell / deviation, LAWS[mechanism]).pvalue > FALSE_ALARM
        for factor in (2 / 3, 3 / 2):
            assert kstest(cell / (deviation * factor), LAWS[mechanism]).pvalue < FALSE_ALARM


def test_the_deviations_that_are_stated_are_those_of_the_values() -> None:
    off, stated, _ = released("gaussian")
    for value in (SUMS, SQUARED, SIZES):
        scaled = (off[..., value] / stated[:, value]).ravel()
        assert kstest(scaled, norm.cdf).pvalue > FALSE_ALARM
        for factor in (2 / 3, 3 / 2):
            assert kstest(scaled / factor, norm.cdf).pvalue < FALSE_ALARM


def test_cells_of_a_group_have_noise_of_their_own() -> None:
    """Shared noise would cancel where values are made of several cells, or groups are compared."""
    off, _, deviation = released("gaussian")
    cells = np.array([cell.reshape(RELEASES, -1) for cell in drawn(off).values()]) / deviation  # (3, releases, groups)
    every = cells.transpose(1, 0, 2).reshape(RELEASES, -1)
    apart = np.corrcoef(every.T)[~np.eye(every.shape[1], dtype=bool)]
    most = norm.isf(FALSE_ALARM / 2) / np.sqrt(RELEASES)
    assert np.abs(apart).max() < most < 0.2
