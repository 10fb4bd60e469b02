"""`confide explain`: where a policy leaves current practice, and the value of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import options
from .init import folder_of
from .output import emit, plain_number, table, working

if TYPE_CHECKING:
    from ..analysis.fitting.explaining import Tree


@click.command("explain")
@click.argument("policy")
@click.option("--most", type=options.Count(), default=10, show_default=True, help="How many differences.")
@click.option("--tree", "leaves", type=options.Count(), metavar="K", help="Also a tree of at most K leaves.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(policy: str, most: int, leaves: int | None, as_json: bool) -> None:
    """The differences between the policy in the folder POLICY and current practice that matter most. Spends nothing."""
    from ..analysis.fitting.explaining import explain, tree
    from ..analysis.reporting.numbers import each
    from ..analysis.reporting.offline_report import noun
    from ..analysis.results.fit import Fit

    with working("judging differences"):
        fit = Fit.load(folder_of(policy))
        differences = explain(fit, most)
        grown = None if leaves is None else tree(fit, leaves)
    if as_json:
        told = {
            "differences": [difference.as_json() for difference in differences],
            "alarms": fit.findings.get("alarms"),
        }
        emit(told if grown is None else {**told, "tree": grown.as_json()})
        return
    if fit.findings.get("judged_said"):
        click.echo(fit.findings["judged_said"])
    if not differences:
        click.echo("It is current practice throughout: nothing is different.")
        return
    horizon = fit.knowledge.spec.horizon
    rows = []
    for difference in differences:
        gain = "not judged"
        if difference.gain is not None:
            low, high = (plain_number(difference.gain[key], sign=True) for key in ("low", "high"))
            gain = f"{plain_number(difference.gain['value'], sign=True)} ({low} to {high})"
        rests = f"{plain_number(max(round(difference.rests), 0))} +- {plain_number(round(difference.error))}"
        rows.append(
            (
                difference.state,
                difference.action,
                f"{difference.instead} ({difference.share:.0%})",
                steps_text(difference.steps, horizon),
                gain,
                rests,
            )
        )
    worth_head = f"gain of this one, {each(noun(fit.certificate.guarantee))}"
    table(("in", "do", "practice mostly", "at steps", worth_head, "rests on counted steps"), rows)
    click.echo(
        "Each gain is that of one difference alone, with a 95% interval; they do not add up. Counts are private."
    )
    if grown is not None:
        click.echo()
        show_tree(grown, each(noun(fit.certificate.guarantee)))


def show_tree(grown: Tree, unit: str) -> None:
    """Show a tree leaf by leaf, and what it loses beside the policy."""
    rows = [
        (", ".join(leaf.conditions) or "always", grown.actions[leaf.action], f"{leaf.share:.0%}")
        for leaf in grown.leaves
    ]
    table(("if", "do", "of steps"), rows)
    click.echo(
        f"By the release's model this tree loses {plain_number(max(grown.loss, 0.0))} {unit} beside the policy; it does the same "
        f"in {grown.agrees:.0%} of steps. It is no guideline before an expert has judged it."
    )


def steps_text(steps: tuple[int, ...], horizon: int) -> str:
    """Steps as text, counted from 1: `all`, `1 to 5`, or a list."""
    if len(steps) == horizon:
        return "all"
    if list(steps) == list(range(steps[0], steps[-1] + 1)) and len(steps) > 1:
        return f"{steps[0] + 1} to {steps[-1] + 1}"
    return ", ".join(str(step + 1) for step in steps)
