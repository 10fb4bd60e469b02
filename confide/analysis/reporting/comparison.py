"""Is one learner better than another? A stated test between two runs, and Holm's correction where several are made at once.

The test is Student's on the means of the final regrets: on the differences seed by seed where both sides had the same seeds,
and so the same random numbers (`paired`), which is exact for normal differences whatever the two have in common; else Welch's. Two
sides of one law have symmetric differences, for which the test errs on the side of saying nothing. Of m tests, Holm's method
compares the i-th smallest p-value with level/(m - i + 1): with probability at least 1 - level no equal pair is said to differ.

Tables of runs as text, CSV and LaTeX: the same rows, in the numbers that each is read with.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ... import validation
from .intervals import NAME, PRIOR_SEEDS, SeedInterval, SeedValues, paired_ratio_interval, ratio_interval, unseen_share
from .numbers import written

TEXT, CSV, LATEX = "text", "csv", "latex"
FORMS = (TEXT, CSV, LATEX)


class RunRow(NamedTuple):
    """A row: values of the axes, seeds, final regret (or return), its share of random acting, the guarantee that is kept."""

    values: Mapping[str, str]
    seeds: int
    final: SeedInterval
    share: float | None
    kept: str


def run_table(rows: Sequence[RunRow], form: str = TEXT, *, measure: str = "regret", fixed: str = "") -> str:
    """The rows in a form. fixed: what all of them share, for a heading or a caption."""
    validation.choice("form", form, FORMS)
    return {TEXT: _text, CSV: _csv, LATEX: _latex}[form](rows, measure, fixed)


def footnote(seeds: int) -> str:
    """What the interval is, and what this number of seeds cannot show."""
    if seeds == 1:
        return "One seed has no interval: run more."
    return (
        f"Interval: {NAME}, with a prior of {PRIOR_SEEDS:.0f} seeds that widens those of few. {seeds} seeds may miss a kind "
        f"of run that happens in up to {unseen_share(seeds):.0%} of all seeds, and "
        "no interval made of them counts it. A dash: the seeds do not tell."
    )


def _text(rows: Sequence[RunRow], measure: str, fixed: str) -> str:
    heads = [*rows[0].values, "seeds", f"final {measure}", "95 % interval", "of random", "kept"]
    cells = [
        [
            *row.values.values(),
            str(row.seeds),
            written(row.final.value, digits=4),
            row.final.ends(".4g"),
            "-" if row.share is None else f"{row.share:.3g}",
            row.kept,
        ]
        for row in rows
    ]
    lines = aligned([heads, *cells])
    return "\n".join([*([fixed] if fixed else []), lines, footnote(min(row.seeds for row in rows))]) + "\n"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows below each other, every column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _csv(rows: Sequence[RunRow], measure: str, fixed: str) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*rows[0].values, "seeds", measure, "low", "high", "share_of_random", "kept"])
    for row in rows:
        ends = ["" if end is None else repr(end) for end in (row.final.low, row.final.high, row.share)]
        out.writerow([*row.values.values(), row.seeds, repr(row.final.value), *ends, row.kept])
    return text.getvalue()


def _latex(rows: Sequence[RunRow], measure: str, fixed: str) -> str:
    axes = list(rows[0].values)
    kept = list(dict.fromkeys(row.kept for row in rows))
    apart = len(kept) > 1 and any(row.kept not in row.values.values() for row in rows)
    heads = [*axes, *(["guarantee kept"] if apart else []), f"final {measure}", r"95\,\% interval", "of random"]
    lines = [
        "% \\usepackage{booktabs}",
        *(
            f"% {line}"
            for line in (fixed, *(kept if len(kept) == 1 else []), footnote(min(row.seeds for row in rows)))
            if line
        ),
        rf"\begin{{tabular}}{{{'l' * (len(heads) - 3)}rrr}}",
        r"\toprule",
        " & ".join([*map(escaped, axes), *heads[len(axes) :]]) + r" \\",
        r"\midrule",
    ]
    for row in rows:
        interval = (
            "--"
            if row.final.low is None or row.final.high is None
            else f"{_number(row.final.low)} to {_number(row.final.high)}"
        )
        share = "--" if row.share is None else f"{row.share:.3g}"
        words = [*row.values.values(), *([row.kept] if apart else [])]
        cells = [*map(escaped, words), _number(row.final.value), interval, share]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _number(value: float) -> str:
    """Four digits, in thousands apart; powers of ten from a million on."""
    if abs(value) >= 1e6:
        mantissa, _, power = f"{value:.2e}".partition("e")
        return rf"${mantissa} \times 10^{{{int(power)}}}$"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace(",", r"\,")


_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def escaped(text: str) -> str:
    """Text for LaTeX, with every sign that means something to it written as it is."""
    return "".join(_SPECIAL.get(sign, sign) for sign in text)


LEVEL = 0.05
"""The probability with which any equal pair of a comparison may be said to differ."""

PAIRED, WELCH = "paired t-test", "Welch's t-test"


@dataclass(frozen=True)
class Contrast:
    """One side against another in one place. ratio: of mean final regrets, with its interval. p: of the test; adjusted: by Holm
    over all contrasts that were made together. None where there is one seed only.
    """

    place: str
    one: str
    other: str
    ratio: SeedInterval
    test: str
    p: float | None
    adjusted: float | None = None

    @property
    def verdict(self) -> str:
        """Which side has less regret, by the adjusted p-value; or that the seeds do not tell."""
        if self.adjusted is None or self.adjusted > LEVEL:
            return "the seeds do not tell"
        return f"{self.one if self.ratio.value < 1 else self.other} has less regret"

    def __str__(self) -> str:
        tested = f", p = {self.adjusted:.2g} after Holm" if self.adjusted is not None else ""
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.verdict} ({self.one} / {self.other} {self.ratio.text()}, {self.test}{tested})"


def contrast(
    sides: tuple[str, str], values: SeedValues, others: SeedValues, *, paired: bool, place: str = ""
) -> Contrast:
    """The test between the final regrets of two sides, one value a seed."""
    ratio = paired_ratio_interval(values, others) if paired else ratio_interval(values, others)
    test = PAIRED if paired else WELCH
    return Contrast(place, *sides, ratio, test, _paired_p(values - others) if paired else _welch_p(values, others))


def _paired_p(differences: SeedValues) -> float | None:
    """Two-sided, of mean 0."""
    count = len(differences)
    return None if count == 1 else _p(float(differences.mean()), float(differences.var(ddof=1)) / count, count - 1.0)


def _welch_p(values: SeedValues, others: SeedValues) -> float | None:
    """Two-sided, of equal means, with Satterthwaite's degrees of freedom."""
    if min(len(values), len(others)) == 1:
        return None
    parts = [(float(side.var(ddof=1)) / len(side), len(side) - 1) for side in (values, others)]
    total = sum(part for part, _ in parts)
    freedom = total**2 / sum(part**2 / many for part, many in parts) if total > 0 else math.inf
    return _p(float(values.mean() - others.mean()), total, freedom)


def _p(difference: float, variance: float, freedom: float) -> float:
    from scipy.special import stdtr

    if variance == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * stdtr(freedom, -abs(difference) / math.sqrt(variance)))


def holm(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The contrasts with adjusted p-values: max over the smaller ones of (m - i + 1) p_(i), at most 1."""
    tested = [index for index, each in enumerate(contrasts) if each.p is not None]
    order = sorted(tested, key=lambda index: contrasts[index].p or 0.0)
    factors = np.arange(len(order), 0, -1)
    raised = np.maximum.accumulate(
        [factor * (contrasts[index].p or 0.0) for factor, index in zip(factors, order, strict=True)]
    )
    adjusted = {index: min(1.0, float(value)) for index, value in zip(order, raised, strict=True)}
    return [
        Contrast(each.place, each.one, each.other, each.ratio, each.test, each.p, adjusted.get(index))
        for index, each in enumerate(contrasts)
    ]
