"""How much of the package five everyday journeys enter: `python -m tools.journeys [--json] [--files NAME]`.

A journey is what one user does, from the call to the result; functions and files of the package that it enters are counted, each
once. Imports are left out: what is loaded and never called is not on the way. A newcomer who follows a journey reads these files.
Every journey has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Journey(NamedTuple):
    """before: code that is run first and not counted; code: the journey; most: at how many files it should enter at most."""

    before: str
    code: str
    most: int


SIMULATED = 'cf.simulate("ucbvi", "riverswim/6", {}, horizon=20, episodes=2000, seeds=1)'
LOG = """
import numpy as np
rng = np.random.default_rng(0)
people, steps = 200, 4
states = rng.integers(3, size=(people, steps + 1))
log = {
    "user": np.repeat(np.arange(people), steps), "step": np.tile(np.arange(steps), people),
    "state": states[:, :-1].ravel(), "action": rng.integers(2, size=people * steps),
    "reward": rng.integers(2, size=people * steps).astype(float), "next_state": states[:, 1:].ravel(),
}
"""
SERVICE = """
from pathlib import Path
from confide.lab.environments import make
from confide.lab.staging import visit
from confide.privacy import Schedule
from confide.service.collector.founding import make_service
from tests.service.collector.services import running
folder = make_service(Path("tea"), make("riverswim/3", 6).spec, cf.Local(4.0), 10, schedule=Schedule.batches(10, 2))
"""
JOURNEYS: dict[str, Journey] = {
    "simulate, local": Journey("", SIMULATED.format("cf.Local(2.0)"), 50),
    "simulate, joint": Journey("", SIMULATED.format("cf.Joint(1.0, 1e-6)"), 45),
    "fit": Journey(
        LOG,
        "data = cf.trajectories.read(log, states=3, actions=2, horizon=4)\n"
        'cf.fit(data, privacy=cf.Central(rho=1.0), budget=1.0, ledger="l.json", out="policy")',
        70,
    ),
    "device to policy": Journey(
        SERVICE,
        'with running(folder) as service:\n    visit(service.url, "riverswim/3", 10)\n    service.until_round(3)',
        60,
    ),
    "reproduce": Journey(
        "from confide.cli import run", 'run(["reproduce", "ldp-obi/figure-1", "--scale", "quick", "--out", "out"])', 60
    ),
}
PROFILED = """
import sys, threading, json
import confide as cf
{before}
ROOT = {root!r}
entered, importing = set(), threading.local()
def watch(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<module"):
        above = frame
        while above is not None:  # what a module does while it is imported is no part of the journey
            if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(ROOT):
                return
            above = above.f_back
        entered.add((code.co_filename[len(ROOT):], code.co_qualname))
threading.setprofile(watch)
sys.setprofile(watch)
{code}
sys.setprofile(None)
threading.setprofile(None)
print("\\n" + json.dumps(sorted(entered)))
"""


def entered(name: str) -> list[tuple[str, str]]:
    """The functions that a journey enters: the file, relative to the package, and the function's name."""
    journey = JOURNEYS[name]
    script = PROFILED.format(before=journey.before, code=journey.code, root=f"{ROOT / 'confide'}/")
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{script}"]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return [(file, function) for file, function in json.loads(done.stdout.strip().splitlines()[-1])]


def main() -> None:
    """Print a row for each journey, or the files of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object: journeys by name, with functions, files, most")
    parser.add_argument("--files", metavar="NAME", choices=list(JOURNEYS), help="the files that this journey enters")
    chosen = parser.parse_args()
    if chosen.files:
        print("\n".join(sorted({file for file, _ in entered(chosen.files)})))
        return
    rows = {}
    for name, journey in JOURNEYS.items():
        calls = entered(name)
        rows[name] = {"functions": len(calls), "files": len({file for file, _ in calls}), "most": journey.most}
        if not chosen.json:
            print(
                f"{name:18} {rows[name]['functions']:5} functions in {rows[name]['files']:3} files (goal {journey.most})"
            )
    if chosen.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
