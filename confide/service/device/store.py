"""A device's store: what was spent, what it joined, and the report that waits to be acknowledged.

One JSON document, replaced as a whole: written beside, flushed to disk, renamed. A process that changes it holds a lock, so that
two processes of one person cannot both believe that nothing was sent yet. An episode is written down only if the application keeps
it for a later run, and until its report is drawn.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NotRequired, Protocol, TypedDict

from ...errors import FormatError
from ...privacy import ONCE, Participation
from ..contract.files import write_whole
from ..contract.slots import may_come

SCHEMA = "confide.device/1"
PATIENCE = 10.0
"""Seconds after which a device goes on without its memory, and so without a report."""


class PublishedRound(TypedDict):
    """A round that was followed: its signed head, as it was served, with its policy and question in base64. behind: whether the
    service shows a later one, which the witness does not know."""

    round: int
    digest: str
    policy: str
    bytes: str
    ended: bool
    successor: str | None
    signed: str
    question: NotRequired[str]
    behind: NotRequired[bool]


class TicketTaken(TypedDict, total=False):
    """A place in a batch, where the trust has an intermediary: the ticket in base64, and the batch's number; else empty."""

    ticket: str
    batch: int


class KeptEpisode(TypedDict):
    """What happened so far in an episode that the application keeps for a later run: states by number, or what was observed in
    numbers; last: the state after the last step, if it is known; over: whether what follows is not reported."""

    states: list[Any]
    actions: list[int]
    rewards: list[float]
    last: Any
    over: bool


class OpenedEpisode(TicketTaken):
    """An episode that goes on: its number in hexadecimal, when its report is due, and the round that it follows. handed: the sealed
    upload about it that was handed over last, in base64, and its version. kept: what happened so far, where the application keeps
    it."""

    token: str
    due: float
    round: int
    question: NotRequired[str]
    admission: NotRequired[str]
    handed: NotRequired[str]
    version: NotRequired[int]
    kept: NotRequired[KeptEpisode]


class WaitingReport(TypedDict):
    """A report that waits to be acknowledged: its bytes in base64, when it is due, how often it was sent, and when it may be sent
    again. batch, epoch: those of the intermediary that took it."""

    body: str
    due: float
    tries: int
    again: float
    batch: NotRequired[int]
    epoch: NotRequired[int | None]


class AdmissionRequest(TypedDict):
    """A token for a contract, or what asks for it; the other is missing. slot: which it is for, where there are several."""

    contract: str
    request: str
    token: str | None
    slot: NotRequired[int]


class PeriodSeen(TypedDict):
    """The latest period of a contract that was seen signed."""

    contract: str
    number: int


class ServiceMemory(TypedDict, total=False):
    """What a device remembers of one service. seen: the highest head of each contract. proof: two heads that contradict each
    other. answer: the status that the last report got. period: the latest that the service signed."""

    contract: str
    head: PublishedRound | None
    open: OpenedEpisode | None
    letter: WaitingReport | None
    answer: int
    seen: dict[str, str]
    proof: list[str]
    admission: AdmissionRequest
    period: PeriodSeen


class SpentMark(TypedDict):
    """Whom a report of this person went to. contract, batch: where a person may take part several times, the pin of the contract,
    and the batch that it was for (under local trust, the number of the visit). period, seconds: the period that it was in, and how
    long periods are, where there are any."""

    operator: str
    key: str
    url: str
    contract: NotRequired[str]
    batch: NotRequired[int]
    period: NotRequired[int]
    seconds: NotRequired[int]


class Document(TypedDict):
    """The document of a store: what was spent, and what is remembered of each service, by its address."""

    schema: str
    spent: list[SpentMark]
    services: dict[str, ServiceMemory]


class DeviceStore(Protocol):
    """A store of one document."""

    def read(self) -> Document:
        """The document as it stands."""
        ...

    def changing(self) -> AbstractContextManager[Document]:
        """The document, locked; what was changed in it is kept when the block ends well, and all of it or nothing."""
        ...

    def hold(self, token: str) -> Callable[[], None]:
        """Mark an episode as going on, until the returned function is called or this process ends."""
        ...

    def is_held(self, token: str) -> bool:
        """Whether an episode goes on, in this process or another."""
        ...


def marks_of(document: Document, mark: SpentMark) -> list[SpentMark]:
    """What was spent on an operator: by name, key or address, whichever is the same."""
    return [
        other for other in document["spent"] if any(other[part] == mark[part] for part in ("operator", "key", "url"))
    ]


def is_spent(document: Document, mark: SpentMark, taken: Participation = ONCE, batch: int | None = None) -> bool:
    """Whether this person has no visit left to an operator; batch: or none that may be in that one.

    Visits are those to one contract: who took part in another of this operator has none, or none in the same period. taken: how
    often it lets them take part. mark: as this visit would be remembered.
    """
    had = [one for one in marks_of(document, mark) if not _renewed(one, mark)]
    if "contract" not in mark or any(one.get("contract") != mark["contract"] for one in had):
        return bool(had)
    recent = len(visits_in(had, mark))
    if batch is None:
        return recent >= taken.times
    return not may_come(taken, [one["batch"] for one in had], batch, recent)


def visits_in(had: list[SpentMark], mark: SpentMark) -> list[SpentMark]:
    """Of visits to a contract, those that were in the same period as another; all of them where there are no periods."""
    return [one for one in had if one.get("period") == mark.get("period")]


def _renewed(one: SpentMark, mark: SpentMark) -> bool:
    """Whether a visit to another contract was in an earlier period than another visit, of periods that are as long."""
    if one.get("contract") == mark.get("contract") or "period" not in one or one.get("seconds") != mark.get("seconds"):
        return False
    return one["period"] < mark["period"]


def blank() -> Document:
    """The document of a device that was never used."""
    return {"schema": SCHEMA, "spent": [], "services": {}}


class MemoryStore:
    """A store that lasts as long as the process: for simulated people."""

    def __init__(self) -> None:
        self._document = blank()
        self._lock = threading.RLock()
        self._held: set[str] = set()

    def read(self) -> Document:
        """The document as it stands."""
        return copy.deepcopy(self._document)

    @contextlib.contextmanager
    def changing(self) -> Iterator[Document]:
        """The document, locked; changes are kept when the block ends well."""
        with self._lock:
            document = copy.deepcopy(self._document)
            yield document
            self._document = document

    def hold(self, token: str) -> Callable[[], None]:
        """Mark an episode as going on."""
        self._held.add(token)
        return lambda: self._held.discard(token)

    def is_held(self, token: str) -> bool:
        """Whether an episode goes on."""
        return token in self._held


class FileStore:
    """A store in a folder of its own, which only its owner may read."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """folder: else `$CONFIDE_DEVICE`, else `confide/device` in the user's data folder."""
        data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        chosen = folder or os.environ.get("CONFIDE_DEVICE") or os.path.join(data, "confide", "device")
        self.folder = Path(chosen)
        self.path = self.folder / "device.json"
        self._lock = threading.RLock()

    def read(self) -> Document:
        """The document as it stands; one that cannot be read is refused, since forgetting would spend anew."""
        try:
            document: Document = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return blank()
        except (OSError, ValueError) as error:
            raise FormatError("memory-not-read", f"{self.path} cannot be read, so nothing is sent: {error}.") from error
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise FormatError(
                "memory-unreadable", f"{self.path} is not a memory that this version can read, so nothing is sent."
            )
        return document

    @contextlib.contextmanager
    def changing(self) -> Iterator[Document]:
        """The document, locked against other threads and processes."""
        with self._lock:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self.folder / "lock", "a", encoding="ascii") as lock:
                self._wait_for(lock.fileno())
                before = self.read()
                document = copy.deepcopy(before)
                yield document
                if document != before:
                    write_whole(self.path, json.dumps(document).encode())

    def hold(self, token: str) -> Callable[[], None]:
        """Mark an episode as going on, by a lock that ends with the process."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _Hold(self._held_path(token)).release

    def is_held(self, token: str) -> bool:
        """Whether the lock of an episode is held; one that was left behind is removed."""
        import fcntl

        path = self._held_path(token)
        try:
            with open(path, encoding="ascii") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        path.unlink(missing_ok=True)
        return False

    def _wait_for(self, lock: int) -> None:
        """Lock a file; refuse if a process that hangs does not let go of it, since the application must go on."""
        import fcntl

        until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    raise FormatError(
                        "memory-locked", f"{self.path} is locked by another process, so nothing is sent."
                    ) from None
                time.sleep(0.005)

    def _held_path(self, token: str) -> Path:
        return self.folder / f"episode-{token}"


class _Hold:
    """A locked file, until it is released, forgotten, or the process ends."""

    def __init__(self, path: Path) -> None:
        import fcntl

        self._path, self._file = path, os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Remove the file, and with it the lock."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    __del__ = release
