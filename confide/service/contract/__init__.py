"""What both sides of a service know: the public contract, signed heads, and uploads."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .closings import Closing, SignedClosing
    from .contract import Contract, stated, weaker
    from .heads import Head, SignedHead
    from .intermediary import Intermediary
    from .tickets import Ticket
    from .uploads import Upload

__all__ = [
    "Closing",
    "Contract",
    "Head",
    "Intermediary",
    "SignedClosing",
    "SignedHead",
    "Ticket",
    "Upload",
    "stated",
    "weaker",
]

_HOMES = {
    "Closing": "closings",
    "Contract": "contract",
    "Head": "heads",
    "Intermediary": "intermediary",
    "Upload": "uploads",
    "SignedClosing": "closings",
    "SignedHead": "heads",
    "Ticket": "tickets",
    "stated": "contract",
    "weaker": "contract",
}

__getattr__ = on_first_use(__name__, _HOMES)
