"""The parts of experiments, each a pure function of settings and seeds, their results, and where those are stored."""

from __future__ import annotations

import hashlib
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ..._version import __version__
from ...privacy import Guarantee
from ...privacy.guarantee import rounded_up

if TYPE_CHECKING:
    import pyarrow

    from .curve import Curve

QUICK, PAPER = "quick", "paper"
SCALES = (QUICK, PAPER)

# How much smaller a quick run is: people and seeds.
FEWER_PEOPLE, QUICK_SEEDS = 100, 3
# With fewer people than this a curve shows nothing, so that it keeps as many, if it has them.
LEAST_PEOPLE = 5000
# Points of a curve that are kept, evenly spaced on a logarithmic scale.
MOST_PLACES = 100


NO_GUARANTEE = 0.5
"""A delta above this is no guarantee, whatever the epsilon."""


NOTHING = "no guarantee"


def in_words(guarantee: Guarantee) -> str:
    """A guarantee in words; one whose delta is above `NO_GUARANTEE` is called none."""
    if guarantee.delta <= NO_GUARANTEE:
        return str(guarantee)
    return f"{NOTHING}, {guarantee.trust}: delta is {rounded_up(guarantee.delta, 4)} at epsilon {guarantee.epsilon:g}"


@dataclass(frozen=True, eq=False)
class PartResult:
    """The result of one part: rows (seeds, C) of values at places x (C,), the true guarantee in words, and the seconds of one
    core that it took.
    """

    label: str
    x: NDArray[np.float64]
    rows: NDArray[np.float64]
    guarantee: str
    seconds: float = 0.0

    @property
    def final(self) -> NDArray[np.float64]:
        """(seeds,) values at the last place."""
        return self.rows[:, -1]

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """(C,) mean over seeds."""
        return np.asarray(self.rows.mean(axis=0))

    def table(self) -> pyarrow.Table:
        """The result as an Arrow table of seed, x and value; the rest is in its metadata."""
        import pyarrow

        seeds, places = self.rows.shape
        metadata = {"label": self.label, "guarantee": self.guarantee, "seconds": self.seconds}
        columns = {
            "seed": np.repeat(np.arange(seeds), places),
            "x": np.tile(self.x.astype(np.float64), seeds),
            "value": self.rows.ravel(),
        }
        return pyarrow.table(columns).replace_schema_metadata({"confide": json.dumps(metadata)})

    @classmethod
    def of(cls, table: pyarrow.Table) -> PartResult:
        """The result that `table` turned into an Arrow table."""
        metadata = json.loads(table.schema.metadata[b"confide"])
        seeds = 1 + int(table["seed"].to_numpy().max())
        rows = table["value"].to_numpy().reshape(seeds, -1)
        return cls(
            metadata["label"], table["x"].to_numpy()[: rows.shape[1]], rows, metadata["guarantee"], metadata["seconds"]
        )


class ExperimentPart(ABC):
    """One curve, or whatever else has values at places for several seeds. A frozen dataclass: its repr is all of it.

    label: its name in a legend. seeds: how many it has, if not as many as its experiment says.
    """

    label: str
    seeds: int | None = None

    @abstractmethod
    def promise(self) -> str:
        """The true guarantee, in words, without running anything."""

    @abstractmethod
    def compute(self, scale: str, seeds: int) -> PartResult:
        """Run the part. The same settings, scale and seeds always give the same rows."""

    def changed(self, change: Callable[[Curve], Curve]) -> Self:
        """The part with every curve of it changed; a part without people arriving has none, and stays as it is."""
        return self


def people_at(scale: str, people: float, least: float = 1) -> float:
    """How many people take part at a scale."""
    return people if scale == PAPER else max(least, people // FEWER_PEOPLE)


def thinned(x: NDArray[np.generic], rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A curve at no more than about `MOST_PLACES` places, the first and the last among them."""
    wanted = np.searchsorted(x, np.geomspace(x[0], x[-1], MOST_PLACES)).clip(0, len(x) - 1)
    places = np.unique([0, *wanted, len(x) - 1])
    return x[places].astype(np.float64), rows[:, places]


@dataclass(frozen=True)
class ResultStore:
    """Results of parts that were finished, by what the parts are: an interrupted experiment goes on where it stopped.

    Experiments that share a part share its result. A result belongs to a version of the package.
    """

    folder: Path

    def place(self, part: ExperimentPart, scale: str, seeds: int) -> Path:
        """The file of a part's result."""
        nameless = replace(part, label="")  # type: ignore[type-var]  # parts are frozen dataclasses
        settings = repr((__version__, nameless, scale, seeds))
        return self.folder / f"{hashlib.sha256(settings.encode()).hexdigest()[:24]}.parquet"

    def get(self, part: ExperimentPart, scale: str, seeds: int) -> PartResult | None:
        """The stored result of a part, or None if there is none that can be read."""
        from pyarrow import ArrowException, parquet

        try:
            return PartResult.of(parquet.read_table(self.place(part, scale, seeds)))
        except (OSError, ArrowException, KeyError, ValueError):
            return None

    def put(self, part: ExperimentPart, scale: str, seeds: int, result: PartResult) -> None:
        """Store the result of a part; the file appears whole or not at all."""
        from pyarrow import parquet

        target = self.place(part, scale, seeds)
        self.folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        parquet.write_table(result.table(), content, compression="zstd")
        draft = target.with_suffix(f".{os.getpid()}.partial")
        draft.write_bytes(content.getvalue())
        os.replace(draft, target)
