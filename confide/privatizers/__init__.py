"""The wall, the only room that sees both sides: episodes in; reports (on a device) or releases (at a curator) out."""

from .books import open_book
from .curator import CuratorBook, Total
from .dataset import DatasetBook
from .drawn import drawn
from .respond import respond

__all__ = ["CuratorBook", "DatasetBook", "Total", "drawn", "open_book", "respond"]
