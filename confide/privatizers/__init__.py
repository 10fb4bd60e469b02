"""The wall, the only room that sees both sides: episodes in; reports (on a device) or releases (at a curator) out."""

from .central import CentralPrivatizer
from .design import PAPER, SOUND, TIGHT, design
from .local import LocalPrivatizer
from .shuffle import Mixing, ShufflePrivatizer

__all__ = [
    "PAPER",
    "SOUND",
    "TIGHT",
    "CentralPrivatizer",
    "LocalPrivatizer",
    "Mixing",
    "ShufflePrivatizer",
    "design",
]
