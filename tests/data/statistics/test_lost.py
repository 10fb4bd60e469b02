"""Losses to follow-up as they are counted: by hand, across batches, and never further apart than their price."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import confide as cf
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.plan import COUNTS, LOST, RETURNS, CountPlan
from confide.data.statistics.counting import DatasetCounts, Judging
from confide.data.trajectories import read
from confide.protocol.kinds.counts import TRANSITIONS, VISITS
from tests.refusals import refused

SIZES: dict[str, Any] = {"states": 2, "actions": 2, "horizon": 3}
LOG = {
    "user": [0, 0, 0, 1, 1, 2, 3, 3, 3],
    "step": [0, 1, 2, 0, 1, 0, 0, 1, 2],
    "state": [0, 1, 1, 0, 1, 1, 1, 0, 0],
    "action": [1, 0, 1, 0, 1, 1, 0, 0, 1],
    "reward": [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
    "gone": [0, 0, 0, 0, 1, 0, 0, 0, 1],
}
"""Users 1 and 3 are marked as lost, 3 in the last step, after which there is nothing to lose; 2 came to an end."""


def counted(
    log: dict[str, Any], rows: int = 2, judges: float = 0.0, **declared: Any
) -> tuple[CountPlan, DatasetCounts]:
    """The plan and the counts of a log in batches of this many rows."""
    table = pa.Table.from_batches(pa.table(log).to_batches(max_chunksize=rows))
    data = read(table, **SIZES, **declared)
    plan = CountPlan.of(data, cf.Central(rho=1.0))
    return plan, count(data, plan.question, Engine(workers=1), judging=Judging(judges, True))


def parts(plan: CountPlan, found: DatasetCounts) -> tuple[np.ndarray, np.ndarray]:
    """Visits (S, A) and transitions (S, A, S), in counts; the last state is the end."""
    question = plan.question.counts
    cells = found.cells // question.resolution
    visits, moves = (cells[question.slices[part]] for part in (VISITS, TRANSITIONS))
    return visits.reshape(3, 2), moves.reshape(3, 2, 3)


@pytest.mark.parametrize("rows", [1, 2, 3, 9])
def test_the_last_transition_of_who_is_lost_is_not_counted_and_the_loss_is(rows: int) -> None:
    plan, found = counted(LOG, rows, lost="gone")
    visits, moves = parts(plan, found.checked())
    assert visits[:2].tolist() == [[2, 2], [2, 3]]
    expected = np.zeros((3, 2, 3), dtype=int)
    expected[0, 1, 1] = expected[1, 0, 1] = expected[0, 0, 1] = expected[1, 1, 2] = 1  # the last: 2 came to an end
    expected[1, 0, 0] = expected[0, 0, 0] = 1
    np.testing.assert_array_equal(moves, expected)
    assert found.lost.tolist() == [0, 0, 0, 1, 0, 0, 3]  # after state 1 and action 1; every user else was not
    assert RETURNS not in plan.designs and LOST in plan.designs and plan.cost == pytest.approx(1.0)


@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("column", ["state", "action", "reward"])
def test_an_episode_ends_before_a_missing_entry_and_its_user_is_lost(rows: int, column: str) -> None:
    holes = {**LOG, column: [None if at == 1 else entry for at, entry in enumerate(LOG[column])]}
    plan, found = counted(holes, rows, missing="end")
    visits, moves = parts(plan, found.checked())
    assert visits[:2].tolist() == [[2, 2], [1, 2]]  # of user 0 the first row is left
    assert found.lost.tolist() == [0, 1, 0, 0, 0, 0, 3]
    assert moves[0, 1].sum() == 0
    whole = {name: [entry for at, entry in enumerate(entries) if at not in (1, 2)] for name, entries in LOG.items()}
    whole["gone"][0] = 1
    whole["gone"][2] = whole["gone"][6] = 0
    _, same = counted(whole, rows, lost="gone")
    np.testing.assert_array_equal(found.cells, same.checked().cells)
    np.testing.assert_array_equal(found.previous, same.previous)


def test_what_judging_people_did_is_kept_until_they_are_lost() -> None:
    holes = {**LOG, "state": [None if at == 8 else entry for at, entry in enumerate(LOG["state"])]}
    _, found = counted(holes, 2, 1 - 2.0**-60, lost="gone", missing="end")
    kept = found.checked().judging
    assert kept is not None and kept.people == 4 and found.users == 0
    assert np.diff(kept.starts).tolist() == [3, 2, 1, 2] and kept.lost.tolist() == [0, 1, 0, 1]
    assert kept.states.tolist() == [0, 1, 1, 0, 1, 1, 1, 0]


def test_rows_that_cannot_be_taken_are_refused() -> None:
    with refused("row-after-lost"):
        counted({**LOG, "gone": [1, 0, 0, 0, 0, 0, 0, 0, 0]}, lost="gone")[1].checked()
    with refused("row-first-incomplete"):
        counted({**LOG, "state": [None, *LOG["state"][1:]]}, missing="end")[1].checked()
    with refused("lost-not-here"):
        read(LOG, states=2, actions=2, horizon=1, lost="gone")
    with refused("lost-not-here"):
        read(LOG, **SIZES, lost="gone", users="group:2")
    with refused("column-missing"):
        read(LOG, **SIZES, lost="left")


def test_where_a_flag_ends_episodes_it_may_say_who_was_lost() -> None:
    flagged = {name: entries for name, entries in LOG.items() if name not in ("user", "gone")}
    flagged |= {"terminated": [0, 0, 0, 0, 0, 1, 0, 0, 0], "truncated": [0, 0, 1, 0, 1, 0, 0, 0, 1]}
    with refused("episode-not-ended"):
        counted(flagged)
    _, found = counted(flagged, lost="truncated")
    assert found.checked().lost.tolist() == [0, 0, 0, 1, 0, 0, 3]


def test_no_two_people_are_further_apart_than_the_price() -> None:
    """Every person of two steps, lost or not: the counts, and losses, of two who replace each other."""
    people = [
        (*path, lost)
        for path in product(range(2), range(2), (0.0, 1.0), range(2), range(2), (0.0, 1.0))
        for lost in (0, 1)
    ]
    cells: dict[str, list[np.ndarray]] = {COUNTS: [], LOST: []}
    plan: Any = None
    for s, a, r, t, b, q, lost in people:
        one = [[0, s, a, r, lost]] if lost else [[0, s, a, r, 0], [1, t, b, q, 0]]
        step, state, action, reward, gone = zip(*one, strict=True)
        log = {"user": [0] * len(one), "step": step, "state": state, "action": action, "reward": reward, "gone": gone}
        data = read(
            pa.table({name: list(entry) for name, entry in log.items()}), states=2, actions=2, horizon=2, lost="gone"
        )
        plan = CountPlan.of(data, cf.Central(rho=1.0))
        found = count(data, plan.question, Engine(workers=1)).checked()
        cells[COUNTS].append(found.cells / plan.question.counts.resolution)
        cells[LOST].append(found.lost.astype(float))
    for name, rows in cells.items():
        stacked = np.unique(np.array(rows), axis=0)
        apart = np.linalg.norm(stacked[:, None] - stacked[None], axis=-1).max()
        assert 0 < apart <= plan.designs[name].act.sensitivity.l2 + 1e-9, name
    assert np.abs(np.array(cells[LOST]).sum(axis=1) - 1).max() == 0
