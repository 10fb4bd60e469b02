"""`confide plot`: the curves of saved runs, and of outside ones, in one picture.

Curves that others made, from a CSV file: to be drawn beside runs.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from numpy.typing import NDArray

from ..analysis.results.run import MEASURES
from ..errors import FormatError, InvalidInput
from ..validation import Json
from . import output

if TYPE_CHECKING:
    from ..analysis.results import Run

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


@click.command("plot")
@click.argument("folders", nargs=-1, required=True, metavar="DIR|CSV...")
@click.option("--out", required=True, metavar="FILE", help="The picture to write: .png, .svg or .pdf.")
@click.option("--per-episode", is_flag=True, help="Divide by the number of episodes.")
@click.option("--log", is_flag=True, help="Logarithmic axes.")
@click.option("--title", help="What stands above it, if all runs are in one world; else each panel has its world.")
@click.option(
    "--band",
    type=click.Choice(["interval", "range", "none"]),
    default="interval",
    show_default=True,
    help="Around each mean: its interval over seeds, from the lowest to the highest seed, or none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    folders: tuple[str, ...], out: str, per_episode: bool, log: bool, title: str | None, band: str, as_json: bool
) -> None:
    """Overlay the curves of runs that were saved with `simulate --out`, and curves of others in CSV files; a panel for each world.

    A CSV file has a column `episodes` and one of `regret` or `return`; with a column `name` it holds several curves, with a
    column `seed` several rows of each.
    """
    from ..analysis.reporting.facets import FacetCurve, facet_figure
    from ..analysis.reporting.figures import check_picture
    from ..analysis.reporting.intervals import mean_interval
    from ..analysis.results import Run

    check_picture(out)
    outside = [curve for path in folders if _outside(path) for curve in outside_curves(path)]
    folders = tuple(path for path in folders if not _outside(path))
    runs = [Run.load(folder) for folder in folders]
    measures = sorted({run.measure for run in runs} | {curve.measure for curve in outside})
    if len(measures) > 1:
        raise InvalidInput(
            "plot-mixed-measures",
            "Runs in one picture must measure the same. Some have regret and some returns. Split them.",
        )
    worlds = list(dict.fromkeys(run.environment for run in runs))
    names = [run.name for run in runs]
    if len({(run.environment, run.name) for run in runs}) < len(runs):
        names = list(folders)
    values = [{"run": name} for name in names] if outside else _values(runs, names)
    curves = [
        FacetCurve(run.environment if title is None or len(worlds) > 1 else title, each, run.checkpoints, run.regret)
        for run, each in zip(runs, values, strict=True)
    ]
    elsewhere = curves[0].facet if len(worlds) == 1 else title or ""
    curves += [FacetCurve(elsewhere, {"run": curve.name}, curve.episodes, curve.rows) for curve in outside]
    facet_figure(curves, out, band=band, log=log, per_episode=per_episode, measure=measures[0])
    shown = [
        *(_placed(run, name) if len(worlds) > 1 else name for run, name in zip(runs, names, strict=True)),
        *(curve.name for curve in outside),
    ]
    rows = [
        (name, int(curve.episodes[-1]), len(curve.rows), mean_interval(curve.rows[:, -1]))
        for name, curve in zip(shown, curves, strict=True)
    ]
    if as_json:
        keys, ends = ("name", "episodes", "seeds"), ("mean", "low", "high")
        objects: list[dict[str, Json]] = [
            {**dict(zip(keys, row[:3], strict=True)), measures[0]: dict(zip(ends, row[3], strict=True))} for row in rows
        ]
        output.emit({"picture": out, "runs": objects})
        return
    columns = ("run", "episodes", "seeds", f"final {measures[0]}", "95 % interval")
    cells = [(*row[:3], row[3].value, row[3].ends(".4g")) for row in rows]
    output.table(columns, cells)
    output.note(f"Drawn: {out}")


def _placed(run: Run, name: str) -> str:
    """The name of a run with its world, where it does not name that already."""
    return name if run.environment in name else f"{run.environment}: {name}"


def _values(runs: list[Run], names: list[str]) -> list[dict[str, str]]:
    """By which values of which axes runs differ, the world left out: by what was chosen, where all say so, else by their names."""
    from ..lab.simulation import Choices
    from ..lab.studies.cells import SAVED, values_of

    saved = [run.config.get(SAVED) for run in runs]
    if not all(saved):
        return [{"run": name} for name in names]
    values = values_of([Choices.from_json(choices) for choices in saved])
    apart = [{axis: value for axis, value in each.items() if axis != "world"} for each in values]
    placed = {(run.environment, *each.values()) for run, each in zip(runs, apart, strict=True)}
    return apart if apart[0] and len(placed) == len(runs) else [{"run": name} for name in names]


def _outside(path: str) -> bool:
    return Path(path).suffix.lower() == ".csv"
