"""States that are vectors: several columns of numbers, taken as they are. No vector is longer than a declared bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp.linear import BlockFeatures
from .columns import NEXT
from .labels import MISSING, UNREADABLE, real_numbers

if TYPE_CHECKING:
    import pyarrow as pa


class Unlisted:
    """States that are no list: to the checks of rows all of them are one state, number 0."""

    @property
    def cuts(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """Empty: nothing is cut."""
        return ()

    @property
    def size(self) -> int:
        """One, to the checks of rows."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """One name for all: they have no labels."""
        return ("any",)

    def texts(self, columns: Sequence[str]) -> Sequence[str]:
        """None: entries are numbers."""
        return ()


@dataclass(frozen=True)
class Vectors(Unlisted):
    """The columns that states are made of. To the checks of rows all of them are one state: number 0."""

    columns: tuple[str, ...]
    features: BlockFeatures

    @classmethod
    def declared(
        cls, wanted: str | Sequence[str], names: Sequence[str], actions: int, norm: Any, intercept: bool, clip: bool
    ) -> Vectors:
        """The columns that names or patterns choose, such as `x*` or `age,pulse`, among the names of columns."""
        patterns = [piece.strip() for piece in (wanted.split(",") if isinstance(wanted, str) else wanted)]
        for pattern in patterns:
            if not any(_matches(name, pattern) for name in names):
                listed = ", ".join(names) or "none"
                raise InvalidInput(
                    "state-column-missing",
                    f"There is no state column {pattern!r}. Found: {listed}. Correct --state-columns.",
                )
        columns = tuple(name for name in names if any(_matches(name, pattern) for pattern in patterns))
        if norm is None:
            raise InvalidInput(
                "norm-undeclared",
                "How long a state can be must be said, and not read off the data. Declare --norm BOUND.",
            )
        bound = validation.positive("norm", norm)
        return cls(columns, BlockFeatures(actions, len(columns), bound, intercept, clip))

    @property
    def help(self) -> str:
        """The way out for a vector that cannot be used, in a sentence."""
        return "Fill them in, raise --norm, or scale longer ones down with --clip."

    def read(self, columns: Sequence[pa.Array]) -> NDArray[np.float64]:
        """(n, width), NaN where nothing is."""
        return np.column_stack([real_numbers(column) for column in columns])

    def encode(self, columns: Sequence[pa.Array]) -> NDArray[np.int64]:
        """0 for a vector that may be used."""
        return self.coded(self.read(columns))

    def coded(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) 0; MISSING where nothing stands; UNREADABLE where it is no vector, or too long."""
        with np.errstate(invalid="ignore", over="ignore"):
            bad = ~np.isfinite(x).all(axis=1) | (self.features.long(x) & (not self.features.clip))
        codes = np.where(bad, UNREADABLE, 0)
        codes[np.isnan(x).all(axis=1)] = MISSING
        return codes


def _matches(name: str, pattern: str) -> bool:
    """The columns of next states go with those of states, and are never meant by a pattern."""
    return fnmatchcase(name, pattern) and (not name.startswith(NEXT) or name == pattern)
