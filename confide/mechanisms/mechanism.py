"""What every mechanism of a design has in common, ours and yours: its words, and for which of three tasks it is made.

A `Randomizer` runs on devices, or once at a curator; a `Counter` releases running sums; `Shares` are noise that many devices add
together. What a mechanism is not made for it does not have: `randomizer()`, `counter()` and `shares()` are None then, and a caller
that needs one refuses it by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..privacy import Loss, Sensitivity
from ..validation import Json

if TYPE_CHECKING:
    from .counter import Counter
    from .randomizer import Randomizer


@dataclass(frozen=True, eq=False)
class NoiseMechanism:
    """The base of mechanisms, which are frozen dataclasses: their words are fields, or properties."""

    # Properties to those who read them; on the class itself they would be defaults of fields, and refuse to be set.
    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """The word by which commands and certificates know it."""
            ...

        @property
        def grid(self) -> float:
            """Every number that it gives out is a whole multiple of it; 0 if these are real numbers."""
            ...

        @property
        def categories(self) -> int:
            """Of how many categories it hides one; 0 where it is for numbers."""
            ...

        @property
        def first(self) -> int | None:
            """How many cells come before those with noise of another size; None where all cells have the same."""
            ...

        @property
        def vector(self) -> int:
            """For how long a vector it is made; 0 where that does not matter."""
            ...

    else:
        categories, first, vector = 0, None, 0

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of one use on a statistic of this sensitivity."""
        raise NotImplementedError

    def describe(self) -> dict[str, Json]:
        """Name and parameters, as plain values."""
        raise NotImplementedError

    def randomizer(self) -> Randomizer | None:
        """Itself, if it makes messages out of counts."""
        return None

    def counter(self) -> Counter | None:
        """Itself, if it releases running sums."""
        return None

    def shares(self) -> Shares | None:
        """Itself, if many devices together add it."""
        return None


class Shares(NoiseMechanism):
    """Noise that the honest people of a batch add together, of which only sums are ever seen: each device runs a part of it, for
    batches of one size or of several."""

    if TYPE_CHECKING:  # as in `NoiseMechanism`

        @property
        def people(self) -> tuple[int, ...]:
            """How many honest people are in the sums of each size."""
            ...

        @property
        def missing(self) -> float:
            """The probability with which a batch may have fewer of them in its sums."""
            ...

        @property
        def apart(self) -> bool:
            """Whether a person is in a batch of one of the sizes, not in one of each."""
            ...

    @property
    def cells(self) -> int | None:
        """For how many cells of a report it is made; None where that does not matter."""
        return None

    @property
    def flips(self) -> tuple[float, ...]:
        """With which chance a bit is flipped, by size; empty where noise is added."""
        return ()

    def loss_among(self, people: tuple[int, ...], sensitivity: Sensitivity) -> Loss:
        """The loss of the sums if this many people of each size are honest."""
        raise NotImplementedError

    def local_loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of the reports themselves, if the shufflers kept them."""
        raise NotImplementedError

    def on_device(self) -> tuple[Randomizer, ...]:
        """How a report to each of the shufflers is randomised."""
        raise NotImplementedError

    def shares(self) -> Shares:
        """Itself."""
        return self
