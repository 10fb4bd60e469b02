"""Tables of runs as text, CSV and LaTeX: the same rows, in the numbers that each is read with."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ... import validation
from .intervals import NAME, SeedInterval, unseen_share
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
        f"Interval: {NAME}. {seeds} seeds may miss a kind of run that happens in up to {unseen_share(seeds):.0%} of all seeds, and "
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
    heads = [*axes, f"final {measure}", r"95\,\% interval", "of random"]
    lines = [
        "% \\usepackage{booktabs}",
        *(f"% {line}" for line in (fixed, footnote(min(row.seeds for row in rows))) if line),
        rf"\begin{{tabular}}{{{'l' * len(axes)}rrr}}",
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
        cells = [*map(escaped, row.values.values()), _number(row.final.value), interval, share]
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
