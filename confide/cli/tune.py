"""`confide tune`: chooses a learner's constant on simulations."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from . import options
from .learner import own_options
from .output import emit, note, table

if TYPE_CHECKING:
    from ..lab.simulation.tune import Tuning

EXAMPLES = """
\b
Examples:
  confide tune riverswim-mixture/3 --learner ucrl-vtr --constant c --trust local --epsilon 1 --delta 0.1 --out c.json
  confide tune riverswim/6 --horizon 20 --epsilon 1 --delta 1e-6 --calibration sound --grid 0.1,0.3,1,3
  confide tune riverswim/6 --learner obi --trust shuffle --epsilon 1 --delta 1e-6 --batch 500 --calibration sound
"""
GRID = "0,0.001,0.01,0.1,1"


@click.command("tune", epilog=EXAMPLES)
@click.argument("environment")
@click.option("--learner", default="ucbvi", show_default=True, help="As for simulate.")
@click.option(
    "--constant", default="bonus_scale", show_default=True, help="What is tuned: bonus_scale, or c of ucrl-vtr."
)
@click.option("--grid", default=GRID, show_default=True, metavar="A,B,...", help="The values that are tried.")
@click.option("--trust", default="joint", show_default=True, help="As for simulate.")
@options.privacy
@options.shuffling
@options.devices
@options.claimed
@click.option("--episodes", type=options.Count(), default=10_000, show_default=True, help="Number of users.")
@click.option("--seeds", type=options.Count(), default=5, show_default=True, help="How many runs for each value.")
@click.option("--horizon", type=options.Count(), help="Steps of an episode; by default the environment's.")
@click.option("--model", type=click.Choice(["stationary", "per-step"]), help="By default the environment's.")
@click.option("--calibration", type=click.Choice(["paper", "sound", "tight"]), default="tight", show_default=True)
@click.option("--mechanism", default="auto", show_default=True, help="As for simulate.")
@click.option("--schedule", help="every, batches:500 or growth:1.01.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the learner's own, as for simulate.")
@click.option(
    "--seed", type=options.Count(), help="Root of all random numbers; by default one that simulate does not use."
)
@click.option("--workers", type=options.Count(), default=1, show_default=True, help="Processes.")
@click.option("--out", type=click.Path(dir_okay=False), help="Save the choice, with this command, as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    context: click.Context, /, environment: str, grid: str, out: str | None, as_json: bool, **arguments: Any
) -> None:
    """Choose a learner's constant on simulated people in ENVIRONMENT, never on real data."""
    from ..lab.simulation.tune import SEED, tune
    from .output import bar

    try:
        values = [float(value) for value in grid.split(",")]
    except ValueError:
        raise InvalidInput("tune-grid-form", f"--grid takes numbers such as {GRID}. Got {grid!r}.") from None
    promise = options.guarantee(arguments["trust"], arguments["epsilon"], arguments["delta"], arguments["rho"])
    named = (
        "calibration",
        "mechanism",
        "schedule",
        "horizon",
        "model",
        options.DEVICES,
        options.CLAIMED,
        *options.SHUFFLING,
    )
    reserved = (*named, arguments["constant"], "seed", "workers", "privacy")
    choices = {**{key: arguments[key] for key in named}, **own_options(arguments["option"], reserved)}
    with bar(len(values), arguments["learner"]) as progress:
        tuning = tune(
            arguments["learner"],
            environment,
            promise,
            arguments["episodes"],
            arguments["seeds"],
            grid=values,
            constant=arguments["constant"],
            seed=SEED if arguments["seed"] is None else arguments["seed"],
            workers=arguments["workers"],
            progress=progress,
            command=command_line(context),
            **choices,
        )
    if out is not None:
        tuning.save(out)
        note(f"saved in {out}")
    for warning in warnings(tuning):
        note(f"confide: warning: {warning}")
    if as_json:
        emit(tuning.as_json())
        return
    rows = [
        [
            f"{value:g}",
            f"{regret:,.1f}",
            f"{error:.2g}" if arguments["seeds"] > 1 else "-",
            "chosen" if value == tuning.chosen else "",
        ]
        for value, regret, error in zip(tuning.grid, tuning.regret, tuning.error, strict=True)
    ]
    table(
        [tuning.constant, "final regret", "standard error", ""],
        rows,
        title=f"{environment}, {arguments['learner']}, {promise}",
    )


def warnings(tuning: Tuning) -> Iterator[str]:
    """What makes the choice doubtful, in sentences: values that do not differ, a choice at the edge, seeds that disagree."""
    if len(tuning.grid) > 1 and len(tuning.same) == len(tuning.grid) - 1:
        yield f"the values do not differ: {tuning.constant} changes nothing here, on any seed. Try others, or leave it out."
        return
    if tuning.same:
        yield f"{_listed(tuning.same)} and {tuning.chosen:g} do not differ, on any seed; the smallest is chosen."
    if tuning.at_edge:
        yield f"{tuning.chosen:g} is at the edge of the grid. Try values beyond it."
    if tuning.rivals:
        yield (
            f"the seeds disagree: {_listed(tuning.rivals)} may be as good as {tuning.chosen:g}, within two standard errors. "
            "Give more --seeds."
        )


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def command_line(context: click.Context) -> str:
    """The command line, rebuilt from its arguments: every option that differs from its default."""
    words = ["confide", "tune"]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif value is not None and value != parameter.get_default(context) and parameter.name not in ("out", "as_json"):
            values = value if isinstance(value, tuple) else (value,)
            words += [word for entry in values for word in (parameter.opts[0], str(entry))]
    return shlex.join(words)
