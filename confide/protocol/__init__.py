"""What both sides agree on, all of it public: kinds of question, trust models, designs, aggregates, releases, bytes."""

from typing import TYPE_CHECKING

from ..loading import on_first_use

if TYPE_CHECKING:
    from .accepted import accept
    from .design import AUTO, PAPER, SOUND, TIGHT, Design, Request, make
    from .releases.release import Noise
    from .trusts.mixing import Mixing
    from .trusts.trust import Trust

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
]

_HOMES = {
    "AUTO": "design",
    "Design": "design",
    "Mixing": "trusts.mixing",
    "Noise": "releases.release",
    "PAPER": "design",
    "Request": "design",
    "SOUND": "design",
    "TIGHT": "design",
    "Trust": "trusts.trust",
    "accept": "accepted",
    "make": "design",
}

__getattr__ = on_first_use(__name__, _HOMES)
