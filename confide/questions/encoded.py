"""Counts told in another way than as they are: what such questions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeVar

from ..mdp import Spec
from ..privacy import Sensitivity
from .counts import CountQuestion
from .question import AboutEpisodes, derived, marked, only

T = TypeVar("T", bound="ToldCounts")


@dataclass(frozen=True)
class ToldCounts(AboutEpisodes, ABC):
    """counts: what is estimated from everybody's messages."""

    counts: CountQuestion

    @property
    @abstractmethod
    def kind(self) -> str:
        """The word under which it is in the table."""

    @property
    @abstractmethod
    def mark(self) -> int:
        """By what its fingerprint differs from that of the counts."""

    @abstractmethod
    def price(self, grid: float = 0.0) -> Sensitivity:
        """How far replacing one person moves a message."""

    @property
    def spec(self) -> Spec:
        """The sizes of the problem."""
        return self.counts.spec

    @property
    def cells(self) -> int:
        """Cells of the counts that are estimated."""
        return self.counts.cells

    def member(self: T, question: Any) -> T:
        """Only itself."""
        return only(self, question)  # type: ignore[type-var]

    def put(self: T, asked: Any) -> T:
        """Itself."""
        return derived(self, asked)  # type: ignore[type-var]

    def to_bytes(self) -> bytes:
        """The bytes of the counts: the kind says how they are told."""
        return self.counts.to_bytes()

    @property
    def digest(self) -> bytes:
        """A fingerprint, other than that of the counts."""
        return marked(self.counts.digest, self.mark)
