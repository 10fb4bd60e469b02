"""What version 0.1.0 wrote is read for ever: people paid for it with their budget."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.fitting import refit
from confide.privacy import Ledger
from confide.results.fit import Fit
from confide.results.run import Run

OLD = Path(__file__).parent / "golden" / "0.1.0"
EXPECTED: dict[str, Any] = json.loads((OLD / "expected.json").read_text())


@pytest.mark.parametrize("name", ["tabular", "laplace", "linear"])
def test_policies_and_their_certificates(name: str) -> None:
    result, expected = Fit.load(OLD / name), EXPECTED[name]
    assert str(result.certificate.guarantee) == expected["promise"]
    assert result.table().actions.tolist() == expected["actions"]
    assert result.users == expected["users"]


@pytest.mark.parametrize("name", ["tabular", "laplace", "linear"])
def test_their_releases_can_be_learned_from_again(name: str, tmp_path: Path) -> None:
    old = Fit.load(OLD / name)
    new = refit(OLD / name, out=tmp_path / "new")
    assert new.releases == old.releases
    assert new.certificate.as_json() == old.certificate.as_json()
    assert Fit.load(tmp_path / "new").users == EXPECTED[name]["users"]


@pytest.mark.parametrize("name", ["run-joint", "run-local", "run-shuffle", "run-none"])
def test_runs(name: str) -> None:
    result, expected = Run.load(OLD / name), EXPECTED[name]
    assert str(result.certificate.guarantee) == expected["promise"]
    np.testing.assert_array_equal(result.regret[:, -1], expected["regret"])


def test_ledgers_are_read_and_charged_on(tmp_path: Path) -> None:
    ledger = Ledger(shutil.copy(OLD / "ledger.json", tmp_path / "ledger.json"))
    assert (ledger.balance().budget, ledger.balance().left) == (
        EXPECTED["ledger"]["budget"],
        EXPECTED["ledger"]["left"],
    )
    assert ledger.charge(0.5).left == pytest.approx(EXPECTED["ledger"]["left"] - 0.5)
