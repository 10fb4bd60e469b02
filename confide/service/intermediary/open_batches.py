"""The protocol of open batches: a shuffler or a curator adds messages up in memory, and closes a batch into something public."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class ClosedBatch(NamedTuple):
    """What a batch was closed into. people: in the batch. body: public. state: what is needed to go on after a restart;
    sensitive, empty if nothing is."""

    people: int
    body: bytes
    state: bytes


class OpenBatches(Protocol):
    """The open batches of a shuffler or a curator, in memory only."""

    longest: int
    """How many bytes a message has at most."""

    def take(self, batch: int, message: bytes) -> None:
        """Add one message to a batch; or refuse it by a FormatError, and change nothing."""
        ...

    def close(self, batch: int, tickets: int, state: bytes) -> ClosedBatch | None:
        """Close a batch, and return what it is closed into, or None if it must wait. It is held until it is forgotten:
        closing may be tried again.

        state: what was kept when the batch before it was closed, empty before the first.
        """
        ...

    def forget(self, batch: int) -> None:
        """Overwrite and drop all that is held of a batch."""
        ...
