"""Choices by a secret hash: one episode of each, two halves, whatever order the rows come in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from confide.analysis.fitting.engines import Engine, count
from confide.data.statistics.choosing import Register, digest
from confide.data.statistics.counting import Partial, count_part
from confide.data.trajectories import Dataset, read
from confide.data.trajectories.keys import fresh_key, secret
from confide.protocol.kinds import CountQuestion
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes
from tests.refusals import refused

SIZES = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}


def partial(part: int, people: list[int], marks: list[int] | None = None, read: int = 9) -> Partial:
    none = np.empty(0, dtype=np.int64)
    values = np.array(marks if marks is not None else [0] * len(people), dtype=np.int64)
    return Partial(part, none, none, none, none, none, np.array(people), values, none, len(people), read, 0)


def picks(partials: list[Partial]) -> np.ndarray:
    """(episodes,) which of them a fresh key keeps, in the order of the parts."""
    results = []
    for one, chosen in zip(partials, Register.of(partials, fresh_key()).everybody(), strict=True):
        seen: dict[tuple[int, int], int] = {}
        target = {(w, m, k) for w, m, k in zip(chosen.who, chosen.mark, chosen.skip, strict=True)}
        for who, mark in zip(one.people.tolist(), one.marks.tolist(), strict=True):
            before = seen.get((who, mark), 0)
            results.append((who, mark, before) in target)
            seen[who, mark] = before + 1
    return np.array(results)


@pytest.mark.parametrize("marks", [([0, 0, 0], [0, 0]), ([1, 1, 2], [3, 1]), ([5, 1, 5], [5, 1])])
def test_one_episode_of_each_is_drawn_uniformly(marks: tuple[list[int], list[int]]) -> None:
    """A person with three episodes: each is kept a third of the time. Beyond 6 sigma is a false alarm of 2e-9."""
    draws = 3000
    times = np.zeros(5)
    for _ in range(draws):
        keep = picks([partial(0, [7, 8, 7], marks[0]), partial(1, [7, 9], marks[1])])
        assert keep[1] and keep[4] and keep[[0, 2, 3]].sum() == 1
        times += keep
    spread = 6 * math.sqrt(draws * 2 / 9)
    assert (np.abs(times[[0, 2, 3]] - draws / 3) < spread).all()


def test_halves_have_fixed_sizes_and_every_division_is_equally_likely() -> None:
    """Five people, ten divisions. Beyond 6 sigma is a false alarm of 2e-9 each."""
    draws, times = 6000, dict[tuple[int, ...], int]()
    for _ in range(draws):
        first, second = Register.of([partial(0, [1, 2]), partial(1, [3, 4, 5])], fresh_key()).halves()
        one, two = (sorted(int(who) for part in half for who in part.who) for half in (first, second))
        assert len(one) == 3 and len(two) == 2 and sorted(one + two) == [1, 2, 3, 4, 5]
        times[tuple(two)] = times.get(tuple(two), 0) + 1
    assert len(times) == 10
    assert all(abs(many - draws / 10) < 6 * math.sqrt(draws * 0.09) for many in times.values())


def test_the_choice_depends_on_names_and_not_on_places() -> None:
    key, people = fresh_key(), np.arange(100)
    shuffled = np.random.default_rng(0).permutation(people)
    one, two = (Register.of([partial(0, names.tolist())], key) for names in (people, shuffled))
    assert one.digest == two.digest
    for mine, other in zip(one.halves(), two.halves(), strict=True):
        assert mine[0].who.tolist() == other[0].who.tolist()
    # Replacing one person moves no one but, at most, one other across: her word is as random as that of whom she follows.
    third = Register.of([partial(0, [*people[1:].tolist(), 777])], key)
    moved = set(one.halves()[0][0].who.tolist()) ^ set(third.halves()[0][0].who.tolist())
    assert len(moved - {0, 777}) <= 1


def test_a_digest_sees_whatever_changes() -> None:
    key, usual = fresh_key(), [partial(0, [1, 2, 3], [4, 5, 6]), partial(1, [7])]
    others = [
        [partial(0, [1, 2, 2], [4, 5, 6]), partial(1, [7])],
        [partial(0, [1, 2, 3], [4, 5, 5]), partial(1, [7])],
        [partial(0, [1, 2, 3, 3], [4, 5, 6, 6]), partial(1, [7])],
        [partial(0, [1, 2], [4, 5]), partial(1, [7, 3], [0, 6])],
        [partial(0, [1, 2, 3], [4, 5, 6], read=10), partial(1, [7])],
        [partial(0, [1, 2, 3], [4, 5, 6]), partial(1, [])],
    ]
    assert digest([partial(0, [3, 1, 2], [6, 4, 5]), partial(1, [7])], key) == digest(usual, key)
    assert all(digest(other, key) != digest(usual, key) for other in others)


def test_secret_words_are_those_of_siphash() -> None:
    """The vector of SipHash-2-4 for eight bytes, and for none, from its reference implementation."""
    first, second = (int.from_bytes(bytes(range(at, at + 8)), "little") for at in (0, 8))
    message = np.array([first], dtype=np.uint64).view(np.int64)
    assert int(secret((second << 128) | (first << 64), message)[0]) == 0x93F5F5799A932462


def test_only_chosen_episodes_count() -> None:
    log = episodes(20, seed=6)
    data = read(columns(log), **SIZES)
    question = CountQuestion(data.knowledge.spec, ("visits", "transitions"))
    key = fresh_key()
    register = Register.of([count_part(data, question, 0, key)], key)
    (half, _) = register.halves()
    part = count_part(data, question, 0, key, half[0])
    mine = [log[number] for number in sorted(half[0].who.tolist())]
    alone = count_part(read(columns(mine), **SIZES), question, 0, key)
    assert np.array_equal(part.cells, alone.cells) and part.starts.sum() == part.counted == 10


class Moody:
    """A part whose episodes come in another order at every reading, as those of a query without ORDER BY may."""

    name = "the moody table"
    files: tuple[str, ...] = ()

    def __init__(self, table: pa.Table, by: tuple[str, ...], forgetful: bool = False) -> None:
        self.table, self.by, self.forgetful, self.readings = table, by, forgetful, 0

    def schema(self) -> Any:
        return self.table.schema

    def batches(self, names: Any, threads: bool = False) -> Any:
        rng = np.random.default_rng(self.readings)
        self.readings += 1
        rows = self.table.to_pylist()
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for row in rows:
            groups.setdefault(tuple(row[name] for name in self.by), []).append(row)
        order = rng.permutation(len(groups))
        if self.forgetful:
            order = order[:-1]
        together = [row for at in order for row in list(groups.values())[at]]
        yield from pa.Table.from_pylist(together, self.table.schema).select(list(names)).to_batches()


def moody(told: dict[str, Any], users: str, by: tuple[str, ...], forgetful: bool = False) -> Dataset:
    from dataclasses import replace

    table = pa.table(told)
    return replace(read(table, **SIZES, users=users), parts=(Moody(table, by, forgetful),))


def visits(log: list[Any]) -> dict[str, Any]:
    """Three episodes for each of a third as many people."""
    table = columns(log, ids=[number % (len(log) // 3) for number in range(len(log))])
    table["episode"] = [f"visit {number}" for number, one in enumerate(log) for _ in one.actions]
    return table


def question_of(data: Dataset) -> CountQuestion:
    return CountQuestion(data.knowledge.spec, ("visits", "transitions"))


def test_people_are_counted_once_in_whatever_order_readings_come() -> None:
    data = moody(visits(episodes(90, seed=8)), "limit", ("user", "episode"))
    for _ in range(5):
        counts = count(data, question_of(data), Engine()).checked()
        assert counts.users == 30 and counts.starts.sum() == 30


def test_halves_are_of_different_people_in_whatever_order_readings_come() -> None:
    log = episodes(61, seed=9)
    data = moody(columns(log), "one", ("user",))
    whole = count(data, question_of(data), Engine()).checked()
    for _ in range(5):
        counts = count(data, question_of(data), Engine(), split=True).checked()
        assert np.array_equal(counts.cells, whole.cells)
        assert np.array_equal(counts.halves[0] + counts.halves[1], whole.cells)
    both = moody(visits(episodes(90, seed=8)), "limit", ("user", "episode"))
    first = count(both, question_of(both), Engine(), split=True).checked()
    assert first.users == 30 and first.starts.sum() == 15


@pytest.mark.parametrize(("users", "split"), [("limit", False), ("limit", True), ("one", True)])
def test_readings_that_show_different_people_are_refused(users: str, split: bool) -> None:
    table = columns(episodes(60, seed=8)) if users == "one" else visits(episodes(60, seed=8))
    data = moody(table, users, ("user",) if users == "one" else ("user", "episode"), forgetful=True)
    with refused("data-changed"):
        count(data, question_of(data), Engine(), split=split)


def test_a_query_in_random_order(tmp_path: Path) -> None:
    """Rows of an episode stay together; which episode comes when is drawn anew at every reading."""
    parquet.write_table(pa.table(visits(episodes(90, seed=8))), tmp_path / "log.parquet")
    query = (
        f"duckdb:SELECT l.* FROM '{tmp_path}/log.parquet' l JOIN (SELECT u, e, random() AS o FROM (SELECT DISTINCT "
        f'"user" AS u, episode AS e FROM \'{tmp_path}/log.parquet\')) d ON l."user" = u AND l.episode = e ORDER BY o, e, step'
    )
    data = read(query, **SIZES, users="limit")
    orders = {tuple(batch.column(0).to_pylist()) for _ in range(3) for batch in data.parts[0].batches(["episode"])}
    assert len(orders) == 3
    counts = count(data, question_of(data), Engine()).checked()
    assert counts.users == 30 and counts.starts.sum() == 30
    counts = count(data, question_of(data), Engine(), split=True).checked()
    assert counts.users == 30 and counts.starts.sum() == 15
