"""The cells of a study: every combination of the values on its axes, and the names of those values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ...analysis.results import Run
from ...errors import FormatError, InvalidInput
from ...learning.learners.learner import AnyLearner
from ...mdp import Model
from ...privacy import Guarantee
from ...validation import Json
from ..environments import Environment
from ..simulation import Choices, complete
from ..simulation.record import RECORD, same_files, same_sources
from ..simulation.setting import Choice
from .seeds import UnfinishedRun

SAVED = "choices"
"""The key of the choices in the configuration of a run."""

NAMES = {"environment": "world", "privacy": "guarantee"}
"""Axes whose name in tables is not that of the argument."""

_STRANGE = str.maketrans({sign: "-" for sign in "/:?=&, ()"})


class StudyCell(NamedTuple):
    """One run of a study: what is chosen, its name in a legend, and the folder in which it is saved, if it is."""

    choices: Choices
    label: str = ""
    folder: Path | None = None

    def saved(self, exactly: bool = False) -> Run | None:
        """The run that the folder holds, if it was made with the same choices and the same files of the user; else None.
        exactly: by the same sources of this package, too."""
        if self.folder is None or not self.folder.is_dir():
            return None
        try:
            run = Run.load(self.folder)
        except FormatError:
            return None
        alike = run.config.get(SAVED) == self.choices.as_json() and run.seeds == self.choices.seeds
        record = run.config.get(RECORD)
        alike = alike and same_files(record, self.choices) and (not exactly or same_sources(record))
        return run if alike else None

    def begun(self, known: set[str]) -> UnfinishedRun:
        """The run with the seeds that are kept of it; refused if it cannot be run, with a warning where noise drowns everything.

        known: warnings of other cells."""
        setting = complete(self.choices)
        setting.warn_if_drowned(known)
        return UnfinishedRun.begun(setting, self.folder, self.label)


Single: TypeAlias = "Choice | AnyLearner | Environment | Model | Guarantee"
"""One value of an argument of `simulate`."""
Axis: TypeAlias = "Single | Sequence[Single]"
"""One value, or the several of an axis."""


def cells_of(arguments: Mapping[str, Axis], folder: Path | None) -> list[StudyCell]:
    """A cell for each combination: an argument that is a list or a tuple is an axis, every other one is the same in all cells."""
    axes = {name: list(value) if isinstance(value, list | tuple) else [value] for name, value in arguments.items()}
    empty = [name for name, values in axes.items() if not values]
    if empty:
        raise InvalidInput("study-axis-empty", f"An axis needs at least one value. {empty[0]} has none. Leave it out.")
    make: Callable[..., Choices] = Choices.of
    combined = [make(**dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())]
    named = values_of(combined)
    cells = [
        StudyCell(choices, label_of(values), _place(folder, values))
        for choices, values in zip(combined, named, strict=True)
    ]
    if len({cell.label for cell in cells}) < len(cells):
        raise InvalidInput(
            "study-cells-same",
            "Two cells of a study must differ in name. Two have the same values. Leave one of them out.",
        )
    return cells


def values_of(all_choices: Sequence[Choices]) -> list[dict[str, str]]:
    """For each of several choices the values, as text, of what differs among them: the axes."""
    flat = [_flat(choices) for choices in all_choices]
    names = list(dict.fromkeys(name for each in flat for name in each))
    texts = [{name: _text(each.get(name)) for name in names} for each in flat]
    differing = [name for name in names if len({each[name] for each in texts}) > 1]
    return [{NAMES.get(name, name): each[name] for name in differing} for each in texts]


def label_of(values: Mapping[str, str]) -> str:
    """The name of a cell in a legend: numbers with what they are the number of."""
    return ", ".join(f"{name} {value}" if _is_number(value) else value for name, value in values.items())


def _place(folder: Path | None, values: Mapping[str, str]) -> Path | None:
    if folder is None:
        return None
    name = "-".join(f"{axis}-{value}" for axis, value in values.items()).translate(_STRANGE)
    return folder / name if name else folder


def _flat(choices: Choices) -> dict[str, Json]:
    """All that is chosen by name, options of the learner among it."""
    return {
        **{name: value for name, value in vars(choices).items() if name != "options"},
        **choices.options,
    }


def _text(value: Json) -> str:
    """A value in a table. Objects of Python go by the name that they have."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    if value is None:
        return "default"
    return str(getattr(value, "name", value))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
