"""Missing entries: refused with both words, or a public category of their own; no row and no person is ever dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.plan import CountPlan
from confide.data.trajectories import read
from confide.data.trajectories.labels import Cut, Labelled, Numbered
from tests.refusals import refused

LOG: dict[str, Any] = {
    "user": [1, 1, 2, 2, 3, 3],
    "step": [0, 1, 0, 1, 0, 1],
    "state": [0, None, 1, 0, None, 1],
    "action": [0, 1, 0, 1, 0, 1],
    "reward": [0.0, 1.0, 0.0, 1.0, 1.0, 0.0],
}


def arrow(log: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(column) for name, column in log.items()})


def counted(**declared: Any) -> Any:
    data = read(arrow(LOG), actions=2, horizon=2, **declared)
    plan = CountPlan.of(data, cf.Central(rho=1.0))
    return data, plan, count(data, plan.question, Engine(workers=1))


def test_without_a_rule_missing_states_are_refused_and_the_way_out_is_named() -> None:
    _, _, found = counted(states=2)
    (problem,) = found.problems
    assert problem.code == "row-state-missing" and problem.rows == 2
    assert "missing" in problem.sentence and "--missing category" in problem.sentence


def test_a_category_counts_every_row_and_every_person() -> None:
    data, _, found = counted(states=2, missing="category")
    assert found.checked().users == 3 and found.read == 6
    assert data.states.names == ("0", "1", "missing") and data.knowledge.states == 3
    np.testing.assert_array_equal(found.starts[:3], [1, 1, 1])


def test_a_number_that_happens_to_be_the_category_s_own_is_no_entry() -> None:
    log = {**LOG, "state": [0, 2, 1, 0, None, 1]}
    data = read(arrow(log), states=2, actions=2, horizon=2, missing="category")
    found = count(data, CountPlan.of(data, cf.Central(rho=1.0)).question, Engine(workers=1))
    assert [problem.code for problem in found.problems] == ["row-state"]
    negative = read(arrow({**LOG, "state": [0, -1, 1, 0, 1, 1]}), states=2, actions=2, horizon=2)
    found = count(negative, CountPlan.of(negative, cf.Central(rho=1.0)).question, Engine(workers=1))
    assert [problem.code for problem in found.problems] == ["row-state"]


def test_every_coding_has_room_for_what_is_missing() -> None:
    import pyarrow as pa

    assert Numbered(2, missing=True).encode([pa.array([0.0, float("nan"), 1.0])]).tolist() == [0, 2, 1]
    book = Labelled(("well", "ill"), missing=True)
    assert book.names == ("well", "ill", "missing") and book.size == 3
    assert book.encode([pa.array(["ill", None, "dead"])]).tolist() == [1, 2, -2]
    assert book.encode([pa.array(["ill", None, "well"]).dictionary_encode()]).tolist() == [1, 2, 0]
    own = Labelled(("missing", "ill"), missing=True)
    assert own.names == ("missing", "ill") and own.encode([pa.array([None, "ill"])]).tolist() == [0, 1]
    cut = Cut((("pulse", (60.0,)), ("age", (50.0,))), missing=True)
    assert cut.size == 9 and len(cut.names) == 9 and cut.names[-1] == "pulse missing, age missing"
    values = [pa.array([50.0, None, 70.0]), pa.array([40.0, 60.0, None])]
    assert [cut.names[code] for code in cut.encode(values)] == [
        "pulse < 60, age < 50",
        "pulse missing, age >= 50",
        "pulse >= 60, age missing",
    ]


def test_vectors_and_unknown_rules_are_refused() -> None:
    with refused("missing-in-vectors"):
        read({"user": [1], "x": [0.5], "action": [0], "reward": [0.0]}, state_columns="x", norm=1.0, actions=2,
             horizon=1, missing="category")  # fmt: skip
    with refused("unknown-name"):
        read(arrow(LOG), states=2, actions=2, horizon=2, missing="drop")


def test_a_fit_writes_down_what_missing_entries_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    state, action = rng.integers(3, size=600), rng.integers(2, size=600)
    log = {
        "user": np.arange(600) // 2,
        "step": np.arange(600) % 2,
        "state": [None if one == 2 else int(one) for one in state],
        "action": action,
        "reward": (rng.random(600) < 0.5) * 1.0,
    }
    data = read(arrow(log), states=2, actions=2, horizon=2, missing="category")
    fit = cf.fit(data, privacy=cf.Central(rho=1.0), ledger=tmp_path / "l.json", budget=2.0, out=tmp_path / "policy")
    assert fit.config["missing"] == "category" and fit.states == ("0", "1", "missing")
    assert any("missing entries" in line for line in fit.certificate.assumptions)
    assert "missing entries of states are a public category" in (tmp_path / "policy" / "report.html").read_text()
    assert cf.load(tmp_path / "policy").states == fit.states


@pytest.mark.parametrize("where", ["action", "reward"])
def test_what_can_be_no_category_is_refused_as_missing(where: str) -> None:
    log = {**LOG, "state": [0, 1, 1, 0, 1, 1], where: [*LOG[where][:-1], None]}
    data = read(arrow(log), states=2, actions=2, horizon=2, missing="category")
    found = count(data, CountPlan.of(data, cf.Central(rho=1.0)).question, Engine(workers=1))
    assert [problem.code for problem in found.problems] == [f"row-{where}-missing"]
    assert "missing" in found.problems[0].sentence
