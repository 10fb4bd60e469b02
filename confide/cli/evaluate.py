"""`confide evaluate`: the value of a policy, from its private release, or exactly where the model is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from .init import folder_of
from .learner import show_worth
from .output import emit, plain_number, working

if TYPE_CHECKING:
    from ..analysis.reporting.stated import Findings
    from ..analysis.results.fit import Fit
    from ..lab.environments import Environment
    from ..mdp import Policy


@click.command("evaluate")
@click.argument("policy")
@click.option("--env", "environment", help="Exactly, in this environment, such as icu-sepsis or riverswim/6.")
@click.option(
    "--policy",
    "own",
    type=click.Path(dir_okay=False),
    help="A policy of yours instead: numpy, (H, S, A) or (S,) actions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(policy: str, environment: str | None, own: str | None, as_json: bool) -> None:
    """The value of the policy in the folder POLICY: from its release, or exactly in an environment whose model is known.

    With --policy another policy is judged from the same release. Spends nothing.
    """
    from ..analysis.fitting.judging import as_policy, judge
    from ..analysis.results.fit import Fit
    from ..mdp.knowledge import read_table

    fit = Fit.load(folder_of(policy))
    table = None if own is None else read_table(own, "policy")
    if environment is not None:
        _exactly(fit, fit.table() if table is None else as_policy(table, fit.knowledge), environment, as_json)
        return
    with working("judging"):
        findings = fit.findings if table is None else judge(fit, table)
    worth: Findings = {
        "value": findings.get("value"),
        "low": findings.get("low"),
        "high": findings.get("high"),
        "practice": findings.get("practice"),
        "gain": findings.get("gain"),
        "confidence": findings.get("confidence"),
    }
    if as_json:
        emit(worth)
        return
    if worth["value"] is None:
        raise InvalidInput(
            "release-value-unknown",
            "The release does not give the value of this policy. Evaluate it in an environment: --env ADDRESS.",
        )
    show_worth(worth, fit.certificate.guarantee)


def _exactly(fit: Fit, table: Policy, environment: str, as_json: bool) -> None:
    from ..lab.environments import make
    from ..learning.planning import optimal_value, policy_value

    horizon, states, actions = table.probabilities.shape
    world = make(environment, horizon)
    if world.model is None:
        raise InvalidInput(
            "evaluate-needs-model",
            f"{world.address} has no known model, so nothing can be evaluated exactly. Choose another.",
        )
    if (world.spec.states, world.spec.actions) != (states, actions):
        raise InvalidInput(
            "evaluate-world-sizes",
            f"{world.address} has {world.spec.states} states and {world.spec.actions} actions. The policy has {states} "
            f"and {actions}. Choose another world.",
        )
    if table.unchanged is not None:
        table = _with_people(world, table)
    scale = world.scale
    value = scale.to_people(policy_value(world.model, table), horizon)
    best = scale.to_people(optimal_value(world.model), horizon)
    lower = fit.findings["lower"]
    if as_json:
        emit({"environment": world.address, "value": value, "optimal_value": best, "lower": lower})
        return
    worth, most = plain_number(value, digits=6), plain_number(best, digits=6)
    click.echo(f"value {worth} in {world.address}, where the best policy has the value {most}")
    if lower is not None:
        click.echo(f"the fit said: at least {plain_number(lower, digits=6)}")


def _with_people(world: Environment, table: Policy) -> Policy:
    """The policy completed by the world's current practice where people follow it; else what a machine would play."""
    from ..lab.simulation.offline import PRACTICES, practice_of

    if world.address.partition("?")[0] in PRACTICES:
        return table.followed_by(practice_of(world, None).probabilities)
    if not table.complete:
        raise InvalidInput(
            "evaluate-practice-unknown",
            f"The policy recommends no change, and what users do in {world.address} is not known. Fit or refit with "
            "--alone to evaluate what a machine would play.",
        )
    return table
