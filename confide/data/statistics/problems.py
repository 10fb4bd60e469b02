"""Problems of a data set, in sentences that name rows and never contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..trajectories.dataset import Dataset
from ..trajectories.labels import MISSING_WAYS
from ..trajectories.sources import DataPart
from . import tally
from .tally import PROBLEMS, SHOWN

Integers: TypeAlias = NDArray[np.int64]


class RowRule(NamedTuple):
    """A rule that every row keeps, its code, and the way out."""

    code: str
    rule: str
    way_out: str


@dataclass(frozen=True)
class Problem:
    """Something wrong with the data: the code of the rule, a sentence that names rows, and how many there are."""

    code: str
    sentence: str
    rows: int


def problems_in(data: Dataset, parts: Sequence[tuple[int, Integers, Integers]]) -> list[Problem]:
    """One sentence for every kind of problem. parts: number, problems (PROBLEMS,) and first rows (PROBLEMS, SHOWN)."""
    problems = []
    for kind in range(PROBLEMS):
        count = sum(int(counts[kind]) for _, counts, _ in parts)
        if not count:
            continue
        number, counts, rows = next(part for part in parts if part[1][kind])
        shown = rows[kind][: int(min(counts[kind], SHOWN))].tolist()
        code, rule, way_out = _rule(data, kind)
        where = _rows(data.parts[number], shown, count - len(shown))
        problems.append(Problem(code, f"{rule} {where} {way_out}", count))
    return problems


def _rows(part: DataPart, shown: list[int], more: int) -> str:
    numbers = ", ".join(f"{row:,}" for row in shown)
    rest = f" and {more:,} more" if more else ""
    single = len(shown) == 1 and not more
    return f"{'Row' if single else 'Rows'} {numbers}{rest} of {part.name} {'does' if single else 'do'} not."


_ALWAYS: dict[int, RowRule] = {
    tally.PERSON: RowRule(
        "row-without-person", "Every row must name its person and episode.", "Fill them in or drop these rows."
    ),
    tally.NOT_A_NUMBER: RowRule(
        "row-reward-missing",
        "Every row must tell its reward, a number; none may be missing.",
        "Fill them in, as docs/how-to/missing-values.md shows.",
    ),
    tally.NO_ACTION: RowRule(
        "row-action-missing",
        "Every row must tell its action; none may be missing.",
        "Fill them in, as docs/how-to/missing-values.md shows.",
    ),
    tally.NO_START: RowRule(
        "row-first-incomplete",
        "With --missing end the first row of an episode must be complete.",
        "Fill it in, or give what is missing a category of its own (--missing category).",
    ),
    tally.WENT_ON: RowRule(
        "row-after-lost",
        "No row of an episode may follow the one after which its person was lost.",
        "Mark only the last row in the column of --lost.",
    ),
    tally.CHAIN: RowRule(
        "row-not-following",
        "A row must begin in the next state of the row before it.",
        "Correct them, or say --columns next_state= to do without.",
    ),
    tally.SUPPORT: RowRule(
        "row-transition-impossible",
        "Every transition must be possible according to the support.",
        "Correct the table or the data.",
    ),
    tally.ALLOWED: RowRule(
        "row-action-forbidden",
        "Every action must be allowed in its state.",
        "Correct the table of allowed actions or the data.",
    ),
}
"""Rules that are the same for every data set, each with the way out."""


def _rule(data: Dataset, kind: int) -> RowRule:
    """The rule that a kind of problem breaks, and the way out."""
    low, high = data.declared
    horizon = data.knowledge.spec.horizon
    state = f"one of the {data.states.size} declared"
    if data.vectors is not None:
        state = f"made of numbers, and no longer than {data.vectors.features.bound:g}, the declared norm"
    if data.observed is not None:
        state = "made of numbers, and of public values of its categories"
    unlisted = data.vectors is not None or data.observed is not None
    rules = {
        **_ALWAYS,
        **_rules_of_order(data),
        tally.NO_STATE: RowRule(
            "row-state-missing",
            "Every row must tell its state; none may be missing.",
            "Fill them in." if unlisted else MISSING_WAYS,
        ),
        tally.STATE: RowRule("row-state", f"Every state must be {state}.", data.states.help),
        tally.ACTION: RowRule(
            "row-action", f"Every action must be one of the {data.actions.size} declared.", data.actions.help
        ),
        tally.NEXT: RowRule(
            "row-next-state",
            f"Every next state must be {state}, or empty in a last row.",
            "Correct them, or say --columns next_state= to do without.",
        ),
        tally.RANGE: RowRule(
            "row-reward-range",
            f"Every reward must lie in the declared range from {low:g} to {high:g}.",
            "Declare another with --reward-range, or clip with --clip.",
        ),
        tally.LONG: RowRule(
            "row-beyond-horizon",
            f"An episode must have at most {horizon} steps, the horizon.",
            "Raise the horizon, or cut the episodes.",
        ),
        tally.SHORT: RowRule(
            "row-ends-early",
            f"With --fixed-length every episode must have {horizon} steps.",
            "Leave --fixed-length out: an end state is then added.",
        ),
        tally.PROPENSITY: RowRule(
            "row-propensity",
            f"Every propensity must lie between the declared floor {data.floor or 0.0:g} and 1.",
            "Declare a lower --propensity-floor, or leave --propensity out.",
        ),
        tally.OVERWEIGHT: RowRule(
            "row-weight",
            f"Every weight must lie between 0 and the declared bound {0.0 if data.weights is None else data.weights.bound:g}.",
            "Declare a higher --weight-bound, or leave --weight out.",
        ),
        tally.LAST: RowRule(
            "row-last-state-missing",
            f"The last of {horizon} steps must tell its next state.",
            "Fill it in, or say --columns next_state= to do without.",
        ),
    }
    return rules[kind]


def _rules_of_order(data: Dataset) -> dict[int, RowRule]:
    """The rules about steps: rows name theirs, or are ordered by a column."""
    if data.columns.order is None:
        first = f"Steps of an episode must go up by one from {data.first_step}."
        return {
            tally.GAP: RowRule("row-step-gap", first, "Sort the rows (--sort), or complete or drop these episodes."),
            tally.DUPLICATE: RowRule(
                "row-step-twice", "Every step of an episode must come once.", "Drop the duplicates."
            ),
        }
    column = repr(data.columns.order)
    entry = f"Every row must have an entry in {column}, by which rows are ordered."
    return {
        tally.GAP: RowRule("row-order-missing", entry, "Fill them in or drop these episodes."),
        tally.DUPLICATE: RowRule(
            "row-order-tie",
            f"Rows of an episode must differ in {column}, by which they are ordered.",
            "Order by a finer column.",
        ),
    }
