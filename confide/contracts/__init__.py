"""What both sides of a service know comes out of this room: the public contract, signed heads, and letters."""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .contract import Contract, stated, weaker
    from .heads import Head, SignedHead
    from .letters import Letter

__all__ = ["Contract", "Head", "Letter", "SignedHead", "stated", "weaker"]

_HOMES = {
    "Contract": "contract",
    "Head": "heads",
    "Letter": "letters",
    "SignedHead": "heads",
    "stated": "contract",
    "weaker": "contract",
}

__getattr__ = on_first_use(__name__, _HOMES)
