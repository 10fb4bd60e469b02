"""`confide reproduce`: runs experiments by their addresses."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from . import options
from .output import note, table

if TYPE_CHECKING:
    from ..lab.experiments.experiment import Experiment
    from ..lab.studies.spreading import TaskEngine


WIDTH = 120
"""Of what is said below a table."""


@click.command("reproduce")
@click.argument("addresses", nargs=-1, required=True)
@click.option(
    "--scale", type=click.Choice(["quick", "paper"]), default="quick", show_default=True, help="How much of it."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="reproductions",
    show_default=True,
    help="Where pages, pictures and data go.",
)
@click.option("--schedule", help="When policies change, where that is by growth: every, for those who want to wait.")
@click.option("--seeds", type=options.Count(), help="Fewer seeds than the scale has; pages say how many.")
@click.option(
    "--parts",
    metavar="TEXT",
    help="Run only parts with this in their label (* for anything), and publish all that is finished.",
)
@click.option("--workers", type=options.Count(), default=1, show_default=True, help="Processes.")
@click.option(
    "--engine", type=click.Choice(["local", "dask"]), default="local", show_default=True, help="Who computes."
)
@click.option("--scheduler", metavar="ADDRESS", help="Of the Dask cluster.")
@click.option(
    "--learner",
    metavar="NAME",
    help="With ours/worlds: a learner of yours (--import FILE), beside ours and the published.",
)
@click.option(
    "--guarantee", "promises", multiple=True, metavar="NAME", help="With --learner: joint, local 1, local 4, shuffle."
)
@click.option("--fresh", is_flag=True, help="Run again what was run before.")
@click.option(
    "--finished", is_flag=True, help="Run nothing; publish what was finished so far, and say how much that is."
)
def command(
    addresses: tuple[str, ...],
    scale: str,
    out: str,
    schedule: str | None,
    seeds: int | None,
    parts: str | None,
    workers: int,
    engine: str,
    scheduler: str | None,
    learner: str | None,
    promises: tuple[str, ...],
    fresh: bool,
    finished: bool,
) -> None:
    """Run experiments by their ADDRESSES: data, pictures, a page each, and the gallery of all.

    An address is that of a figure or a table, such as ldp-obi/figure-1; the name of a paper, such as ldp-obi; or all.
    `list` shows them. What was interrupted goes on where it stopped.
    """
    from ..lab.experiments.experiment import ADDRESSES, catalogue, chosen
    from ..lab.experiments.publishing import publish_gallery
    from ..lab.studies.spreading import TaskEngine

    if addresses == ("list",):
        _list(list(catalogue().values()))
        return
    if "list" in addresses:
        raise InvalidInput(
            "reproduce-list-alone", "`list` stands alone. Leave out the other addresses, or leave it out."
        )
    if fresh and finished:
        raise InvalidInput(
            "reproduce-fresh-and-finished",
            "--fresh runs everything again, and --finished nothing. Leave out one of them.",
        )
    if parts is not None and (fresh or finished or learner is not None):
        raise InvalidInput(
            "reproduce-parts-alone",
            "--parts adds some parts to what is there. Leave out --fresh, --finished and --learner.",
        )
    power = None if finished else TaskEngine(engine, workers, scheduler)
    if learner is not None or promises:
        if addresses != ("ours/worlds",) or learner is None:
            raise InvalidInput(
                "reproduce-learner-elsewhere",
                "--learner and --guarantee are for ours/worlds alone. Give that address and a --learner.",
            )
        from ..lab.experiments.worlds import joined

        _run(joined(learner, promises).having(schedule, seeds), scale, Path(out), power, fresh)
        return
    for experiment in chosen(addresses):
        _run(experiment.having(schedule, seeds), scale, Path(out), power, fresh, parts)
    note(f"the gallery: {publish_gallery(ADDRESSES, Path(out))}")


def _run(
    experiment: Experiment, scale: str, out: Path, engine: TaskEngine | None, fresh: bool, parts: str | None = None
) -> None:
    """Run, publish and show; without an engine, publish and show what is there. parts: text in the labels of those to be run."""
    import tempfile

    from ..lab.experiments.part import ResultStore
    from ..lab.experiments.publishing import markdown, publish
    from .output import bar

    wanted = experiment if parts is None else experiment.only(parts)
    with tempfile.TemporaryDirectory() as nothing, bar(len(wanted.parts), experiment.address) as progress:
        store = ResultStore(Path(nothing) if fresh else out / ".parts")
        results = wanted.run(scale, store, engine, progress) if engine else []
        if wanted is not experiment or not engine:
            results = experiment.finished(scale, store)
    if experiment.parts and not results:
        raise InvalidInput(
            "reproduce-nothing-finished",
            f"Nothing of {experiment.address} at {scale} scale was finished in {out}. Run it first.",
        )
    folder = publish(experiment, scale, results, out)
    shown = markdown(experiment.view.table(results))
    click.echo(f"{experiment.title}\n\n{shown}\n{textwrap.fill(experiment.text(scale, results), WIDTH)}\n")
    seconds = sum(result.seconds for result in results)
    message = f"{experiment.address} at {scale} scale: {seconds:,.0f} s of computing, parts of earlier runs included"
    note(f"{message}; written to {folder}")


def _list(experiments: list[Experiment]) -> None:
    from .output import bar

    rows = []
    with bar(len(experiments), "working out guarantees") as progress:
        for experiment in experiments:
            promises = list(
                dict.fromkeys(
                    word for promise_text in experiment.promises() for word in promise_text.split("; ") if word
                )
            )
            shown = "; ".join(promises[:3]) + (f"; and {len(promises) - 3} more" if len(promises) > 3 else "")
            rows.append((experiment.address, experiment.title, experiment.scale, f"{experiment.minutes:g}", shown))
            progress(len(rows))
    table(["address", "shows", "at paper scale", "minutes", "true guarantees"], rows)
