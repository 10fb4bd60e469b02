"""In which order rows happened: known by their steps, by their next states, by a column, or on a user's word."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from confide.analysis.fitting.engines import Engine, count
from confide.data.statistics.counting import DatasetCounts
from confide.data.trajectories import read
from confide.protocol.kinds import CountQuestion
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, Episode, columns, episodes
from tests.refusals import refused

LOG = episodes(60, seed=4)
SIZES = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}
NOON = datetime.datetime(2026, 1, 31, 12)


def table(**more: Any) -> pa.Table:
    """The log without steps and next states, with other columns."""
    columns_of_log = columns(LOG)
    return pa.table({**{name: columns_of_log[name] for name in ("user", "state", "action", "reward")}, **more})


def counted(source: Any, **words: Any) -> DatasetCounts:
    data = read(source, **SIZES, **words)
    question = CountQuestion(data.knowledge.spec, ("visits", "transitions"), "dropped")
    return count(data, question, Engine())


def cells() -> np.ndarray:
    return counted(columns(LOG)).checked().cells


STEPS = columns(LOG)["step"]
SHUFFLED = np.random.default_rng(0).permutation(len(STEPS))
ORDERS = {
    "number": [17.5 * step - 3 for step in STEPS],
    "whole": [10**12 + step for step in STEPS],
    "time": [NOON + datetime.timedelta(days=step) for step in STEPS],
    "day": [(NOON + datetime.timedelta(days=step)).date() for step in STEPS],
    "text": [f"visit {8 + step} (planned)" for step in STEPS],
    "iso": [(NOON + datetime.timedelta(days=step)).isoformat() for step in STEPS],
}


def test_rows_whose_order_nothing_shows_are_refused() -> None:
    with refused("order-unsaid"):
        counted(table())
    assert np.array_equal(counted(table(), in_order=True).checked().cells, cells())
    assert np.array_equal(counted(table(next_state=columns(LOG)["next_state"])).checked().cells, cells())


def test_one_step_has_no_order() -> None:
    log = [Episode([0, 1], [1], [1.0]) for _ in range(9)]
    columns_of_log = columns(log)
    del columns_of_log["step"], columns_of_log["next_state"]
    data = read(columns_of_log, **{**SIZES, "horizon": 1})
    assert count(data, CountQuestion(data.knowledge.spec, ("visits", "transitions"), "dropped"), Engine()).users == 9


@pytest.mark.parametrize("suffix", ["parquet", "csv", "memory"])
@pytest.mark.parametrize("kind", ORDERS)
def test_rows_are_ordered_by_any_column_that_can_be_sorted(kind: str, suffix: str, tmp_path: Path) -> None:
    mixed: Any = table(when=ORDERS[kind]).take(SHUFFLED)
    if suffix == "parquet":
        parquet.write_table(mixed, tmp_path / "log.parquet")
    elif suffix == "csv":
        csv.write_csv(mixed, tmp_path / "log.csv")
    source = mixed if suffix == "memory" else str(tmp_path / f"log.{suffix}")
    counts = counted(source, order_by="when").checked()
    assert counts.users == 60 and np.array_equal(counts.cells, cells())


def test_ties_and_gaps_are_refused_in_their_rows() -> None:
    log = [Episode([0, 1, 2], [0, 1], [0, 1]) for _ in range(3)]
    columns_of_log = columns(log)
    bare = {name: columns_of_log[name] for name in ("user", "state", "action", "reward")}
    for entries, says in (
        ([1, 2, 5, 5, 3, 4], "row-order-tie"),
        ([1, 2, None, 5, 3, 4], "row-order-missing"),
        ([1, 2, 5, float("nan"), 3, 4], "row-order-missing"),
    ):
        with refused(says, match="'when'.* Row 4 of"):
            counted(pa.table({**bare, "when": pa.array(entries, pa.float64())}), order_by="when").checked()


def test_episodes_of_one_person_are_ordered_apart() -> None:
    columns_of_log = columns(LOG, ids=[number // 2 for number in range(60)])
    bare = {name: columns_of_log[name] for name in ("user", "state", "action", "reward")}
    visit = [f"v{number}" for number, one in enumerate(LOG) for _ in one.actions]
    mixed = pa.table({**bare, "episode": visit, "when": ORDERS["time"]}).take(SHUFFLED)
    counts = counted(mixed, order_by="when", users="group:2").checked()
    assert counts.users == 30 and np.array_equal(counts.cells, cells())
    with refused("episode-column-needed"):
        counted(pa.table({**bare, "when": ORDERS["time"]}), order_by="when", users="limit")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"order_by": "when", "in_order": True}, "order-twice"),
        ({"order_by": "wen"}, "order-column-missing"),
        ({"order_by": "list"}, "column-of-lists"),
        ({"sort": True}, "sort-loses-order"),
        ({"sort": True, "in_order": True}, "sort-loses-order"),
        ({"order_by": "when", "columns": "step=when"}, None),
        ({"order_by": "when", "columns": "step=reward"}, "order-and-step"),
    ],
)
def test_what_contradicts_itself(words: dict[str, Any], says: str | None) -> None:
    source = table(when=ORDERS["whole"], list=[[1]] * len(STEPS))
    if says is None:
        assert np.array_equal(counted(source, **words).checked().cells, cells())
        return
    with refused(says):
        counted(source, **words)


def ordered_by(entries: list[Any], **words: Any) -> np.ndarray:
    return counted(table(when=entries), order_by="when", **words).checked().cells


def test_texts_are_ordered_by_their_number_and_not_by_their_letters() -> None:
    """By submissions visit10 comes before visit8, and the rows of every longer episode would be in a wrong order."""
    for form in ("visit{}", "{}", "Visit no. {}'s", "v{:03d}", " day {} "):
        assert np.array_equal(ordered_by([form.format(8 + step) for step in STEPS]), cells()), form
    book = pa.array([f"visit{8 + step}" for step in STEPS]).dictionary_encode()
    assert np.array_equal(counted(table(when=book), order_by="when").checked().cells, cells())


@pytest.mark.parametrize(
    "entries",
    [
        ["uvwxyz"[step] for step in STEPS],
        [("first", "second", "third", "fourth", "fifth", "sixth")[step] for step in STEPS],
        [f"{'call' if row % 7 else 'stay'}{step}" for row, step in enumerate(STEPS)],
        [f"{8 + step}.01.2026" for step in STEPS],
        [f"{1.5 * step}" for step in STEPS],
        [f"-{9 - step}" for step in STEPS],
        [f"2026-01-{8 + step}" for step in STEPS],
        [f"2026-01-1{step}T12:00:00{'+01:00' if row % 7 else '+02:00'}" for row, step in enumerate(STEPS)],
    ],
    ids=["letters", "words", "two prefixes", "days", "fractions", "below zero", "days of two lengths", "two zones"],
)
def test_texts_whose_order_is_not_plain_are_refused(entries: list[str]) -> None:
    with refused("order-texts", match="'when'") as said:
        ordered_by(entries)
    assert not any(entry in str(said.value).split() for entry in entries)


def test_all_files_must_have_texts_of_one_form(tmp_path: Path) -> None:
    for number, word in enumerate(("visit", "stay")):
        entries = [f"{word}{step}" for step in STEPS]
        parquet.write_table(
            table(user=[f"{word}{name}" for name in columns(LOG)["user"]], when=entries), tmp_path / f"{number}.parquet"
        )
    for one in range(2):
        assert counted(tmp_path / f"{one}.parquet", order_by="when").checked().users == 60
    with refused("order-texts"):
        counted(f"{tmp_path}/*.parquet", order_by="when").checked()
