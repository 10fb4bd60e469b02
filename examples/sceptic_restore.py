"""Attack what a service remembers: restore its curator from its own backup, and see whether a release is published twice.

Run it: python examples/sceptic_restore.py
"""

import shutil
import socket
import tempfile
import time
from pathlib import Path

from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.service.collector.founding import make_service
from confide.service.device.transport import Transport, Unreachable

SIZE, SOON = 3, {"deadline": 0.5, "publication": 0.1, "patience": 0.5}


def released(curator, number, seconds=60.0):
    """The bytes of a release, None if it never comes. A few take tickets and stay away: that is enough to close a batch."""
    until, line, tickets = time.monotonic() + seconds, Transport(curator.url, 5.0), 0
    while curator.running and time.monotonic() < until:
        try:
            if (answer := line.get(f"/v1/releases/{number}")).status == 200:
                return answer.body
            tickets += tickets < SIZE and line.post("/v1/tickets", b"", "text/plain").status == 201
        except Unreachable:
            pass
        time.sleep(0.05)
    return None


with tempfile.TemporaryDirectory() as place:
    promise, rounds = Guarantee("joint", 1.0, 1e-6), Schedule.batches(4 * SIZE, 4)
    spec, service, mine, backup = Spec(2, 2, 1), *(Path(place) / name for name in ("tea", "curator", "backup"))
    make_service(service, spec, promise, 4 * SIZE, schedule=rounds, window=0.5, between=SOON)
    mine.mkdir()
    for name in ("contract.json", "curator.key"):
        shutil.copy(service / name, mine)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    curator = Process(mine, port, log=Path(place) / "curator.log", command="curate").start()
    collector = Process(service, options=("--curator", curator.url)).start()
    try:
        first = [released(curator, 1)]
        curator.kill()
        shutil.copytree(mine, backup)  # database, head and key together, as one backs up
        curator.start()
        first += [released(curator, number) for number in (2, 3)]
        curator.kill()
        shutil.rmtree(mine)
        shutil.copytree(backup, mine)
        curator.launch()
        again = [None, *(released(curator, number) for number in (2, 3))]
        twice = sum(new is not None and new != old for old, new in zip(first, again, strict=True))
        print(f"restored: {sum(body is not None for body in first)} releases were public, {twice} were drawn again")
        print(curator.log_text().strip().splitlines()[-1])
    finally:
        collector.stop()
        curator.stop()
