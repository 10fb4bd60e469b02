"""`confide reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import validation
from . import options
from .output import note, table


@click.command("reproduce")
@click.argument("address")
@click.option(
    "--scale", type=click.Choice(["quick", "paper"]), default="quick", show_default=True, help="How much of it."
)
@click.option(
    "--out", type=click.Path(file_okay=False), default="reproductions", show_default=True, help="Where it goes."
)
@click.option("--workers", type=options.Count(), default=1, show_default=True, help="Processes.")
def command(address: str, scale: str, out: str, workers: int) -> None:
    """Run an experiment by its ADDRESS (or `list` them): picture, table and data."""
    from ..experiments import offline, online, shuffled, vtr
    from .progress import bar

    EXPERIMENTS: dict[str, Any] = {
        **online.EXPERIMENTS,
        **shuffled.EXPERIMENTS,
        **vtr.EXPERIMENTS,
        **offline.EXPERIMENTS,
    }

    if address == "list":
        table(["address", "shows"], [(name, experiment.shows) for name, experiment in EXPERIMENTS.items()])
        return
    experiment = EXPERIMENTS[validation.choice("experiment", address, EXPERIMENTS)]
    folder = Path(out) / address
    folder.mkdir(parents=True, exist_ok=True)
    with bar(len(experiment.curves), address) as progress:
        runs = experiment.run(scale, workers, progress)
    for run in runs:
        run.save(folder / "-".join(run.label.replace(":", "").replace(",", "").split()), replace=True)
    experiment.draw(runs, folder / "regret.png")
    rows = experiment.table(runs)
    (folder / "table.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for row in rows:
        click.echo(row)
    note(f"written to {folder}")
