"""Opens the books of every design: those of reports, which anybody may keep, and those of curators, who hold episodes."""

from __future__ import annotations

from collections.abc import Callable

from ...mechanisms.noise import NoiseSource
from ...privacy.guarantee import CENTRAL, JOINT, NONE
from ...protocol.design import Design
from ...protocol.kinds import gram, returns, worth
from ...protocol.releases import Book
from ...protocol.releases import open_book as open_reports
from .curator import CuratorBook
from .dataset import DatasetBook
from .gram import GramBook, WorthBook
from .returns import ReturnsBook

EpisodeBookOpener = Callable[[Design, NoiseSource | None, bool], Book]


def _open(kind: Callable[..., Book]) -> EpisodeBookOpener:
    """An opener for books without a promise: nothing is drawn, so the noise source does not matter."""
    return lambda design, noise, simulated: kind(design, noise, True)


ANY = ""
_OPENERS: dict[tuple[str, str], EpisodeBookOpener] = {
    (JOINT, ANY): CuratorBook,
    (CENTRAL, ANY): DatasetBook,
    (CENTRAL, gram.KIND): GramBook,
    (CENTRAL, returns.KIND): ReturnsBook,
    (CENTRAL, worth.KIND): WorthBook,
    (NONE, ANY): _open(CuratorBook),
    (NONE, gram.KIND): _open(GramBook),
}


def register(trust: str, opener: EpisodeBookOpener, kind: str = ANY) -> None:
    """Enter the function that opens books of a trust model whose messages are episodes: opener(design, noise, simulated).

    kind: of question, if its books are unlike those of others.
    """
    _OPENERS[trust, kind] = opener


def open_book(design: Design, noise: NoiseSource | None = None, *, simulated: bool = False) -> Book:
    """An empty book for a design. Replayable noise is refused unless the people are simulated."""
    opener = _OPENERS.get((design.trust, design.question.kind)) or _OPENERS.get((design.trust, ANY))
    return open_reports(design) if opener is None else opener(design, noise, simulated)
