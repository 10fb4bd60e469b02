"""The demo: what it prints, and that its world and guarantee are such that people teach it something."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from confide import Local, simulate
from confide.lab import environments
from confide.lab.staging.demo import (
    BATCHES,
    EPSILON,
    HORIZON,
    PEOPLE,
    PLACES,
    PROMISES,
    ROUNDS,
    WORLD,
    _options,
    demonstrate,
)
from confide.privacy.guarantee import JOINT, LOCAL, SHUFFLE
from confide.service.collector.founding import make_service
from confide.service.dashboard.pages import check_game
from confide.service.device.transport import Transport, Unreachable

FIRST = 0.14919
"""The value of the policy before the first user: any action alike, six steps."""


def test_the_last_policy_beats_the_first() -> None:
    """In 19 of 20 runs; by `simulate`, whose law is that of the service. 400 of 400 did when it was chosen."""
    result = simulate("ucbvi", WORLD, Local(EPSILON), PEOPLE, 100, horizon=HORIZON, schedule=f"batches:{ROUNDS}")
    assert (result.final_value > FIRST).mean() >= 0.95


@pytest.mark.service
@pytest.mark.parametrize("trust", [LOCAL, JOINT, SHUFFLE])
def test_a_round_stays_open_for_who_plays_by_hand(tmp_path: Path, trust: str) -> None:
    """And where batches close by time, all of them close within a minute."""
    spec = environments.make(WORLD, HORIZON).spec
    contract = make_service(tmp_path / "demo", spec, PROMISES[trust], **_options(trust, 1500)).contract()
    check_game(contract)
    taught = len(contract.ends) - PLACES
    assert taught == (ROUNDS if contract.intermediary is None else BATCHES)
    assert sum(contract.tickets(number) for number in range(1, taught + 1)) == pytest.approx(1500, rel=0.01)
    if contract.intermediary is not None:
        assert taught * (contract.intermediary.deadline + contract.intermediary.publication) < 45 > contract.window


@pytest.mark.service
def test_what_it_says() -> None:
    results = []
    result = demonstrate(200, results.append)
    assert set(result) == {"rounds", "reports", "certificate", "seconds"}
    assert result["rounds"] == results and len(results) == ROUNDS + 1
    assert [row["people"] for row in results] == [20 * number for number in range(ROUNDS + 1)]
    assert results[0]["value"] == pytest.approx(FIRST, rel=1e-4)
    assert result["reports"] == {"sent": 200, "counted": 200, "refused": 0}
    assert result["certificate"]["certificate"]["guarantees"][0]["epsilon"] == EPSILON


@pytest.mark.service
def test_told_to_end_it_leaves_nothing_running() -> None:
    words = [sys.executable, "-P", "-m", "confide", "service", "demo", "--people", "20", "--trust", "joint"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        line = next(line for line in demo.stderr if "the dashboard:" in line)
        url = line.split("the dashboard: ")[1].split("/;")[0]
        assert Transport(url, 10.0).get("/healthz").status == 200
        demo.terminate()
        assert demo.wait(30) == 128 + signal.SIGTERM
    with pytest.raises(Unreachable):
        Transport(url, 10.0).get("/healthz")
