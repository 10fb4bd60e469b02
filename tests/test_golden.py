"""What a version wrote is read for ever: people paid for it with their budget. `python -m tools.golden` writes it, once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from confide._version import __version__
from confide.analysis.fitting import refit
from confide.analysis.results.fit import Fit
from confide.analysis.results.run import Run
from confide.privacy import Ledger
from confide.protocol.releases.release_bytes import from_bytes
from confide.service.contract import Contract
from tools.golden import FITS, GOLDEN, RUNS, said_of_fit, said_of_run

VERSIONS = sorted(GOLDEN.iterdir())


def expected(version: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((version / "expected.json").read_text(encoding="utf-8"))
    return document


def test_this_version_is_among_them() -> None:
    assert __version__ in [version.name for version in VERSIONS]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@pytest.mark.parametrize("name", FITS)
def test_policies_and_their_certificates(version: Path, name: str) -> None:
    assert said_of_fit(Fit.load(version / name)) == expected(version)[name]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@pytest.mark.parametrize("name", FITS)
def test_their_releases_can_be_learned_from_again(version: Path, name: str, tmp_path: Path) -> None:
    old = Fit.load(version / name)
    new = refit(version / name, out=tmp_path / "new")
    assert new.releases == old.releases
    assert new.certificate.as_json() == old.certificate.as_json()
    assert Fit.load(tmp_path / "new").users == old.users


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@pytest.mark.parametrize("name", RUNS)
def test_runs(version: Path, name: str) -> None:
    assert said_of_run(Run.load(version / name)) == expected(version)[name]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_ledgers_are_read_and_charged_on(version: Path, tmp_path: Path) -> None:
    ledger, says = Ledger(shutil.copy(version / "ledger.json", tmp_path / "ledger.json")), expected(version)["ledger"]
    assert (ledger.balance().budget, ledger.balance().left) == (says["budget"], says["left"])
    assert ledger.balance().entries[0].certificate == "ab" * 32
    assert ledger.charge(0.5).left == pytest.approx(says["left"] - 0.5)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_contracts_and_releases(version: Path) -> None:
    contract, says = Contract.from_bytes((version / "contract.json").read_bytes()), expected(version)
    assert {"digest": contract.digest.hex(), "guarantee": str(contract.design.guarantee)} == says["contract"]
    release = from_bytes((version / "release").read_bytes())
    assert {"users": release.users, "visits": release.counts.visits.ravel().tolist()} == says["release"]
    assert release.guarantee == contract.design.guarantee
