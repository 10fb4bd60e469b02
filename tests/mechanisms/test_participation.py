"""Users who come again: what counters charge for them, against every pattern of batches on tiny counters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.catalogue import from_parameters, parameters
from confide.mechanisms.toeplitz import (
    FactoredCounter,
    ToeplitzCounter,
    banded_factors,
    best_bands,
    falling,
    square_root_coefficients,
)
from confide.mechanisms.tree import TreeCounter
from confide.privacy import GaussianLoss, Joint, Participation, Pure, Sensitivity
from tests.refusals import refused

from .test_toeplitz import lower_toeplitz, reports_of

ONE = Sensitivity(1.0, 1.0, ((1.0, 1),), 1)
OFTEN = [(times, apart) for times in (2, 3, 4) for apart in (1, 2, 3)]


def counters(releases: int, times: int, apart: int) -> list[FactoredCounter]:
    """Counters of every shape for users who come so often: all coefficients, bands below, at and above the separation, buffers."""
    often = {"participations": times, "separation": apart}
    bands = sorted({0, 1, 2, apart, 2 * apart} & set(range(releases + 1)))
    plain = [ToeplitzCounter(releases, 30.0, 0.5, **often, bands=width) for width in bands]
    return [*plain, *(BufferedToeplitzCounter(releases, 30.0, 0.5, buffers, **often) for buffers in (1, 4))]


def patterns(releases: int, times: int, apart: int) -> Iterator[tuple[int, ...]]:
    """Every set of at most this many batches, any two at least so far apart."""
    for many in range(1, times + 1):
        for batches in itertools.combinations(range(releases), many):
            if all(later - sooner >= apart for sooner, later in itertools.pairwise(batches)):
                yield batches


@pytest.mark.parametrize(("times", "apart"), OFTEN)
@pytest.mark.parametrize("releases", [1, 2, 5, 9])
def test_no_pattern_of_batches_moves_more_than_is_charged(releases: int, times: int, apart: int) -> None:
    for counter in counters(releases, times, apart):
        columns = lower_toeplitz(counter.column())
        moved = [float(np.linalg.norm(columns[:, list(each)].sum(axis=1))) for each in patterns(releases, times, apart)]
        assert max(moved) == pytest.approx(counter.columns_norm, rel=1e-12)


def test_changes_that_differ_from_batch_to_batch_move_no_more() -> None:
    rng = np.random.default_rng(1)
    for counter in counters(9, 3, 2):
        columns, worst = lower_toeplitz(counter.column()), 0.0
        for batches in patterns(9, 3, 2):
            directions = rng.normal(size=(len(batches), 4, 200))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            moved = np.einsum("tb,bcn->tcn", columns[:, list(batches)], directions)
            worst = max(worst, float(np.sqrt((moved**2).sum(axis=(0, 1))).max()))
        assert 0.8 * counter.columns_norm < worst <= counter.columns_norm * (1 + 1e-12)


def test_what_is_reported_moves_no_more_than_is_charged_rounding_included() -> None:
    others = np.random.default_rng(2).integers(0, 5, (9, 500))
    for counter in counters(9, 3, 2):
        base, worst = reports_of(counter, others), 0.0
        for batches in patterns(9, 3, 2):
            hers = others.copy()
            hers[list(batches)] += 1
            worst = max(worst, float(np.sqrt(((reports_of(counter, hers) - base) ** 2).sum(axis=0)).max()))
        # In grids: one unit of an increment is one of them, and so is the sensitivity here.
        charged = replace(counter, grid=1.0).report_sensitivity(ONE)
        assert 0.9 * counter.columns_norm < worst <= charged


@pytest.mark.parametrize("releases", [1, 2, 3, 7, 60, 500])
def test_coefficients_as_built_are_non_negative_and_fall(releases: int) -> None:
    bands = {1, 2, releases // 2, releases} & set(range(1, releases + 1))
    plain = [ToeplitzCounter(releases, 1.0, 1.0, bands=width) for width in (0, *bands)]
    for counter in (*plain, *(BufferedToeplitzCounter(releases, 1.0, 1.0, buffers) for buffers in range(1, 7))):
        column = counter.column()
        assert column[0] == 1.0 and (column >= 0).all() and (np.diff(column) <= 0).all()
        assert np.linalg.norm(column) == pytest.approx(counter.column_norm, rel=1e-9)
        assert falling(column) is column


@pytest.mark.parametrize("column", [[1.0, 0.5, 0.6], [1.0, 0.5, -0.1]])
def test_other_coefficients_are_refused(column: list[float]) -> None:
    with refused("column-not-falling"):
        falling(np.array(column))


@pytest.mark.parametrize(("releases", "bands"), [(1, 1), (7, 1), (7, 3), (64, 4), (500, 8)])
def test_banded_factors_make_the_running_sum(releases: int, bands: int) -> None:
    c, b = banded_factors(releases, bands)
    assert (c[:bands] == square_root_coefficients(releases)[:bands]).all() and not c[bands:].any()
    running: NDArray[np.float64] = lower_toeplitz(b) @ lower_toeplitz(c)
    assert running == pytest.approx(np.tril(np.ones((releases, releases))), abs=1e-9)


def test_columns_of_bands_no_wider_than_the_separation_are_orthogonal() -> None:
    for times, apart in OFTEN:
        counter = ToeplitzCounter(40, 1.0, 1.0, participations=times, separation=apart, bands=apart)
        assert counter.columns_norm == pytest.approx(math.sqrt(times) * counter.column_norm, rel=1e-12)


def rms(releases: int, participation: Participation, bands: int) -> float:
    """The noise of the running sums, as root mean square over all releases, at mu = 1 and without rounding."""
    often = {"participations": participation.times, "separation": participation.apart}
    counter = ToeplitzCounter(releases, 1.0, 1e-9, **often, bands=bands)
    return counter.columns_norm * math.sqrt(np.mean([counter.std(t) ** 2 for t in range(1, releases + 1)]))


@pytest.mark.parametrize(("releases", "most", "group"), [(64, 6.1, 8.6), (128, 7.6, 10.2)])
def test_sixteen_visits_four_apart_cost_far_less_than_sixteen_times_the_noise(
    releases: int, most: float, group: float
) -> None:
    often, once = Participation(16, 4), rms(releases, Participation(), 0)
    assert rms(releases, often, best_bands(releases, often)) / once <= most
    assert group < rms(releases, often, 0) / once < 16


def test_bands_are_chosen_by_their_noise() -> None:
    for releases, often in ((60, Participation(4, 15)), (128, Participation(16, 4)), (512, Participation(16, 4))):
        chosen, widths = best_bands(releases, often), [0, *(often.apart << n for n in range(8))]
        assert rms(releases, often, chosen) == min(rms(releases, often, width) for width in widths if width < releases)
    assert (
        best_bands(60, Participation()) == best_bands(60, Participation(3, 60)) == best_bands(1, Participation(9)) == 0
    )


@pytest.mark.parametrize(("times", "apart"), [(1, 1), *OFTEN])
@pytest.mark.parametrize("releases", [1, 2, 6, 9])
def test_no_pattern_moves_the_nodes_of_a_tree_further(releases: int, times: int, apart: int) -> None:
    counter = TreeCounter(releases, "laplace", 1.0, 1.0, participations=times, separation=apart)
    l1, l2 = counter.nodes_moved
    ends = np.arange(1, releases + 1)
    covers = [(end - (end & -end), end) for end in ends.tolist()]
    for batches in patterns(releases, times, apart):
        moved = np.array([sum(first <= batch < end for batch in batches) for first, end in covers])
        assert moved.sum() <= l1 and math.sqrt((moved**2).sum()) <= l2 + 1e-12
    assert counter.loss(ONE) == Pure(float(l1))
    if times == 1:
        assert (l1, l2) == (counter.levels, pytest.approx(math.sqrt(counter.levels)))


def test_somebody_who_comes_once_loses_less_than_one_who_comes_again() -> None:
    for counter in counters(9, 3, 2):
        once = replace(counter, participations=1).loss(ONE)
        often = counter.loss(ONE)
        assert isinstance(once, GaussianLoss) and isinstance(often, GaussianLoss)
        assert math.sqrt(3) - 0.1 < often.mu / once.mu < 3


def test_counters_are_written_with_how_often_users_come_where_that_is_said() -> None:
    size = ONE
    for counter in (*counters(9, 3, 2), TreeCounter(9, "laplace", 3.0, 1.0, participations=3, separation=2)):
        written = parameters(counter)
        assert written["participations"] == counter.describe()["participations"] == 3 and written["separation"] == 2
        assert from_parameters(written, size, Joint(1.0, 1e-6), 1.0) == counter
        usual = parameters(replace(counter, participations=1, separation=1))
        assert not usual.keys() & {"participations", "separation"}
        assert not replace(counter, participations=1).describe().keys() & {"participations", "separation"}


@pytest.mark.parametrize("wrong", [{"participations": 0}, {"separation": 0}, {"participations": 1.5}])
def test_numbers_that_are_none_are_refused(wrong: dict[str, int]) -> None:
    for make in (ToeplitzCounter, BufferedToeplitzCounter):
        with refused("not-a-whole-number"):
            make(9, 1.0, 1.0, **wrong)
    with refused("not-a-whole-number"):
        TreeCounter(9, "laplace", 1.0, 1.0, **wrong)
