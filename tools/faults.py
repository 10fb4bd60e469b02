"""What else befalls a service in `./run chaos`: a full or read-only disk, a database that goes and comes back, an older backup."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from confide.lab.staging.processes import NotServed
from confide.service.contract import SignedHead
from tools.chaos import ROUND, Row, Stage, rehearse
from tools.postgres import PostgresServer, new_database

PATIENCE = 120.0
DATABASE = ("collector.db", "collector.db-wal", "collector.db-shm")


def on_sqlite(place: Path) -> Iterator[Row]:
    """Those of one collector with a file of its own."""
    yield rehearse("an older backup", "sqlite", 1, place / "backup", older_backup)
    for name, blow in (("a full disk", full_disk), ("a read-only store", read_only)):
        with small_disk(place / name.replace(" ", "-")) as disk:
            if disk is None:
                print(f"{name}: nothing can be mounted here, so it is left out", file=sys.stderr)
            else:
                yield rehearse(name, "sqlite", 1, disk, blow)


def on_postgres(place: Path, server: PostgresServer) -> Iterator[Row]:
    """Those of two collectors on one Postgres, which must be ours to stop."""
    if not server.ours:
        print("a database that goes: it is not ours to stop, so it is left out", file=sys.stderr)
        return

    def gone(stage: Stage) -> None:
        for _ in range(3):
            more(stage, ROUND)
            wanted = stage.crowd.refused + 10
            server.stop()
            wait_until(stage, partial(refused, stage, wanted), "letters are refused while the database is gone")
            time.sleep(2)
            server.start()

    yield rehearse("the database goes", "postgres", 2, place / "gone", gone, new_database(server.address))


@contextlib.contextmanager
def small_disk(place: Path, size: str = "1m") -> Iterator[Path | None]:
    """A file system of one megabyte; None where nothing can be mounted."""
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True
    ).returncode:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def remount(stage: Stage, how: str) -> None:
    """Change the file system that the service's folder is on."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(stage.folder.path.parent)], check=True)


def full_disk(stage: Stage) -> None:
    """It fills up under load; submissions are refused, and count when there is room again."""
    wait_until(stage, partial(refused, stage, 50), "the disk fills up")
    counted = len(stage.crowd.acknowledged)
    time.sleep(2)
    if stage.processes[0].running is False:
        raise NotServed("not-served", f"a full disk ended the collector: {stage.processes[0].log_text()[-300:]}")
    print(f"the disk was full after {counted} people", file=sys.stderr)
    remount(stage, "size=256m")


def read_only(stage: Stage) -> None:
    """What it is on can only be read: it does not start, says so in a sentence, and starts when that is over."""
    remount(stage, "size=256m")
    more(stage, ROUND)
    (process,) = stage.processes
    process.kill()
    stage.row.kills += 1
    remount(stage, "ro")
    check_refuses(stage, "Read-only file system")
    remount(stage, "rw")
    process.start(PATIENCE)


def older_backup(stage: Stage) -> None:
    """An older copy of the database refuses to start; the newest starts and nothing is missing."""
    folder, (process,) = stage.folder.path, stage.processes
    more(stage, ROUND)
    process.kill()
    copy(folder, folder.parent / "older")
    before = published(stage)
    process.start(PATIENCE)
    more(stage, 2 * ROUND)
    wait_until(stage, lambda: published(stage) > before, "a round is published that the copy does not know")
    process.kill()
    copy(folder, folder.parent / "newest")
    stage.row.kills += 2
    copy(folder.parent / "older", folder)
    check_refuses(stage, "older copy was restored")
    copy(folder.parent / "newest", folder)
    process.start(PATIENCE)


def published(stage: Stage) -> int:
    """The round that was last written down outside the database."""
    contract = stage.folder.contract()
    return SignedHead.from_json(stage.folder.head_file.read_bytes(), contract.key).head.round


def copy(source: Path, target: Path) -> None:
    """A database, and nothing else."""
    target.mkdir(exist_ok=True)
    for name in DATABASE:
        (target / name).unlink(missing_ok=True)
        if (source / name).exists():
            shutil.copy(source / name, target / name)


def check_refuses(stage: Stage, sentence: str) -> None:
    """A collector that must not start; if it does, or dies otherwise than by that sentence, something changed."""
    (process,) = stage.processes
    try:
        process.start(PATIENCE)
    except NotServed:
        log = process.log_text()
        if sentence in log and "Traceback" not in log:
            return
        print(f"it did not say {sentence!r}: {log[-500:]}", file=sys.stderr)
    stage.row.changed += 1
    process.kill()


def more(stage: Stage, many: int) -> None:
    """Wait until this many more people were counted."""
    wanted = len(stage.crowd.acknowledged) + many
    wait_until(stage, lambda: len(stage.crowd.acknowledged) >= wanted, f"{many} more people are counted")


def refused(stage: Stage, many: int) -> bool:
    """Whether this many submissions were refused."""
    return stage.crowd.refused >= many


def wait_until(stage: Stage, what: Callable[[], bool], name: str) -> None:
    """Wait for something that must happen."""
    until = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > until:
            raise NotServed(f"It did not happen that {name}: {stage.row}, {stage.processes[0].log_text()[-500:]}")
        time.sleep(0.05)
