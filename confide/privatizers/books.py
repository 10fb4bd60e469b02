"""Opens the books of every design: those of reports, which anybody may keep, and those of curators, who hold episodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..designs import Design
from ..mechanisms.noise import NoiseSource
from ..privacy.guarantee import CENTRAL, JOINT, NONE
from ..releases import Book
from ..releases import open_book as open_reports
from .curator import CuratorBook
from .dataset import DatasetBook
from .gram import GramBook

Opener = Callable[[Design, NoiseSource | None, bool], Book]


def _central(design: Design, noise: NoiseSource | None, simulated: bool) -> Any:
    return (GramBook if design.question.kind == "gram" else DatasetBook)(design, noise, simulated)


def _open(design: Design, noise: NoiseSource | None, simulated: bool) -> Any:
    """Without a promise nothing is drawn, so it does not matter from where."""
    return (GramBook if design.question.kind == "gram" else CuratorBook)(design, noise, True)


_OPENERS: dict[str, Opener] = {JOINT: CuratorBook, CENTRAL: _central, NONE: _open}


def register(trust: str, opener: Opener) -> None:
    """Say what opens the books of a trust model whose messages are episodes: opener(design, noise, simulated)."""
    _OPENERS[trust] = opener


def open_book(design: Design, noise: NoiseSource | None = None, *, simulated: bool = False) -> Book:
    """An empty book for a design. Replayable noise is refused unless the people are simulated."""
    opener = _OPENERS.get(design.trust)
    return open_reports(design) if opener is None else opener(design, noise, simulated)
