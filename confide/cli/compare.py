"""`confide compare`: several policies judged from one release, for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .init import folder_of
from .options import check_plot
from .output import emit, note, plain_number, table, working

if TYPE_CHECKING:
    from ..analysis.reporting.stated import StatedInterval

ORDINARY = ("practice", "learned")


@click.command("compare")
@click.argument("policy")
@click.argument("others", nargs=-1)
@click.option(
    "--policies",
    multiple=True,
    metavar="NAME",
    help="practice, learned, uniform, always:ACTION, a .csv or .npy file, or another fit's folder; more may follow.",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="With which all intervals hold together."
)
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw them: a name in .svg or .html.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    policy: str, others: tuple[str, ...], policies: tuple[str, ...], confidence: float, plot: str | None, as_json: bool
) -> None:
    """Evaluate several policies from the release in the folder POLICY, with intervals that hold together. Spends nothing.

    A policy of yours must have been written before you looked at this release.

    \b
    confide compare policy/ --policies guideline.csv always:treat practice learned
    """
    from ..analysis.fitting.comparing import compare
    from ..analysis.results.fit import Fit

    check_plot(plot)
    names = dict.fromkeys((*policies, *others)) or dict.fromkeys(ORDINARY)
    with working("judging policies"):
        comparison = compare(Fit.load(folder_of(policy)), {name: name for name in names}, confidence)
    if plot is not None:
        Path(plot).write_text(
            comparison.page() if plot.lower().endswith(".html") else comparison.picture(), encoding="utf-8"
        )
        note(f"drawn in {plot}")
    if as_json:
        emit(comparison.as_json())
        return
    rows = []
    for row in comparison.rows:
        value, gain = row.value, row.gain
        rows.append(
            (
                row.name,
                plain_number(value["value"]),
                f"{plain_number(value['low'])} to {plain_number(value['high'])}",
                f"{plain_number(gain['value'], sign=True)} ({plain_number(gain['low'], sign=True)} to "
                f"{plain_number(gain['high'], sign=True)})",
                "yes" if gain["sure"] else "-",
                plain_number(row.model),
                f"{row.changed:.0%}",
                *([_interval(row.weighed)] if "weighed" in comparison.assumes else []),
            )
        )
    last = ["by propensities"] if "weighed" in comparison.assumes else []
    heads = ("policy", "value", "from, to", "more than practice", "surely", "by the model", "states changed", *last)
    table(heads, rows)
    click.echo(f"All intervals hold together with {comparison.confidence:.0%} confidence. Nothing was spent.")
    if comparison.alarms:
        click.echo(
            f"ALARM ({', '.join(comparison.alarms)}): values rest on a table that may not be the world; none is sure"
        )
    for name, label in (("value", "value"), ("model", "by the model"), ("weighed", "by propensities")):
        if name in comparison.assumes:
            click.echo(f"{label:<15} {comparison.assumes[name]}")


def _interval(estimate: StatedInterval | None) -> str:
    if estimate is None:
        return "-"
    return f"{plain_number(estimate['value'])} ({plain_number(estimate['low'])} to {plain_number(estimate['high'])})"
