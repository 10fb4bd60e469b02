"""States that are observed: several columns of numbers and of categories, which a public description of features names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...mdp.described import DescribedFeatures
from .labels import MISSING, UNREADABLE, Labelled, real_numbers
from .vectors import Unlisted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Observations(Unlisted):
    """The columns that a description names."""

    features: DescribedFeatures

    @classmethod
    def declared(cls, features: DescribedFeatures, names: Sequence[str]) -> Observations:
        """The columns of the inputs, which the table has under the same names."""
        for each in features.inputs:
            if each.name not in names:
                raise InvalidInput(
                    "observed-column-missing",
                    f"There is no column {each.name!r}, which the features are made of. Found: {', '.join(names)}. Correct "
                    "their description.",
                )
        return cls(features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(each.name for each in self.features.inputs)

    def texts(self, columns: Sequence[str]) -> Sequence[str]:
        """Those of categories."""
        return tuple(each.name for each in self.features.inputs if each.labels)

    @property
    def help(self) -> str:
        """The way out for an observation that cannot be used, in a sentence."""
        return "Correct them, or give categories all their public values."

    def read(self, columns: Sequence[pa.Array]) -> NDArray[np.float64]:
        """(n, k) as `DescribedFeatures.encode` has them; NaN where nothing is, infinite where a category has no such value."""
        return np.column_stack(
            [self._read(place, column) for place, column in enumerate(columns)],
        )

    def _read(self, place: int, column: pa.Array) -> NDArray[np.float64]:
        labels = self.features.inputs[place].labels
        if not labels:
            return real_numbers(column)
        numbers = Labelled(labels).encode([column])
        return np.where(numbers == MISSING, np.nan, np.where(numbers == UNREADABLE, np.inf, numbers))

    def encode(self, columns: Sequence[pa.Array]) -> NDArray[np.int64]:
        """0 for an observation that may be used."""
        return self.coded(self.read(columns))

    def coded(self, rows: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) 0; MISSING where something is; UNREADABLE where something is no number, or no value of its category."""
        codes = np.where(np.isinf(rows).any(axis=1), UNREADABLE, 0)
        codes[np.isnan(rows).any(axis=1)] = MISSING
        return codes
