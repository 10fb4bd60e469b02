"""The choices of a fit as one value, and checks of its learner's options: whatever is wrong is found before anything is charged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ... import validation
from ...errors import InvalidInput
from ...learning.learners.catalogue import Option
from ...learning.planning.pessimism import Constants
from ...privacy import Guarantee
from ...protocol.design import AUTO, PAPER, SOUND, TIGHT
from ...validation import Json
from .plan import FAILURE, NONE

if TYPE_CHECKING:
    from .learning import OfflineLearner

LINEAR = ("vapvi", "pevi")
LARGEST = 1e12
"""Beyond it learners overflow, and from there on every choice means the same: everything or nothing."""

OPTIONS = {
    name: ("constant", "failure", "features", "kappa", "pessimism", "remainder", "ridge", "split") for name in LINEAR
}
"""What may be chosen of a linear learner; all else of it follows from the data's declaration."""


FitChoice: TypeAlias = "Option | Path"
"""What a choice of a fit, or an option of its learner, can be."""


@dataclass(frozen=True)
class FitChoices:
    """Everything that is chosen of a fit, beside the data.

    mechanism: gaussian or laplace. visits: which of a person's are counted: `all`, repeats within a budget, or `auto`, what pays.
    reward_centre: a public level that rewards are near, None for the middle.
    failure: with what probability error radii may be wrong. calibration: `tight`, or a paper's own, `paper` or `sound`.
    judge: which share of the people judges the policy apart; `none`, or `auto` for 30 % of 2,000 people or more. unconfounded:
    declared of a single step, where no test can see it: nothing but the recorded state decided about actions. scale: times the
    learner's pessimism.
    alone: keep what a machine would play where people follow current practice. ledger: where the account lies, if not
    beside the data; budget:
    sets it if it has none. out: a folder for what may be published; replace: what is there. fit_file: the sections of one, as
    they are. options: of the learner's own.
    """

    learner: str | OfflineLearner
    privacy: Guarantee
    mechanism: str = AUTO
    visits: str | int = AUTO
    reward_centre: float | None = None
    failure: float = FAILURE
    calibration: str = TIGHT
    judge: float | str = AUTO
    unconfounded: bool = False
    scale: float | None = None
    alone: bool = False
    ledger: str | Path | None = None
    budget: float | None = None
    out: Path | None = None
    replace: bool = False
    fit_file: Mapping[str, Json] | None = None
    options: Mapping[str, Option] = field(default_factory=dict)

    @classmethod
    def of(cls, learner: str | OfflineLearner, privacy: Guarantee | None, **choices: FitChoice) -> FitChoices:
        """The choices that keywords make; a keyword that is not the name of a choice is an option of the learner's."""
        if privacy is None:
            raise InvalidInput(
                "fit-guarantee-missing",
                "A fit needs a guarantee. Write fit(data, privacy=Central(rho=...)), or Central(epsilon=..., delta=...).",
            )
        names = {each.name for each in fields(cls)} - {"learner", "privacy", "options"}
        named = {name: choices.pop(name) for name in names & choices.keys()}
        validation.choice("calibration", named.get("calibration", TIGHT), (PAPER, SOUND, TIGHT))
        if not named.get("judge", AUTO):
            named["judge"] = NONE
        make: Callable[..., FitChoices] = cls  # what each choice may be is checked where a fit is completed
        if named.get("out") is not None:
            named["out"] = Path(str(named["out"]))
        return make(learner, privacy, **{**named, "scale": scale(named.get("scale"))}, options=choices)

    @property
    def kept_options(self) -> dict[str, Option]:
        """The options that a fit writes down: features have a file of their own."""
        return {name: value for name, value in self.options.items() if name != "features"}


def scale(value: FitChoice) -> float | None:
    """The factor on a learner's pessimism: a finite number of at least 0, or None for its default."""
    if value is None:
        return None
    way_out = "Use 0 for no pessimism, or leave --bonus-scale out."
    return validation.between("bonus scale", value, 0, LARGEST, way_out)


def options(learner: str, settings: Mapping[str, Option]) -> Mapping[str, Option]:
    """The options of a named learner, checked: every number finite, in its range, and of its type."""
    known = OPTIONS.get(learner)
    for name, value in settings.items():
        if name == "calibration":
            raise InvalidInput(
                "option-calibration",
                "The statistics depend on the calibration, so it is a choice of the fit's: --calibration.",
            )
        if known is not None and name not in known:
            raise InvalidInput(
                "option-unknown", f"learner {learner!r} does not take the option {name!r}. Known: {', '.join(known)}."
            )
        check = CHECKS.get(name, _finite)
        if value is not None or name in NEEDED:
            check(name, value)
    return settings


def _truth(name: str, value: Json) -> None:
    if not isinstance(value, bool):
        raise validation.refusal("option-not-true-or-false", f"option {name}", "true or false", value)


def _at_least_0(name: str, value: Json) -> None:
    validation.between(f"option {name}", value, 0, LARGEST)


def _positive(name: str, value: Json) -> None:
    validation.between(f"option {name}", value, 1 / LARGEST, LARGEST)


def _share(name: str, value: Json) -> None:
    if not 0 < validation.number(f"option {name}", value) < 1:
        raise validation.refusal("option-not-a-share", f"option {name}", "between 0 and 1", value)


def _word(name: str, value: Json) -> None:
    if not isinstance(value, str) or not value:
        raise validation.refusal("option-not-a-word", f"option {name}", "a word", value)


def _constants(name: str, value: Json | Constants) -> None:
    if not isinstance(value, Constants):
        raise validation.refusal(
            "option-constants", f"option {name}", "Constants, which only Python can give", value, "Leave it out."
        )


def _finite(name: str, value: Json) -> None:
    """Check that any other option, if it is a number, is a finite one."""
    if isinstance(value, float) and not math.isfinite(value):
        raise validation.refusal("option-not-a-number", f"option {name}", "a finite number", value)


NEEDED = ("told_apart", "ridge", "constant", "remainder", "failure", "split")
"""Options that cannot be left empty."""

CHECKS: dict[str, Callable[..., None]] = {
    "told_apart": _at_least_0,
    "ridge": _positive,
    "constant": _at_least_0,
    "remainder": _at_least_0,
    "kappa": _positive,
    "failure": _share,
    "split": _truth,
    "fallback": _truth,
    "pessimism": _word,
    "constants": _constants,
}
