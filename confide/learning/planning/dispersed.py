"""Worlds like the one that a release describes, in which the actions of a state differ by a chosen amount.

All that is taken from the release is what does not say which action is better: where people begin, what they do, where a state
leads and what it pays, all actions together. Around that each pair of state and action is given a law of its own. With p the law
of the next state after s where (s, a) may lead, t one state drawn from p, r the mean reward of s, and y one of 0 and 1 of mean r,

    P(. | s, a) = (1 - z) p + z 1{. = t},    r(s, a) = (1 - z) r + z y.

At size z = 0 all actions of a state are alike; at 1 each is certain of where it leads and what it pays, and differs from the others
as much as p and r allow. The variance of P(. | s, a) V around p V is z^2 Var_p(V), that of a row drawn from a Dirichlet law of
dispersion z^2. What is known beforehand, tables of rewards and of what is possible, stays as it is.

Where actions are chosen unequally often it matters which of them is the better one: a rare one is known less well. So there are
*rare* worlds besides, in which the draws (t, y) of a state are handed out by rank: the best to the action that is chosen least
often, of those that are known to have been chosen at all, and so on. A draw is better the larger y + V(t) is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...mdp.possible_cells import PossibleCells
from ...protocol.releases.release import Array
from .logged import LoggedModel
from .rows import TransitionRows

Places = NDArray[np.int64]
Item = TypeVar("Item", np.int64, np.float64)


def dispersed(
    model: LoggedModel,
    size: float,
    followed: int,
    people: float,
    rng: np.random.Generator,
    rare: Array | None = None,
) -> LoggedModel:
    """A world of that size, with as many visits as `people` would make in it. followed: of how many steps it is counted where they
    led: all, or all but the last; none of a single step, which nothing follows. rare: (S,) values of states, for a rare world.
    """
    ways, knowledge = model.knowledge.ways, model.knowledge
    layers, states, following = len(model.rows), *model.rows.practice.shape[1:]
    chances = np.empty(model.rows.chances.shape)
    table = ways.rows // knowledge.spec.actions * following + ways.following  # of each cell: from which state to which
    usual = model.rewards[..., :1]
    paid = rng.random(model.rewards[..., 1:].shape) < usual
    drawn = paid.astype(np.float64) if knowledge.rewards is None else None
    for layer in range(layers):
        law = model.rows.practice[layer].ravel()[table]
        mass = np.bincount(ways.rows, law, len(ways.starts) - 1)
        alone = 1 / np.maximum(
            np.diff(ways.starts), 1
        )  # where a state never leads where the pair may, all of that alike
        law = np.where(mass[ways.rows] > 0, law / np.maximum(mass, 1e-300)[ways.rows], alone[ways.rows])
        # Row i climbs from i to i + 1, so that one search draws for all of them.
        ends, filled = np.cumsum(law), np.flatnonzero(np.diff(ways.starts))
        before = np.append(0.0, ends)[ways.starts[:-1]]
        picks = np.searchsorted(ends, before[filled] + rng.random(len(before))[filled], side="right")
        picks = np.clip(picks, ways.starts[:-1][filled], ways.starts[1:][filled] - 1)
        if rare is not None:
            picks = _by_rarity(model, layer, rare, filled, picks, drawn)
        chances[layer] = (1 - size) * law
        chances[layer, picks] += size
    rewards = _rewards(model, size, drawn)
    shares = ways.each(model.behaviour) * chances
    practice = np.array([np.bincount(table, layer, states * following).reshape(states, following) for layer in shares])
    if knowledge.end is not None and following:
        practice[:, knowledge.end] = np.eye(states)[knowledge.end]
    visits, moves = _visits(model, practice, followed, people)
    rows = TransitionRows(practice, ways, chances)
    return replace(model, rows=rows, rewards=rewards, visits=visits, moves=moves)


def _by_rarity(
    model: LoggedModel, layer: int, values: Array, filled: Places, picks: Places, drawn: Array | None
) -> Places:
    """The picks of a layer, handed out anew within every state whose pairs may all lead to the same states; so are the rewards
    that were drawn, in place.
    """
    ways, actions = model.knowledge.ways, model.knowledge.spec.actions
    offsets = np.zeros(len(ways.starts) - 1, dtype=np.int64)
    offsets[filled] = picks - ways.starts[:-1][filled]
    alike = _leads_alike(ways, actions)
    firsts = ways.starts[:-1].reshape(-1, actions)[alike, :1]
    mine = offsets.reshape(-1, actions)[alike]
    worth = np.zeros(mine.shape)
    leads = ways.starts[1:].reshape(-1, actions)[alike, :1] > firsts
    if leads.any():
        worth = np.where(leads, values[ways.following[np.where(leads, firsts + mine, 0)]], 0.0)
    if drawn is not None:
        worth = worth + drawn[layer, alike]
    best = np.argsort(-worth, axis=1, kind="stable")
    rarest = np.lexsort((model.behaviour[layer, alike], ~model.covered[layer, alike]), axis=1)
    offsets.reshape(-1, actions)[alike] = _handed(mine, rarest, best)
    if drawn is not None:
        drawn[layer, alike] = _handed(drawn[layer, alike], rarest, best)
    handed: Places = offsets[filled] + ways.starts[:-1][filled]
    return handed


def _leads_alike(ways: PossibleCells, actions: int) -> NDArray[np.bool_]:
    """(S,): whether all pairs of a state may lead to the same states."""
    widths = np.diff(ways.starts).reshape(-1, actions)
    alike = np.asarray((widths == widths[:, :1]).all(axis=1))
    state = ways.rows // actions
    same = np.flatnonzero(
        alike[state]
    )  # cells of states whose rows are equally wide, so that the first row has as many
    first = ways.starts[state[same] * actions] + same - ways.starts[ways.rows[same]]
    alike[state[same[ways.following[same] != ways.following[first]]]] = False
    return alike


def _handed(items: NDArray[Item], to: Places, by: Places) -> NDArray[Item]:
    """(n, A) items, of which the one at by[i, k] goes to place to[i, k]."""
    result = np.empty_like(items)
    np.put_along_axis(result, to, np.take_along_axis(items, by, axis=1), axis=1)
    return result


def _rewards(model: LoggedModel, size: float, drawn: Array | None) -> Array:
    """(L, S, A+1): what pairs pay in the world, current practice first."""
    knowledge = model.knowledge
    pairs = model.rewards[..., 1:]
    if drawn is not None:
        pairs = (1 - size) * model.rewards[..., :1] + size * drawn
        if knowledge.end is not None:
            pairs[:, knowledge.end] = knowledge.end_reward
    return np.concatenate([(model.behaviour * pairs).sum(axis=-1, keepdims=True), pairs], axis=-1)


def _visits(model: LoggedModel, practice: Array, followed: int, people: float) -> tuple[Array, Array]:
    """(L, S, A): how often pairs are visited by this many people, and how often it is counted what followed; both as far as a
    budget lets them through.
    """
    horizon, layers = model.knowledge.spec.horizon, len(practice)
    here, visits, moves = model.initial, np.zeros(model.behaviour.shape[:2]), np.zeros(model.behaviour.shape[:2])
    for h in range(horizon):
        layer = h if layers > 1 else 0
        visits[layer] += people * here
        if h < followed:
            moves[layer] += people * here
        here = here @ practice[layer]
    counted = np.where(model.knowledge.acting, model.behaviour * model.counted, 0.0)
    return visits[..., None] * counted, moves[..., None] * counted


def best_value(model: LoggedModel) -> float:
    """The value of the best policy in a world: current practice, or any allowed action, at every step."""
    values = np.zeros(model.knowledge.spec.states)
    for h in range(model.knowledge.spec.horizon - 1, -1, -1):
        layer = h if len(model.rows) > 1 else 0
        q = model.rewards[layer] + model.rows.after(layer, values)
        q[:, 1:][~model.knowledge.allowed] = -np.inf
        values = q.max(axis=-1)
    return model.at_start(values)
