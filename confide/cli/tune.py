"""`confide tune`: chooses a learner's constant on simulations."""

from __future__ import annotations

import shlex
from typing import Any

import click

from ..errors import InvalidInput
from . import options
from .learner import own_options
from .output import emit, note, table

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
@click.option("--trust", type=click.Choice(["none", "local", "shuffle", "joint"]), default="joint", show_default=True)
@options.privacy
@options.shuffling
@click.option("--episodes", type=options.Count(), default=10_000, show_default=True, help="How many people.")
@click.option("--seeds", type=options.Count(), default=5, show_default=True, help="How many runs for each value.")
@click.option("--horizon", type=options.Count(), help="Steps of an episode; by default the environment's.")
@click.option("--model", type=click.Choice(["stationary", "per-step"]), help="By default the environment's.")
@click.option("--calibration", type=click.Choice(["paper", "sound", "tight"]), default="tight", show_default=True)
@click.option("--mechanism", default="auto", show_default=True, help="As for simulate.")
@click.option("--schedule", help="every, batches:500 or growth:1.01.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the learner's own, as for simulate.")
@click.option("--seed", type=options.Count(), help="Root of the luck; by default one that simulate does not use.")
@click.option("--workers", type=options.Count(), default=1, show_default=True, help="Processes.")
@click.option("--out", type=click.Path(dir_okay=False), help="Save the choice, with this command, as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    context: click.Context, /, environment: str, grid: str, out: str | None, as_json: bool, **arguments: Any
) -> None:
    """Choose a learner's constant on simulated people in ENVIRONMENT, never on real data."""
    from ..simulation.tune import SEED, tune
    from .progress import bar

    try:
        values = [float(value) for value in grid.split(",")]
    except ValueError:
        raise InvalidInput(f"--grid takes numbers such as {GRID}. Got {grid!r}.") from None
    promise = options.guarantee(arguments["trust"], arguments["epsilon"], arguments["delta"], arguments["rho"])
    named = ("calibration", "mechanism", "schedule", "horizon", "model", *options.SHUFFLING)
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
    if tuning.at_edge:
        note(f"confide: warning: {tuning.chosen:g} is at the edge of the grid. Try values beyond it.")
    if tuning.rivals:
        rivals = ", ".join(f"{value:g}" for value in tuning.rivals)
        note(
            f"confide: warning: the seeds disagree: {rivals} may be as good as {tuning.chosen:g}, within two standard errors. "
            "Give more --seeds."
        )
    if as_json:
        emit(tuning.as_json())
        return
    rows = [
        [f"{value:g}", f"{regret:,.1f}", f"{error:.2g}", "chosen" if value == tuning.chosen else ""]
        for value, regret, error in zip(tuning.grid, tuning.regret, tuning.error, strict=True)
    ]
    table(
        [tuning.constant, "final regret", "standard error", ""],
        rows,
        title=f"{environment}, {arguments['learner']}, {promise}",
    )


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
