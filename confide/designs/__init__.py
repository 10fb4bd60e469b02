"""Designs come out of this room: from a promise to a frozen, public value by which everything private is done."""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .design import AUTO, PAPER, SOUND, TIGHT, Design, Request, Trust, make, register_maker, register_trust
    from .mixing import Mixing
    from .reading import Noise

__all__ = [
    "AUTO",
    "PAPER",
    "SOUND",
    "TIGHT",
    "Design",
    "Mixing",
    "Noise",
    "Request",
    "Trust",
    "make",
    "register_maker",
    "register_trust",
]

_HOMES = {
    "AUTO": "design",
    "Design": "design",
    "Mixing": "mixing",
    "Noise": "reading",
    "PAPER": "design",
    "Request": "design",
    "SOUND": "design",
    "TIGHT": "design",
    "Trust": "design",
    "make": "design",
    "register_maker": "design",
    "register_trust": "design",
}

__getattr__ = on_first_use(__name__, _HOMES)
