"""Closed batches of ticket holders: tickets, deadlines, what is open in memory, what is closed on disk.

It is what a shuffler and a curator have in common, and knows no episode. What a batch is closed into is theirs to decide.
"""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .batch_manager import BatchManager
    from .open_batches import ClosedBatch, OpenBatches
    from .store import BatchStore

__all__ = ["BatchManager", "BatchStore", "ClosedBatch", "OpenBatches"]

_HOMES = {
    "ClosedBatch": "open_batches",
    "OpenBatches": "open_batches",
    "BatchManager": "batch_manager",
    "BatchStore": "store",
}

__getattr__ = on_first_use(__name__, _HOMES)
