"""What the real processes of a service have loaded once they have served: the collector and its learner no episodes, a shuffler
and a curator no collector and no learner, a device nothing that is compiled.

Contracts of imports read sources; here the commands themselves are started, and asked for `sys.modules` after a round was learned.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from confide.lab.staging.processes import Process
from confide.lab.staging.visits import visit
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT, LOCAL, SHUFFLE
from confide.service.collector.founding import make_service
from confide.service.device import Transport

ROOT = Path(__file__).resolve().parents[2]

LOOK = """
import atexit, json, os, signal, sys

def write(*given):
    path = os.path.join(os.environ["MODULES_OF_PROCESSES"], f"{os.getpid()}.json")
    with open(path + ".new", "w") as file:
        json.dump([sys.orig_argv, sorted(sys.modules)], file)
    os.replace(path + ".new", path)

class NotInstalled:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in os.environ["NOT_INSTALLED"].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled)
write()
atexit.register(write)
signal.signal(signal.SIGUSR1, write)
"""
"""Run by every Python process at its start: it writes down what it has loaded at once, when it is asked, and at its end; and finds
none of the packages that a service does without, as if they were not installed."""

DEVICE = """
import sys, time
from confide import Device
from confide.service.device import MemoryStore
device = Device.join(sys.argv[1], store=MemoryStore(), background=False)
episode = device.begin()
for _ in range(4):
    episode.act(0)
    episode.observe(1.0, 0)
episode.finish()
until = time.monotonic() + 20
while not device.flush() and time.monotonic() < until:
    time.sleep(0.05)
"""
WORLD, SPEC = "riverswim/3", Spec(3, 2, 4)
PEOPLE = 6
"""In a round."""
TIMES = {"deadline": 2.0, "publication": 0.1, "patience": 2.0}
OTHERS = ("confide.learning", "confide.service.collector", "confide.service.dashboard", "confide.service.device")
"""What shufflers and curators do without."""
LEFT_OUT = ("dp_accounting", "duckdb", "gymnasium", "matplotlib", "opendp", "pyarrow", "scipy")
"""What `confide[service]` does not install, so that no server may load it."""
COMPILED = ("numba", "llvmlite", "scipy", "confide.compiled")


class Started:
    """The processes that a test has started, and those that they have."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def modules(self, word: str) -> set[str]:
        """What the one process has loaded that has a word in its command."""
        (path,) = [path for path in self._place.glob("*.json") if word in json.loads(path.read_text())[0]]
        before = path.stat().st_mtime_ns
        if Path("/proc", path.stem).exists():
            os.kill(int(path.stem), signal.SIGUSR1)
            until = time.monotonic() + 10
            while path.stat().st_mtime_ns == before:
                assert time.monotonic() < until, f"{word} did not answer"
                time.sleep(0.01)
        return set(json.loads(path.read_text())[1])


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    (tmp_path / "start").mkdir()
    (tmp_path / "modules").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(LOOK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "start"), str(ROOT))))
    monkeypatch.setenv("NOT_INSTALLED", " ".join(LEFT_OUT))
    monkeypatch.setenv("MODULES_OF_PROCESSES", str(tmp_path / "modules"))
    return Started(tmp_path / "modules")


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path, started: Started) -> Iterator[Started]:
    """A service of a trust model by its own commands, whose second round is open."""
    trust: str = request.param
    command = {JOINT: "curate", SHUFFLE: "shuffle"}.get(trust)
    promise = Guarantee(trust, 1.0, 0.0 if trust == LOCAL else 1e-6)
    options: dict[str, Any] = {} if command is None else {"window": 0.2, "between": TIMES}
    options |= {"batch": PEOPLE} if trust == SHUFFLE else {"schedule": Schedule.batches(2 * PEOPLE, 2)}
    folder = make_service(tmp_path / "service", SPEC, promise, 2 * PEOPLE, **options)
    processes = []
    try:
        given: list[str] = []
        if command is not None:
            processes.append(Process(folder.path, command=command).start())
            given = [{JOINT: "--curator", SHUFFLE: "--shuffler"}[trust], processes[0].url]
        processes.append(Process(folder.path, options=given).start(300))
        url = processes[-1].url
        subprocess.run([sys.executable, "-P", "-c", DEVICE, url], check=True, timeout=60)
        assert (
            visit(url, WORLD, folder.contract().tickets(1) - 1).as_json()["counted"] == folder.contract().tickets(1) - 1
        )
        until = time.monotonic() + 300
        while Transport(url).get("/v1/rounds/2").status != 200:
            assert time.monotonic() < until, "no second round"
            time.sleep(0.05)
        yield started
    finally:
        for process in reversed(processes):
            process.stop()


def of(modules: set[str], *packages: str) -> list[str]:
    """The modules that are, or are inside, one of these packages."""
    return sorted(name for name in modules if any(name == one or name.startswith(one + ".") for one in packages))


def check_collector(served: Started) -> None:
    collector, learner = served.modules("serve"), served.modules("confide.service.collector.learning")
    assert of(collector, "confide.service.collector") and of(learner, "confide.learning")
    assert of(collector, "confide.data", "confide.service.device", "confide.service.intermediary") == []
    assert of(learner, "confide.data", "confide.service.device", "confide.service.intermediary") == []
    assert of(collector | learner, *LEFT_OUT) == []


@pytest.mark.service
@pytest.mark.parametrize("served", [LOCAL], indirect=True)
def test_a_collector_loads_no_episodes_and_a_device_nothing_compiled(served: Started) -> None:
    check_collector(served)
    device = served.modules("-c")
    assert of(device, "confide.data.privatizers")
    parts = [f"confide.service.{part}" for part in ("collector", "dashboard", "http", "intermediary")]
    assert of(device, "confide.learning", *parts, *COMPILED) == []


@pytest.mark.service
@pytest.mark.parametrize("served", [JOINT], indirect=True)
def test_a_curator_loads_no_collector_and_no_learner(served: Started) -> None:
    check_collector(served)
    curator = served.modules("curate")
    assert of(curator, "confide.data.privatizers") and of(curator, "confide.service.intermediary")
    assert of(curator, *OTHERS, *LEFT_OUT) == []


@pytest.mark.service
@pytest.mark.parametrize("served", [SHUFFLE], indirect=True)
def test_a_shuffler_loads_no_episodes_no_collector_and_no_learner(served: Started) -> None:
    check_collector(served)
    shuffler = served.modules("shuffle")
    assert of(shuffler, "confide.service.intermediary")
    assert of(shuffler, "confide.data", *OTHERS, *LEFT_OUT) == []
