"""A grid that is stopped by Ctrl-C stops, keeps every finished seed, and goes on from them to the same digits."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from confide.analysis.results import Run
from confide.cli import run
from confide.compiled import PACKAGE

WORDS = (
    "simulate riverswim/3 --horizon 4 --trust none --episodes 300 --seeds 4 --compare learner=ucbvi,po --engine plain"
)
SEEDS = 8
HERE = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
"""For processes that are to run these sources, wherever they lie."""

PATIENCE = 120.0
"""Seconds that a process has to finish its first seeds, and to stop."""

# A learner that is as slow as a real one, so that there is something to interrupt; and as exact.
SLOW = """
import importlib
import time
simulation = importlib.import_module("confide.lab.simulation.simulate")
play = simulation.ENGINES["plain"]
def slow(setting, root):
    time.sleep(0.5)
    return play(setting, root)
simulation.ENGINES["plain"] = slow
"""


def digits(folder: Path) -> dict[str, dict[str, object]]:
    """All that is saved of the runs in a folder but the seconds they took, to the last bit."""
    runs = {}
    for cell in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        config = json.loads((cell / "config.json").read_text())
        assert config.pop("seconds") > 0
        config["config"].pop("record", None)
        files = {name: (cell / name).read_bytes() for name in ("curves.parquet", "certificate.json")}
        runs[cell.name] = {**files, "config": config, "policy": Run.load(cell).policy.probabilities.tobytes()}
    return runs


def kept(folder: Path) -> list[Path]:
    """The checkpoints of seeds, each of which is whole."""
    return sorted(folder.glob(".*.seeds/*.npz"))


def command(folder: Path, slow: Path, *more: str) -> list[str]:
    return [sys.executable, "-P", "-m", "confide", "--import", str(slow), *WORDS.split(), "--out", str(folder), *more]


def heard() -> None:
    """Tests that a shell started in the background ignore what Ctrl-C sends, and would hand that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(folder: Path, slow: Path, *more: str, seeds: int = 2) -> subprocess.CompletedProcess[str]:
    """The command in a process group of its own, which is sent what Ctrl-C sends when this many seeds are kept."""
    words = command(folder, slow, *more)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": heard}
    with subprocess.Popen(words, text=True, start_new_session=True, env=HERE, **pipes) as process:  # type: ignore[call-overload]
        limit = time.monotonic() + PATIENCE
        while process.poll() is None and len(kept(folder)) < seeds and time.monotonic() < limit:
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()[1]
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("slow") / "slow.py"
    file.write_text(SLOW)
    return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, object]]]:
    folder = tmp_path_factory.mktemp("whole") / "grid"
    assert run([*WORDS.split(), "--out", str(folder)]) == 0
    assert not kept(folder) and len(digits(folder)) == 2
    yield digits(folder)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers:
        yield str(workers.scheduler_address)


@pytest.mark.parametrize(
    "power", ["--workers 1", "--workers 2", pytest.param("--scheduler", marks=pytest.mark.service)]
)
def test_an_interrupted_grid_stops_and_goes_on_to_the_same_digits(
    power: str,
    slow: Path,
    whole: dict[str, dict[str, object]],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    folder = tmp_path / "grid"
    more = power.split() if " " in power else [power, request.getfixturevalue("cluster")]
    stopped = interrupted(folder, slow, *more)
    assert stopped.returncode == 130, stopped.stderr
    before = {path: path.read_bytes() for path in kept(folder)}
    assert 2 <= len(before) < SEEDS and not stopped.stdout
    (said,) = re.findall(r"(\d+) of 8 seeds finished", stopped.stderr)
    assert int(said) == len(before) and "same command" in stopped.stderr and "Traceback" not in stopped.stderr
    stamps = {path: path.stat().st_mtime_ns for path in before}
    again = interrupted(folder, slow, *more, seeds=len(before) + 1)
    assert again.returncode == 130
    assert {path: path.stat().st_mtime_ns for path in before if path.exists()} == {
        path: stamp for path, stamp in stamps.items() if path.exists()
    }, "a seed that was finished is not run again"
    whole_words = command(folder, slow, *more)
    finished = subprocess.run(whole_words, capture_output=True, text=True, env=HERE, timeout=PATIENCE)
    assert finished.returncode == 0 and digits(folder) == whole and not list(folder.glob(".*")), finished.stderr
    there = subprocess.run(whole_words, capture_output=True, text=True, env=HERE, timeout=PATIENCE)
    assert there.returncode == 0 and there.stderr.count("was saved in") == 2
