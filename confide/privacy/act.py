"""A privacy act: which mechanism, on a statistic of which sensitivity, how many times. One frozen value, made once.

The noise that is drawn, the account that is kept, the error radius a bonus uses and the certificate that is printed all
come from the same `Act`, so they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from ..validation import Json
from .loss import Loss, repeat


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of a vector of counters: how far one person can move it, in the units of the counters.

    l1, l2: the largest such distances. `shifts` lists pairs (size, how many): the difference made by one person is
    never easier to notice than a vector of `how many` cells shifted by `size` each, whatever log-concave noise is
    added independently to the cells. (Merging two shifts t and u of separate cells into one shift t+u can only make
    them easier to notice: for log-concave noise with distribution function F the best test of a shift t has trade-off
    f_t(a) = F(F^-1(1-a) - t), and testing both shifts in two steps shows f_t (x) f_u >= f_u(1 - f_t) = f_{t+u}.)
    `cells` is the most cells in which two neighbours can differ.
    """

    l1: float
    l2: float
    shifts: tuple[tuple[float, int], ...]
    cells: int

    def scaled(self, factor: float) -> Sensitivity:
        """The sensitivity of the statistic in other units."""
        shifts = tuple((size * factor, count) for size, count in self.shifts)
        return Sensitivity(self.l1 * factor, self.l2 * factor, shifts, self.cells)


class Mechanism(Protocol):
    """A way to hide one person: its name and parameters are public, its loss is known."""

    @property
    def name(self) -> str:
        """The word by which commands and certificates know it."""
        ...

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of one use on a statistic of this sensitivity."""
        ...

    def describe(self) -> dict[str, Json]:
        """Name and parameters, as plain values."""
        ...


M = TypeVar("M", bound=Mechanism, covariant=True)
"""A kind of mechanism."""


@dataclass(frozen=True)
class Act(Generic[M]):
    """A mechanism used `times` times on a statistic of the given sensitivity by or for the same person."""

    mechanism: M
    sensitivity: Sensitivity
    times: int = 1

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss of the act in all: that of the mechanism, composed `times` times."""
        return repeat(self.mechanism.loss(self.sensitivity), self.times)

    def describe(self) -> dict[str, Json]:
        """For certificates: mechanism, parameters, sensitivity, times."""
        sensitivity = {"l1": self.sensitivity.l1, "l2": self.sensitivity.l2}
        return {**self.mechanism.describe(), "sensitivity": sensitivity, "times": self.times}
