"""Judges a policy of the user's own from the release of a fit. No data is touched, so nothing is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...learning.learners.apvi import Apvi
from ...mdp import Policy
from ...mdp.knowledge import Knowledge
from ..reporting.stated import Findings
from ..results.fit import Fit
from .findings import Units, first_states, in_people_units
from .plan import COUNTS, RETURNS
from .refit import releases_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def judge(fit: Fit, policy: ArrayLike | Policy, confidence: float = 0.95) -> Findings:
    """`value` with `low` and `high`, `practice`, and `gain`: the value of the policy, in units of rewards.

    policy: (H, S, A) or (S, A) probabilities, or (H, S) or (S,) chosen actions, over the declared states. Each interval
    alone holds with `confidence`. The policy must not have been chosen with a look at this release.
    """
    knowledge, releases = fit.knowledge, releases_of(fit)
    table = as_policy(policy, knowledge).probabilities
    initial = first_states(knowledge, releases)
    evidence = Apvi(knowledge).judged(releases[COUNTS], None, initial, releases.get(RETURNS)).evidence
    if evidence is None:
        raise no_evidence()
    if knowledge.end is not None:
        idle = np.full((len(table), 1, table.shape[-1]), 1 / table.shape[-1])  # there is no action after the end
        table = np.concatenate([table, idle], axis=1)
    in_units = in_people_units(Units.of(fit.config), knowledge.spec.horizon)
    more = evidence.compare(table, confidence)
    stated = in_units(evidence.evaluate(table, confidence))
    return {
        "value": stated["value"],
        "low": stated["low"],
        "high": stated["high"],
        "practice": in_units(evidence.evaluate(None, confidence)),
        "gain": {**in_units(more, difference=True), "sure": more.sure()},
        "confidence": confidence,
    }


def as_policy(policy: ArrayLike | Policy, knowledge: Knowledge) -> Policy:
    """A policy over the declared states, from probabilities or from chosen actions, the same at every step or not."""
    table: NDArray[np.generic] = np.asarray(policy.probabilities if isinstance(policy, Policy) else policy)
    horizon, states, actions = knowledge.spec.horizon, knowledge.states, knowledge.spec.actions
    if table.dtype.kind in "iu" and table.shape in ((states,), (horizon, states)):
        numbers = validation.indices("actions", table.ravel(), actions).reshape(table.shape)
        table = np.eye(actions)[numbers]
    if table.shape == (states, actions):
        table = np.broadcast_to(table, (horizon, states, actions))
    if table.shape != (horizon, states, actions):
        wanted = f"of shape {(horizon, states, actions)} or {(states, actions)}, or actions of {(states,)}"
        raise validation.refusal("policy-form", "policy", wanted, table.shape)
    checked = Policy(np.asarray(table, dtype=np.float64))
    check_allowed(checked.probabilities, knowledge)
    return checked


def check_allowed(table: NDArray[np.float64], knowledge: Knowledge) -> None:
    """Refuse a policy (H, S, A) that takes an action which is not allowed."""
    forbidden = (table * ~knowledge.allowed[: knowledge.states]).sum(axis=(1, 2)) > 0
    if forbidden.any():
        raise InvalidInput(
            "policy-action-forbidden",
            f"A policy must keep to the allowed actions. At step {int(forbidden.argmax())} it does not.",
        )


def no_evidence() -> InvalidInput:
    """The error for a release from which no policy can be judged."""
    return InvalidInput("release-cannot-judge", "This release holds nothing to judge a policy by. Fit again.")
