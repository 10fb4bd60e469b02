"""Private running sums come out of this room: a curator adds up the episodes of a batch in memory, and gives out releases only."""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .episodes import EpisodeBatches
    from .serving import curate

__all__ = ["EpisodeBatches", "curate"]

_HOMES = {"EpisodeBatches": "episodes", "curate": "serving"}

__getattr__ = on_first_use(__name__, _HOMES)
