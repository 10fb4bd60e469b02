"""`confide evaluate`: what a policy is worth where the model is known."""

from __future__ import annotations

import click

from ..errors import InvalidInput
from .output import emit


@click.command("evaluate")
@click.argument("policy")
@click.option("--env", "environment", required=True, help="Address of a world, such as icu-sepsis or riverswim/6.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(policy: str, environment: str, as_json: bool) -> None:
    """The exact value of the policy in the folder POLICY, in a world whose model is known."""
    from ..environments import make
    from ..planning import optimal_value, policy_value
    from ..results.fit import Fit

    fit = Fit.load(policy)
    horizon, states, actions = fit.policy.probabilities.shape
    world = make(environment, horizon)
    if world.model is None:
        raise InvalidInput(f"{world.address} has no known model, so nothing can be evaluated exactly. Choose another.")
    if (world.spec.states, world.spec.actions) != (states, actions):
        raise InvalidInput(
            f"{world.address} has {world.spec.states} states and {world.spec.actions} actions. The policy has {states} "
            f"and {actions}. Choose another world."
        )
    scale = world.scale
    value = scale.to_people(policy_value(world.model, fit.policy), horizon)
    best = scale.to_people(optimal_value(world.model), horizon)
    said = {"environment": world.address, "value": value, "optimal_value": best, "lower": fit.findings["lower"]}
    if as_json:
        emit(said)
        return
    click.echo(f"worth {value:.6g} in {world.address}, where the best policy is worth {best:.6g}")
    if said["lower"] is not None:
        click.echo(f"the fit said: at least {said['lower']:.6g}")
