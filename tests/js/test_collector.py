"""People in JavaScript against a real collector: every report counted once, whatever happens in between."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.data.statistics.tabular import count
from confide.data.trajectories import Trajectory
from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.protocol.releases.release import read_release
from confide.service.collector.founding import make_service
from confide.service.contract.intermediary import SHUFFLER

from . import golden
from .test_reports import NODE

pytest.importorskip("confide.service.collector", reason="this version has no collector")
contracts = pytest.importorskip("confide.service.contract")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.service,
    pytest.mark.skipif(NODE is None, reason="there is no Node 20 here"),
]

PEOPLE = 30


def confide(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "confide", *words]


@contextmanager
def serving(folder: Path, port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    collector = subprocess.Popen(confide("serve", str(folder), "--port", str(port)), stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{url}/readyz", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                assert collector.poll() is None, "the collector ended"
                time.sleep(0.1)
        yield url
    finally:
        collector.send_signal(signal.SIGTERM)
        collector.wait(60)


def people_of(url: str) -> float:
    """How many reports the collector has counted."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    (line,) = [line for line in lines if line.startswith("confide_reports_counted_total")]
    return float(line.split()[-1])


def visit(url: str, pin: str, people: int) -> Any:
    assert NODE is not None
    script = str(Path(__file__).with_name("visit.mjs"))
    done = subprocess.run(
        [NODE, script, url, pin, str(people)], capture_output=True, text=True, timeout=200, check=True
    )
    return json.loads(done.stdout)


def post(url: str, body: bytes) -> int:
    headers = {"content-type": "application/vnd.confide.report"}
    request = urllib.request.Request(f"{url}/v1/reports", body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return int(answer.status)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, int]:
    folder = tmp_path_factory.mktemp("service") / "tea"
    sizes = ("--states", "4", "--actions", "2", "--horizon", "5", "--epsilon", "2", "--people", "200", "--open")
    quiet = {**os.environ, "NO_COLOR": "1"}
    subprocess.run(confide("service", "new", str(folder), *sizes, "--schedule", "batches:2"), check=True, env=quiet)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    return folder, f"sha256:{hashlib.sha256((folder / 'contract.json').read_bytes()).hexdigest()}", port


def test_golden_contracts_are_contracts() -> None:
    for design in golden.designs():
        given = json.dumps(golden.contract(design)).encode()
        assert contracts.Contract.from_bytes(given).design.digest == design.digest


def test_every_person_is_counted_once(service: tuple[Path, str, int]) -> None:
    folder, pin, port = service
    with serving(folder, port) as url:
        result = visit(url, pin, PEOPLE)
        assert result["events"] == {"counted: The report was counted.": PEOPLE}
        assert len(set(result["letters"])) == PEOPLE
        assert people_of(url) == PEOPLE
        assert post(url, bytes.fromhex(result["letters"][0])) == 200  # counted before
        assert people_of(url) == PEOPLE


def fetched(url: str) -> bytes | None:
    """A public document, if it is there."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError:
        return None


@pytest.mark.parametrize("promise", [Guarantee(JOINT, 20.0), Guarantee(SHUFFLE, 6.0, 1e-6)], ids=["joint", "shuffle"])
def test_ticket_holders_are_in_the_batch_that_their_ticket_names(tmp_path: Path, promise: Guarantee) -> None:
    """Every count of the release is within the design's radius of what they did, which fails with probability 1e-6."""
    times = {"deadline": 2.0, "publication": 0.1, "patience": 1.0}
    batch = {"batch": 16} if promise.trust == SHUFFLE else {"schedule": Schedule.batches(64, 4)}
    how: dict[str, Any] = {"failure": 1e-6, "window": 0.5, "between": times, **batch}
    folder = make_service(tmp_path / "tea", Spec(3, 2, 4), promise, 64, **how)
    made = folder.contract()
    many, started, options = made.tickets(1), [], []
    try:
        if made.intermediary is not None and made.intermediary.role == SHUFFLER:
            started.append(Process(folder.path, command="shuffle").start())
            options = ["--shuffler", started[0].url]
        started.append(Process(folder.path, options=options).start())
        url = started[-1].url
        result = visit(url, made.pin, many)
        data = None
        for _ in range(300):
            data = data or fetched(f"{url}/v1/releases/1")
            time.sleep(0 if data else 0.1)
    finally:
        for process in reversed(started):
            process.stop()
    assert data is not None and len(result["letters"]) == many and result["rounds"] == [1]
    taken = "taken: The report was taken; it is kept until its batch is closed."
    assert result["events"] == {taken: many, "counted: The report was counted.": many}
    assert {letter[8:72] for letter in result["letters"]} == {made.digest.hex()}
    assert {int.from_bytes(bytes.fromhex(letter[80:88]), "little") for letter in result["letters"]} == set(range(many))
    release = read_release(made.design, data)
    assert release.users == many
    asked = made.design.question.counts.having(parts=("visits", "rewards", "transitions"))
    walks = [Trajectory(*(np.array(part) for part in life)) for life in result["lives"]]
    exact = sum(count(asked, one, one.rewards.astype(np.int64)) for one in walks) / asked.resolution
    for part, where in asked.slices.items():
        away = np.abs(getattr(release.counts, part).reshape(-1) - exact[where]).max()
        assert 0 < away <= getattr(release.radius, part), part


def test_another_contract_is_refused_and_nothing_is_sent(service: tuple[Path, str, int]) -> None:
    folder, _, port = service
    with serving(folder, port) as url:
        result = visit(url, f"sha256:{'0' * 64}", 2)
        assert result["letters"] == []
        assert all(given.startswith("refused: ") and "not the pinned one" in given for given in result["events"])
        assert people_of(url) == 0
