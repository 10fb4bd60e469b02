"""Sums of closed batches come out of this room: a shuffler adds up reports in memory, and forgets who sent them."""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .reports import ReportBatches
    from .serving import shuffle

__all__ = ["ReportBatches", "shuffle"]

_HOMES = {"ReportBatches": "reports", "shuffle": "serving"}

__getattr__ = on_first_use(__name__, _HOMES)
