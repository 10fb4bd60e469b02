"""`confide simulate`: learns from simulated users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from . import grid, options
from .output import emit, note, plain_number, table

if TYPE_CHECKING:
    from ..analysis.results import Run
    from ..lab.simulation.half_gain import HalfGain

LOGGED = ("behaviour", "return_range", "visits", "judge")
"""Options about logged people."""

EXAMPLES = """
\b
Examples:
  confide simulate riverswim/6 --horizon 20 --epsilon 1 --delta 1e-6 --episodes 50000 --plot regret.png
  confide simulate random/2x2 --horizon 2 --learner obi --trust local --epsilon 2 --episodes 1e8
  confide simulate riverswim/6 --horizon 5 --learner obi --trust shuffle --epsilon 1 --delta 1e-6 --batch 5000 --episodes 1e6
  confide simulate riverswim/6 --epsilon 1 --delta 1e-6 --compare calibration=sound,tight --plot both.png
  confide simulate riverswim/3 --horizon 4 --learner ucbvi --option bonus=bernstein --trust none --out run
  confide simulate --again run
  confide simulate clinic --offline --rho 0.5 --episodes 3000 --option pessimism=bernstein
"""


@click.command("simulate", epilog=EXAMPLES)
@click.argument("environment", required=False)
@click.option(
    "--learner",
    default="ucbvi",
    show_default=True,
    help="ucbvi, po, obi, psrl, pucb, ucrl-vtr or one of your own; under tight ucbvi, obi and pucb are one planner.",
)
@click.option(
    "--trust",
    default="joint",
    show_default=True,
    help="Trust model: none, local, shuffle, joint, or one of your own.",
)
@options.privacy
@options.shuffling
@options.devices
@options.claimed
@click.option(
    "--episodes",
    type=options.Count(),
    default=10_000,
    show_default=True,
    help="Number of episodes, one a user unless --returns is given; 1e8 is fine.",
)
@click.option(
    "--returns",
    type=options.Count(),
    default=1,
    show_default=True,
    help="How often a user may take part; the guarantee is about all of their episodes.",
)
@click.option(
    "--apart",
    type=options.Count(),
    default=1,
    show_default=True,
    help="joint, with --returns: how many batches apart a user's episodes are, at least.",
)
@click.option(
    "--expected",
    type=options.Count(),
    help="Users expected, where the schedule has no end: --episodes may be more or fewer.",
)
@click.option("--seeds", type=options.Count(), default=5, show_default=True, help="Number of independent runs.")
@click.option("--horizon", type=options.Count(), help="Steps of an episode; by default the environment's.")
@click.option("--model", type=click.Choice(["stationary", "per-step"]), help="By default the environment's.")
@click.option(
    "--calibration",
    type=click.Choice(["paper", "sound", "tight"]),
    default="tight",
    show_default=True,
    help="Noise and bonuses: as the paper prints them, raised until its claim holds, or our own at the same guarantee.",
)
@click.option("--mechanism", default="auto", show_default=True, help="auto takes the one with least variance.")
@click.option(
    "--printing",
    default="",
    help="With paper: another printing of the noise: proof (gaussian), natural-log (tree-laplace), prop-14 (bounded).",
)
@click.option("--schedule", help="every, batches:500 or growth:1.01.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the learner's own, such as alpha=3.")
@click.option(
    "--engine", type=click.Choice(["batched", "stepwise", "mixture", "plain"]), help="By default the fastest that fits."
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
    help="joint: repeated visits counted per user; 0 for all. By default what loses least.",
)
@click.option(
    "--seed",
    type=options.Count(),
    default=0,
    show_default=True,
    help="Root of all random numbers, of the environment and of the noise.",
)
@click.option(
    "--workers", type=options.Count(), default=1, show_default=True, help="Processes; results do not depend on it."
)
@click.option(
    "--offline", is_flag=True, help="Learn from logged trajectories instead: apvi, vapvi or pevi, central privacy."
)
@click.option(
    "--behaviour", help="With --offline, the behaviour policy: uniform, or soft:0.3; by default the environment's own."
)
@click.option("--no-support", is_flag=True, help="With --offline: which transitions are possible is not public.")
@click.option("--return-range", type=(float, float), help="With --offline: of all steps together; returns are clipped.")
@click.option("--visits", type=options.Visits(), help="With --offline: which of a user's are counted, as in a fit.")
@click.option(
    "--judge",
    type=options.Share(),
    metavar="SHARE|auto|none",
    help="With --offline: of users who judge the policy, as in a fit, and by default as there.",
)
@click.option(
    "--forecast",
    is_flag=True,
    help="Also say from how many users on half of the gain is had in worlds of these sizes, and under other trust models.",
)
@click.option("--compare", multiple=True, metavar="NAME=A,B", help=grid.HELP)
@click.option("--scheduler", metavar="ADDRESS", help="With --compare: of the Dask cluster that runs the grid.")
@click.option("--again", type=click.Path(file_okay=False), help="Run what this folder holds again, to the same digits.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the curves (.png, .svg or .pdf).")
@click.option("--out", type=click.Path(file_okay=False), help="Save curves, config, certificate and policy here.")
@click.option("--replace", is_flag=True, help="Replace what is in --out and differs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    context: click.Context,
    /,
    environment: str | None,
    compare: tuple[str, ...],
    as_json: bool,
    forecast: bool,
    **arguments: Any,
) -> None:
    """Simulate a learner in ENVIRONMENT under a privacy guarantee; the regret is exact.

    ENVIRONMENT is an address such as riverswim/6, random/2x2 or gymnasium:FrozenLake-v1; `confide environments` lists them.
    """
    from ..lab.studies import Study, StudyCell

    again, workers, scheduler = (arguments.pop(name) for name in ("again", "workers", "scheduler"))
    if again is not None:
        _alone(context)
        choices = grid.saved_choices(again)
        study = Study.of_cells([StudyCell(choices, folder=grid.folder_of(arguments["out"], {}))])
    elif environment is None:
        raise InvalidInput(
            "simulate-environment-missing",
            "simulate needs an ENVIRONMENT, such as riverswim/6, or --again with the folder of a saved run.",
        )
    elif arguments["offline"]:
        from . import offline

        offline.simulate(environment, arguments, _given(context, context.params), as_json)
        return
    elif arguments["no_support"] or any(arguments[name] is not None for name in LOGGED):
        raise InvalidInput(
            "simulate-offline-flags",
            "--behaviour, --no-support, --return-range, --visits and --judge are about logged people. Use them with --offline.",
        )
    else:
        study = grid.study_of({**arguments, "environment": environment}, compare)
    if arguments["plot"]:
        from ..analysis.reporting.figures import check_picture

        check_picture(arguments["plot"])
    for number, _, before in grid.run_all(study, workers, scheduler, arguments["replace"]):
        folder = study.cells[number].folder
        if folder is not None:
            note(f"was saved in {folder}" if before else f"saved in {folder}")
    runs = study.runs
    if again is not None:
        _compare_with(again, runs[0])
    if arguments["plot"]:
        study.plot(arguments["plot"])
        note(f"drawn in {arguments['plot']}")
    told = _forecasts(arguments, environment) if forecast and environment is not None else {}
    if as_json:
        more = {"forecast": {name: each.as_json() for name, each in told.items()}} if told else {}
        emit({**(runs[0].as_json() if len(runs) == 1 else {"runs": [run.as_json() for run in runs]}), **more})
    else:
        _show(runs)
        for name, each in told.items():
            click.echo(f"{name}: {each.sentence}")


def _forecasts(arguments: dict[str, Any], environment: str) -> dict[str, HalfGain]:
    """For the chosen guarantee, and for the same epsilon under the other trust models: what worlds of these sizes take."""
    from ..lab.environments import make
    from ..lab.simulation.half_gain import beside, half_gain

    chosen = options.guarantee(*(arguments[name] for name in ("trust", "epsilon", "delta", "rho")))
    world = make(environment, arguments["horizon"])
    spec = world.spec if arguments["model"] is None else world.with_dynamics(arguments["model"]).spec
    return {str(each): half_gain(spec, each, bool(arguments["claimed"])) for each in beside(chosen).values()}


def _alone(context: click.Context) -> None:
    """Refuse options beside --again that would change what is run."""
    repeated = _given(context, (*grid.REQUESTED, "compare", "offline"))
    if repeated:
        word = repeated[0].replace("_", "-")
        raise InvalidInput(
            "again-with-flags", f"--again runs what was saved, as it was chosen. Leave {word} out, or --again."
        )


def _given(context: click.Context, names: Iterable[str]) -> list[str]:
    """The parameters that stand on the command line."""
    from click.core import ParameterSource

    return [name for name in names if context.get_parameter_source(name) == ParameterSource.COMMANDLINE]


def _compare_with(folder: str, run: Run) -> None:
    """Write to stderr whether a run that was run again is the same to the last digit, and what differs from when it was saved:
    the code, the packages, the machine, files of the user, the world.
    """
    from ..analysis.results import Run
    from ..lab.simulation.record import RECORD, differences

    saved = Run.load(folder)
    before = saved.config.get(RECORD)
    if before is None:
        note(f"{folder} has no record of what it was run with")
    else:
        for difference in differences(before, run.config[RECORD]):
            note(f"since {folder} was run, {difference}")
    alike = saved.regret.shape == run.regret.shape and bool((saved.regret == run.regret).all())
    note(f"the same as in {folder}, to the last digit" if alike else f"confide: warning: not the same as in {folder}")


def _show(runs: list[Run]) -> None:
    rows = []
    for run in runs:
        final = run.final_interval
        rows.append(
            [
                run.label,
                f"{final.value:,.0f}",
                final.ends(",.0f"),
                " of ".join(
                    plain_number(value, digits=4) for value in (float(run.final_value.mean()), run.optimal_value)
                ),
                f"{run.schedule['kind']} ({run.schedule['releases']:,} releases)",
                run.engine,
                plain_number(float(f"{run.episodes * run.seeds / run.seconds:.3g}")),
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
    people, seeds = sorted({run.episodes for run in runs}), sorted({run.seeds for run in runs})
    worlds = sorted({run.environment for run in runs})
    table(heads, rows, title=f"{_span(worlds)}, {_span(people, 'episode')}, {_span(seeds, 'seed')}")
    grid.show_promises(runs)


def _span(values: Sequence[str | int], noun: str = "") -> str:
    """Values as text: one of them, or the first and the last. noun: what numbers count."""
    from ..analysis.reporting.numbers import counted

    first = values[0] if isinstance(values[0], str) else f"{values[0]:,}"
    last = counted(int(values[-1]), noun) if noun else str(values[-1])
    return last if len(values) == 1 else f"{first} to {last}" if len(values) > 2 else f"{first} and {last}"
