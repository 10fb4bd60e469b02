"""`confide budget`: set once, shown ever after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide.cli import run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "log.parquet"
    path.touch()
    return path


def test_a_budget_is_set_once_and_shown(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["budget", str(data), "--rho", "2"]) == 0
    assert "rho = 2, spent 0 on 0 releases, left 2" in capsys.readouterr().out
    assert run(["budget", str(data), "--rho", "3"]) == 2
    assert "set already, to rho = 2" in capsys.readouterr().err
    assert run(["budget", f"{data}.ledger.json", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"ledger": f"{data}.ledger.json", "budget": 2.0, "spent": 0.0, "left": 2.0, "charges": []}


def test_what_has_none(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["budget", str(data)]) == 2
    assert "There is no budget in" in capsys.readouterr().err
    assert run(["budget", str(data.with_name("other.parquet")), "--rho", "1"]) == 2
    assert "There is no data at" in capsys.readouterr().err
    assert run(["budget", str(data), "--rho", "-1"]) == 2
    assert "budget must be positive" in capsys.readouterr().err
    assert not data.with_name(data.name + ".ledger.json").exists()
