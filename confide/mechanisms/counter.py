"""The protocol of continual counters: a running sum released again and again, in which one person hides.

The stream comes in batches. `next` adds what the newest batch contributes to all cells at once and releases all running
sums; a person's data lies in *one* batch. How a counter correlates its noise over time is its own matter: `tree`,
`toeplitz` and `buffered` each have their file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgpack
import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import ConfideError, FormatError, InvalidInput, PrivacyError
from ..privacy import Sensitivity
from ..privacy.quantiles import normal_quantile
from .gaussian import effective_sigma
from .mechanism import NoiseMechanism
from .noise import NoiseSource

LARGEST_TOTAL = 2**46
"""The most that one cell's increments may add up to, signs dropped, in multiples of the grid: 64 bits then suffice."""

FORMAT = "confide.counter/1"

CounterArray = NDArray[np.int64] | NDArray[np.float64]
"""Sums and noises of a counter, in grids; weights of noises."""

COUPLING_DISTANCE = 0.6
"""How many grids a discrete Gaussian on a fine grid lies at most from the normal variable it is coupled with."""


@dataclass(eq=False)
class CounterState:
    """The state of a counter: opaque, sensitive, and good for one use. Its arrays pass on to the next state."""

    cells: int
    arrays: tuple[CounterArray, ...] = field(repr=False)
    release: int = 0
    reach: int = field(default=0, repr=False)
    spent: bool = False

    def admit(self, increment: NDArray[np.int64], releases: int, most: int = LARGEST_TOTAL) -> NDArray[np.int64]:
        """The increment, checked; nothing has changed yet, so that noise can be drawn before anything is spent.

        Messages never show the increment. Refusing too large a total is a public matter wherever the number of people
        and what each can add are public.
        """
        if self.spent:
            raise PrivacyError(
                "counter-state-used",
                "This state of a counter was used before. Go on from the state that `next` returned.",
            )
        if self.release >= releases:
            raise PrivacyError(
                "counter-used-up",
                f"This counter is made for {releases} releases, and all were made. "
                "Its noise covers no users beyond them: make a counter for more releases before the first.",
            )
        increment = np.asarray(increment)
        if increment.dtype.kind not in "iu" or increment.shape != (self.cells,):
            got = f"{increment.dtype} of shape {increment.shape}"
            way_out = "Give multiples of the grid as integers."
            raise validation.refusal("counter-increment-form", "increment", f"{self.cells} whole numbers", got, way_out)
        if self.reach + _largest(increment) > most:
            raise InvalidInput(
                "counter-increment-large",
                f"The increments of a cell must add up to at most {most} grids, signs dropped. Use a coarser grid.",
            )
        return np.ascontiguousarray(increment, dtype=np.int64)

    def spend(self, increment: NDArray[np.int64]) -> None:
        """Mark the state as used, once its noise is drawn: the same state twice would be two draws for one release."""
        self.spent = True
        self.reach += _largest(increment)

    def following(self, *arrays: CounterArray) -> CounterState:
        """The state after the release for which it was spent."""
        return CounterState(self.cells, arrays, self.release + 1, self.reach)

    def whole(self, part: int) -> NDArray[np.int64]:
        """One of the arrays, which holds whole numbers; not a copy."""
        return np.asarray(self.arrays[part], dtype=np.int64)

    def real(self, part: int) -> NDArray[np.float64]:
        """One of the arrays, which holds real numbers; not a copy."""
        return np.asarray(self.arrays[part], dtype=np.float64)

    def like(self, first: CounterState) -> bool:
        """Whether this may be a later state of the counter whose first one is given. Histories grow, row by row."""
        if self.cells != first.cells or len(self.arrays) != len(first.arrays):
            return False
        return all(
            own.dtype == others.dtype and own.ndim == others.ndim and len(own) >= (len(others) or self.release)
            for own, others in zip(self.arrays, first.arrays, strict=True)
        )

    def to_bytes(self) -> bytes:
        """Versioned bytes: sensitive, like the state itself. They remember whether the state was spent."""
        arrays = [[array.dtype.str, list(array.shape), np.ascontiguousarray(array).tobytes()] for array in self.arrays]
        body: bytes = msgpack.packb([FORMAT, self.cells, self.release, self.reach, self.spent, arrays])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> CounterState:
        """Read what `to_bytes` wrote; refuse anything else. A state that was spent is spent for ever."""
        try:
            form, cells, release, reach, spent, packed = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if form != FORMAT:
                raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
            if any(kind not in ("<i8", "<f8") for kind, _, _ in packed):
                raise ValueError("its numbers have a type that is not known")
            arrays = tuple(np.frombuffer(raw, dtype=kind).reshape(shape).copy() for kind, shape, raw in packed)
            if any(array.shape[-1] != cells for array in arrays):
                raise ValueError("its arrays are not about all cells")
            made, reached = (validation.integer("number", value, 0) for value in (release, reach))
            return cls(validation.integer("cells", cells, 0), arrays, made, reached, bool(spent))
        except (ConfideError, ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
            raise FormatError(
                "counter-state-unreadable",
                f"These bytes are not a counter's state that this version can go on from: {error}",
            ) from error


def _largest(increment: NDArray[np.int64]) -> int:
    return max(int(increment.max()), -int(increment.min())) if increment.size else 0


class Counter(NoiseMechanism):
    """A mechanism that is a pair init/next. Increments may depend on all earlier releases. Inherit it for one of your own."""

    if TYPE_CHECKING:  # as in `NoiseMechanism`

        @property
        def releases(self) -> int:
            """How many releases the counter is made for; it refuses to make more."""
            ...

    @property
    def participations(self) -> int:
        """In how many batches one user may be; what the loss is about."""
        return 1

    @property
    def separation(self) -> int:
        """How many batches any two of these are apart, at least."""
        return 1

    def visited(self, times: int) -> Counter | None:
        """The same counter for users who are in this many batches, as far apart as before; None if what that costs is not known."""
        return self if times == 1 else None

    def init(self, cells: int) -> CounterState:
        """The state before the first release."""
        raise NotImplementedError

    def next(
        self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[CounterState, NDArray[np.float64]]:
        """Add what the newest batch contributes, in multiples of the grid; release the running sums, in counts.

        The given state is spent.
        """
        raise NotImplementedError

    def std(self, release: int) -> float:
        """Standard deviation of the noise of one cell after `release` releases, in counts."""
        raise NotImplementedError

    def rounding(self, release: int) -> float:
        """How far rounding inside the counter can move a release, at most, in counts."""
        raise NotImplementedError

    def radius(self, release: int, failure: float, cells: int = 1) -> float:
        """t with P(|error of the sum of `cells` cells| > t) <= failure after `release` releases, in counts."""
        raise NotImplementedError

    def memory(self) -> int:
        """How many 8-byte numbers a cell a state holds at most."""
        raise NotImplementedError

    def counter(self) -> Counter:
        """Itself."""
        return self


def checked_release(release: int, releases: int) -> int:
    """The number of a release that the counter will make."""
    return validation.integer("release", release, 1, releases, "Releases are numbered from 1.")


def rounding_charge(sensitivity: Sensitivity, releases: int, error: float) -> float:
    """The l2 sensitivity that rounding adds to `releases` vectors, in each of which one person moves some cells.

    Each rounded number is within `error` of the exact one, so the difference of two moves by at most twice that.
    """
    return 2 * error * math.sqrt(releases * sensitivity.cells)


def discrete_gaussian_radius(sigma: float, grid: float, l2: float, l1: float, failure: float) -> float:
    """t with P(|sum of w_j z_j| > t) <= failure for discrete Gaussians z_j and ||w||_2 = l2, ||w||_1 = l1.

    A discrete Gaussian is sub-Gaussian with its own sigma on any grid (Canonne, Kamath, Steinke 2020), which gives
    sigma l2 sqrt(2 log(2/failure)). On a fine grid z is k grids exactly when a normal variable of the same sigma lies
    between q_k and q_(k+1) grids, where q_k is in [k - 0.5, k - 0.4] for k > 0: the cell of k holds more than the
    normal's mass where the density is concave, less where it is convex. (This was computed out to 38 sigma, beyond
    which probabilities are no floats.) So z is within 0.6 grids of a normal, whose quantile is exact.
    """
    general = sigma * l2 * math.sqrt(2 * math.log(2 / validation.failure(failure)))
    if effective_sigma(sigma, grid) is None:
        return general
    return min(general, sigma * l2 * -normal_quantile(failure / 2) + COUPLING_DISTANCE * grid * l1)
