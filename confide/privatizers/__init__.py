"""The wall: the only room that sees both sides. Episodes come in; reports (on a device) or releases (at a curator) come out."""

from .central import CentralPrivatizer
from .design import PAPER, SOUND, TIGHT, design
from .local import LocalPrivatizer

__all__ = ["PAPER", "SOUND", "TIGHT", "CentralPrivatizer", "LocalPrivatizer", "design"]
