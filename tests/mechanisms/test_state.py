"""The states of counters: spent once, unchanged if a draw fails, and the same again from their bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.counter import LARGEST_TOTAL, CounterState
from confide.mechanisms.exact import LARGEST, ExactCounter
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.mechanisms.tree import TreeCounter
from confide.privacy import Sensitivity

COUNTERS: dict[str, Any] = {
    "tree-laplace": TreeCounter(9, "laplace", 3.0, 1.0),
    "tree-gaussian": TreeCounter(9, "gaussian", 30.0, 0.5),
    "toeplitz": ToeplitzCounter(9, 30.0, 0.5),
    "buffered": BufferedToeplitzCounter(9, 30.0, 0.5),
    "exact": ExactCounter(9, 0.5),
}
NOISY = [name for name in COUNTERS if name != "exact"]
INCREMENT = np.array([3, -1, 0, 7])


class FailingNoise(ReplayableNoise):
    """A source that fails, at once or after some of the noise was drawn."""

    def discrete_gaussian(self, *_: object) -> NDArray[np.int64]:
        self.integers(10, 3)
        raise OSError("no entropy")

    discrete_laplace = discrete_gaussian


def after(name: str, releases: int, seed: int = 0) -> CounterState:
    counter, noise = COUNTERS[name], ReplayableNoise(seed)
    state: CounterState = counter.init(len(INCREMENT))
    for _ in range(releases):
        state, _ = counter.next(state, INCREMENT, noise)
    return state


@pytest.mark.parametrize("name", NOISY)
@pytest.mark.parametrize("releases", [0, 1, 2, 3, 4, 8])
def test_if_a_draw_fails_the_state_is_as_before(name: str, releases: int) -> None:
    """Byte for byte, however often; and then it goes on as if nothing had happened."""
    counter, state = COUNTERS[name], after(name, releases)
    before = state.to_bytes()
    for _ in range(2):
        with pytest.raises(OSError, match="no entropy"):
            counter.next(state, INCREMENT, FailingNoise(0))
        assert state.to_bytes() == before and not state.spent
    other, released = counter.next(state, INCREMENT, ReplayableNoise(7))
    same, again = counter.next(CounterState.from_bytes(before), INCREMENT, ReplayableNoise(7))
    np.testing.assert_array_equal(released, again)
    assert other.to_bytes() == same.to_bytes()


@pytest.mark.parametrize("name", COUNTERS)
def test_a_spent_state_is_refused_also_after_reading_back(name: str) -> None:
    counter, state = COUNTERS[name], after(name, 2)
    counter.next(state, INCREMENT, ReplayableNoise(1))
    for one in (state, CounterState.from_bytes(state.to_bytes())):
        assert one.spent
        with pytest.raises(PrivacyError, match="used before"):
            counter.next(one, INCREMENT, ReplayableNoise(1))


@pytest.mark.parametrize("name", COUNTERS)
def test_a_refused_increment_spends_nothing(name: str) -> None:
    counter, state = COUNTERS[name], after(name, 1)
    before = state.to_bytes()
    most = LARGEST if name == "exact" else LARGEST_TOTAL
    for bad, error in (
        (INCREMENT[:2], InvalidInput),
        (INCREMENT / 2, InvalidInput),
        (np.array([most, 0, 0, 0]), InvalidInput),
        (np.array([0, 0, 0, -most]), InvalidInput),
    ):
        with pytest.raises(error):
            counter.next(state, bad, ReplayableNoise(0))
        assert state.to_bytes() == before


@pytest.mark.parametrize("name", COUNTERS)
def test_a_counter_goes_on_from_its_bytes_as_if_nothing_had_happened(name: str) -> None:
    counter = COUNTERS[name]
    straight, stopped = ReplayableNoise(3), ReplayableNoise(3)
    one, other = counter.init(4), counter.init(4)
    for _ in range(9):
        one, released = counter.next(one, INCREMENT, straight)
        other, again = counter.next(CounterState.from_bytes(other.to_bytes()), INCREMENT, stopped)
        np.testing.assert_array_equal(released, again)
        assert one.to_bytes() == other.to_bytes()
    for state in (one, CounterState.from_bytes(other.to_bytes())):
        with pytest.raises(PrivacyError, match="made for 9 releases"):
            counter.next(state, INCREMENT, straight)


def test_the_bytes_of_a_state_hold_nothing_but_the_state() -> None:
    """Room for later releases is empty, not whatever lay in memory before."""
    scrap = [np.full((8, 4), 0x5EC2E7, dtype=np.int64) for _ in range(64)]
    del scrap
    state = after("toeplitz", 5)
    for array in state.arrays:
        assert len(array) == 8 and not array[5:].any()


def test_a_state_knows_its_counter() -> None:
    for name in COUNTERS:
        for other in COUNTERS:
            alike = {name, other} <= {"tree-laplace", "tree-gaussian"} or name == other
            assert after(name, 3).like(COUNTERS[other].init(4)) == alike
        assert not after(name, 3).like(COUNTERS[name].init(5))


def test_a_state_shows_nothing_of_anybody() -> None:
    assert repr(after("toeplitz", 2)) == "CounterState(cells=4, release=2, spent=False)"


def test_an_exact_counter_tells_running_sums_and_promises_nothing() -> None:
    counter, noise = ExactCounter(3, 0.5), ReplayableNoise(0)
    state = counter.init(4)
    for release in (1, 2, 3):
        state, released = counter.next(state, INCREMENT, noise)
        np.testing.assert_array_equal(released, 0.5 * release * INCREMENT)
        assert counter.std(release) == counter.rounding(release) == counter.radius(release, 0.1, 7) == 0.0
    assert counter.loss(Sensitivity(1.0, 1.0, ((1.0, 1),), 1)).epsilon(0.0) == np.inf
    assert counter.describe() == {"name": "none", "releases": 3, "grid": 0.5} and counter.memory() == 1
    for wrong in ({"releases": 0}, {"releases": 3, "grid": 0.0}, {"releases": 3, "grid": -1.0}):
        with pytest.raises(InvalidInput):
            ExactCounter(**wrong)


# Golden vectors.


def golden(kind: str) -> list[Any]:
    """Vectors that were written once; a change of the format needs a new version, not new vectors."""
    rows = json.loads((Path(__file__).parent / "golden" / "states.json").read_text(encoding="utf-8"))[kind]
    return [pytest.param(row, id=row["name"]) for row in rows]


@pytest.mark.parametrize("row", golden("good"))
def test_golden_states(row: dict[str, Any]) -> None:
    state = CounterState.from_bytes(bytes.fromhex(row["bytes"]))
    assert state.to_bytes().hex() == row["bytes"]
    options = {"cells": state.cells, "release": state.release, "reach": state.reach, "spent": state.spent}
    assert options == {key: row[key] for key in options}
    assert [array.tolist() for array in state.arrays] == row["arrays"]
    assert all(array.flags.writeable for array in state.arrays)


@pytest.mark.parametrize("row", golden("bad"))
def test_golden_bad_states(row: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=row["says"]):
        CounterState.from_bytes(bytes.fromhex(row["bytes"]))
