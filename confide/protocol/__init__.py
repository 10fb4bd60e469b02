"""What both sides agree on, all of it public: kinds of question, trust models, designs, aggregates, releases, bytes."""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .accepted import accept
    from .design import AUTO, PAPER, SOUND, TIGHT, Design, Request, Trust, make, register_maker, register_trust
    from .reading import Noise
    from .trusts.mixing import Mixing

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
    "accept",
    "make",
    "register_maker",
    "register_trust",
]

_HOMES = {
    "AUTO": "design",
    "Design": "design",
    "Mixing": "trusts.mixing",
    "Noise": "reading",
    "PAPER": "design",
    "Request": "design",
    "SOUND": "design",
    "TIGHT": "design",
    "Trust": "design",
    "accept": "accepted",
    "make": "design",
    "register_maker": "design",
    "register_trust": "design",
}

__getattr__ = on_first_use(__name__, _HOMES)
