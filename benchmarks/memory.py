"""`./run bench memory [REPORTS]`: the memory of a collector while a million reports are counted, and how its store grows.

The collector is the whole one: web application, counting, store, learning in a child process. Submissions are handed to the
application in this process, without the web server's parsing, which takes most of the time and keeps nothing. Prints a line for
every twentieth of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measures import SPEC, letters, resident
from confide.service.collector.app import Collector, application
from confide.service.contract.folder import Folder
from confide.service.contract.uploads import MEDIA_TYPE

TOGETHER, ROUNDS = 1500, 20
HEADERS = [(b"content-type", MEDIA_TYPE.encode())]


async def post(app: Any, body: bytes) -> int:
    """One submission, handed over; the status it was answered with."""
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {"type": "http", "method": "POST", "path": "/v1/reports", "query_string": b"", "headers": HEADERS}
    await app({**scope, "client": None}, receive, send)
    return status


def _new(path: Path, people: int) -> list[str]:
    """The command that makes the service."""
    sizes = {"states": SPEC.states, "actions": SPEC.actions, "horizon": SPEC.horizon, "people": people, "epsilon": 1}
    options = {**sizes, "mechanism": "unary", "schedule": f"batches:{ROUNDS}"}
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return [sys.executable, "-P", "-m", "confide", "service", "new", str(path), *arguments, "--open", "--json"]


async def measure(place: Path, reports: int) -> list[dict[str, Any]]:
    """Count this many, and look at memory and disk twenty times meanwhile."""
    folder = Folder(place / "tea")
    subprocess.run(
        _new(folder.path, reports), check=True, stdout=subprocess.DEVNULL
    )  # what it loads is not served with
    collector = Collector(folder, rate=1e9)
    app = application(collector)
    samples = [bytearray(body) for body in letters(collector.contract, TOGETHER, 0)]
    rows: list[dict[str, Any]] = []
    began = time.perf_counter()
    async with app.router.lifespan_context(app):
        while collector.publisher.current is None:
            await asyncio.sleep(0.05)
        done = 0
        while done < reports:
            group = min(TOGETHER, reports - done)
            for sample in samples[:group]:
                sample[4:20] = os.urandom(16)
            statuses = await asyncio.gather(*(post(app, bytes(sample)) for sample in samples[:group]))
            if set(statuses) != {201}:
                raise RuntimeError(f"answered {set(statuses)}")
            done += group
            if done * 20 // reports > len(rows):
                size = sum(file.stat().st_size for file in folder.path.glob("collector.db*"))
                row = {"reports": done, "round": collector.current, "resident_mb": round(resident(os.getpid()), 1)}
                rows.append({**row, "store_mb": round(size / 1e6, 1), "seconds": round(time.perf_counter() - began, 1)})
                print(rows[-1], file=sys.stderr, flush=True)
        while not collector.publisher.current.head.ended:  # the last lesson
            await asyncio.sleep(0.05)
        size = sum(file.stat().st_size for file in folder.path.glob("collector.db*"))
        rows.append(
            {"reports": done, "ended": True, "ids": collector.store.known_ids(), "store_mb": round(size / 1e6, 1)}
        )
    return rows


def main(reports: int = 10**6) -> None:
    """The command."""
    with tempfile.TemporaryDirectory(prefix="confide-memory-") as name:
        print(json.dumps({"rows": asyncio.run(measure(Path(name), reports))}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
