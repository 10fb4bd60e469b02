"""`confide serve` of a joint contract starts its curator, starts it again when it dies, and takes it along when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.service.collector.founding import make_service
from confide.service.device import Transport
from confide.service.device.transport import Unreachable


def children(pid: int) -> list[int]:
    listed = subprocess.run(["pgrep", "-P", str(pid), "-f", "curate"], capture_output=True, text=True).stdout
    return [int(word) for word in listed.split()]


def epoch(url: str) -> float:
    try:
        page = Transport(url, 5.0).get("/metrics").body.decode()
    except Unreachable:
        return 0.0
    return float(next(line.split()[1] for line in page.splitlines() if line.startswith("confide_epoch ")))


@pytest.mark.service
def test_the_curator_comes_and_goes_with_the_collector(tmp_path: Path) -> None:
    promise, times = Guarantee("joint", 1.0, 1e-6), {"deadline": 1.0, "publication": 0.1, "patience": 1.0}
    schedule = Schedule.batches(20, 2)
    folder = make_service(tmp_path / "tea", Spec(3, 2, 4), promise, 20, schedule=schedule, window=0.5, between=times)
    process = Process(folder.path).start(120)
    try:
        url = json.loads(Transport(process.url).get("/v1/intermediary").body)["address"]
        (child,) = children(process.pid)
        assert epoch(url) == 1
        os.kill(child, signal.SIGKILL)
        until = time.monotonic() + 90
        while epoch(url) < 2:
            assert time.monotonic() < until
            time.sleep(0.2)
        (again,) = children(process.pid)
        assert again != child
        while Transport(url).post("/v1/tickets", b"", "text/plain").status != 201:  # until the collector has confirmed
            assert time.monotonic() < until
            time.sleep(0.2)
        process.kill()  # no chance to end it: it notices by itself
        until = time.monotonic() + 30
        while os.path.exists(f"/proc/{again}"):
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        process.stop()
