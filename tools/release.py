"""Builds what a release consists of and installs it as users would: `./run release`.

A wheel and an sdist are built into dist/. Then every set of extras is installed from the wheel, and the base from the sdist, each
into an environment of its own with dependencies from your package index, and a command of its user is run there, outside of the
repository. Takes minutes and a gigabyte of disk at a time; it is no part of `./run test`.

  ./run release                      everything
  ./run release --only full          one set of extras, by its name; '' is the base
  ./run release --python python3.13  installs with this interpreter, in place of the one that builds; may be given several times
  ./run release --build              build only
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"

SERVED = """
from pathlib import Path
from tempfile import mkdtemp
from confide import cli
from confide.lab.staging.processes import Process
folder = Path(mkdtemp()) / "tea"
words = f"service new {folder} --states 3 --actions 2 --horizon 4 --trust joint --epsilon 2 --delta 1e-6 --people 100"
assert cli.run(words.split()) == 0
process = Process(folder).start(300)
print(process.url)
process.stop()
"""
"""A service that is made and served: a collector, its learner and its curator."""

INSTALLS: dict[str, str] = {
    "": "-c 'from confide import Device; print(Device.join)'",
    "full": "-m confide simulate riverswim/3 --horizon 4 --epsilon 1 --delta 1e-6 --episodes 1000 --seeds 1",
    "service": f"-c {shlex.quote(SERVED)}",
    "full,service": "-m confide service demo --people 60",
    "full,opendp": "-c 'from confide.mechanisms.noise import OpenDPNoise; print(OpenDPNoise().discrete_laplace(1.0, 3))'",
    "full,dask": "-c 'import distributed, confide.analysis.fitting'",
    "full,minari": "-c 'import minari, confide.data.trajectories'",
    "full,icu": "-m confide simulate icu-sepsis --offline --rho 0.5 --episodes 200 --seeds 1",
}
"""Sets of extras, and the command that shows that it works: the arguments of Python."""
MOST = {"": 150, "service": 400, "full": 850}
"""Megabytes that an environment with a set of extras may take, without pip itself."""


def build() -> tuple[Path, Path]:
    """The wheel and the sdist, built afresh, in an environment that the builder isolates."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], check=True)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def install(archive: Path, extras: str, interpreter: str = sys.executable) -> int:
    """Install an archive with its extras in a new environment and run their command there; how many MB that takes."""
    with tempfile.TemporaryDirectory(prefix="confide-release-") as folder:
        home = Path(folder) / "venv"
        subprocess.run([interpreter, "-m", "venv", str(home)], check=True, cwd=folder)
        python = str(home / "bin" / "python")
        # Nothing of the environment that this runs in may stand in for what was not installed.
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        wanted = f"{archive}[{extras}]" if extras else str(archive)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
        subprocess.run(pip, check=True, cwd=folder, env=environment)
        subprocess.run([python, "-P", *shlex.split(INSTALLS[extras])], check=True, cwd=folder, env=environment)
        subprocess.run(
            [python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip"], check=True, cwd=folder, env=environment
        )
        size = sum(path.lstat().st_size for path in home.rglob("*") if path.is_file()) // 1_000_000
        if size > MOST.get(extras, size):
            raise SystemExit(f"release: [{extras}] takes {size} MB, and may take {MOST[extras]}")
        return size


def main(arguments: Sequence[str]) -> int:
    """Build, install, report; the first failure ends it."""
    parser = argparse.ArgumentParser(prog="./run release", description=__doc__.partition("\n")[0])
    parser.add_argument("--build", action="store_true", help="build only")
    parser.add_argument("--only", choices=list(INSTALLS), help="one set of extras")
    parser.add_argument("--python", action="append", help="an interpreter to install with; may be given several times")
    chosen = parser.parse_args(arguments)
    wheel, sdist = build()
    print(f"built {wheel.name} ({wheel.stat().st_size:,} bytes) and {sdist.name} ({sdist.stat().st_size:,} bytes)")
    if chosen.build:
        return 0
    for interpreter in chosen.python or [sys.executable]:
        version = subprocess.run([interpreter, "--version"], check=True, capture_output=True, text=True).stdout.strip()
        for extras in INSTALLS if chosen.only is None else [chosen.only]:
            size = install(wheel, extras, interpreter)
            print(f"{version}, wheel [{extras}]: installed, {size} MB, ran: python {INSTALLS[extras]}", flush=True)
        if chosen.only in (None, ""):
            print(f"{version}, sdist []: installed, {install(sdist, '', interpreter)} MB", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        print(
            f"release: this failed, with exit code {error.returncode}: {' '.join(map(str, error.cmd))}", file=sys.stderr
        )
        sys.exit(1)
