"""`python -m tools.first_use`: what the first use of each command compiles, in CPU seconds, with an empty cache of compiled code.

Every command is run twice in processes of its own, both with the same cache, which is empty at first: the difference is what
was compiled. CPU seconds, not those of a clock, so that a busy machine tells nearly the same.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 15.0
"""The most CPU seconds that the first use of any command may compile for."""

WORLD = ["simulate", "riverswim/3", "--horizon", "4", "--episodes", "2000", "--seeds", "1"]
LOG = "user,step,state,action,reward,next_state\n" + "".join(
    f"{user},{step},{(user + step) % 3},{user % 2},{step % 2},{(user + step + 1) % 3}\n"
    for user in range(40)
    for step in range(4)
)

COMMANDS: dict[str, list[str]] = {
    **{
        f"simulate --learner {name}": [*WORLD, "--learner", name, "--epsilon", "1", "--delta", "1e-6"]
        for name in ("ucbvi", "obi", "po", "psrl", "pucb")
    },
    **{
        f"simulate --trust {trust}": [*WORLD, "--trust", trust, "--epsilon", "1", "--delta", "1e-6"]
        for trust in ("local", "joint", "shuffle")
    },
    "simulate --learner ucrl-vtr": [
        "simulate",
        "riverswim-mixture/5",
        "--learner",
        "ucrl-vtr",
        "--trust",
        "local",
        "--epsilon",
        "1",
        "--delta",
        "0.1",
        "--episodes",
        "200",
        "--seeds",
        "1",
    ],
    "fit": [
        "fit",
        "log.csv",
        "--states",
        "3",
        "--actions",
        "2",
        "--horizon",
        "4",
        "--rho",
        "1",
        "--budget",
        "1",
        "--out",
        "policy",
    ],
    "forecast": ["forecast", "--states", "3", "--actions", "2", "--horizon", "4", "--rho", "1"],
    "audit": ["audit", "--mechanism", "laplace", "--trust", "local"],
    "reproduce": ["reproduce", "ldp-obi/figure-1", "--out", "pages"],
}


def seconds(arguments: list[str], cache: str, folder: Path) -> tuple[float, int]:
    """CPU seconds of one command in a process of its own, and how it ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-m", "confide", *arguments], cwd=folder, env=environment, capture_output=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(done.stderr.decode()[-300:], file=sys.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def main() -> None:
    """Print the table."""
    chosen = sys.argv[1:] or list(COMMANDS)
    print("| first use of | CPU s | again | compiled for |\n|---|---|---|---|")
    for name in chosen:
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "log.csv").write_text(LOG)
            first, ended = seconds(COMMANDS[name], cache, Path(folder))
            again, _ = seconds(COMMANDS[name], cache, Path(folder))
        over = ", over the limit" if first - again > LIMIT else ""
        cells = "failed | | " if ended else f"{first:.1f} | {again:.1f} | {first - again:.1f}{over}"
        print(f"| `{name}` | {cells} |", flush=True)


if __name__ == "__main__":
    main()
