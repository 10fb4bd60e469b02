"""`simulate --compare`: a grid of runs, each with some options changed, that resumes and is spread over machines."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..analysis.reporting.numbers import counted
from ..errors import InvalidInput
from ..protocol.papers import POOLED
from . import options
from .learner import own_options
from .output import note, table

if TYPE_CHECKING:
    from ..analysis.results import Run
    from ..lab.simulation import Choices
    from ..lab.studies import Study

NUMBERS = ("epsilon", "delta", "rho", "bonus_scale", "local_epsilon")
COUNTS = ("episodes", "horizon", "batch", "returns", "apart", "expected")
WORDS = ("learner", "world", "trust", "calibration", "mechanism", "printing", "schedule", "model")
GUARANTEE = "guarantee"
FORMER = {"promise": GUARANTEE}
"""What can be compared, by names before 0.2.0."""
COMPARABLE = (*WORDS, GUARANTEE, *NUMBERS, *COUNTS)
HELP = f"Run a grid, resumed if --out holds part of it: {', '.join(COMPARABLE)}. A guarantee is joint:1:1e-6, local:2 or none."

CHOICES = (
    "calibration",
    "mechanism",
    "printing",
    "schedule",
    "horizon",
    "model",
    "bonus_scale",
    "budget",
    "returns",
    "apart",
    "expected",
    options.DEVICES,
    options.CLAIMED,
    *options.SHUFFLING,
)
OWN = "option"
BASIC = ("environment", "learner", "trust", "epsilon", "delta", "rho", "episodes", "seeds", "seed", "engine")
REQUESTED = (*BASIC, OWN, *CHOICES)
"""The options of the command that a result depends on."""


def study_of(arguments: dict[str, Any], compare: tuple[str, ...]) -> Study:
    """The study that a command asks for: of one cell, or of one for each combination of compared values."""
    from ..lab.studies import Study, StudyCell

    return Study.of_cells(
        [
            StudyCell(
                choices_of(merged_arguments(arguments, variant)),
                label_of(variant),
                folder_of(arguments["out"], variant),
            )
            for variant in variants(compare)
        ]
    )


def variants(compare: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every combination of the compared values, as they are named; one empty variant if nothing is compared."""
    combinations: list[dict[str, Any]] = [{}]
    for text in compare:
        name, equals, values = text.partition("=")
        name = FORMER.get(name, name.replace("-", "_"))
        if not equals or name not in COMPARABLE:
            raise InvalidInput(
                "compare-form", f"--compare takes NAME=A,B with NAME one of {', '.join(COMPARABLE)}. Got {text!r}."
            )
        parsed = [_parsed(name, value) for value in values.split(",")]
        combinations = [{**variant, name: value} for variant in combinations for value in parsed]
    return combinations


def _parsed(name: str, value: str) -> Any:
    if name in COUNTS:
        return options.Count().convert(value, None, None)
    try:
        return float(value) if name in NUMBERS else value
    except ValueError:
        raise InvalidInput("compare-not-a-number", f"--compare {name} takes numbers. Got {value!r}.") from None


def merged_arguments(arguments: dict[str, Any], variant: dict[str, Any]) -> dict[str, Any]:
    """The command's arguments with one variant's values in place of its own."""
    changed = {**arguments, **variant}
    if "world" in changed:
        changed["environment"] = changed.pop("world")
    if GUARANTEE in changed:
        changed |= _promise(changed.pop(GUARANTEE))
    return changed


def _promise(text: str) -> dict[str, Any]:
    """The arguments that a guarantee stands for: `joint:1:1e-6` is trust, epsilon and delta; `none` is no guarantee."""
    trust, *numbers = text.split(":")
    try:
        epsilon, delta = (*map(float, numbers), 0.0)[:2] if numbers else (None, 0.0)
        if len(numbers) > 2:
            raise ValueError
    except ValueError:
        raise InvalidInput(
            "compare-guarantee-form", f"--compare guarantee takes trust:epsilon:delta, as joint:1:1e-6. Got {text!r}."
        ) from None
    return {"trust": trust, "epsilon": epsilon, "delta": delta, "rho": None}


def label_of(variant: dict[str, Any]) -> str:
    """The label of a variant in a legend; empty if nothing is compared."""
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, int | float) else str(value) for key, value in variant.items()
    )


def folder_of(out: str | None, variant: dict[str, Any]) -> Path | None:
    """The folder in which one run of the grid is saved, if they are."""
    if not out:
        return None
    name = "-".join(f"{key}-{value}" for key, value in variant.items())
    for strange in "/:?=&":
        name = name.replace(strange, "-")
    return Path(out) / name if name else Path(out)


def choices_of(arguments: dict[str, Any]) -> Choices:
    """The choices that the command's arguments make: its own, and options of the learner's own."""
    from ..lab.simulation import Choices
    from ..lab.simulation.simulate import online_listing
    from ..learning.learners import baselines

    # Before the guarantee: a learner from logged people takes another one.
    online_listing(baselines.resolve(arguments["learner"], arguments["trust"]).name)
    promise = options.guarantee(*(arguments[name] for name in ("trust", "epsilon", "delta", "rho")))
    named = {name: arguments[name] for name in ("episodes", "seeds", "seed", "engine", *CHOICES)}
    own = own_options(arguments[OWN], (*BASIC, *CHOICES, "privacy", "workers", "failure"))
    return Choices.of(arguments["learner"], arguments["environment"], promise, **named, **own)


def saved_choices(folder: str) -> Choices:
    """The choices that a saved run was made with."""
    from ..analysis.results import Run
    from ..lab.simulation import Choices
    from ..lab.studies.cells import SAVED

    try:
        return Choices.from_json(Run.load(folder).config.get(SAVED))
    except InvalidInput:
        raise InvalidInput(
            "choices-not-saved",
            f"{folder} does not say what was chosen, or as another version would. Only runs that this version saved, of learners "
            "and worlds that have names, can be run again.",
        ) from None


def run_all(study: Study, workers: int, scheduler: str | None, replace: bool) -> Iterator[tuple[int, Run, bool]]:
    """The runs of a study as they are finished: number, run, and whether it was there before. replace: what differs is run again.

    A run that is to be saved keeps every seed that is finished: whatever stops the grid, the same command goes on from them.
    """
    from .output import bar

    seeds = sum(cell.choices.seeds for cell in study.cells)
    try:
        with bar(seeds, "seeds") as progress, warnings_noted():
            yield from study.finished(workers, scheduler, replace=replace, progress=progress)
    except KeyboardInterrupt:
        kept = all(cell.folder is not None for cell in study.cells)
        way_on = "these are kept, and the same command goes on from them." if kept else "--out would have kept them."
        done = seeds - study.missing_seeds
        note(f"confide: {done} of {counted(seeds, 'seed')} finished; {way_on}")
        raise


@contextmanager
def warnings_noted() -> Iterator[None]:
    """Inside it, warnings about noise and about older runs go to stderr as one line each."""
    from ..errors import NoiseWarning, RecordWarning

    with warnings.catch_warnings():
        for ours in (NoiseWarning, RecordWarning):
            warnings.simplefilter("always", ours)
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if issubclass(category, NoiseWarning | RecordWarning):
                note(f"confide: warning: {message}")
            else:
                shown(message, category, *place)

        warnings.showwarning = show  # type: ignore[assignment]  # with a narrower signature, of what Python passes
        yield


def show_promises(runs: list[Run]) -> None:
    """Show the certificate of a run, or one table of the guarantees of several; `--out` saves their whole certificates."""
    click.echo()
    if len(runs) == 1:
        click.echo(str(runs[0].certificate))
        return
    table(
        ["run", "true guarantee", "what the paper claims", "mechanism", "calibration"],
        [_promise_row(run) for run in runs],
    )


def _promise_row(run: Run) -> list[str]:
    """A row of the table of guarantees: the guarantee of a run, and by which noise."""
    certificate = run.certificate
    noise = ", ".join(str(mechanism["name"]) for mechanism in certificate.mechanisms)
    claimed = certificate.promises[0].nominal
    pooled = f", {POOLED}" if any(POOLED in line for line in certificate.assumptions) else ""
    return [run.label, str(certificate.guarantee), str(claimed or "-"), noise or "-", certificate.calibration + pooled]
