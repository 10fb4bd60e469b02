"""One person has one key, in whatever file and type her name stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

from confide.analysis.fitting.engines import Engine, count
from confide.data.trajectories import read
from confide.data.trajectories.keys import fresh_key, keys
from confide.errors import InvalidInput
from confide.protocol.kinds import CountQuestion
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes
from tests.refusals import refused

KEY = fresh_key()
PEOPLE = 50
LOG = episodes(PEOPLE, seed=3)


def key_of(value: Any, kind: Any = None) -> int:
    return int(keys(pa.array([value], kind), KEY)[0][0])


@pytest.mark.parametrize("text", ["7", "0007", "7.0", "+7", " 7 ", "7.", "7e+0", "0.7E1", "700e-2", "7.00", "\t7"])
def test_forms_of_seven(text: str) -> None:
    assert key_of(text) == key_of(7) == 7


@given(st.integers(-(2**63), 2**64 - 1), st.integers(0, 5))
def test_whole_numbers_equal_their_texts(number: int, zeros: int) -> None:
    kind = pa.uint64() if number >= 2**63 else pa.int64()
    sign, digits = ("-" if number < 0 else "", str(abs(number)))
    for text in (str(number), f"{sign}{'0' * zeros}{digits}", f"{number}.{'0' * zeros}", f"{sign}{digits}e+0"):
        assert key_of(text) == key_of(number, kind)
    assert key_of(f"{sign}{digits}{'0' * zeros}e-{zeros}") == key_of(number, kind)
    if abs(number) <= 2**53:
        assert key_of(float(number)) == key_of(number, kind)
        assert key_of(repr(float(number))) == key_of(number, kind)


@given(st.floats(-(2.0**53), 2.0**53))
def test_other_numbers_equal_their_texts(number: float) -> None:
    assert key_of(number) == key_of(repr(number)) == key_of(repr(number) if "e" in repr(number) else repr(number) + "0")


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=20, unique=True))
def test_different_numbers_have_different_keys(numbers: list[int]) -> None:
    assert len({key_of(str(number)) for number in numbers}) == len(numbers)


def test_names_that_only_look_like_numbers_are_names() -> None:
    texts = [
        "12e4567",
        "1e5",
        "100000",
        "0e12",
        "00e1",
        "7a",
        "x7",
        "-",
        ".",
        "+",
        "7.0.0",
        "7 7",
        "e5",
        "1e+",
        "0x7",
        "A",
        "a",
    ]
    assert len({key_of(text) for text in texts}) == len(texts)


def test_nobody_is_named_by_nothing() -> None:
    for column in (pa.array(["", "x"]), pa.array(["  ", "x"]), pa.array([np.nan, 1.0]), pa.array([None, 1.0])):
        assert keys(column, KEY)[1].tolist() == [True, False]
        assert keys(column.dictionary_encode(), KEY)[1].tolist() == [True, False]
    assert keys(pa.array(["x", "7"]), KEY)[1] is None


def test_floats_that_cannot_tell_people_apart_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"must lie within 2\^53"):
        key_of(2.0**53 + 2)


def ids(kind: str) -> list[Any]:
    made = {"whole": int, "float": float, "text": str, "zeros": lambda n: f"{n:04d}", "points": lambda n: f"{n}.0"}
    return [made[kind](number) for number in range(PEOPLE)]


def written(path: Path, kind: str) -> Path:
    table = pa.table(columns(LOG, ids=ids(kind)))
    csv.write_csv(table, path) if path.suffix == ".csv" else parquet.write_table(table, path)
    return path


PAIRS = [
    ("a.parquet", "whole", "b.parquet", "float"),
    ("a.parquet", "whole", "b.csv", "text"),
    ("a.parquet", "whole", "b.csv", "points"),
    ("a.parquet", "float", "b.csv", "zeros"),
    ("a.parquet", "text", "b.parquet", "whole"),
    ("a.parquet", "zeros", "b.csv", "points"),
    ("a.csv", "text", "b.csv", "points"),
    ("a.csv", "text", "b.csv", "zeros"),
    ("a.csv", "points", "b.parquet", "text"),
]


@pytest.mark.parametrize(("one", "kind", "two", "other"), PAIRS)
def test_fifty_people_in_two_files_are_fifty(one: str, kind: str, two: str, other: str, tmp_path: Path) -> None:
    """Where they come twice, `one` refuses, `limit` keeps one episode of each, and `group:2` charges for both."""
    sources = [str(written(tmp_path / one, kind)), str(written(tmp_path / two, other))]
    sizes = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}

    def counted(users: str) -> Any:
        data = read(*sources, **sizes, users=users)
        return count(data, CountQuestion(data.knowledge.spec), Engine())

    with refused("person-with-several-episodes", match="49 others"):
        counted("one").checked()
    limited, grouped = counted("limit").checked(), counted("group:2").checked()
    assert limited.users == grouped.users == PEOPLE
    assert (limited.starts.sum(), grouped.starts.sum()) == (PEOPLE, 2 * PEOPLE)


def test_files_whose_names_differ_in_kind_are_refused(tmp_path: Path) -> None:
    table = columns(LOG)
    days = pa.array(table["user"], pa.int32()).cast(pa.date32())
    for kind, values in (("days", days), ("moments", days.cast(pa.timestamp("s"))), ("whole", table["user"])):
        parquet.write_table(pa.table({**table, "user": values}), tmp_path / f"{kind}.parquet")
    csv.write_csv(parquet.read_table(tmp_path / "moments.parquet"), tmp_path / "moments.csv")
    for pair in (("moments", "whole"), ("days", "whole")):
        with refused("part-column-type"):
            read(*(tmp_path / f"{name}.parquet" for name in pair), states=STATES, actions=ACTIONS, horizon=HORIZON)
    with refused("part-column-type"):
        read(tmp_path / "moments.parquet", tmp_path / "moments.csv", states=STATES, actions=ACTIONS, horizon=HORIZON)
