"""Closed batches of ticket holders come out of this room: tickets, deadlines, what is open in memory, what is closed on disk.

It is what a shuffler and a curator have in common, and knows no episode. What a batch is closed into, they say.
"""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .holding import Closed, Holding
    from .office import Office
    from .store import Store

__all__ = ["Closed", "Holding", "Office", "Store"]

_HOMES = {"Closed": "holding", "Holding": "holding", "Office": "office", "Store": "store"}

__getattr__ = on_first_use(__name__, _HOMES)
