"""`./run kills`: kill -9 in many fits, each at a random moment, and see that nothing that was paid for is lost.

After every kill the folder of the policy must hold the old result or the new one, whole; the ledger must be readable and
charged for at most one release more; and a release that was complete on disk must be found again: in its folder, or where
it waits (`.NAME.paid`), from which `refit` finishes the fit. Fits are forked from a process that has loaded and compiled
everything, so that most of the time in which they can be killed is the fit's own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

STATES, ACTIONS, HORIZON, PEOPLE, RHO = 5, 2, 6, 2000, 0.01


@dataclass
class KillTally:
    """What became of the fits. unpaid: killed before the charge. incomplete: charged, and killed before the release was
    whole on disk; `between` of them after it was drawn, in memory. waiting: found where it waits, and learned from. new:
    found in the folder. finished: not killed in time. drafts: hidden folders that were left behind.
    """

    kills: int = 0
    unpaid: int = 0
    incomplete: int = 0
    between: int = 0
    waiting: int = 0
    new: int = 0
    finished: int = 0
    drafts: int = 0


def write_log(path: Path) -> None:
    """People who wander at random."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    states = rng.integers(STATES, size=(PEOPLE, HORIZON + 1))
    numbers = np.arange(PEOPLE * HORIZON)
    table = {
        "user": numbers // HORIZON,
        "step": numbers % HORIZON,
        "state": states[:, :-1].ravel(),
        "next_state": states[:, 1:].ravel(),
        "action": rng.integers(ACTIONS, size=PEOPLE * HORIZON),
        "reward": rng.random(PEOPLE * HORIZON),
    }
    parquet.write_table(pa.table(table), path)


def one_fit(place: Path, marks: bool = True) -> None:
    """A fit into `policy`, which notes in files when its release is drawn and when it is on disk."""
    import confide as cf
    from confide.analysis.results import paid

    keep = paid._kept_at

    def noted(*arguments: Any) -> Path | None:
        (place / "drawn").touch()
        path = keep(*arguments)
        (place / "kept").touch()
        return path

    if marks:
        paid._kept_at = noted
    data = cf.trajectories.read(place / "log.parquet", states=STATES, actions=ACTIONS, horizon=HORIZON)
    cf.fit(data, privacy=cf.Central(rho=RHO), budget=1e6, out=place / "policy", replace=True)


def kill_one(place: Path, moment: float) -> bool:
    """Fork a fit, kill it after `moment` seconds; whether it was still running then."""
    child = os.fork()
    if child == 0:
        try:
            one_fit(place)
        finally:
            os._exit(0)
    end = time.monotonic() + moment
    while time.monotonic() < end:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def run(many: int, seed: int, place: Path) -> KillTally:
    """Kill `many` fits and check everything after each."""
    from confide.analysis.fitting import refit
    from confide.analysis.results.fit import Fit
    from confide.analysis.results.folder import paid_place
    from confide.privacy import Ledger

    write_log(place / "log.parquet")
    one_fit(place, marks=False)
    people = range(int(0.6 * PEOPLE), int(0.8 * PEOPLE))  # the others judge
    started = time.monotonic()
    one_fit(place, marks=False)
    length = time.monotonic() - started
    ledger, rng, tally = Ledger(place / "log.parquet.ledger.json"), random.Random(seed), KillTally()
    old, charged = Fit.load(place / "policy").releases, len(ledger.balance().charges)
    while tally.kills < many:
        was_running = kill_one(place, rng.uniform(0.0, 1.3 * length))
        tally.kills += was_running
        tally.finished += not was_running
        charges = len(ledger.balance().charges)
        releases, waiting = Fit.load(place / "policy").releases, paid_place(place / "policy")
        assert charges in (charged, charged + 1), "a fit was charged more than once"
        assert charges > charged or releases == old, "a release that was not paid for"
        assert was_running or releases != old, "a fit that ended left nothing"
        if waiting.exists():
            waiting_fit = Fit.load(waiting)
            assert waiting_fit.users in people
            if releases == old:
                assert refit(waiting, out=place / "policy", replacing=True).releases == waiting_fit.releases
                releases = Fit.load(place / "policy").releases
                assert releases == waiting_fit.releases and not waiting.exists()
                tally.waiting += 1
            else:
                assert waiting_fit.releases.items() <= releases.items(), "the folder and what waits beside it differ"
                shutil.rmtree(waiting)
                tally.new += was_running
        elif releases != old:
            tally.new += was_running
        elif charges == charged:
            tally.unpaid += 1
        else:
            assert not (place / "kept").exists(), "a release that was complete on disk was lost"
            tally.incomplete += 1
            tally.between += (place / "drawn").exists()
        for mark in ("drawn", "kept"):
            (place / mark).unlink(missing_ok=True)
        for draft in place.glob(".*.partial"):
            tally.drafts += 1
            shutil.rmtree(draft) if draft.is_dir() else draft.unlink()
        old, charged = releases, charges
    return tally


def main() -> None:
    """Print what became of the fits, as one JSON object."""
    parser = argparse.ArgumentParser(prog="./run kills", description=__doc__)
    parser.add_argument("--many", type=int, default=100, help="how many fits are killed")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"), help="of the moments")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="confide-kills-") as place:
        counts = run(arguments.many, arguments.seed, Path(place))
    json.dump({"seed": arguments.seed, **asdict(counts)}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
