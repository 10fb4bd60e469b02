"""What a newcomer gives by mistake, in Python and to the command: one sentence with a way out, and nothing is lost."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import confide as cf
from confide.cli import run
from confide.lab.staging.demo import demonstrate
from confide.service.http import serving
from tests.refusals import refused

LOG = "user,step,Zustand,action,Folge\np0,0,1,0,2\n"


def test_a_number_is_no_guarantee() -> None:
    with refused("privacy-no-guarantee: privacy", "Joint"):
        cf.simulate("ucbvi", "riverswim/3", 1.0)  # type: ignore[arg-type]


def test_a_path_is_no_data_set_and_a_guarantee_no_learner(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(LOG, encoding="utf-8")
    with refused("data-not-read: data", "trajectories.read"):
        cf.fit(str(log), privacy=cf.Central(rho=1))  # type: ignore[arg-type]
    data = cf.trajectories.read(log, states=3, actions=2, horizon=1, columns={"state": "Zustand", "reward": "Folge"})
    with refused("fit-guarantee-missing", "privacy="):
        cf.fit(data, cf.Central(rho=1))  # type: ignore[arg-type]


def test_all_columns_that_are_missing_are_named_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(LOG, encoding="utf-8")
    with refused("column-unsaid", "--columns state=NAME,reward=NAME"):
        cf.trajectories.read(log, states=3, actions=2, horizon=1)


@pytest.mark.parametrize("port", ["99999", "taken"])
def test_a_port_that_cannot_be_had_is_refused(port: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1] if port == "taken" else int(port)
        with refused("port-unusable", f":{number} "):
            serving._listener("127.0.0.1", number)


def test_a_demonstration_needs_a_user() -> None:
    with refused("not-a-whole-number: people"):
        demonstrate(0)


def test_the_group_of_a_service_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["service"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: confide service") and "confide service demo" in out


def test_a_folder_that_holds_a_service_is_named_before_its_issuer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    new = [
        "service",
        "new",
        "tea",
        "--states",
        "2",
        "--actions",
        "2",
        "--horizon",
        "2",
        "--trust",
        "local",
        "--epsilon",
        "4",
        "--people",
        "200",
    ]
    assert run(new) == 0
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert run(new) == 2
    assert "tea is not empty" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()} == before
