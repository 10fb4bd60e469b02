"""Parts of a service restored from their own backups: part of `./run chaos`.

A service runs for a few rounds; between rounds everything is killed and copied. Then every part is restored to every earlier
point, by its database only, by its folder without it, and by both, while the other part is as it was: it must end with one
sentence. Last, all of it is restored together, which no part can notice: a device and a witness that saw a later round must refuse,
and have two signed heads of one round when the service has come as far again.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.data.trajectories import Trajectory
from confide.errors import ConfideError
from confide.lab.staging.checking import check_url
from confide.lab.staging.processes import NotServed, Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT
from confide.service.collector.founding import make_service
from confide.service.contract import SignedHead
from confide.service.contract.encoding import from_base64
from confide.service.contract.sealed import upload
from confide.service.contract.tickets import MEDIA_TYPE
from confide.service.device import Device, FileStore, Transport
from confide.service.device.transport import Unreachable
from tools.chaos_batches import VERBS
from tools.crowd import free_port

if TYPE_CHECKING:
    from tools.chaos import Row

SPEC = Spec(2, 2, 2)
TICKETS, NEEDED, ROUNDS = 5, 4, 6
POINTS = 3
"""Closings between which everything is copied; the rest is to see that it goes on."""
TIMES = {"deadline": 0.8, "publication": 0.1, "patience": 0.5}
WINDOW, PATIENCE = 0.5, 90.0
DATABASE, FOLDER, BOTH = "database", "folder", "both"
SENTENCE = "an older copy"


class Scene:
    """A collector and a shuffler or a curator, each with a folder of its own, and copies of both."""

    def __init__(self, trust: str, place: Path) -> None:
        promise = Guarantee(trust, 4.0, 1e-3)
        how: dict[str, Any] = {"window": WINDOW, "between": dict(TIMES), "name": "restored"}
        if trust == JOINT:
            how["schedule"] = Schedule.batches(TICKETS * ROUNDS, ROUNDS)
        else:
            how |= {"mechanism": "shuffled-bits", "batch": NEEDED, "between": {**TIMES, "tickets": TICKETS}}
        people = TICKETS * ROUNDS if trust == JOINT else NEEDED * ROUNDS
        self.place, self.contract = place, make_service(place / "collector", SPEC, promise, people, **how).contract()
        assert self.contract.intermediary is not None
        self._about = self.contract.intermediary
        self.role = self._about.role
        verb, option, self._door = VERBS[trust]
        (place / self.role).mkdir()
        for name in ("contract.json", f"{self.role}.key"):
            shutil.copy(place / "collector" / name, place / self.role / name)
        office = Process(place / self.role, free_port(), log=place / "office.log", command=verb)
        collector = Process(place / "collector", free_port(), log=place / "collector.log", options=(option, office.url))
        self.parts = {self.role: office, "collector": collector}
        self.line, self.front = Transport(office.url, 5.0), Transport(collector.url, 5.0)

    def start(self) -> None:
        """Start both, one after the other, and wait until they agree."""
        for process in self.parts.values():
            process.start(PATIENCE)

    def kill(self) -> None:
        """kill -9 both."""
        for process in self.parts.values():
            process.kill()

    def close_batch(self, number: int) -> None:
        """Fill a batch and hand something over, until its round is published and both have stored it."""
        for _ in range(TICKETS):
            ticket = self._asked("/v1/tickets", b"", 201)["ticket"]
            lived = Trajectory.checked(SPEC, [0, 1], [1], [1.0])
            with contextlib.suppress(Unreachable):
                body = upload(self._about, from_base64(ticket), _message(self.contract, lived))
                self.line.post(self._door, body, MEDIA_TYPE)
        until = time.monotonic() + PATIENCE
        while self._round() <= number or f"confide_round {number + 1}.0" not in self.line.get("/metrics").body.decode():
            if time.monotonic() > until:
                raise NotServed(
                    "not-served", f"batch {number} was not closed: {self.parts['collector'].log_text()[-500:]}"
                )
            time.sleep(0.05)

    def _asked(self, path: str, body: bytes, wanted: int) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(Unreachable):
                answer = self.line.post(path, body, MEDIA_TYPE)
                if answer.status == wanted:
                    document: dict[str, Any] = json.loads(answer.body)
                    return document
            time.sleep(0.05)
        raise NotServed("not-served", f"{path} was not answered {wanted}")

    def _round(self) -> int:
        with contextlib.suppress(Unreachable):
            answer = self.front.get("/v1/rounds/current")
            if answer.status == 200:
                return SignedHead.from_json(answer.body, self.contract.key).head.round
        return 0

    def copy(self, name: str) -> None:
        """Copy the folders of both, which do not run."""
        for part in self.parts:
            shutil.copytree(self.place / part, self.place / "copies" / name / part)

    def restore(self, part: str, name: str, what: str) -> None:
        """Put a part back to a copy: its database, the rest of its folder, or both."""
        folder = self.place / part
        for path in [*folder.iterdir()]:
            if _restored(path, what):
                path.unlink()
        for path in (self.place / "copies" / name / part).iterdir():
            if _restored(path, what):
                shutil.copy(path, folder / path.name)


def _restored(path: Path, what: str) -> bool:
    return what == BOTH or (".db" in path.name) == (what == DATABASE)


def _message(contract: Any, lived: Trajectory) -> bytes:
    from confide.data.privatizers import respond
    from confide.data.trajectories import trajectory

    made = respond(contract.design, None, lived)
    if contract.design.trust == JOINT:
        return trajectory.to_bytes(made, SPEC)
    return bytes(made[0].report.to_bytes(contract.design))


def refuses(process: Process) -> bool:
    """Whether a process ends by itself, with one sentence about an older copy."""
    process.launch()
    code = process.ended(PATIENCE)
    log = process.log_text()
    said = [line for line in log.splitlines() if line.startswith("confide: ") and SENTENCE in line]
    if code == 2 and len(said) == 1 and "Traceback" not in log:
        return True
    print(f"it was not refused ({code}): {log[-500:]}", file=sys.stderr)
    process.kill()
    return False


def rehearse(row: Row, place: Path, points: Sequence[int] = tuple(range(POINTS)), together: bool = True) -> Row:
    """Restore each part to each point, then all together; whatever is not refused is counted as changed."""
    began = time.monotonic()
    scene = Scene(row.trust, place)
    try:
        last = max(points) + 1
        for number in range(last):
            scene.start()
            if number:
                scene.close_batch(number)
            scene.kill()
            scene.copy(str(number))
        scene.start()
        scene.close_batch(last)
        device = Device.join(scene.parts["collector"].url, store=FileStore(place / "device"), background=False)
        check_url(scene.parts["collector"].url, place / "witness")
        row.changed += int(device.contract is None)
        scene.kill()
        scene.copy("newest")
        for part in scene.parts:
            _restore_one(row, scene, part, points)
        scene.start()
        scene.close_batch(last + 1)
        row.recovered, row.rounds = True, last + 2
        if together:
            _restore_all(row, scene, last)
    finally:
        for process in scene.parts.values():
            process.stop()
    row.seconds = round(time.monotonic() - began, 1)
    return row


def _restore_one(row: Row, scene: Scene, part: str, points: Sequence[int]) -> None:
    (other,) = (process for name, process in scene.parts.items() if name != part)
    other.launch()
    for point in points:
        for what in (DATABASE, FOLDER, BOTH):
            scene.restore(part, str(point), what)
            row.kills += 1
            row.refused += 1
            if not refuses(scene.parts[part]):
                print(f"changed: {part}, {what}, restored to closing {point}", file=sys.stderr)
                row.changed += 1
            scene.restore(part, "newest", BOTH)
    other.kill()


def _restore_all(row: Row, scene: Scene, last: int) -> None:
    """Everything to one earlier point: it starts; a part that saw more refuses, and can prove it when it comes as far again."""
    scene.kill()
    point = last - 1
    for part in scene.parts:
        scene.restore(part, str(point), BOTH)
    scene.start()
    url = scene.parts["collector"].url
    device = Device.join(url, store=FileStore(scene.place / "device"), background=False)
    row.changed += int(device.refresh()) + int(not _witness_refuses(url, scene.place / "witness"))
    for number in range(point + 1, last + 1):
        scene.close_batch(number)
    row.changed += int(device.refresh()) + int(not _witness_refuses(url, scene.place / "witness"))
    heads = [SignedHead.from_json(text.encode(), scene.contract.key) for text in device.proof]
    proved = len(heads) == 2 and heads[0].head.round == heads[1].head.round and heads[0].digest != heads[1].digest
    row.changed += int(not proved) + int(not (scene.place / "witness" / "proof.json").is_file())
    row.kills += 1


def _witness_refuses(url: str, folder: Path) -> bool:
    try:
        check_url(url, folder)
    except ConfideError:
        return True
    print("the witness did not refuse", file=sys.stderr)
    return False


def rows(place: Path, trusts: Sequence[str]) -> Iterator[Row]:
    """One row for each trust with an intermediary."""
    from tools.chaos import Row

    for trust in trusts:
        if trust != "local":
            where = place / f"{trust}-restored"
            where.mkdir()
            yield rehearse(Row("restored from its own backup", trust, "sqlite"), where)
