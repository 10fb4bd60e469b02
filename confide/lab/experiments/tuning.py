"""Constants that were tuned: which grids were tried, on which seeds, and that the best of each lies inside its grid.

What was measured stands in `docs/reproductions/tuning.json`, written by `python -m tools.tuning`; a test compares the choices
in the code with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tuned:
    """A side that was tuned: the axes of its grid by name, the mean loss at each point, and the root of the seeds."""

    axes: Mapping[str, tuple[float, ...]]
    losses: tuple[float, ...]
    root: int

    @property
    def points(self) -> list[tuple[float, ...]]:
        """The points of the grid, in the order of the losses."""
        return list(product(*self.axes.values()))

    @property
    def best(self) -> tuple[float, ...]:
        """The point of least mean loss; of equal ones, the one with the largest constants."""
        losses = np.array(self.losses)
        level = np.flatnonzero(losses <= losses.min() * (1 + 1e-12))
        return max(self.points[index] for index in level)

    def at_an_edge(self) -> list[str]:
        """The axes on which the best point is the first or the last value; 0, the least a constant can be, is no edge."""
        return [
            name
            for name, value, values in zip(self.axes, self.best, self.axes.values(), strict=True)
            if value == max(values) or (value == min(values) and value != 0)
        ]

    def as_json(self) -> dict[str, Any]:
        """The tuning as plain values."""
        return {"axes": dict(self.axes), "losses": [float(f"{loss:.6g}") for loss in self.losses], "root": self.root}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Tuned:
        """The tuning that `as_json` wrote down."""
        axes = {name: tuple(values) for name, values in document["axes"].items()}
        return cls(axes, tuple(document["losses"]), document["root"])


def read_tuning(path: Path) -> dict[str, Tuned]:
    """Everything that was tuned, by the name of the side."""
    return {name: Tuned.from_json(document) for name, document in json.loads(path.read_text(encoding="utf-8")).items()}
