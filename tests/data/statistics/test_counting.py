"""Counting real data: the same counts as one person at a time, every fault found, whatever the batches and parts."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from confide.data.statistics import count
from confide.data.statistics.answers import answer
from confide.data.statistics.counting import Counted, DatasetCounts, count_part, total
from confide.data.statistics.tabular import counted_steps
from confide.data.trajectories import Trajectory, read, sources
from confide.errors import InvalidInput
from confide.mdp import Spec
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.bandit import BanditQuestion
from confide.protocol.kinds.budgeted import BudgetedQuestion
from confide.protocol.kinds.sensitivity import sensitivity
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, Episode, columns, episodes
from tests.refusals import refused

LAYOUTS = [
    ("stationary", ("centred", "transitions"), "counted"),
    ("per-step", ("visits", "rewards", "squares", "transitions"), "counted"),
    ("stationary", ("visits", "centred", "transitions"), "dropped"),
    ("per-step", ("visits", "transitions"), "dropped"),
    ("per-step", ("transitions",), "counted"),
]


def counted(source: Any, question: Counted | None = None, **declared: Any) -> DatasetCounts:
    words = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON, **declared}
    data = read(*(source if isinstance(source, list) else [source]), **words)
    asked = question or CountQuestion(data.knowledge.spec, ("visits", "rewards", "transitions"))
    return total(data, [count_part(data, asked, number, 1) for number in range(len(data.parts))])


def one_by_one(question: CountQuestion, log: list[Episode], ends: bool) -> np.ndarray:
    """The same counts from episodes, the slow way: a short one moves to the end state after its last step."""
    cells = np.zeros(question.cells, dtype=np.int64)
    for one in log:
        states = list(one.states)
        if len(one.actions) < HORIZON:
            states[-1] = STATES
        elif question.last == "dropped":
            states = states[:-1]
        rewards = np.array(one.rewards, dtype=np.int64)
        trajectory = Trajectory(np.array(states), np.array(one.actions), rewards.astype(float))
        if question.last == "dropped" and len(one.actions) < HORIZON:
            # The move into the end state is known, so it is counted; only what the horizon cuts off is dropped.
            asked = question.having(last="counted", spec=question.spec)
            longer = count(asked, trajectory, rewards * question.levels)
            cells += cropped(asked, question, longer)
        else:
            cells += count(question, trajectory, rewards * question.levels)
    return cells


def cropped(full: CountQuestion, question: CountQuestion, cells: np.ndarray) -> np.ndarray:
    """Cells of a question that counts every step, without the layers that one which drops the last does not have."""
    return np.concatenate(
        [
            cells[full.slices[part]].reshape(full.shape(part))[: question.shape(part)[0]].ravel()
            for part in question.parts
        ]
    )


@pytest.mark.parametrize(("model", "parts", "last"), LAYOUTS)
@pytest.mark.parametrize("ends", [True, False], ids=["may end", "fixed length"])
@pytest.mark.parametrize("objective", ["reward", "cost"])
def test_the_same_counts_as_one_person_at_a_time(
    model: str, parts: tuple[str, ...], last: str, ends: bool, objective: str
) -> None:
    log = episodes(200, seed=3, full=not ends)
    spec = Spec(STATES + ends, ACTIONS, HORIZON, model)
    question = CountQuestion(spec, parts, last, 2, objective)
    counts = counted(columns(log), question, model=model, fixed_length=not ends)
    assert not counts.problems
    assert counts.users == 200
    assert counts.read == sum(len(one.actions) for one in log)
    assert np.array_equal(counts.cells, one_by_one(question, log, ends))
    assert counts.starts.tolist() == [sum(one.states[0] == state for one in log) for state in range(spec.states)]


def no_rounding(high: int, many: int) -> np.ndarray:
    return np.zeros(many, dtype=np.int64)


@pytest.mark.parametrize("centre", [0.5, 0.25, 0.0])
@pytest.mark.parametrize("told", [True, False], ids=["next state told", "not told"])
def test_a_single_step_is_counted_as_one_person_at_a_time(told: bool, centre: float) -> None:
    log = episodes(200, seed=5, full=True, horizon=1)
    question = BanditQuestion.of(Spec(STATES, ACTIONS, 1), 2, centre)
    table = columns(log)
    if not told:
        del table["next_state"]
    counts = counted(table, question, horizon=1, fixed_length=True)
    expected = np.zeros(question.cells, dtype=np.int64)
    for one in log:
        rewards = np.array(one.rewards, dtype=np.int64)
        walked = Trajectory(np.array(one.states), np.array(one.actions), rewards.astype(float))
        expected += answer(
            question.kind, question, walked, 1 / question.resolution, lambda high, many: np.zeros(many, dtype=np.int64)
        )[1]
    assert not counts.problems and np.array_equal(counts.cells, expected)
    assert counts.cells[question.counts.slices["halves"]].sum() == 200 * question.resolution // 2


@pytest.mark.parametrize("centre", [0.25, 0.0, 1.0])
def test_rewards_are_centred_at_the_same_level_as_one_person_at_a_time(centre: float) -> None:
    log = episodes(200, seed=6, full=True)
    question = CountQuestion(Spec(STATES, ACTIONS, HORIZON), ("centred", "transitions"), levels=2, centre=centre)
    counts = counted(columns(log), question, fixed_length=True)
    assert np.array_equal(counts.cells, one_by_one(question, log, False))


@pytest.mark.parametrize("budget", [5, 6, 9, HORIZON**2])
@pytest.mark.parametrize("ends", [True, False], ids=["may end", "fixed length"])
def test_a_budget_lets_the_same_visits_through_as_on_a_device(budget: int, ends: bool, tmp_path: Path) -> None:
    log = episodes(200, seed=4, full=not ends)
    spec = Spec(STATES + ends, ACTIONS, HORIZON)
    question = BudgetedQuestion(CountQuestion(spec, ("centred", "transitions"), levels=2), max(budget, HORIZON))
    expected = np.zeros(question.cells, dtype=np.int64)
    for one in log:
        states = np.array(one.states)
        if len(one.actions) < HORIZON:
            states[-1] = STATES
        rewards = np.array(one.rewards, dtype=np.int64)
        walked = Trajectory(states, np.array(one.actions), rewards.astype(float))
        expected += count(question.counts, walked, 2 * rewards, counted_steps(question, walked))
    table = columns(log)
    parquet.write_table(pa.table(table), tmp_path / "log.parquet", row_group_size=7)  # episodes go on in the next batch
    for source in (table, str(tmp_path / "log.parquet")):
        counts = counted(source, question, fixed_length=not ends)
        assert not counts.problems and np.array_equal(counts.cells, expected)
    everything = counted(table, question.counts, fixed_length=not ends)
    assert np.array_equal(counts.returns, everything.returns) and np.array_equal(counts.starts, everything.starts)
    dropped = everything.cells[question.counts.slices["transitions"]] - expected[question.counts.slices["transitions"]]
    assert (dropped.sum() > 0) == (question.budget < HORIZON**2)


def test_without_next_states_the_following_row_says_them() -> None:
    log = episodes(200, seed=4)
    stated, untold = columns(log), columns(log)
    del untold["next_state"]
    question = CountQuestion(Spec(STATES + 1, ACTIONS, HORIZON), ("visits", "transitions"), "dropped")
    assert np.array_equal(counted(stated, question).cells, counted(untold, question).cells)


def test_per_step_an_untold_last_move_goes_to_the_end() -> None:
    log = episodes(50, seed=5, full=True)
    untold = columns(log)
    del untold["next_state"]
    spec = Spec(STATES + 1, ACTIONS, HORIZON, "per-step")
    question = CountQuestion(spec, ("transitions",))
    counts = counted(untold, question, model="per-step").cells.reshape(question.shape("transitions"))
    assert counts[-1].sum() == counts[-1, ..., STATES].sum() == 50
    assert counts[:-1, ..., STATES].sum() == 0


@given(st.integers(1, 40), st.integers(0, 10**6), st.integers(1, 4))
def test_batches_and_parts_change_nothing(people: int, seed: int, parts: int) -> None:
    log = episodes(people, seed)
    whole = counted(columns(log))
    pieces = [columns(log[start::parts], ids=list(range(start, people, parts))) for start in range(min(parts, people))]
    split = counted(pieces)
    assert np.array_equal(whole.cells, split.cells)
    assert np.array_equal(whole.starts, split.starts)
    assert whole.users == split.users == people
    size, sources.BATCH_ROWS = sources.BATCH_ROWS, 3
    try:
        assert np.array_equal(whole.cells, counted(columns(log)).cells)
    finally:
        sources.BATCH_ROWS = size


FAULTS: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    # row, column and entry that is spoiled; how the data is declared; the code of the rule, and the row
    ("state", {"state": 3}, {}, "row-state", r"3 declared\. Row 6 "),
    ("negative state", {"state": -1}, {}, "row-state", "Row 6 "),
    ("fractional state", {"state": 0.5}, {}, "row-state", "Row 6 "),
    ("missing state", {"state": None}, {}, "row-state-missing", "Row 6 .*--missing category"),
    ("action", {"action": 2}, {}, "row-action", r"2 declared\. Row 6 "),
    ("next state", {"next_state": 17}, {}, "row-next-state", "3 declared"),
    ("chain", {"next_state": 0}, {}, "row-not-following", "Row 7 "),
    ("missing inside", {"next_state": None}, {}, "row-not-following", "Row 7 "),
    ("nan", {"reward": math.nan}, {}, "row-reward-missing", "Row 6 "),
    ("missing reward", {"reward": None}, {}, "row-reward-missing", "Row 6 "),
    ("nan clipped", {"reward": math.nan}, {"clip": True}, "row-reward-missing", "Row 6 "),
    ("range", {"reward": 1.5}, {}, "row-reward-range", r"0 to 1\. Row 6 .* --clip"),
    ("infinite", {"reward": math.inf}, {}, "row-reward-range", r"0 to 1\. Row 6 "),
    ("gap", {"step": 3}, {}, "row-step-gap", r"from 0\. Row 6 "),
    ("duplicate", {"step": 1}, {}, "row-step-twice", "Row 7 "),
    ("no person", {"user": None}, {}, "row-without-person", "Row 6 "),
    ("long", {}, {"horizon": 3}, "row-beyond-horizon", "Rows 4, 8, 12 "),
    ("short", {}, {"fixed_length": True, "horizon": 5}, "row-ends-early", "Rows 4, 8, 12 of"),
]


def spoiled() -> dict[str, Any]:
    """Three people of four steps; row 6 is the second person's second."""
    log = [Episode([0, 1, 2, 1, 0], [0, 1, 0, 1], [0, 1, 0, 1]) for _ in range(3)]
    return columns(log)


@pytest.mark.parametrize(
    ("change", "declared", "code", "where"), [pytest.param(*rest, id=name) for name, *rest in FAULTS]
)
def test_every_fault_is_found_in_its_row(
    change: dict[str, Any], declared: dict[str, Any], code: str, where: str
) -> None:
    table = spoiled()
    for column, entry in change.items():
        values = list(table[column])
        values[6 if column == "step" and entry == 1 else 5] = entry
        table[column] = values
    counts = counted(pa.table(table), **declared)
    with refused(code, match=where):
        counts.checked()


def test_masks_are_checked_on_every_row() -> None:
    support = np.ones((STATES, ACTIONS, STATES), dtype=bool)
    support[1, 1, 2] = False
    problems = counted(spoiled(), support=support).problems
    assert [problem.rows for problem in problems] == [3]
    assert "possible according to the support. Rows 2, 6, 10 of" in problems[0].sentence
    allowed = np.ones((STATES, ACTIONS), dtype=bool)
    allowed[2, 0] = False
    assert "allowed in its state. Rows 3, 7, 11" in counted(spoiled(), allowed=allowed).problems[0].sentence
    last = np.ones((STATES, ACTIONS, STATES), dtype=bool)
    last[1, 1, 0] = False
    assert "support. Rows 4, 8, 12" in counted(spoiled(), support=last).problems[0].sentence
    nowhere = np.ones((STATES, ACTIONS, STATES + 1), dtype=bool)
    nowhere[:, :, STATES] = False
    ends = counted(spoiled(), support=nowhere, horizon=5).problems
    assert "support. Rows 4, 8, 12" in ends[0].sentence


def test_no_sentence_shows_contents() -> None:
    table = spoiled()
    table["user"] = [f"secret-{user}" for user in table["user"]]
    table["state"] = [9417] * 12
    table["reward"] = [8233.25] * 12
    table["user"][8:] = ["secret-0"] * 4
    for problem in counted(table).problems:
        assert "secret" not in problem.sentence
        assert "9417" not in problem.sentence.replace(",", "")
        assert "8233" not in problem.sentence.replace(",", "")


def test_five_rows_are_shown_and_the_rest_counted() -> None:
    log = [Episode([0, 1], [0], [0]) for _ in range(9)]
    table = columns(log)
    table["action"] = [7] * 9
    problem = counted(table).problems[0]
    assert "Rows 1, 2, 3, 4, 5 and 4 more of the table do not." in problem.sentence
    assert problem.rows == 9


def test_last_next_state_may_be_missing_only_where_it_is_not_needed() -> None:
    table = spoiled()
    table["next_state"] = [None if row % 4 == 3 else state for row, state in enumerate(table["next_state"])]
    assert counted(pa.table(table), horizon=5).problems == ()
    assert "last of 4 steps must tell its next state. Rows 4, 8, 12" in counted(pa.table(table)).problems[0].sentence


def test_people_who_come_again(tmp_path: Path) -> None:
    log = episodes(4, seed=1)
    for name, ids in (("a", [1, 2, 3, 4]), ("b", [5, 6, 2, 7]), ("c", [8, 9, 10, 2])):
        parquet.write_table(pa.table(columns(log, ids=ids)), tmp_path / f"{name}.parquet")
    counts = counted(str(tmp_path))
    lengths = [len(one.actions) for one in log]
    first, second = 1 + lengths[0], 1 + lengths[0] + lengths[1]
    says = f"row {first} of {tmp_path}/a.parquet and row {second} of {tmp_path}/b.parquet"
    assert "one episode, with all its rows together" in counts.problems[0].sentence
    assert says in counts.problems[0].sentence
    assert counted(str(tmp_path), users="group:3").problems == ()
    assert counted(str(tmp_path), users="group:3").users == 10
    assert "at most 2 episodes" in counted(str(tmp_path), users="group:2").problems[0].sentence
    assert counted(str(tmp_path), users="limit").users == 10


def test_names_may_be_text_categories_or_numbers() -> None:
    log = episodes(30, seed=2)
    plain = counted(columns(log))
    names = [f"patient {number}" for number in range(30)]
    for stated in (
        pa.table(columns(log, ids=names)),
        pa.table({**columns(log), "user": pa.array(columns(log, ids=names)["user"]).dictionary_encode()}),
        pa.table({**columns(log), "user": pa.array(columns(log)["user"], pa.uint64())}),
        pa.table({**columns(log), "user": pa.array(columns(log)["user"], pa.float64())}),
    ):
        counts = counted(stated)
        assert counts.users == 30
        assert np.array_equal(counts.cells, plain.cells)


def test_rewards_are_rounded_without_bias() -> None:
    """Rewards of 0.3 at 4 levels: 1/4 or 2/4, on average 0.3. Beyond 6 sigma is a false alarm of 2e-9."""
    people = 20_000
    log = [Episode([0, 1], [0], [0.3]) for _ in range(people)]
    question = CountQuestion(Spec(STATES + 1, ACTIONS, HORIZON), ("rewards", "transitions"), levels=4)
    rewards = counted(columns(log), question).cells[: STATES * ACTIONS]
    up = rewards[0] - people
    assert abs(up - 0.2 * people) < 6 * math.sqrt(people * 0.16)
    assert (rewards[1:] == 0).all()


def test_rewards_in_other_units_and_clipped() -> None:
    log = [Episode([0, 1, 2], [0, 1], [-2.0, 2.0])]
    question = CountQuestion(Spec(STATES + 1, ACTIONS, HORIZON), ("centred", "transitions"), levels=1)
    counts = counted(columns(log), question, reward_range=(-2, 2))
    assert counts.cells[0] == -1 and counts.cells[3] == 1
    clipped = counted(columns([Episode([0, 1, 2], [0, 1], [-9.0, 9.0])]), question, reward_range=(-2, 2), clip=True)
    assert clipped.clipped == 2
    assert np.array_equal(clipped.cells, counts.cells)


def test_nobody_is_refused() -> None:
    empty = pa.table({name: pa.array([], pa.float64()) for name in columns([])})
    with pytest.raises(InvalidInput, match=r"holds 0 users"):
        counted(empty).checked()


def test_episodes_that_end_early_move_counts_no_further_than_the_stated_sensitivity() -> None:
    """Every pair of episodes of at most two steps, with an end state, against the stated l1 and l2."""
    for model in ("stationary", "per-step"):
        question = CountQuestion(Spec(3, 1, 2, model), ("centred", "transitions"))
        vectors = set()
        for steps in (1, 2):
            for states in itertools.product(range(2), repeat=steps + 1):
                visited = (*states[:-1], 2) if steps < 2 else states
                for rewards in itertools.product((0, 1), repeat=steps):
                    trajectory = Trajectory(
                        np.array(visited), np.zeros(steps, dtype=np.int64), np.array(rewards, dtype=float)
                    )
                    vectors.add(tuple(count(question, trajectory, np.array(rewards)) / question.resolution))
        cells = np.array(sorted(vectors))
        gaps = cells[:, None] - cells[None]
        stated = sensitivity(question)
        assert np.abs(gaps).sum(axis=-1).max() == pytest.approx(stated.l1)
        assert np.sqrt((gaps**2).sum(axis=-1)).max() == pytest.approx(stated.l2)
