"""`confide plot`: the curves of saved runs, and of outside ones, in one picture."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import InvalidInput
from . import output


@click.command("plot")
@click.argument("folders", nargs=-1, required=True, metavar="DIR|CSV...")
@click.option("--out", required=True, metavar="FILE", help="The picture to write: .png, .svg or .pdf.")
@click.option("--per-episode", is_flag=True, help="Divide by the number of episodes.")
@click.option("--log", is_flag=True, help="Logarithmic axes.")
@click.option("--title", help="What stands above it; else the world, if all runs are in the same one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folders: tuple[str, ...], out: str, per_episode: bool, log: bool, title: str | None, as_json: bool) -> None:
    """Overlay the curves of runs that were saved with `simulate --out`, and curves of others from CSV files.

    A CSV file has a column `episodes` and one of `regret` or `return`; with a column `name` it holds several curves, with a
    column `seed` several rows of each.
    """
    from ..analysis.reporting.figures import check_picture, regret_figure
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
    worlds = sorted({run.environment for run in runs})
    names = [run.name for run in runs]
    if len(worlds) > 1:
        names = [f"{run.environment}: {name}" for run, name in zip(runs, names, strict=True)]
    if len(set(names)) < len(names):
        names = list(folders)
    heading = title if title is not None else worlds[0] if len(worlds) == 1 else ""
    curves = [(name, run.checkpoints, run.regret) for name, run in zip(names, runs, strict=True)]
    curves += [(curve.name, curve.episodes, curve.rows) for curve in outside]
    picture = regret_figure(curves, out, heading, log_x=log, log_y=log, per_episode=per_episode, measure=measures[0])
    rows = [(name, int(episodes[-1]), len(values), mean_interval(values[:, -1])) for name, episodes, values in curves]
    if as_json:
        keys, ends = ("name", "episodes", "seeds"), ("mean", "low", "high")
        shown = [
            {**dict(zip(keys, row[:3], strict=True)), measures[0]: dict(zip(ends, row[3], strict=True))} for row in rows
        ]
        output.emit({"picture": str(picture), "runs": shown})
        return
    columns = ("run", "episodes", "seeds", f"final {measures[0]}", "95 % interval")
    cells = [(*row[:3], row[3].value, row[3].ends(".4g")) for row in rows]
    output.table(columns, cells)
    output.note(f"Drawn: {picture}")


def _outside(path: str) -> bool:
    return Path(path).suffix.lower() == ".csv"
