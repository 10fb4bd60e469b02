"""Explains a saved fit: its policy's differences from current practice, and a small tree that comes close to it.

The tree is fitted to the policy, which is private, by the release's own model, so it costs nothing. It asks for the step, and for
columns that were cut at public edges, or for the state itself. A leaf takes the one action, or current practice, that loses
least; the leaf is split next that gains most by it. What the whole tree loses is computed in the model, not summed up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...learning.planning.ope import policy_values, worth
from ...mdp import CURRENT_PRACTICE
from ...validation import Json
from ..results.fit import Fit
from .comparing import evidence_of
from .differences import MOST, Different, differences, labelled
from .findings import Units, in_people_units
from .plan import COUNTS
from .refit import releases_of

MOST_LEAVES = 64
LISTED = 3
"""States that a condition lists by name, at most."""


def explain(fit: Fit, most: int = MOST) -> list[Different[str]]:
    """The differences from current practice that matter most, the greatest first."""
    evidence, extended = evidence_of(fit)
    in_units = in_people_units(Units.of(fit.config), fit.knowledge.spec.horizon)
    release = releases_of(fit)[COUNTS]
    changes = differences(evidence, extended, release, in_units, most, judged=True)
    return [labelled(change, fit.states, fit.actions) for change in changes]


class Condition(NamedTuple):
    """A question of a tree, for both answers, and where (H, S) it is answered with yes."""

    yes: str
    no: str
    where: NDArray[np.bool_]


class Leaf(NamedTuple):
    """What a tree does where all conditions hold. where: (H, S); share: of steps that come by; loss: beside the policy, to first
    order."""

    conditions: tuple[str, ...]
    action: int
    where: NDArray[np.bool_]
    share: float
    loss: float


class Tree(NamedTuple):
    """A tree of few leaves. loss: by how much its value is below that of the policy, a person, by the release's model, in people's
    units; agrees: in which share of steps it does what the policy does."""

    leaves: tuple[Leaf, ...]
    actions: tuple[str, ...]
    loss: float
    agrees: float

    def as_json(self) -> dict[str, Json]:
        """The tree as plain values."""
        leaves: list[Json] = [
            {"if": list(leaf.conditions), "do": self.actions[leaf.action], "share": leaf.share} for leaf in self.leaves
        ]
        return {"leaves": leaves, "loss": self.loss, "agrees": self.agrees}


def tree(fit: Fit, leaves: int) -> Tree:
    """The tree of at most this many leaves that is fitted to a policy."""
    most = validation.integer("leaves", leaves, 1, MOST_LEAVES)
    evidence, extended = evidence_of(fit)
    model, states = evidence.model, fit.knowledge.states
    visited, cost = _losses(model, extended, states)
    asked = conditions(fit, cost)
    grown = [_leaf((), np.ones(visited.shape, dtype=np.bool_), visited, cost)]
    while len(grown) < most:
        best, pair, number = 1e-12, None, 0
        for place, leaf in enumerate(grown):
            for condition in asked:
                found = _parted(leaf, condition, visited, cost)
                if found is not None and leaf.loss - found[0].loss - found[1].loss > best:
                    best, pair, number = leaf.loss - found[0].loss - found[1].loss, found, place
        if pair is None:
            break
        grown[number : number + 1] = pair
    table = np.zeros_like(extended)
    table[:, states:, 0] = 1.0
    for leaf in grown:
        table[:, :states, leaf.action][leaf.where] = 1.0
    units = Units.of(fit.config)
    lost = (units.high - units.low) * (worth(model, extended) - worth(model, table))
    same = (visited * (extended * table)[:, :states].sum(axis=-1)).sum() / max(float(visited.sum()), 1e-300)
    return Tree(tuple(grown), (CURRENT_PRACTICE, *map(str, fit.actions)), float(lost), float(same))


def conditions(fit: Fit, cost: NDArray[np.float64]) -> list[Condition]:
    """What a tree may ask: the step; cut columns, or the state: whether it is one of those where the same choice loses least."""
    horizon, states, _ = cost.shape
    steps = np.arange(horizon)[:, None] * np.ones((1, states), dtype=np.int64)
    found = [Condition(f"step >= {step + 1}", f"step <= {step}", steps >= step) for step in range(1, horizon)]
    cuts: dict[str, Any] = (fit.config.get("edges") or {}).get("states") or {}
    remaining, bins = states, np.arange(states)
    if np.prod([len(edges) + 1 for edges in cuts.values()]) == states and cuts:
        for column, edges in cuts.items():
            remaining //= len(edges) + 1
            cell = bins // remaining % (len(edges) + 1)
            for number, edge in enumerate(edges):
                where = np.broadcast_to(cell > number, (horizon, states))
                found.append(Condition(f"{column} >= {edge:g}", f"{column} < {edge:g}", where))
        return found
    likes = cost.sum(axis=0).argmin(axis=-1)
    for action in np.unique(likes):
        names = [str(fit.states[state]) for state in np.flatnonzero(likes == action)]
        listed = ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
        where = np.broadcast_to(likes == action, (horizon, states))
        found.append(Condition(f"state is {listed}", f"state is not {listed}", where))
    return found


def _losses(model: Any, extended: NDArray[np.float64], states: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(H, S) how often the policy comes by, and (H, S, A+1) what another choice there loses; infinite where it is not allowed."""
    _, q = policy_values(model, extended)
    here, visited = model.initial, np.zeros(extended.shape[:2])
    for h in range(len(extended)):
        visited[h] = here
        here = model.rows.flow(h if len(model.rows) > 1 else 0, here[:, None] * extended[h])
    lost = visited[..., None] * ((extended * q).sum(axis=-1, keepdims=True) - q)
    lost[..., 1:] = np.where(model.knowledge.allowed, lost[..., 1:], np.inf)
    return visited[:, :states], lost[:, :states]


def _leaf(
    told: tuple[str, ...], where: NDArray[np.bool_], visited: NDArray[np.float64], cost: NDArray[np.float64]
) -> Leaf:
    sums = cost[where].sum(axis=0)
    action, share = int(sums.argmin()), float(visited[where].sum() / max(float(visited.sum()), 1e-300))
    return Leaf(told, action, where, share, float(sums[action]))


def _parted(
    leaf: Leaf, condition: Condition, visited: NDArray[np.float64], cost: NDArray[np.float64]
) -> tuple[Leaf, Leaf] | None:
    """The two leaves that a question makes of one; None if it is answered alike everywhere in it."""
    yes, no = leaf.where & condition.where, leaf.where & ~condition.where
    if not yes.any() or not no.any():
        return None
    sides = ((condition.yes, yes), (condition.no, no))
    first, second = (_leaf((*leaf.conditions, told), where, visited, cost) for told, where in sides)
    return first, second
