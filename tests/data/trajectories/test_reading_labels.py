"""Labels and edges: public, given, and never learned from the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from confide.data.statistics.counting import DatasetCounts, count_part, total
from confide.data.trajectories import Dataset, read
from confide.data.trajectories.labels import MISSING, UNREADABLE, Cut, Labelled, Numbered, whole_numbers
from confide.errors import InvalidInput
from confide.protocol.kinds import CountQuestion
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes
from tests.refusals import refused

LOG = episodes(60, seed=12)
STATE_NAMES, ACTION_NAMES = ("well", "ill", "very ill"), ("wait", "treat")
BOOK = {"states": list(STATE_NAMES), "actions": list(ACTION_NAMES)}


def counted(data: Dataset) -> DatasetCounts:
    question = CountQuestion(data.knowledge.spec, ("visits", "rewards", "transitions"))
    return total(data, [count_part(data, question, number, 5) for number in range(len(data.parts))])


def expected() -> Any:
    return counted(read(columns(LOG), states=STATES, actions=ACTIONS, horizon=HORIZON)).cells


def labelled() -> dict[str, Any]:
    table = columns(LOG)
    return {
        **table,
        "state": [STATE_NAMES[state] for state in table["state"]],
        "next_state": [STATE_NAMES[state] for state in table["next_state"]],
        "action": [ACTION_NAMES[action] for action in table["action"]],
    }


def test_labels_from_json_and_csv(tmp_path: Path) -> None:
    as_json, as_csv = tmp_path / "book.json", tmp_path / "book.csv"
    as_json.write_text(json.dumps(BOOK))
    lines = [("state", name) for name in STATE_NAMES] + [("action", name) for name in ACTION_NAMES]
    as_csv.write_text("kind,label\n" + "".join(f"{kind},{name}\n" for kind, name in lines))
    for book in (BOOK, as_json, as_csv):
        data = read(labelled(), horizon=HORIZON, labels=book)
        assert data.states.names == STATE_NAMES and data.actions.names == ACTION_NAMES
        assert np.array_equal(counted(data).checked().cells, expected())


def test_labels_in_a_csv_file(tmp_path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(pa.table(labelled()), tmp_path / "log.csv")
    data = read(tmp_path / "log.csv", horizon=HORIZON, labels=BOOK)
    assert np.array_equal(counted(data).checked().cells, expected())


def test_categories_are_labels_too() -> None:
    table = pa.table(labelled())
    for name in ("state", "next_state"):
        column = table[name].combine_chunks().dictionary_encode()
        table = table.set_column(table.schema.get_field_index(name), name, column)
    assert np.array_equal(counted(read(table, horizon=HORIZON, labels=BOOK)).checked().cells, expected())


def test_numbers_may_be_labels() -> None:
    codes = (430, 10, 77)
    table = columns(LOG)
    for kind in (int, float):
        given = {
            **table,
            "state": [kind(codes[state]) for state in table["state"]],
            "next_state": [kind(codes[state]) for state in table["next_state"]],
        }
        data = read(given, actions=2, horizon=HORIZON, labels={"states": codes})
        assert np.array_equal(counted(data).checked().cells, expected())


def test_an_unknown_label_is_a_row_number() -> None:
    table = labelled()
    table["state"][3] = "secret"
    problems = counted(read(table, horizon=HORIZON, labels=BOOK)).problems
    assert "Every state must be one of the 3 declared. Row 4" in problems[0].sentence
    assert "secret" not in problems[0].sentence


def test_columns_cut_at_edges() -> None:
    """Two columns of numbers, two bins each, give four states, the last column's running fastest."""
    rng = np.random.default_rng(0)
    pulse, fever = rng.uniform(40, 120, 80), rng.uniform(35, 41, 80)
    pulse[0], fever[0] = 90.0, 38.0
    options = {
        "user": np.repeat(np.arange(20), 4),
        "step": np.tile(np.arange(4), 20),
        "pulse": pulse,
        "fever": fever,
        "dose": rng.uniform(0, 3, 80),
        "reward": np.zeros(80),
    }
    edges = {"states": {"pulse": [90], "fever": [38]}, "actions": {"dose": [1, 2]}}
    data = read(options, horizon=4, edges=edges, model="per-step")
    assert (data.states.size, data.actions.size) == (4, 3)
    assert data.states.names[1] == "pulse < 90, fever >= 38"
    assert data.actions.names == ("dose < 1", "1 <= dose < 2", "dose >= 2")
    state = (pulse >= 90) * 2 + (fever >= 38)
    action = np.digitize(options["dose"], [1, 2])
    plain = {
        "user": options["user"],
        "step": options["step"],
        "reward": options["reward"],
        "state": state,
        "action": action,
    }
    same = read(plain, states=4, actions=3, horizon=4, model="per-step")
    assert np.array_equal(counted(data).checked().cells, counted(same).checked().cells)


def test_the_state_after_is_cut_alike() -> None:
    table = columns(LOG)
    given = {name: table[name] for name in ("user", "step", "action", "reward")}
    given |= {"x": [state + 0.5 for state in table["state"]], "next_x": [state + 0.5 for state in table["next_state"]]}
    data = read(given, actions=2, horizon=HORIZON, edges={"states": {"x": [1, 2]}})
    assert data.columns.next_state == ("next_x",)
    assert np.array_equal(counted(data).checked().cells, expected())


def test_missing_and_odd_entries_are_marked() -> None:
    assert whole_numbers(pa.array([3, None, 5])).tolist() == [3, MISSING, 5]
    assert whole_numbers(pa.array([3.0, None, 0.5, float("inf")])).tolist() == [3, MISSING, UNREADABLE, UNREADABLE]
    assert whole_numbers(pa.array([True, False, None])).tolist() == [1, 0, MISSING]
    assert whole_numbers(pa.array([None, None], pa.int8())).tolist() == [MISSING, MISSING]
    assert Labelled(("a", "b")).encode([pa.array(["b", None, "c"])]).tolist() == [1, MISSING, UNREADABLE]
    assert Labelled(("7", "8")).encode([pa.array([8.0, 7.5, None])]).tolist() == [1, MISSING, MISSING]
    assert Cut((("x", (0.0,)),)).encode([pa.array([-1.0, 0.0, None])]).tolist() == [0, 1, MISSING]
    assert Numbered(3).names == ("0", "1", "2")


@pytest.mark.parametrize("text", ["{}[", '{"states": 7}', '["a"]', ""])
def test_books_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "book.json"
    path.write_text(text)
    with refused("label-file-unreadable"):
        read(labelled(), horizon=HORIZON, labels=path)
    with refused("edge-file-unreadable"):
        read(labelled(), horizon=HORIZON, edges=path)


def test_declarations_that_contradict_each_other() -> None:
    with refused("labels-size", match="3,.*Got 4"):
        read(labelled(), states=4, horizon=HORIZON, labels=BOOK)
    with refused("labels-and-edges"):
        read(labelled(), horizon=HORIZON, labels=BOOK, edges={"states": {"x": [1]}})
    with pytest.raises(InvalidInput, match=r"each once"):
        read(labelled(), horizon=HORIZON, labels={"states": ["a", "a"]})
    with refused("edges-not-rising"):
        read(labelled(), horizon=HORIZON, edges={"states": {"x": [2, 1]}})
