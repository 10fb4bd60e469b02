"""What both sides of a service know comes out of this room: the public contract, signed heads, and letters."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .closings import Closing, SignedClosing
    from .contract import Contract, stated, weaker
    from .heads import Head, SignedHead
    from .intermediary import Intermediary
    from .letters import Letter
    from .tickets import Ticket

__all__ = [
    "Closing",
    "Contract",
    "Head",
    "Intermediary",
    "Letter",
    "SignedClosing",
    "SignedHead",
    "Ticket",
    "stated",
    "weaker",
]

_HOMES = {
    "Closing": "closings",
    "Contract": "contract",
    "Head": "heads",
    "Intermediary": "intermediary",
    "Letter": "letters",
    "SignedClosing": "closings",
    "SignedHead": "heads",
    "Ticket": "tickets",
    "stated": "contract",
    "weaker": "contract",
}

__getattr__ = on_first_use(__name__, _HOMES)
