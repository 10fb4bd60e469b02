"""The noise in the cells of a release: how large it is, how far it goes, and whose it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..mechanisms.counter import Counter
from ..mechanisms.randomizer import Randomizer, bernstein_radius
from .releases.release import CURATORS as CURATORS
from .releases.release import PEOPLES as PEOPLES

Array = NDArray[np.float64]


class Law(Protocol):
    """Noise of mean zero, independent from cell to cell, in counts."""

    @property
    def own(self) -> float:
        """Whose noise it is: one of the three above."""
        ...

    @property
    def rounding(self) -> Array:
        """How far a cell may be moved by rounding, besides."""
        ...

    def radius(self, failure: float, trials: float = 1.0, cells: float = 1.0) -> Array:
        """t such that a sum over `cells` cells is off by more with probability at most `failure`."""
        ...

    def variance(self, trials: float = 1.0) -> Array:
        """Variance of one cell that counts this many observations a person."""
        ...

    def lengths(self, failure: float, cells: int) -> Array | None:
        """t such that the errors of `cells` cells, as a vector, are longer with probability at most `failure`; None where every
        cell has noise of its own."""
        ...

    def of_people(self) -> PeoplesNoise:
        """The same as the noise of this many people's messages by one mechanism; refused where it is none."""
        ...


@dataclass(frozen=True, eq=False)
class PeoplesNoise:
    """The noise of the messages of n users, added up; or of one message about all, drawn by a curator."""

    mechanism: Randomizer
    people: ArrayLike
    own: float = PEOPLES

    @property
    def rounding(self) -> Array:
        """0: messages are on the grid of the cells, so nothing is rounded."""
        return np.zeros(np.shape(self.people))

    def radius(self, failure: float, trials: float = 1.0, cells: float = 1.0) -> Array:
        """The error radius of the mechanism."""
        return self.mechanism.radius(self.people, failure, trials, cells)

    def variance(self, trials: float = 1.0) -> Array:
        """The variance of one message, times the number of people."""
        return np.asarray(self.people, dtype=np.float64) * self.mechanism.variance(trials)

    def lengths(self, failure: float, cells: int) -> Array | None:
        """Those of the mechanism."""
        return self.mechanism.lengths(self.people, failure, cells)

    def of_people(self) -> PeoplesNoise:
        """Itself."""
        return self


@dataclass(frozen=True, eq=False)
class CounterNoise:
    """The noise of a continual counter after n releases; before the first there is none."""

    counter: Counter
    releases: ArrayLike
    own: float = CURATORS

    @property
    def rounding(self) -> Array:
        """How far rounding the reports inside the counter can move a cell."""
        return self._each(self.counter.rounding)

    def radius(self, failure: float, trials: float = 1.0, cells: float = 1.0) -> Array:
        """The error radius of the counter. A part of a cell is taken for a whole one."""
        if cells == 0:
            return np.zeros(np.shape(self.releases))
        return self._each(lambda release: self.counter.radius(release, failure, math.ceil(cells)))

    def variance(self, trials: float = 1.0) -> Array:
        """The variance of one cell, whatever it counts."""
        return self._each(self.counter.std) ** 2

    def lengths(self, failure: float, cells: int) -> Array | None:
        """None: every cell has noise of its own."""
        return None

    def of_people(self) -> PeoplesNoise:
        """Refused: a curator counts, and no category is named."""
        raise InvalidInput(
            "categories-at-curator", "Categories are reported by devices, not counted by a curator. Query counts."
        )

    def _each(self, function: Callable[[int], float]) -> Array:
        table = [function(int(release)) if release > 0 else 0.0 for release in np.atleast_1d(self.releases)]
        return np.array(table).reshape(np.shape(self.releases))


@dataclass(frozen=True, eq=False)
class SumsNoise:
    """The noise of sums of flipped bits, or of shares, each over n users, added up, where shufflers have several sizes."""

    mechanisms: Sequence[Randomizer]
    people: Sequence[ArrayLike]
    own: float = PEOPLES

    @property
    def rounding(self) -> Array:
        """0: bits are whole, so nothing is rounded."""
        return np.zeros(np.shape(self.people[0]))

    def radius(self, failure: float, trials: float = 1.0, cells: float = 1.0) -> Array:
        """Bernstein's bound for independent flips of different chances; a jump of a share is never larger than a flip counts."""
        spread = self.variance(trials)
        largest = max(0.5 + math.sqrt(mechanism.variance() + 0.25) for mechanism in self.mechanisms)  # (1-q)/(1-2q)
        return np.where(spread * cells > 0, bernstein_radius(spread * cells, largest, failure), 0.0)

    def variance(self, trials: float = 1.0) -> Array:
        """The variance of one bit, times the number of people, summed over the sums."""
        each = zip(self.people, self.mechanisms, strict=True)
        return np.asarray(
            sum(np.asarray(count, dtype=np.float64) * mechanism.variance(trials) for count, mechanism in each)
        )

    def lengths(self, failure: float, cells: int) -> Array | None:
        """None: every cell has noise of its own."""
        return None

    def of_people(self) -> PeoplesNoise:
        """That of its only sum; refused where there are several."""
        if len(self.mechanisms) > 1:
            raise InvalidInput(
                "categories-several-sizes",
                "Shufflers of several sizes take whole episodes. Use one size, or ask for counts.",
            )
        return PeoplesNoise(self.mechanisms[0], self.people[0], self.own)
