"""Opens the books of every design: those of reports, which anybody may keep, and those of curators, who hold episodes."""

from __future__ import annotations

from collections.abc import Callable

from ...mechanisms.noise import NoiseSource
from ...protocol.design import Design
from ...protocol.releases import Book
from ...protocol.trusts.trust import find
from .curator import CuratorBook
from .dataset import DatasetBook
from .gram import GramBook, WorthBook
from .judged import JudgedBook
from .returns import ReturnsBook

EpisodeBookOpener = Callable[[Design, NoiseSource | None, bool], Book]

_OWN: dict[str, EpisodeBookOpener] = {
    "gram": GramBook,
    "returns": ReturnsBook,
    "judged": JudgedBook,
    "worth": WorthBook,
}
"""The books of kinds of question that are asked of a whole log in their own way."""


def open_book(design: Design, noise: NoiseSource | None = None, *, simulated: bool = False) -> Book:
    """An empty book for a design. Replayable noise is refused unless the people are simulated, or nothing is drawn."""
    trust = find(design.trust)
    if not trust.episodes:
        return trust.open_book(design)
    anyone = simulated or not design.requested.private
    own = design.kind.curators_book(design, noise, anyone)
    opener: EpisodeBookOpener = CuratorBook if trust.continual else DatasetBook
    return _OWN.get(design.question.kind, opener)(design, noise, anyone) if own is None else own
