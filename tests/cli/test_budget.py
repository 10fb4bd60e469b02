"""`confide budget`: set once, shown ever after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide.cli import run
from confide.privacy import Ledger
from confide.privacy.conversion import zcdp_epsilon


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
    document = json.loads(capsys.readouterr().out)
    buys = document.pop("buys")
    assert buys["rho"] == 2.0 and buys["delta"] == 1e-6 and buys["epsilon"] == zcdp_epsilon(2.0, 1e-6)
    empty = {"charges": [], "entries": []}
    assert document == {"ledger": f"{data}.ledger.json", "budget": 2.0, "spent": 0.0, "left": 2.0, **empty}


def test_every_charge_is_a_line(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger(Path(f"{data}.ledger.json"))
    ledger.open(2.0)
    ledger.charge(0.4999999999999999, "fit apvi, 0.5-zCDP, central")
    ledger.certify(0, "0123456789abcdef" * 4)
    ledger.charge(0.5)
    assert run(["budget", str(data)]) == 0
    out = capsys.readouterr().out
    assert "rho = 2, spent 1 on 2 releases, left 1\n" in out
    day = ledger.balance().entries[0].date
    assert f"{day}  fit apvi, 0.5-zCDP, central  0.5  0123456789ab" in out
    assert "buys one release of rho = 1: epsilon" in out and "at delta 1e-06" in out
    ledger.charge(0.9)
    assert run(["budget", str(data)]) == 0
    assert "spent 1.9 on 3 releases, left 0.1\n" in capsys.readouterr().out
    ledger.charge(0.1)
    assert run(["budget", str(data)]) == 0
    assert "nothing is left" in capsys.readouterr().out


def test_what_has_none(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["budget", str(data)]) == 2
    assert "There is no budget in" in capsys.readouterr().err
    assert run(["budget", str(data.with_name("other.parquet")), "--rho", "1"]) == 2
    assert "There is no data at" in capsys.readouterr().err
    assert run(["budget", str(data), "--rho", "-1"]) == 2
    assert "budget must be positive" in capsys.readouterr().err
    assert not data.with_name(data.name + ".ledger.json").exists()
