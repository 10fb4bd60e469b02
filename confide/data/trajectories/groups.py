"""Public groups of people: a column whose entries are declared beforehand, and one more group for all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp.model import MOST_GROUPS
from ...validation import Json
from .labels import Labelled

if TYPE_CHECKING:
    import pyarrow as pa

OTHER = "other"
"""The group of every user whose entry is none of those declared, or missing."""


@dataclass(frozen=True)
class PublicGroups:
    """The column that tells groups apart, and its public labels; the last group is `other`."""

    column: str
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        Labelled(self.names)  # each once
        validation.integer("groups", len(self.names), 2, MOST_GROUPS, "Declare fewer, or put several into one.")

    @classmethod
    def declared(cls, groups: str | Mapping[str, Sequence[object]] | None) -> PublicGroups | None:
        """Groups by `sex=f,m`, or {"sex": ["f", "m"]}; None where none are declared."""
        if groups is None:
            return None
        if isinstance(groups, str):
            column, equals, labels = groups.partition("=")
            pairs = [(column.strip(), [label.strip() for label in labels.split(",") if label.strip()])] * bool(equals)
        else:
            pairs = [(str(column), [str(label) for label in labels]) for column, labels in groups.items()]
        if len(pairs) != 1 or not pairs[0][1]:
            raise InvalidInput(
                "groups-form",
                "Groups are one column and its public labels, which are not read off the data: --groups sex=f,m.",
            )
        (column, names) = pairs[0]
        return cls(column, tuple(name for name in names if name != OTHER))

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each group."""
        return (*self.labels, OTHER)

    def describe(self) -> dict[str, Json]:
        """The declaration as plain values."""
        return {"column": self.column, "labels": list(self.names)}

    def encode(self, column: pa.Array) -> NDArray[np.int64]:
        """The number of each row's group."""
        codes = Labelled(self.labels).encode([column])
        return np.where(codes >= 0, codes, len(self.labels))
