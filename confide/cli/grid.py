"""`simulate --compare`: a grid of runs, each a word of the command changed, that resumes and is spread over machines."""

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
ASKED = (*BASIC, OWN, *CHOICES)
"""The words of the command that a result depends on: a saved run that has the same is not run again."""


def variants(compare: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every combination of the compared values, as they are named; one empty variant if nothing is compared."""
    found: list[dict[str, Any]] = [{}]
    for text in compare:
        name, equals, values = text.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in COMPARABLE:
            raise InvalidInput(f"--compare takes NAME=A,B with NAME one of {', '.join(COMPARABLE)}. Got {text!r}.")
        parsed = [_parsed(name, value) for value in values.split(",")]
        found = [{**variant, name: value} for variant in found for value in parsed]
    return found


def _parsed(name: str, value: str) -> Any:
    if name in COUNTS:
        return options.Count().convert(value, None, None)
    try:
        return float(value) if name in NUMBERS else value
    except ValueError:
        raise InvalidInput(f"--compare {name} takes numbers. Got {value!r}.") from None


def words(given: dict[str, Any], variant: dict[str, Any]) -> dict[str, Any]:
    """What the command means with one variant's words in place of its own."""
    changed = {**given, **variant}
    if "world" in changed:
        changed["environment"] = changed.pop("world")
    if PROMISE in changed:
        changed |= _promise(changed.pop(PROMISE))
    return changed


def _promise(text: str) -> dict[str, Any]:
    """`joint:1:1e-6` is trust, epsilon and delta; `none` is no promise."""
    trust, *numbers = text.split(":")
    try:
        epsilon, delta = (*map(float, numbers), 0.0)[:2] if numbers else (None, 0.0)
        if len(numbers) > 2:
            raise ValueError
    except ValueError:
        raise InvalidInput(f"--compare promise takes trust:epsilon:delta, as joint:1:1e-6. Got {text!r}.") from None
    return {"trust": trust, "epsilon": epsilon, "delta": delta, "rho": None}


def label_of(variant: dict[str, Any]) -> str:
    """What a legend calls it; empty if nothing is compared."""
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, int | float) else str(value) for key, value in variant.items()
    )


def folder_of(out: str, variant: dict[str, Any]) -> Path:
    """Where one run of the grid is saved."""
    name = "-".join(f"{key}-{value}" for key, value in variant.items())
    for strange in "/:?=&":
        name = name.replace(strange, "-")
    return Path(out) / name if name else Path(out)


def kept(folder: Path, asked: dict[str, Any]) -> Run | None:
    """The run that a folder holds, if it was asked for in the same words; None if there is none."""
    from ..results import Run

    if not folder.is_dir():
        return None
    try:
        found = Run.load(folder)
    except FormatError:
        return None
    return found if found.config.get("asked") == asked and found.seeds == asked["seeds"] else None


def asked_of(given: dict[str, Any]) -> dict[str, Any]:
    """The words that a result depends on."""
    return {**{name: given[name] for name in ASKED}, OWN: list(given[OWN])}


def choices_of(asked: dict[str, Any]) -> dict[str, Any]:
    """What `simulate` and `prepare` take by name: the command's choices, and options of the learner's own."""
    return {**{key: asked[key] for key in CHOICES}, **own_options(asked[OWN], (*BASIC, *CHOICES, "privacy", "workers"))}


def again(folder: str) -> dict[str, Any]:
    """The words in which a saved run was asked for."""
    from ..results import Run

    asked = Run.load(folder).config.get("asked")
    if not isinstance(asked, dict) or set(asked) != set(ASKED):
        raise InvalidInput(
            f"{folder} does not say in which words it was asked for, or in those of another version. "
            "Only runs that `confide simulate --out` of this version saved can be run again."
        )
    return asked


def one_run(asked: dict[str, Any], label: str, workers: int = 1, progress: Any = None) -> Run:
    """One run of the grid, as a function that can be sent to another machine. It keeps the words it was asked in."""
    from dataclasses import replace

    from ..simulation import simulate

    promise = options.guarantee(asked["trust"], asked["epsilon"], asked["delta"], asked["rho"])
    run = simulate(
        asked["learner"],
        asked["environment"],
        promise,
        asked["episodes"],
        asked["seeds"],
        seed=asked["seed"],
        engine=asked["engine"],
        workers=workers,
        progress=progress,
        label=label,
        **choices_of(asked),
    )
    return replace(run, config={**run.config, "asked": asked})


def run_all(
    given: dict[str, Any], chosen: list[dict[str, Any]], workers: int, scheduler: str | None
) -> Iterator[tuple[int, Run, bool]]:
    """The runs of a grid as they are finished: number, run, and whether it was there before."""
    from ..experiments.spreading import DASK, Engine, spread
    from .progress import bar

    every = [(asked_of(words(given, variant)), label_of(variant)) for variant in chosen]
    waiting = []
    for number, (asked, _) in enumerate(every):
        _check(asked)
        found = None
        if given["out"] and not given["replace"]:
            found = kept(folder_of(given["out"], chosen[number]), asked)
        if found is None:
            waiting.append(number)
        else:
            yield number, found, True
    if len(waiting) == 1 and scheduler is None:
        asked, label = every[waiting[0]]
        with bar(asked["seeds"], label or asked["learner"]) as progress:
            yield waiting[0], one_run(asked, label, workers, progress), False
        return
    tasks = [every[number] for number in waiting]
    engine = Engine(DASK, 1, scheduler) if scheduler else Engine(workers=workers)
    with bar(len(waiting), "runs") as progress:
        for done, (index, run) in enumerate(spread(one_run, tasks, engine), 1):
            progress(done)
            yield waiting[index], run, False


def _check(asked: dict[str, Any]) -> None:
    """Refuse what cannot be run, and say what hardly can, before anything runs."""
    from ..simulation import episodes_needed, prepare

    promise = options.guarantee(asked["trust"], asked["epsilon"], asked["delta"], asked["rho"])
    setting = prepare(asked["learner"], asked["environment"], promise, asked["episodes"], **choices_of(asked))
    needed = episodes_needed(setting)
    if needed > setting.schedule.users:
        note(
            f"confide: warning: with {promise} the noise drowns what {setting.schedule.users:,} episodes can show; "
            f"at least about {needed:.1g} would be needed."
        )


def show_promises(runs: list[Run]) -> None:
    """The certificate of a run, or one table of what several promise; `--out` saves their whole certificates."""
    click.echo()
    if len(runs) == 1:
        click.echo(str(runs[0].certificate))
        return
    table(
        ["run", "what is promised", "what the paper claims", "kept by", "calibration"], [_promised(run) for run in runs]
    )


def _promised(run: Run) -> list[str]:
    """What a run promises and by which noise, in a line."""
    told = run.certificate
    noise = ", ".join(str(mechanism["name"]) for mechanism in told.mechanisms)
    claimed = told.promises[0].nominal
    return [run.label, str(told.guarantee), str(claimed or "-"), noise or "-", told.calibration]
