"""A device's store: what was spent, what it joined, and the report that waits to be acknowledged.

One JSON document, replaced as a whole: written beside, flushed to disk, renamed. Whoever changes it holds a lock, so that two
processes of one person cannot both believe that nothing was sent yet. Episodes are never written down.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from ..contracts.files import write_whole
from ..errors import FormatError

SCHEMA = "confide.device/1"
Document = dict[str, Any]


class DeviceStore(Protocol):
    """A store of one document."""

    def read(self) -> Document:
        """The document as it stands."""
        ...

    def changing(self) -> AbstractContextManager[Document]:
        """The document, locked; what was changed in it is kept when the block ends well, and all of it or nothing."""
        ...


def blank() -> Document:
    """The document of a device that was never used."""
    return {"schema": SCHEMA, "spent": [], "services": {}}


class MemoryStore:
    """A store that lasts as long as the process: for simulated people."""

    def __init__(self) -> None:
        self._document = blank()
        self._lock = threading.RLock()

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
            document = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return blank()
        except (OSError, ValueError) as error:
            raise FormatError(f"{self.path} cannot be read, so nothing is sent: {error}.") from error
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise FormatError(f"{self.path} is not a memory that this version can read, so nothing is sent.")
        return document

    @contextlib.contextmanager
    def changing(self) -> Iterator[Document]:
        """The document, locked against other threads and processes."""
        import fcntl

        with self._lock:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self.folder / "lock", "a", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                before = self.read()
                document = copy.deepcopy(before)
                yield document
                if document != before:
                    write_whole(self.path, json.dumps(document).encode())
