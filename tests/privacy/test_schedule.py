"""Public schedules: every group counted once, in order, and nothing depends on anyone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import InvalidInput
from confide.privacy import Schedule
from confide.privacy.schedule import MOST_USERS
from tests.refusals import refused

SCHEDULES = st.one_of(
    st.builds(Schedule.every, st.integers(1, 5000)),
    st.builds(Schedule.batches, st.integers(1, 10**9), st.integers(1, 5000)),
    st.builds(Schedule.growth, st.integers(1, 10**9), st.floats(1.001, 50)),
    st.builds(Schedule.sized, st.integers(5000, 10**6), st.integers(50, 5000)),
    st.builds(Schedule, st.sampled_from(["every", "growth"]), st.integers(90, 5000), st.just(1.5), st.integers(0, 90)),
)


@given(SCHEDULES)
def test_groups_follow_each_other_until_everybody_is_served(schedule: Schedule) -> None:
    ends = schedule.ends
    assert ends.dtype == np.int64
    assert (np.diff(ends, prepend=0) >= 1).all()
    assert ends[-1] == schedule.users
    assert schedule.releases == len(ends)
    assert schedule.describe()["releases"] == schedule.releases


def test_every() -> None:
    assert Schedule.every(4).ends.tolist() == [1, 2, 3, 4]
    assert Schedule.every(MOST_USERS).releases == MOST_USERS  # without writing them all down


@given(st.integers(1, 10**6), st.integers(1, 3000))
def test_batches_are_as_equal_as_can_be(users: int, count: int) -> None:
    schedule = Schedule.batches(users, count)
    sizes = np.diff(schedule.ends, prepend=0)
    assert len(sizes) == min(users, count)
    assert sizes.max() - sizes.min() <= 1


def test_sizes_and_burn_in() -> None:
    assert Schedule.sized(10, 4).ends.tolist() == [4, 8, 10]
    assert Schedule("every", 6, burn_in=4).ends.tolist() == [4, 5, 6]
    assert Schedule("batches", 10, 5, burn_in=3).ends.tolist() == [3, 4, 6, 8, 10]
    assert Schedule("growth", 10, 2.0, burn_in=10).ends.tolist() == [10]
    with pytest.raises(InvalidInput, match="burn_in"):
        Schedule("every", 6, burn_in=7)


def test_growth_in_full() -> None:
    assert Schedule.growth(20, 2.0).ends.tolist() == [1, 2, 4, 8, 16, 20]
    assert Schedule.growth(7, 1.5).ends.tolist() == [1, 2, 3, 4, 6, 7]
    assert Schedule.growth(3, 1e9).ends.tolist() == [1, 3]


def test_growth_to_a_hundred_million() -> None:
    schedule = Schedule.growth(10**8, 1.01)
    ends = schedule.ends
    assert ends[:101].tolist() == list(range(1, 102))  # by one person while 1 % is less than one
    late = ends[:-1][ends[:-1] > 10_000]
    assert (late[1:] <= late[:-1] * 1.01).all()
    assert (late[1:] > late[:-1] * 1.01 - 1).all()
    # One each up to 100, then log(1e6)/log(1.01) and a little for rounding down.
    assert 100 + math.log(1e6) / math.log(1.01) < schedule.releases < 1.05 * (100 + math.log(1e6) / math.log(1.01))


def test_whole_floats_are_accepted() -> None:
    schedule = Schedule("batches", 1e6, 10.0)  # type: ignore[arg-type]
    assert schedule == Schedule.batches(10**6, 10)
    assert isinstance(schedule.users, int)


@pytest.mark.parametrize("users", [0, -3, 1.5, math.nan, math.inf, "ten", None, MOST_USERS + 1])
def test_bad_numbers_of_people_are_refused(users: Any) -> None:
    for make in (Schedule.every, lambda n: Schedule.batches(n, 2), lambda n: Schedule.growth(n, 1.1)):
        with refused("not-a-whole-number: episodes"):
            make(users)


@pytest.mark.parametrize("count", [0, -1, 2.5, math.nan, None])
def test_bad_numbers_of_batches_are_refused(count: Any) -> None:
    with refused("not-a-whole-number: batches"):
        Schedule.batches(10, count)


@pytest.mark.parametrize("factor", [1.0, 0.5, -2.0, math.nan, math.inf, None])
def test_bad_growth_is_refused(factor: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^growth must be "):
        Schedule.growth(10, factor)


def test_an_unknown_kind_is_refused() -> None:
    with refused("unknown-name: schedule"):
        Schedule("batch", 10)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Schedule.every(50_000), "every episode (50,000 releases)"),
        (Schedule.batches(50_000, 500), "500 equal batches"),
        (Schedule.growth(20, 2.0), "growth by 2 (6 releases)"),
    ],
)
def test_how_a_schedule_reads(schedule: Schedule, words: str) -> None:
    assert str(schedule) == words
