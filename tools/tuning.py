"""Tries every point of the grids of tuned sides on seeds and worlds that are not reported: `python -m tools.tuning [NAME ...]`.

A grid whose best point is at an edge is named; widen it beside the constants, in `confide/lab/experiments`, and run again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confide.lab.experiments import ldp_obi, offline, private_ucb_printed, vtr, vtr_theorem
from confide.lab.experiments.sides import Tuned, read_tuning

TABLE = Path(__file__).parent.parent / "docs" / "reproductions" / "tuning.json"
WORLDS = 30
"""In how many random worlds a bonus is tuned."""


def grids() -> dict[str, tuple[Mapping[str, tuple[float, ...]], int]]:
    """The grid of every tuned side, and the root of its seeds."""
    linear = {offline.side_name(*side): (offline.axes(*side), offline.TUNING_ROOT) for side in offline.TUNED}
    counts = {label: ({"bonus scale": offline.APVI_SCALES}, offline.TUNING_ROOT) for label in offline.APVI_TUNED}
    random = {label: ({"bonus scale": ldp_obi.SCALES}, 0) for label in ldp_obi.TUNED}
    mixtures = {side: ({"c": vtr.grid_of(side)}, vtr.TUNING_ROOT) for side in vtr.tuned_sides()}
    ucb = {label: ({"bonus scale": private_ucb_printed.SCALES}, 0) for label in private_ucb_printed.TUNED}
    bounds = {label: ({"constant": vtr_theorem.SCALES}, 0) for label in vtr_theorem.TUNED}
    return {**linear, **counts, **random, **mixtures, **ucb, **bounds}


def chosen() -> dict[str, tuple[float, ...]]:
    """The constants that the experiments use, by the name of the side."""
    linear = {offline.side_name(*side): constants for side, constants in offline.TUNED.items()}
    scales = {
        **ldp_obi.TUNED,
        **offline.APVI_TUNED,
        **vtr.tuned_sides(),
        **private_ucb_printed.TUNED,
        **vtr_theorem.TUNED,
    }
    return {**linear, **{label: (scale,) for label, scale in scales.items()}}


def loss(label: str, point: tuple[float, ...]) -> float:
    """The mean loss of a side at one point of its grid."""
    if label in ldp_obi.TUNED:
        return float(ldp_obi.tuning_side(label, *point).compute("paper", WORLDS).final.mean())
    if label in offline.APVI_TUNED:
        return float(offline.apvi_side(label, *point).compute("paper", offline.TUNING_SEEDS).mean.mean())
    if label in private_ucb_printed.TUNED:
        side = private_ucb_printed.tuning_side(label, *point)
        return float(side.compute("paper", private_ucb_printed.TUNING_WORLDS).final.mean())
    if label in vtr_theorem.TUNED:
        side = vtr_theorem.tuning_side(label, *point)
        return float(side.compute("paper", vtr_theorem.TUNING_WORLDS).final.mean())
    if label in vtr.tuned_sides():
        return float(vtr.tuning_side(label, *point).compute("paper", vtr.TUNING_SEEDS).final.mean())
    asked: Any = next(side for side in offline.TUNED if offline.side_name(*side) == label)
    (name, rho), (ridge, factor) = asked, point
    curve = offline.linear_side(name, rho, ridge, factor, people=offline.TUNING_PEOPLE, seed=offline.TUNING_ROOT)
    return float(curve.compute("paper", offline.TUNING_SEEDS).mean.mean())


def main(names: list[str]) -> int:
    """Try the sides that are named, or all, and write down what was found."""
    edges = 0
    for label, (axes, root) in grids().items():
        if names and label not in names:
            continue
        losses = tuple(loss(label, point) for point in Tuned(axes, (), root).points)
        one = Tuned(axes, losses, root)
        edges += len(one.at_an_edge())
        edge = "".join(f"; {axis} at an edge" for axis in one.at_an_edge())
        print(f"{label}: best {one.best}, {min(one.losses):.4g}{edge}", flush=True)
        found = read_tuning(TABLE) if TABLE.is_file() else {}
        document = {key: value.as_json() for key, value in sorted({**found, label: one}.items())}
        TABLE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return int(edges > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
