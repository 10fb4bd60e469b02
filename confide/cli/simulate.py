"""`confide simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from . import options
from .output import emit, note, table

if TYPE_CHECKING:
    from ..results import Run

EXAMPLES = """
\b
Examples:
  confide simulate riverswim/6 --horizon 20 --epsilon 1 --delta 1e-6 --episodes 50000 --plot regret.png
  confide simulate random/2x2 --horizon 2 --learner obi --trust local --epsilon 2 --episodes 1e8
  confide simulate riverswim/6 --horizon 5 --learner obi --trust shuffle --epsilon 1 --delta 1e-6 --batch 5000 --episodes 1e6
  confide simulate riverswim/6 --epsilon 1 --delta 1e-6 --compare calibration=sound,tight --plot both.png
  confide simulate clinic --offline --rho 0.5 --episodes 3000
"""
COMPARABLE = (
    "learner",
    "epsilon",
    "delta",
    "rho",
    "trust",
    "calibration",
    "mechanism",
    "schedule",
    "bonus_scale",
    "batch",
    "local_epsilon",
)


@click.command("simulate", epilog=EXAMPLES)
@click.argument("environment")
@click.option(
    "--learner", default="ucbvi", show_default=True, help="ucbvi, po, obi, psrl, pucb, ucrl-vtr or one of your own."
)
@click.option(
    "--trust",
    default="joint",
    show_default=True,
    help="Who is trusted: none, local, shuffle, joint, or a model of your own.",
)
@options.privacy
@options.shuffling
@click.option(
    "--episodes", type=options.Count(), default=10_000, show_default=True, help="How many people; 1e8 is fine."
)
@click.option("--seeds", type=options.Count(), default=5, show_default=True, help="How many independent runs.")
@click.option("--horizon", type=options.Count(), help="Steps of an episode; by default the environment's.")
@click.option("--model", type=click.Choice(["stationary", "per-step"]), help="By default the environment's.")
@click.option(
    "--calibration",
    type=click.Choice(["paper", "sound", "tight"]),
    default="tight",
    show_default=True,
    help="How much noise.",
)
@click.option("--mechanism", default="auto", show_default=True, help="auto takes the one with least variance.")
@click.option("--schedule", help="every, batches:500 or growth:1.01.")
@click.option(
    "--engine", type=click.Choice(["batched", "stepwise", "linear", "plain"]), help="By default the fastest that fits."
)
@click.option(
    "--bonus-scale",
    type=float,
    default=1.0,
    show_default=True,
    help="Factor on the exploration bonus; never changes privacy.",
)
@click.option(
    "--budget",
    type=options.Count(),
    help="joint: how much of one person is counted; 0 for all of it. By default what loses least.",
)
@click.option(
    "--seed", type=options.Count(), default=0, show_default=True, help="Root of the world's luck and the noise."
)
@click.option(
    "--workers", type=options.Count(), default=1, show_default=True, help="Processes; results do not depend on it."
)
@click.option("--offline", is_flag=True, help="Learn from logged people instead: apvi, vapvi or pevi, central privacy.")
@click.option("--behaviour", help="With --offline, what they did: uniform, or soft:0.3; by default the world's own.")
@click.option("--no-support", is_flag=True, help="With --offline: which transitions are possible is not public.")
@click.option("--compare", multiple=True, metavar="NAME=A,B", help=f"Run several: {', '.join(COMPARABLE)}.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the curves (.png or .svg).")
@click.option("--out", type=click.Path(file_okay=False), help="Save curves, config, certificate and policy here.")
@click.option("--replace", is_flag=True, help="Replace what is in --out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(environment: str, compare: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Learn from simulated people in ENVIRONMENT, and measure the regret exactly.

    ENVIRONMENT is an address such as riverswim/6, random/2x2 or gymnasium:FrozenLake-v1; `confide environments` lists them.
    """
    if given.pop("offline"):
        from . import offline

        offline.simulate(environment, given, as_json)
        return
    if given.pop("behaviour") is not None or given.pop("no_support"):
        raise InvalidInput("--behaviour and --no-support are about logged people. Use them with --offline.")
    variants = _variants(compare)
    folders = _folders(given["out"], given["replace"], variants)
    if given["plot"]:
        from ..reporting.figures import check_picture

        check_picture(given["plot"])
    runs = [_run(environment, {**given, **variant}, variant) for variant in variants]
    for run, folder in zip(runs, folders, strict=False):
        note(f"saved in {run.save(folder, replace=given['replace'])}")
    if given["plot"]:
        _draw(runs, given["plot"])
    if as_json:
        emit(runs[0].as_json() if len(runs) == 1 else {"runs": [run.as_json() for run in runs]})
    else:
        _show(runs)


def _variants(compare: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every combination of the compared values; one empty variant if nothing is compared."""
    variants: list[dict[str, Any]] = [{}]
    for text in compare:
        name, equals, values = text.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in COMPARABLE:
            raise InvalidInput(f"--compare takes NAME=A,B with NAME one of {', '.join(COMPARABLE)}. Got {text!r}.")
        numeric = name in ("epsilon", "delta", "rho", "bonus_scale", "batch", "local_epsilon")
        try:
            parsed = [float(value) if numeric else value for value in values.split(",")]
        except ValueError:
            raise InvalidInput(f"--compare {name} takes numbers. Got {values!r}.") from None
        variants = [{**variant, name: value} for variant in variants for value in parsed]
    return variants


def _run(environment: str, given: dict[str, Any], variant: dict[str, Any]) -> Run:
    from ..simulation import episodes_needed, prepare, simulate
    from .progress import bar

    promise = options.guarantee(given["trust"], given["epsilon"], given["delta"], given["rho"])
    named = ("calibration", "mechanism", "schedule", "horizon", "model", "bonus_scale", "budget", *options.SHUFFLING)
    choices = {key: given[key] for key in named}
    setting = prepare(given["learner"], environment, promise, given["episodes"], **choices)
    needed = episodes_needed(setting)
    if needed > setting.schedule.users:
        note(
            f"confide: warning: with {promise} the noise drowns what {setting.schedule.users:,} episodes can show; "
            f"at least about {needed:.1g} would be needed."
        )
    label = ", ".join(f"{key} {value:g}" if isinstance(value, float) else str(value) for key, value in variant.items())
    with bar(given["seeds"], label or given["learner"]) as progress:
        run = simulate(
            given["learner"],
            environment,
            promise,
            given["episodes"],
            given["seeds"],
            seed=given["seed"],
            engine=given["engine"],
            workers=given["workers"],
            progress=progress,
            label=label,
            **choices,
        )
    if run.seeds < given["seeds"]:
        note(f"confide: interrupted after {run.seeds} of {given['seeds']} seeds; these are kept.")
    return run


def _folders(out: str | None, replace: bool, variants: list[dict[str, Any]]) -> list[Path]:
    """Where each run is saved, refused before anything runs if it could not be; none without --out."""
    from ..results import Run

    if out is None:
        return []
    names = ["-".join(f"{key}-{value}" for key, value in variant.items()).replace("/", "-") for variant in variants]
    return [Run.check_folder(Path(out) / name if name else out, replace=replace) for name in names]


def _draw(runs: list[Run], path: str) -> None:
    from ..reporting.figures import regret_figure

    curves = [(run.label, run.checkpoints, run.regret) for run in runs]
    regret_figure(curves, path, title=runs[0].environment, measure=runs[0].measure)
    note(f"drawn in {path}")


def _show(runs: list[Run]) -> None:
    rows = []
    for run in runs:
        found = run.summary()
        interval = f"{found['low']:,.0f} to {found['high']:,.0f}"
        rows.append(
            [
                run.label,
                f"{found['mean']:,.0f}",
                interval,
                f"{float(run.final_value.mean()):.4g} of {run.optimal_value:.4g}",
                run.schedule["kind"] + f" ({run.schedule['releases']:,} releases)",
                run.engine,
                f"{run.episodes * run.seeds / run.seconds:,.3g}",
            ]
        )
    heads = [
        "run",
        f"final {runs[0].measure}",
        "95 % interval",
        "value of last policy",
        "schedule",
        "engine",
        "episodes/s",
    ]
    table(heads, rows, title=f"{runs[0].environment}, {runs[0].episodes:,} episodes, {runs[0].seeds} seeds")
    for run in runs:
        click.echo()
        if len(runs) > 1:
            click.echo(run.label)
        click.echo(str(run.certificate))
