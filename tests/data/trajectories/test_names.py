"""One person under two spellings is one person, or the data is refused; by every reader."""

from __future__ import annotations

import datetime
import json
import unicodedata
import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from confide.analysis.fitting.engines import Engine, count
from confide.data.trajectories import read
from confide.data.trajectories.keys import fresh_key, keys, named
from confide.errors import InvalidInput
from confide.protocol.kinds import CountQuestion
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes
from tests.refusals import refused

PEOPLE = 20
LOG = episodes(PEOPLE, seed=3)
LENGTHS = [len(one.actions) for one in LOG]
SIZES = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}
NOON = datetime.datetime(2026, 1, 31)
DAYS = [NOON + datetime.timedelta(days=number) for number in range(PEOPLE)]
UUIDS = [uuid.uuid5(uuid.NAMESPACE_URL, str(number)) for number in range(PEOPLE)]


def table(names: Any, kind: Any = None) -> pa.Table:
    """The log, whose people have these names; `kind` is their Arrow type."""
    people = names if isinstance(names, pa.ExtensionArray) else pa.array(names, kind)
    rows = np.repeat(np.arange(PEOPLE), LENGTHS)
    taken = (
        people.storage.take(pa.array(rows)) if isinstance(people, pa.ExtensionArray) else people.take(pa.array(rows))
    )
    if isinstance(people, pa.ExtensionArray):
        taken = pa.ExtensionArray.from_storage(people.type, taken)
    return pa.table({**columns(LOG), "user": taken})


def as_parquet(path: Path, rows: pa.Table) -> Any:
    parquet.write_table(rows, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def as_csv(path: Path, rows: pa.Table) -> Any:
    csv.write_csv(rows, path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def as_arrow(path: Path, rows: pa.Table) -> Any:
    feather.write_feather(rows, path.with_suffix(".feather"))
    return path.with_suffix(".feather")


def as_lines(path: Path, rows: pa.Table) -> Any:
    path.with_suffix(".ndjson").write_text("\n".join(json.dumps(row) for row in rows.to_pylist()), encoding="utf-8")
    return path.with_suffix(".ndjson")


def as_query(path: Path, rows: pa.Table) -> Any:
    return f"duckdb:SELECT * FROM '{as_parquet(path, rows)}' ORDER BY user, step"


def in_memory(path: Path, rows: pa.Table) -> Any:
    return rows


def as_dictionary(path: Path, rows: pa.Table) -> Any:
    return rows.set_column(0, "user", rows.column("user").combine_chunks().dictionary_encode())


READERS: tuple[Callable[[Path, pa.Table], Any], ...]
READERS = (as_parquet, as_csv, as_arrow, as_lines, as_query, in_memory, as_dictionary)


def people_in(*sources: Any, **words: Any) -> int:
    data = read(*sources, **SIZES, users="limit", **words)
    return count(data, CountQuestion(data.knowledge.spec), Engine()).checked().users


ACCENTED = [f"Zoë {number}" for number in range(PEOPLE)]
NUMBERS = [str(number) for number in range(PEOPLE)]
PLAIN = [f"p{number}" for number in range(PEOPLE)]
TEXTS = {
    "composed and decomposed": (ACCENTED, [unicodedata.normalize("NFD", name) for name in ACCENTED]),
    "a no-break space inside": (ACCENTED, [name.replace(" ", "\u00a0") for name in ACCENTED]),
    "the end of a line": (PLAIN, [name + "\r" for name in PLAIN]),
    "the end of a line after a number": (NUMBERS, [name + "\r" for name in NUMBERS]),
    "a no-break space": (PLAIN, [name + "\u00a0" for name in PLAIN]),
    "a no-break space before a number": (NUMBERS, ["\u00a0" + name for name in NUMBERS]),
    "a wide space": (PLAIN, [name + "\u3000" for name in PLAIN]),
    "a sign without width": (PLAIN, ["\ufeff" + name for name in PLAIN]),
    "wide digits": (NUMBERS, ["".join(chr(0xFEE0 + ord(sign)) for sign in name) for name in NUMBERS]),
    "large letters of a UUID": ([str(one) for one in UUIDS], [str(one).upper() for one in UUIDS]),
    "a day and its midnight": ([f"{day:%Y-%m-%d}" for day in DAYS], [f"{day:%Y-%m-%dT%H:%M:%S}.000" for day in DAYS]),
    "a moment in another zone": (
        [f"{day:%Y-%m-%d %H:%M}Z" for day in DAYS],
        [f"{day:%Y-%m-%d}T01:00:00.000+01:00" for day in DAYS],
    ),
    "a UUID without dashes": ([str(one) for one in UUIDS], [one.hex for one in UUIDS]),
    "a UUID of digits only": (
        [str(uuid.UUID(int=number)) for number in range(PEOPLE)],
        [uuid.UUID(int=number).hex for number in range(PEOPLE)],
    ),
}


@pytest.mark.parametrize("reader", READERS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("what", TEXTS)
def test_a_text_that_means_the_same_person(what: str, reader: Callable[[Path, pa.Table], Any], tmp_path: Path) -> None:
    plain, other = TEXTS[what]
    first, second = as_parquet(tmp_path / "first", table(plain)), reader(tmp_path / "second", table(other))
    assert people_in(first) == people_in(second) == PEOPLE
    assert people_in(first, second) == PEOPLE


UUID_BYTES = [one.bytes for one in UUIDS]
TYPED: dict[str, tuple[pa.Table, pa.Table]] = {
    "seconds and microseconds": (table(DAYS, pa.timestamp("s")), table(DAYS, pa.timestamp("us"))),
    "milliseconds and nanoseconds": (table(DAYS, pa.timestamp("ms")), table(DAYS, pa.timestamp("ns"))),
    "days and moments": (table(DAYS, pa.date32()), table(DAYS, pa.timestamp("us"))),
    "days of two sizes": (table(DAYS, pa.date32()), table(DAYS, pa.date64())),
    "time zones": (table(DAYS, pa.timestamp("s", "UTC")), table(DAYS, pa.timestamp("us", "Europe/Berlin"))),
    "a UUID in bytes and as text": (table(UUID_BYTES, pa.binary(16)), table([str(one) for one in UUIDS])),
    "bytes and text": (table([name.encode() for name in ACCENTED], pa.binary()), table(ACCENTED)),
    "whole numbers and floats": (table(list(range(PEOPLE))), table([float(number) for number in range(PEOPLE)])),
    "whole numbers and texts": (table(list(range(PEOPLE)), pa.uint8()), table(NUMBERS, pa.large_string())),
}
if hasattr(pa, "uuid"):
    extended = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(UUID_BYTES, pa.binary(16)))
    TYPED["a UUID as Arrow has it and as text"] = (table(extended), table([str(one) for one in UUIDS]))


@pytest.mark.parametrize("sort", [False, True], ids=["as they stand", "sorted"])
@pytest.mark.parametrize("reader", [as_parquet, as_arrow, in_memory, as_dictionary], ids=lambda one: one.__name__)
@pytest.mark.parametrize("what", TYPED)
def test_types_that_name_the_same_person(
    what: str, reader: Callable[[Path, pa.Table], Any], sort: bool, tmp_path: Path
) -> None:
    if reader is as_dictionary and "Arrow" in what:
        pytest.skip("Arrow makes no dictionaries of its own UUIDs")
    first, second = (reader(tmp_path / str(number), rows) for number, rows in enumerate(TYPED[what]))
    assert people_in(first, sort=sort) == people_in(second, sort=sort) == PEOPLE
    if not sort:
        assert people_in(first, second) == PEOPLE
        return
    with pytest.raises(InvalidInput):  # a person's rows of both files stand together, and a step comes twice
        people_in(first, second, sort=True)


REFUSED: dict[str, tuple[pa.Table, str]] = {
    "yes and no": (table([number % 2 == 0 for number in range(PEOPLE)]), "name-type"),
    "bytes that are no text": (table(UUID_BYTES, pa.binary()), "name-bytes-unreadable"),
    "sixteen bytes that may be text": (
        table([f"user-{number:011d}".encode() for number in range(PEOPLE)], pa.binary(16)),
        "name-uuid-readable",
    ),
    "lists": (table([[number] for number in range(PEOPLE)]), "name-type"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_names_that_are_refused(what: str, tmp_path: Path) -> None:
    rows, says = REFUSED[what]
    for reader in (as_parquet, in_memory):
        with refused(says):
            people_in(reader(tmp_path / "log", rows))


def test_moments_with_and_without_a_zone_are_not_compared(tmp_path: Path) -> None:
    there, nowhere = (table(DAYS, pa.timestamp("s", zone)) for zone in ("UTC", None))
    with refused("part-column-type"):
        people_in(there, nowhere)
    with refused("part-column-type"):
        people_in(nowhere, as_csv(tmp_path / "log", nowhere))


def test_nobody_is_named_by_blanks_of_any_kind() -> None:
    key = fresh_key()
    for blank in ("\r", "\u00a0", "\u3000 ", "\ufeff", "\r\n"):
        assert keys(pa.array([blank, "x"]), key)[1].tolist() == [True, False]
    assert keys(pa.array([None, b"\0" * 15 + b"\xff"], pa.binary(16)), key)[1].tolist() == [True, False]


def test_names_in_one_form_are_cheap_where_they_are_plain() -> None:
    """Text without accents is not rewritten: the column itself comes back, as large text."""
    column = pa.array(["a", "b"], pa.large_string())
    assert named(column).equals(column) and named(pa.array([1, 2])).equals(pa.array([1, 2]))


class MinariLog:
    """A Minari data set in memory, as far as it is read."""

    spec = SimpleNamespace(dataset_id="clinic/visits-v0")

    def iterate_episodes(self) -> Any:
        for number, one in enumerate(LOG):
            states, actions, rewards = np.array(one.states), np.array(one.actions), np.array(one.rewards, dtype=float)
            yield SimpleNamespace(id=number, observations=states, actions=actions, rewards=rewards)


def test_an_episode_of_minari_is_the_one_of_that_number_elsewhere(tmp_path: Path) -> None:
    rows = table([f"0{number}.0\r" for number in range(PEOPLE)]).rename_columns(
        ["episode" if name == "user" else name for name in table(NUMBERS).column_names]
    )
    assert people_in(MinariLog()) == people_in(as_csv(tmp_path / "log", rows)) == PEOPLE
    assert people_in(MinariLog(), as_csv(tmp_path / "log", rows)) == PEOPLE
