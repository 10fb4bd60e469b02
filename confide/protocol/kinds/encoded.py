"""Counts that messages encode in another way than cell by cell: what such questions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...mdp import Spec
from ...privacy import Sensitivity
from ..releases.release import CountRelease, Noise
from .counts import CountedKind, CountQuestion
from .kind import Array
from .question import AboutEpisodes, Range, derived, marked, only

if TYPE_CHECKING:
    from ..design import Design
    from .question import Member

T = TypeVar("T", bound="EncodedCounts")


@dataclass(frozen=True)
class EncodedCounts(AboutEpisodes, ABC):
    """A question whose messages encode counts. counts: what is estimated from every user's messages."""

    counts: CountQuestion

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name under which its reader is registered."""

    @property
    @abstractmethod
    def mark(self) -> int:
        """A number for each encoding, by which its fingerprint differs from that of the counts."""

    @abstractmethod
    def price(self, grid: float = 0.0) -> Sensitivity:
        """How far replacing one person moves a message."""

    @property
    def rows(self) -> int:
        """One kind of message, unless sums are kept apart."""
        return 1

    @property
    def width(self) -> int:
        """Cells of a message: all of them."""
        return self.cells

    @property
    @abstractmethod
    def resolution(self) -> int:
        """How many units make up one."""

    @property
    @abstractmethod
    def trials(self) -> NDArray[np.int64]:
        """(width,) at most how many observations of one person a cell is the sum of."""

    @property
    @abstractmethod
    def range(self) -> Range:
        """The least and the largest number that one person can put into each cell."""

    @property
    def counted(self) -> CountQuestion:
        """The counts that are estimated."""
        return self.counts

    @property
    def spec(self) -> Spec:
        """The sizes of the problem."""
        return self.counts.spec

    @property
    def cells(self) -> int:
        """Cells of the counts that are estimated."""
        return self.counts.cells

    def member(self: T, question: Member) -> T:
        """The question itself; any other is refused."""
        return only(self, question)

    def member_for(self: T, question: Member) -> T:
        """The question itself: from its answer any counts about the same problem are derived."""
        return derived(self, question)

    def to_bytes(self) -> bytes:
        """The bytes of the counts: the kind says how they are encoded."""
        return self.counts.to_bytes()

    @property
    def digest(self) -> bytes:
        """A fingerprint, other than that of the counts."""
        return marked(self.counts.digest, self.mark)


@dataclass(frozen=True)
class CellByCell(EncodedCounts):
    """A question whose messages are the cells of counts, some of which a person leaves out."""

    @property
    def resolution(self) -> int:
        """How many units make up one count."""
        return self.counts.resolution

    @property
    def trials(self) -> NDArray[np.int64]:
        """(cells,) at most how many observations of one person a cell is the sum of."""
        return self.counts.trials


E = TypeVar("E", bound=EncodedCounts)


class EncodedKind(CountedKind[E]):
    """A kind whose messages encode counts, and are released as counts."""

    def counts(self, question: E) -> CountQuestion:
        """The counts that messages encode."""
        return question.counts


class PartOfCounts(EncodedKind[E]):
    """A kind whose messages encode a part of what people did: of rows and mean rewards only its releases tell."""

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
        """Counts that are not complete."""
        return replace(super().release(design, cells, users, radii, noise), complete=False)
