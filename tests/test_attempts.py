"""Attempts are of worlds of one list, say what their rows say, and give the same digits again."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from confide.lab.experiments.worlds import EVALUATION, TUNING
from confide.privacy import Local
from tools.attempts import ATTEMPTS, PLACE, AttemptRow, NamedAttempt, in_order, kept, said, write
from tools.value_targets import ValueTargets

SMALL = NamedAttempt("small", Local(2.0), 400, (("random/2x2?seed=100", 2),), 2, ValueTargets(0.3))


def test_attempts_for_choosing_are_of_tuning_worlds_and_what_is_kept_is_of_their_worlds():
    for name, attempt in ATTEMPTS.items():
        worlds = {world for world, _ in attempt.worlds}
        assert worlds <= set(EVALUATION) or set(attempt.worlds) <= set(TUNING), name
        rows = [row for row in kept(PLACE).values() if row.attempt == name]
        assert rows, f"{name} was never measured: python -m tools.attempts {name}"
        assert {(row.world, row.horizon) for row in rows} <= set(attempt.worlds)
        assert all(len(row.tried) == len(row.before) == attempt.seeds for row in rows)


def test_worlds_come_one_of_every_family_after_the_other():
    worlds = (("a/1", None), ("a/2", None), ("b/1", 3))
    assert in_order(worlds) == [("a/1", None), ("b/1", 3), ("a/2", None)]


def test_what_is_said_is_what_rows_say():
    row = AttemptRow("small", "random/2x2?seed=100", 2, 100.0, [40.0, 42.0], [10.0, 10.5], [0.2, 0.0], [0.0, 0.0])
    other = replace(row, world="random/2x2?seed=101", before=[10.0, 10.5], tried=[40.0, 42.0])
    text = said(SMALL, [row, other])
    assert "geometric mean 1," in text
    assert "stuck 2 of 4 runs" in text and "stuck 0 of 4 runs" in text
    assert "25.62%" in text, "the median of 41 % and 10.25 %"


def test_rows_are_kept(tmp_path):
    row = AttemptRow("small", "a", None, 1.0, [1.0], [2.0], [0.0], [0.1])
    write([row], tmp_path / "rows.json")
    assert kept(tmp_path / "rows.json") == {row.key: row}
    assert json.loads((tmp_path / "rows.json").read_text()) == [asdict(row)]


@pytest.mark.filterwarnings("ignore::confide.errors.NoiseWarning")
@pytest.mark.parametrize("tried", [ValueTargets(0.3), ValueTargets(0.3, projected=True), {"mechanism": "laplace"}])
def test_an_attempt_measures_both_ways_and_gives_the_same_again(tried):
    attempt = replace(SMALL, tried=tried)
    row = attempt.measured("small", attempt.worlds[0])
    assert row == attempt.measured("small", attempt.worlds[0])
    assert row.before != row.tried
    assert all(0 <= regret <= 4 * row.random for regret in (*row.before, *row.tried))
