"""`confide plot`: the curves of saved runs, and of outside ones, in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from ..validation import Json
from . import output

if TYPE_CHECKING:
    from ..analysis.results import Run


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
    from ..analysis.results.outside import outside_curves

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
        *(f"{run.environment}: {name}" if len(worlds) > 1 else name for run, name in zip(runs, names, strict=True)),
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
