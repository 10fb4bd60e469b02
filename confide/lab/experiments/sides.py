"""The rule for pages of papers: sides all as printed, sides all tuned, and those at the same true guarantee.

A comparison is fair if both sides have printed constants, or both have constants that were tuned alike on other seeds, with the
best of them inside the grid that was tried. A side of ours with default settings, the same in every world, may stand beside tuned
ones: that is to its disadvantage. Tuned sides under one budget must keep the same true guarantee. `faults` says where a page
departs from this, `EXCEPTIONS` why it may; a test holds the two against each other, so that an unknown fault, and an exception
that is no longer needed, stop the build.

Constants that were tuned: which grids were tried, on which seeds, and that the best of each lies inside its grid.

What was measured stands in `docs/reproductions/tuning.json`, written by `python -m tools.tuning`; a test compares the choices
in the code with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import product
from pathlib import Path
from typing import TypedDict

import numpy as np

from ...validation import Json
from .curve import Curve, Sweep
from .experiment import Experiment
from .instances import Instances
from .offline import OfflineCurve
from .part import ExperimentPart, PartResult
from .reference import Best


class TunedDocument(TypedDict):
    """What `Tuned` writes down."""

    axes: dict[str, list[float]]
    losses: list[float]
    root: int


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

    def as_json(self) -> dict[str, Json]:
        """The tuning as plain values."""
        return {"axes": dict(self.axes), "losses": [float(f"{loss:.6g}") for loss in self.losses], "root": self.root}

    @classmethod
    def from_json(cls, document: TunedDocument) -> Tuned:
        """The tuning that `as_json` wrote down."""
        axes = {name: tuple(values) for name, values in document["axes"].items()}
        return cls(axes, tuple(document["losses"]), document["root"])


def read_tuning(path: Path) -> dict[str, Tuned]:
    """Everything that was tuned, by the name of the side."""
    return {name: Tuned.from_json(document) for name, document in json.loads(path.read_text(encoding="utf-8")).items()}


AS_PRINTED, TUNED, DEFAULT, NONE = "as printed", "tuned", "default settings", "no constants"

ONE_PRINTED = "fewer than two sides are as printed"
ONE_TUNED = "no published side is tuned"
UNRECORDED = "a tuned constant has no recorded grid with its best point inside"
UNEQUAL = "tuned sides under one budget keep different guarantees"


@singledispatch
def constants_of(part: ExperimentPart) -> str:
    """Which constants a part has: as its paper prints them, tuned, confide's defaults, or none at all (a bound, an attack)."""
    return NONE


@constants_of.register
def _(part: Sweep) -> str:
    return constants_of(part.curves[0])


@constants_of.register
def _(part: Best) -> str:
    return DEFAULT


@constants_of.register
def _(part: Instances) -> str:
    return constants_of(part.curve)


@constants_of.register(Curve)
@constants_of.register(OfflineCurve)
def _(part: Curve | OfflineCurve) -> str:
    choices = part.choices
    scaled = any(choices.get(name, 1.0) != 1.0 for name in ("bonus_scale", "c", "ridge", "constant"))
    if scaled or "c" in choices or "ridge" in choices:
        return TUNED
    return DEFAULT if choices.get("calibration", "tight") == "tight" else AS_PRINTED


def _rounded(guarantee: str) -> str:
    """A guarantee in words with its numbers in four digits: what differs by less is the same."""
    return re.sub(r"\d+(?:\.\d+)?(?:e-?\d+)?", lambda found: f"{float(found[0]):.4g}", guarantee)


@singledispatch
def _sides(part: ExperimentPart) -> list[str]:
    """The names under which a part's constants were tuned: its label, or those of the curves that it sweeps over."""
    return [part.label]


@_sides.register
def _(part: Sweep) -> list[str]:
    return [curve.label for curve in part.curves]


def faults(experiment: Experiment, results: Sequence[PartResult], tuning: Mapping[str, Tuned]) -> set[str]:
    """Where a page departs from the rule."""
    by_kind: dict[str, list[ExperimentPart]] = {}
    for part in experiment.parts:
        by_kind.setdefault(constants_of(part), []).append(part)
    found = set()
    if len(by_kind.get(AS_PRINTED, [])) < 2:
        found.add(ONE_PRINTED)
    tuned = by_kind.get(TUNED, [])
    if not any("ours" not in part.label for part in tuned):
        found.add(ONE_TUNED)
    names = [name for part in tuned for name in _sides(part)]
    recorded = [tuning.get(f"{experiment.address}: {name}", tuning.get(name)) for name in names]
    if any(one is None or one.at_an_edge() for one in recorded):
        found.add(UNRECORDED)
    kept = {result.label: result.guarantee for result in results}
    budgets: dict[tuple[str, str], set[str]] = {}
    for part in (*tuned, *by_kind.get(DEFAULT, [])):
        guarantee = kept.get(part.label, "")
        if (budget := re.search(r"(?:epsilon|rho)? ?[\d.]+$", part.label)) and guarantee not in ("", "no privacy"):
            budgets.setdefault((guarantee.rpartition(", ")[2], budget[0]), set()).add(_rounded(guarantee))
    if any(len(guarantees) > 1 for guarantees in budgets.values()):
        found.add(UNEQUAL)
    return found


_NOISE = (
    "The page is about noise, widths or an attack on it: nothing there has a constant to tune, or is a side as printed."
)
_BOUND = "A bound speaks of the printed algorithm; tuned sides have no bound."
_POWERS = (
    "Powers are measured over 10^8 to 10^12 people, where nothing is learned with printed bonuses, as two rows show: one scale of "
    "0.01 for all sides, which was not tuned."
)
_GRID = "c is chosen by grid search in the paper too, so that only the radius of UCRL-VTR is as printed."
_LARGER = (
    "The printed noise keeps a much smaller epsilon than it claims. At the claimed one it would be that of the tight side, "
    "which stands beside it."
)
_PANELS = "Its panels are figures 4 to 6, where tuned sides stand."
_BATCHES = "As printed it has no joint guarantee to compare at, which shuffled-obi/repair shows; here batches are what changes."

_SCALED = "Its scaled sides have the bonus that was tuned for LDP-OBI at the same epsilon, under that name."

_CONSTANT = (
    "A side as printed has a constant there too, at which the absolute one of the theorem, which is not stated, is 1."
)

EXCEPTIONS: dict[str, dict[str, str]] = {
    "private-ucb/table-1-joint": {ONE_PRINTED: _POWERS, UNRECORDED: _POWERS},
    "private-ucb/table-1-local": {ONE_PRINTED: _POWERS, UNRECORDED: _POWERS},
    "ldp-obi/figure-2": {ONE_TUNED: _PANELS},
    **{
        address: {ONE_PRINTED: _NOISE, ONE_TUNED: _NOISE}
        for address in ("ldp-obi/figure-8", "ldp-obi/figure-9", "ldp-obi/proposition-4", "shuffled-obi/theorem-6")
    },
    **{
        address: {ONE_TUNED: _BOUND}
        for address in ("ldp-obi/table-1", "ldp-obi/lower-bound", "ldp-obi/theorem-5", "shuffled-obi/repair")
    },
    "ldp-ucrl-vtr/lower-bound": {ONE_PRINTED: _BOUND, ONE_TUNED: _BOUND},
    "ldp-ucrl-vtr/lemma-5.5": {ONE_PRINTED: _BOUND, ONE_TUNED: _BOUND},
    "ldp-ucrl-vtr/theorem-5.2": {ONE_PRINTED: _CONSTANT, UNRECORDED: _CONSTANT},
    "shuffled-obi/burn-in": {UNRECORDED: _SCALED},
    "shuffled-obi/table-1": {ONE_PRINTED: _BATCHES, ONE_TUNED: _BATCHES, UNEQUAL: _BATCHES},
    **{
        f"ldp-ucrl-vtr/figure-2-{name}": {ONE_PRINTED: _GRID, UNEQUAL: _LARGER}
        for name in ("3", "3-inhomogeneous", "5", "5-inhomogeneous")
    },
}
"""Why a page may depart from the rule: by address and fault."""
