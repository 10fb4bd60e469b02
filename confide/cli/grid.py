"""`simulate --compare`: a grid of runs, each with some options changed, that resumes and is spread over machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FormatError, InvalidInput
from . import options
from .learner import own_options
from .output import note, table

if TYPE_CHECKING:
    from ..results import Run

NUMBERS = ("epsilon", "delta", "rho", "bonus_scale", "local_epsilon")
COUNTS = ("episodes", "horizon", "batch")
WORDS = ("learner", "world", "trust", "calibration", "mechanism", "printing", "schedule", "model")
PROMISE = "promise"
COMPARABLE = (*WORDS, PROMISE, *NUMBERS, *COUNTS)
HELP = f"Run a grid, resumed if --out holds part of it: {', '.join(COMPARABLE)}. A promise is joint:1:1e-6, local:2 or none."

CHOICES = (
    "calibration",
    "mechanism",
    "printing",
    "schedule",
    "horizon",
    "model",
    "bonus_scale",
    "budget",
    *options.SHUFFLING,
)
OWN = "option"
BASIC = ("environment", "learner", "trust", "epsilon", "delta", "rho", "episodes", "seeds", "seed", "engine")
REQUESTED = (*BASIC, OWN, *CHOICES)
"""The options of the command that a result depends on: a saved run that has the same is not run again."""


def variants(compare: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every combination of the compared values, as they are named; one empty variant if nothing is compared."""
    combinations: list[dict[str, Any]] = [{}]
    for text in compare:
        name, equals, values = text.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in COMPARABLE:
            raise InvalidInput(f"--compare takes NAME=A,B with NAME one of {', '.join(COMPARABLE)}. Got {text!r}.")
        parsed = [_parsed(name, value) for value in values.split(",")]
        combinations = [{**variant, name: value} for variant in combinations for value in parsed]
    return combinations


def _parsed(name: str, value: str) -> Any:
    if name in COUNTS:
        return options.Count().convert(value, None, None)
    try:
        return float(value) if name in NUMBERS else value
    except ValueError:
        raise InvalidInput(f"--compare {name} takes numbers. Got {value!r}.") from None


def merged_arguments(arguments: dict[str, Any], variant: dict[str, Any]) -> dict[str, Any]:
    """The command's arguments with one variant's values in place of its own."""
    changed = {**arguments, **variant}
    if "world" in changed:
        changed["environment"] = changed.pop("world")
    if PROMISE in changed:
        changed |= _promise(changed.pop(PROMISE))
    return changed


def _promise(text: str) -> dict[str, Any]:
    """The arguments that a promise stands for: `joint:1:1e-6` is trust, epsilon and delta; `none` is no promise."""
    trust, *numbers = text.split(":")
    try:
        epsilon, delta = (*map(float, numbers), 0.0)[:2] if numbers else (None, 0.0)
        if len(numbers) > 2:
            raise ValueError
    except ValueError:
        raise InvalidInput(f"--compare promise takes trust:epsilon:delta, as joint:1:1e-6. Got {text!r}.") from None
    return {"trust": trust, "epsilon": epsilon, "delta": delta, "rho": None}


def label_of(variant: dict[str, Any]) -> str:
    """The label of a variant in a legend; empty if nothing is compared."""
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, int | float) else str(value) for key, value in variant.items()
    )


def folder_of(out: str, variant: dict[str, Any]) -> Path:
    """The folder in which one run of the grid is saved."""
    name = "-".join(f"{key}-{value}" for key, value in variant.items())
    for strange in "/:?=&":
        name = name.replace(strange, "-")
    return Path(out) / name if name else Path(out)


def saved_run(folder: Path, request: dict[str, Any]) -> Run | None:
    """The run that a folder holds, if it was requested with the same options; else None."""
    from ..results import Run

    if not folder.is_dir():
        return None
    try:
        run = Run.load(folder)
    except FormatError:
        return None
    return run if run.config.get("asked") == request and run.seeds == request["seeds"] else None


def request_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a result depends on."""
    return {**{name: arguments[name] for name in REQUESTED}, OWN: list(arguments[OWN])}


def choices_of(request: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `simulate` and `prepare`: the command's choices, and options of the learner's own."""
    return {
        **{key: request[key] for key in CHOICES},
        **own_options(request[OWN], (*BASIC, *CHOICES, "privacy", "workers")),
    }


def saved_request(folder: str) -> dict[str, Any]:
    """The request that a saved run was made with."""
    from ..results import Run

    request = Run.load(folder).config.get("asked")
    if not isinstance(request, dict) or set(request) != set(REQUESTED):
        raise InvalidInput(
            f"{folder} does not say in which words it was asked for, or in those of another version. "
            "Only runs that `confide simulate --out` of this version saved can be run again."
        )
    return request


def one_run(request: dict[str, Any], label: str, workers: int = 1, progress: Any = None) -> Run:
    """One run of the grid, as a function that can be sent to another machine. It keeps its request."""
    from dataclasses import replace

    from ..simulation import simulate

    promise = options.guarantee(request["trust"], request["epsilon"], request["delta"], request["rho"])
    run = simulate(
        request["learner"],
        request["environment"],
        promise,
        request["episodes"],
        request["seeds"],
        seed=request["seed"],
        engine=request["engine"],
        workers=workers,
        progress=progress,
        label=label,
        **choices_of(request),
    )
    return replace(run, config={**run.config, "asked": request})


def run_all(
    arguments: dict[str, Any], chosen_variants: list[dict[str, Any]], workers: int, scheduler: str | None
) -> Iterator[tuple[int, Run, bool]]:
    """The runs of a grid as they are finished: number, run, and whether it was there before."""
    from ..experiments.spreading import DASK, TaskEngine, spread
    from .progress import bar

    requests = [(request_of(merged_arguments(arguments, variant)), label_of(variant)) for variant in chosen_variants]
    waiting = []
    for number, (request, _) in enumerate(requests):
        _check(request)
        saved = None
        if arguments["out"] and not arguments["replace"]:
            saved = saved_run(folder_of(arguments["out"], chosen_variants[number]), request)
        if saved is None:
            waiting.append(number)
        else:
            yield number, saved, True
    if len(waiting) == 1 and scheduler is None:
        request, label = requests[waiting[0]]
        with bar(request["seeds"], label or request["learner"]) as progress:
            yield waiting[0], one_run(request, label, workers, progress), False
        return
    tasks = [requests[number] for number in waiting]
    engine = TaskEngine(DASK, 1, scheduler) if scheduler else TaskEngine(workers=workers)
    with bar(len(waiting), "runs") as progress:
        for done, (index, run) in enumerate(spread(one_run, tasks, engine), 1):
            progress(done)
            yield waiting[index], run, False


def _check(request: dict[str, Any]) -> None:
    """Refuse what cannot be run, and warn where too few people are simulated, before anything runs."""
    from ..simulation import episodes_needed, prepare

    promise = options.guarantee(request["trust"], request["epsilon"], request["delta"], request["rho"])
    setting = prepare(request["learner"], request["environment"], promise, request["episodes"], **choices_of(request))
    needed = episodes_needed(setting)
    if needed > setting.schedule.users:
        note(
            f"confide: warning: with {promise} the noise drowns what {setting.schedule.users:,} episodes can show; "
            f"at least about {needed:.1g} would be needed."
        )


def show_promises(runs: list[Run]) -> None:
    """Show the certificate of a run, or one table of what several promise; `--out` saves their whole certificates."""
    click.echo()
    if len(runs) == 1:
        click.echo(str(runs[0].certificate))
        return
    table(
        ["run", "what is promised", "what the paper claims", "kept by", "calibration"],
        [_promise_row(run) for run in runs],
    )


def _promise_row(run: Run) -> list[str]:
    """A row of the table of promises: what a run promises and by which noise."""
    certificate = run.certificate
    noise = ", ".join(str(mechanism["name"]) for mechanism in certificate.mechanisms)
    claimed = certificate.promises[0].nominal
    return [run.label, str(certificate.guarantee), str(claimed or "-"), noise or "-", certificate.calibration]
