"""The wall, the only room that sees both sides: episodes in; reports (on a device) or releases (at a curator) out."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .books import open_book
    from .curator import CuratorBook, Total
    from .dataset import DatasetBook
    from .devices import respond
    from .simulated import drawn

__all__ = ["CuratorBook", "DatasetBook", "Total", "drawn", "open_book", "respond"]

_HOMES = {
    "CuratorBook": "curator",
    "DatasetBook": "dataset",
    "Total": "curator",
    "drawn": "simulated",
    "open_book": "books",
    "respond": "devices",
}

__getattr__ = on_first_use(__name__, _HOMES)
