"""Sealed uploads that were handed over and are not opened yet, and a copy of them that outlives a process that is killed.

Nothing in them can be read without the key of the role. They are in memory; beside it, where the machine has a file system that is
memory (tmpfs), in a file a batch there, until the batch is closed: a user who closed a page does not come back to send again. On a
disk nothing is written, since a later copy of the disk and the key would tell every episode. A batch that is closed is
overwritten in both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from pathlib import Path
from typing import NamedTuple

from ..contract.sealed import SealedUpload, read
from ..contract.tickets import FORM as TICKET
from ..contract.tickets import Ticket

MOST_BYTES = 1 << 29
"""Held at once, of all batches; who comes beyond that is asked to come again."""
MOST_COPIES = 8
"""Of one place: later replacements of an upload are held, but not copied, so that no client fills the memory of copies."""
MEMORY = ("tmpfs", "ramfs")
_LENGTH = struct.Struct("<I")


class HeldUpload(NamedTuple):
    """An upload, and the ticket that it came with. times: how many of its place were held so far."""

    ticket: Ticket
    upload: SealedUpload
    size: int
    times: int


class HeldUploads:
    """The sealed uploads of open batches, at most one for each place. replaced: whether a higher version replaces one."""

    def __init__(self, spool: Path | None, replaced: bool) -> None:
        """spool: a folder in memory for copies; None to keep none."""
        self._spool, self._replaced = spool, replaced
        self._held: dict[int, dict[int, HeldUpload]] = {}
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether no more can be held for now."""
        return self._bytes >= MOST_BYTES

    def put(self, ticket: Ticket, data: bytes) -> None:
        """Hold an upload: the first of its place, or one of a higher version where these are replaced. Else nothing changes."""
        times = self._put(ticket, data)
        if 0 < times <= MOST_COPIES and self._spool is not None:  # a copy that cannot be written is none
            body = ticket.to_bytes() + data
            with contextlib.suppress(OSError):
                self._spool.mkdir(mode=0o700, exist_ok=True)
                with open(self._path(ticket.batch), "ab", buffering=0) as file:
                    file.write(_LENGTH.pack(len(body)) + body)

    def _put(self, ticket: Ticket, data: bytes) -> int:
        """How many of its place were held so far, this one included; 0 if it is not."""
        upload = read(data)
        here = self._held.setdefault(ticket.batch, {})
        before = here.get(ticket.place)
        if before is not None and not (self._replaced and upload.version > before.upload.version):
            return 0
        self._bytes += len(data) - (0 if before is None else before.size)
        times = 1 if before is None else before.times + 1
        here[ticket.place] = HeldUpload(ticket, upload, len(data), times)
        return times

    def due(self, now: float, batch: int | None = None) -> list[HeldUpload]:
        """Those whose time has come; or all of a batch, which closes. They are held no longer, but stay in the copy."""
        found = []
        for number in list(self._held) if batch is None else [batch]:
            here = self._held.get(number, {})
            for place in [one for one, held in here.items() if batch is not None or held.upload.opens <= 1000 * now]:
                found.append(here.pop(place))
                self._bytes -= found[-1].size
        return found

    def forget(self, batch: int) -> None:
        """Drop what memory holds of a batch; the copy stays, for the process that takes over."""
        self._bytes -= sum(held.size for held in self._held.pop(batch, {}).values())

    def forget_all(self) -> None:
        """Drop all that memory holds."""
        self._held, self._bytes = {}, 0

    def close(self, batch: int) -> None:
        """Drop a batch that is closed, and overwrite its copy."""
        self.forget(batch)
        if self._spool is not None:
            path = self._path(batch)
            with contextlib.suppress(OSError):
                path.write_bytes(bytes(path.stat().st_size))
                path.unlink()
                self._spool.rmdir()

    def recover(self, batch: int, key: bytes) -> None:
        """Hold what the copy of a batch has. key: of tickets, which must be valid. What a killed process left half written is cut
        off."""
        path = self._path(batch)
        data, at = path.read_bytes(), 0
        while at + _LENGTH.size <= len(data):
            (size,) = _LENGTH.unpack_from(data, at)
            start = at + _LENGTH.size
            if start + size > len(data):
                break
            ticket = Ticket.from_bytes(data[start : start + TICKET.size])
            if ticket.valid(key) and ticket.batch == batch:
                self._put(ticket, data[start + TICKET.size : start + size])
            at = start + size
        os.truncate(path, at)

    def copied(self) -> list[int]:
        """The batches of which there are copies, in order."""
        found = [] if self._spool is None else [path.stem for path in self._spool.glob("*.batch")]
        return sorted(int(stem) for stem in found if stem.isdigit())

    def _path(self, batch: int) -> Path:
        assert self._spool is not None
        return self._spool / f"{batch}.batch"


def spool_of(folder: Path, contract: bytes, role: str) -> Path | None:
    """Where copies are kept, for a role of a contract in a folder: in memory; None where there is no such place.

    Others of the machine may write there too: what is there already, and is not a folder of this user and closed to others, is
    not used.
    """
    name = hashlib.sha256(contract + str(folder.resolve()).encode()).hexdigest()[:24]
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"):
        path = Path(place) / f"confide-{role}-{name}"
        if path.is_absolute() and _in_memory(path.parent) and _ours(path):
            return path
    return None


def _ours(path: Path) -> bool:
    """Whether there is nothing yet, or a folder of this user that is closed to others."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return os.access(path.parent, os.W_OK)
    except OSError:
        return False
    return (found.st_mode & 0o170777, found.st_uid) == (0o040700, os.geteuid())


def _in_memory(path: Path) -> bool:
    """Whether a folder is on a file system that is memory, as Linux says."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return False
    found = path.resolve()
    above = {str(one) for one in (found, *found.parents)}
    kinds = {place: kind for _, place, kind, *_ in mounts if place in above}
    return bool(kinds) and kinds[max(kinds, key=len)] in MEMORY
