"""Curves that others made, from a CSV file: to be drawn beside runs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError
from .run import MEASURES

MOST_ROWS = 10**6


@dataclass(frozen=True, eq=False)
class OutsideCurve:
    """A name, numbers of episodes (C,) that grow, and one row a seed, (seeds, C), of `measure`."""

    name: str
    measure: str
    episodes: NDArray[np.int64]
    rows: NDArray[np.float64]


def outside_curves(path: str | Path) -> list[OutsideCurve]:
    """The curves in a CSV file with columns episodes, regret (or return), and if there are several, name and seed."""
    source = Path(path)
    try:
        with open(source, encoding="utf-8-sig", newline="") as file:
            return _curves(csv.DictReader(file), source.stem)
    except (OSError, ValueError, TypeError, csv.Error) as error:
        way_out = "It needs the columns episodes and regret (or return), and may have name and seed."
        raise FormatError(
            "curves-unreadable", f"{source} holds no curves that can be read: {str(error).rstrip('.')}. {way_out}"
        ) from error


def _curves(lines: csv.DictReader[str], default: str) -> list[OutsideCurve]:
    columns = set(lines.fieldnames or ())
    measures = [measure for measure in MEASURES if measure in columns]
    if "episodes" not in columns or len(measures) != 1:
        raise ValueError(f"its columns are {', '.join(sorted(columns)) or 'none'}")
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for number, line in enumerate(lines, 2):
        if number > MOST_ROWS:
            raise ValueError(f"it has more than {MOST_ROWS:,} rows")
        point = float(line["episodes"]), float(line[measures[0]])
        if not np.isfinite(point).all():
            raise ValueError(f"line {number} is not finite")
        seeds = curves.setdefault(line.get("name") or default, {})
        seeds.setdefault(line.get("seed") or "", []).append(point)
    if not curves:
        raise ValueError("it has no rows")
    return [
        _curve(name, measures[0], [np.array(sorted(rows)) for rows in seeds.values()]) for name, seeds in curves.items()
    ]


def _curve(name: str, measure: str, seeds: list[NDArray[np.float64]]) -> OutsideCurve:
    places = seeds[0][:, 0]
    if any(len(rows) != len(places) or (rows[:, 0] != places).any() for rows in seeds):
        raise ValueError(f"the seeds of {name!r} are not about the same episodes")
    if places[0] < 1 or (np.diff(places) <= 0).any() or (places != np.rint(places)).any():
        raise ValueError(f"the episodes of {name!r} are not whole numbers from 1 on, each once")
    return OutsideCurve(name, measure, places.astype(np.int64), np.array([rows[:, 1] for rows in seeds]))
