"""What an analyst reads: messages from her world, pictures before spending, and how many people it would take."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from scipy.special import ndtri

from confide.cli import run
from confide.learning.planning.estimates import SPENT, Difference, enough_people
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, episodes, write

SIZES = ["--states", str(STATES), "--actions", str(ACTIONS), "--horizon", str(HORIZON)]


def test_a_query_without_a_ledger_is_checked_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log.parquet", episodes(60, seed=2))
    query = f"duckdb:SELECT * FROM '{log}' ORDER BY user, step"
    assert run(["check", query, *SIZES, "--rho", "0.5"]) == 2
    printed = capsys.readouterr().out
    assert "people     60" in printed and "--ledger PATH" in printed and "would be refused" in printed
    assert run(["check", query, *SIZES, "--rho", "0.5", "--ledger", str(tmp_path / "a.json"), "--budget", "1"]) == 0
    assert not (tmp_path / "a.json").exists()


def test_a_promise_of_nothing_is_answered_with_usual_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log.parquet", episodes(20, seed=2))
    assert run(["check", str(log), *SIZES, "--rho", "-1"]) == 2
    assert "--rho -1 is no guarantee" in capsys.readouterr().err
    assert run(["check", str(log), *SIZES, "--rho", "1", "--learner", "vapvi"]) == 2
    assert "needs features. Give a table with --features" in capsys.readouterr().err
    assert run(["check", str(log), "--states", "3", "--actions", "2", "--rho", "1"]) == 2
    assert "Choose a public number: --horizon" in capsys.readouterr().err


def test_a_forecast_is_drawn_over_promises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--states", "6", "--actions", "3", "--horizon", "8"]
    for name in ("cost.svg", "cost.html"):
        assert run(["forecast", *sizes, "--rho", "0.2", "--plot", str(tmp_path / name)]) == 0
        assert "<polyline" in (tmp_path / name).read_text()
    printed = capsys.readouterr().out
    assert "0.002-zCDP" in printed and "20-zCDP" in printed and "e+0" not in printed
    assert run(["forecast", *sizes, "--epsilon", "1", "--delta", "1e-6", "--plot", "cost.png"]) == 2


@pytest.mark.parametrize(("luck", "noise"), [(0.04, 0.0), (0.0, 0.04), (0.03, 0.01)])
def test_how_many_people_would_be_enough(luck: float, noise: float) -> None:
    """With that many the interval just clears zero, with one in a hundred fewer it does not."""
    more = Difference(0.3, luck, noise, 0.1)
    many = enough_people(more, 1000.0)
    assert many is not None

    def low(people: float) -> float:
        ratio = 1000.0 / people
        width = float(ndtri(1 - 0.05 * SPENT / 2)) * math.sqrt(luck * ratio + noise * ratio**2)
        return more.value - more.unknown - width

    assert low(many) >= -1e-12 and low(0.99 * many) < 0
    assert enough_people(Difference(0.1, luck, noise, 0.1), 1000.0) is None
