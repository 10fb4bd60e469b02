"""Designs come out of this room: from a promise to a frozen, public value by which everything private is done."""

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
