"""Checks accept what is right, and answer what is wrong with one sentence: thing, rule, value, way out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import validation
from confide.errors import (
    BudgetExceeded,
    ConfideError,
    FormatError,
    InvalidInput,
    MissingExtra,
    PrivacyError,
    UnknownName,
    UnsafeNoise,
)
from tests.refusals import refused

HUGE = 10**400
"""Finite, but no float."""


@pytest.mark.parametrize("error", [InvalidInput, UnknownName, FormatError, PrivacyError, UnsafeNoise, BudgetExceeded])
def test_every_deliberate_error_exits_with_2(error: type[ConfideError]) -> None:
    assert issubclass(error, ConfideError)
    assert error.exit_code == 2
    assert issubclass(MissingExtra, ImportError)


def test_a_refusal_names_thing_rule_value_and_way_out() -> None:
    with pytest.raises(InvalidInput) as caught:
        validation.positive("epsilon", -1, "Use NoPrivacy() for no privacy.")
    assert str(caught.value) == "epsilon must be positive. Got -1. Use NoPrivacy() for no privacy."
    with pytest.raises(InvalidInput) as caught:
        validation.positive("epsilon", -1)
    assert str(caught.value) == "epsilon must be positive. Got -1."


NO_NUMBER: list[Any] = [math.nan, math.inf, -math.inf, None, "x", [1.0, 2.0], object(), True, False, HUGE, 1j]


@pytest.mark.parametrize("value", NO_NUMBER)
@pytest.mark.parametrize(
    "check",
    [
        lambda value: validation.number("thing", value),
        lambda value: validation.positive("thing", value),
        lambda value: validation.between("thing", value, -1e9, 1e9),
        lambda value: validation.delta("thing", value),
        lambda value: validation.integer("thing", value, -(10**9)),
    ],
)
def test_what_is_no_finite_number_is_refused(check: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^thing must be "):
        check(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back_as_they_are(value: float) -> None:
    assert validation.number("thing", value) == value
    assert validation.between("thing", value, value, value) == value
    if value > 0:
        assert validation.positive("thing", value) == value


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -1e-300])
def test_zero_is_not_positive(value: float) -> None:
    with pytest.raises(InvalidInput):
        validation.positive("thing", value)


def test_the_ends_of_an_interval_belong_to_it() -> None:
    assert validation.between("thing", 1, 0, 1) == 1
    for outside in (-1e-12, 1 + 1e-12):
        with pytest.raises(InvalidInput, match=r"between 0 and 1"):
            validation.between("thing", outside, 0, 1)


def test_delta_may_be_zero_but_not_one() -> None:
    assert validation.delta("delta", 0) == 0
    assert validation.delta("delta", 1 - 2**-53) < 1
    for outside in (1.0, 2, -1e-300):
        with refused("not-a-delta: delta"):
            validation.delta("delta", outside)


@given(st.integers(-(2**53), 2**53))
def test_whole_floats_count_as_integers(value: int) -> None:
    result = validation.integer("thing", float(value), -(2**53))
    assert result == value
    assert isinstance(result, int)


def test_large_integers_keep_every_digit() -> None:
    assert validation.integer("thing", 2**63 - 1, 0) == 2**63 - 1
    assert validation.integer("thing", np.int64(7), 0) == 7


@pytest.mark.parametrize("value", [0, 11, 1.5, "5", 1e300])
def test_integers_outside_or_between_are_refused(value: Any) -> None:
    with refused("not-a-whole-number: thing", match="1 and.*10"):
        validation.integer("thing", value, 1, 10)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    assert validation.choice("trust", "local", ["local", "joint"]) == "local"
    with refused("unknown-name: trust"):
        validation.choice("trust", "locl", ["local", "joint"])
    with pytest.raises(UnknownName, match=r"Known: joint, local\."):
        validation.choice("trust", 3, ["local", "joint"])


def test_arrays_of_the_wanted_shape_come_back_as_floats() -> None:
    result = validation.array("thing", [[1, 2], [3, 4]], (None, 2))
    assert result.dtype == np.float64
    assert result.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "value", [[[1, 2], [3]], "words", [None], [[1, 2, 3]], [1, 2], [[1, math.nan]], [[1, -math.inf]], [[HUGE, 1]]]
)
def test_ragged_misshapen_or_unbounded_arrays_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^thing must be "):
        validation.array("thing", value, (None, 2))


def test_probabilities_say_where_they_fail() -> None:
    good = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert validation.probabilities("rows", good) is good
    with refused("probabilities-not-summing-to-one: rows", match=r"0\.9.*\(1,\)"):
        validation.probabilities("rows", np.array([[0.5, 0.5], [0.0, 0.9]]))
    with refused("negative-probability: rows", match=r"-0\.1.*\(0,\)"):
        validation.probabilities("rows", np.array([[1.1, -0.1]]))
    with refused("probabilities-not-summing-to-one: rows", match=r"1\.00000002.*\(\)"):
        validation.probabilities("rows", np.array([0.5, 0.50000002]))
    with refused("empty-array: rows"):
        validation.probabilities("rows", np.zeros((2, 0)))


@given(st.lists(st.integers(0, 9)))
def test_indices_in_range_come_back(value: list[int]) -> None:
    assert validation.indices("states", value, 10).tolist() == value
    assert validation.indices("states", np.array(value, dtype=float), 10).dtype == np.int64


@pytest.mark.parametrize(
    "value",
    [
        [0, 10],
        [0, -1],
        [0, 1e300],
        [0, math.inf],
        [0, math.nan],
        [0, 1.5],
        [[0, 1]],
        [[0], [0, 1]],
        3,
        ["0"],
        [True],
        [HUGE],
        np.array([2**64 - 1], dtype=np.uint64),
    ],
)
def test_indices_out_of_range_fractional_or_ragged_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^states must "):
        validation.indices("states", value, 10)


def test_a_refused_index_is_named_by_its_position_only() -> None:
    with pytest.raises(InvalidInput) as caught:
        validation.indices("states", [3, 12345], 10, "Declare more.")
    assert str(caught.value) == "states must lie in 0..9. Position 1 does not. Declare more."


def test_tables_and_lists_of_json_are_told_from_everything_else() -> None:
    assert validation.table("row", {"a": 1}) == {"a": 1}
    assert list(validation.listed("rows", [1, 2])) == list(validation.listed("rows", (1, 2))) == [1, 2]
    for value in ("ab", 3, None, {"a": 1}):
        with refused("not-a-list"):
            validation.listed("rows", value)
    for value in ("ab", 3, None, [1]):
        with refused("not-a-table"):
            validation.table("row", value)
