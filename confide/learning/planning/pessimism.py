"""Pessimistic penalties: what is taken off every action value before the best is chosen.

Each function prepares a `Workspace` over A+1 actions, the first of which is current practice (see `logged`), with a
bonus below zero for the one backward induction. So a policy leaves current practice only where another action is better
even after its own doubt is taken off.

`bernstein`, `hoeffding`: DP-APVI, Algorithm 1 of Qiao and Wang (2023), "Offline Reinforcement Learning with
Differential Privacy". With E twice the error radius of a cell, n the settled visits, iota = log(H S A / failure) and K
next states,

    Gamma = C1 sqrt(Var_P(V) iota / (n - E)) + (C2 K E + C3) H iota / n    if n > E, otherwise C H,

where Hoeffding has H^2 for the variance. At radius 0 it is APVI (Yin and Wang 2021), whose C1 = 2 and C3 = 14/3.
`adaptive`: ours. Gamma is `scale` posterior standard deviations of the estimate of P V, and of the reward if that is
unknown. Pairs that cannot be distinguished from untried pairs are not taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...mdp import Spec
from ...mdp.knowledge import Knowledge
from ...protocol.kinds.counts import DROPPED, VISITS
from ...protocol.releases.release import Array, CountRelease
from .consistency import program
from .induction import REWARD, SPREAD, WIDTH, Workspace, workspace
from .logged import LoggedModel

ADAPTIVE, BERNSTEIN, HOEFFDING = "adaptive", "bernstein", "hoeffding"
KINDS = (ADAPTIVE, BERNSTEIN, HOEFFDING)


@dataclass(frozen=True)
class Constants:
    """C1 of the variance, C2 of the privacy noise, C3 of the remainder, C of pairs not known to have been tried."""

    variance: float = math.sqrt(2)
    privacy: float = 16.0
    remainder: float = 0.0
    unknown: float = 1.0


DP_APVI = Constants()
APVI = Constants(variance=2.0, remainder=14 / 3)


def adaptive(model: LoggedModel, scale: float, practice: bool, policy: Array, values: Array) -> None:
    """Solve the model with posterior standard deviations times `scale` taken off, for tried and allowed actions and current
    practice; writes policy (H, S, A+1) and values (H+1, S). Without `practice` it is followed only where nothing was tried.

    It is `backward_induction` over possible cells: Q_h = r + P V_{h+1} - Gamma is best before it is clipped to what is possible.
    """
    width = scale * np.sqrt(model.reward_variance)
    width[..., 1:][~model.tried] = np.inf
    if not practice:
        width[..., 0] = np.where(model.tried.any(axis=-1), np.inf, width[..., 0])
    horizon, each, reach = len(policy), np.eye(policy.shape[-1]), model.knowledge.reach
    values[horizon] = 0.0
    for h in range(horizon - 1, -1, -1):
        layer = h if len(model.rows) > 1 else 0
        mean = model.rows.after(layer, values[h + 1])
        variance = np.maximum(model.rows.after(layer, values[h + 1] ** 2) - mean**2, 0.0)
        q = model.rewards[layer] + mean - width[layer] - scale * np.sqrt(model.spread[layer] * variance)
        policy[h] = each[q.argmax(axis=-1)]
        values[h] = np.clip(q.max(axis=-1), reach.low[h], reach.high[h])


def printed(
    release: CountRelease,
    knowledge: Knowledge,
    kind: str,
    scale: float,
    constants: Constants | None = None,
    practice: bool = True,
) -> Workspace:
    """Gamma of DP-APVI times `scale`, except where a pair is unknown. Without `practice` its action is never taken."""
    spec, radius = knowledge.spec, release.radius
    if practice:
        release.require_complete("What people do")
    constants = constants or (DP_APVI if radius.transitions > 0 else APVI)
    counts, single = release.counts, release.question.followed == 0
    told = counts.visits[..., None] if single else counts.transitions  # after a single step there is one place to be
    possible = knowledge.support if spec.horizon > 1 else np.ones(told.shape[1:], dtype=np.bool_)
    support = np.concatenate([np.asarray(possible.any(axis=1))[:, None], possible], axis=1)
    width = support.sum(axis=-1)
    transitions = np.concatenate([told.sum(axis=2, keepdims=True), told], axis=2)
    rows_known = not single and (VISITS not in release.question.parts or release.question.last == DROPPED)
    visits = np.where(support, transitions, 0.0).sum(axis=-1) if rows_known else _together(counts.visits)
    # The counts of current practice are sums over actions, so their errors are sqrt(A) as large.
    reach = np.append(math.sqrt(spec.actions), np.ones(spec.actions))
    error = 2 * max(0.0 if single else radius.transitions, radius.visits if not rows_known else 0.0) * reach
    settled = np.zeros_like(transitions)
    for a in range(spec.actions + 1):
        action = slice(a, a + 1)
        settled[:, :, action] = program(
            transitions[:, :, action], visits[:, :, action], float(error[a]) / 2, support[:, action]
        )
    n = settled.sum(axis=-1)
    known = n > error
    safe = np.where(known, n, 1.0)
    rows = np.where(known[..., None], settled / safe[..., None], support / np.maximum(width, 1)[..., None])
    log = math.log(spec.horizon * spec.states * spec.actions / (release.failure or 0.1))
    clear = np.where(known, n - error, 1.0)
    spread = scale**2 * constants.variance**2 * log / clear
    penalty = scale * (constants.privacy * width * error + constants.remainder) * spec.horizon * log / safe
    if kind == HOEFFDING:
        penalty, spread = penalty + spec.horizon * np.sqrt(spread), np.zeros_like(spread)
    penalty = np.where(known, penalty, constants.unknown * spec.horizon)
    penalty[..., 1:][:, ~knowledge.allowed] = np.inf
    if not practice:
        penalty[..., 0] = np.inf
    return _workspace(spec, rows, _rewards(release, knowledge, safe), penalty, np.where(known, spread, 0.0))


def _rewards(release: CountRelease, knowledge: Knowledge, visits: Array) -> Array:
    """(L, S, A+1) the table, or empirical means; current practice pays what its visits say."""
    if knowledge.rewards is None:
        sums = _together(release.counts.rewards)
        means = np.clip(sums / np.maximum(visits, 1.0), 0, 1)
        if knowledge.end is not None:
            means[:, knowledge.end] = knowledge.end_reward
        return means
    seen = visits[..., 1:]
    table = np.broadcast_to(knowledge.rewards, seen.shape)
    mean = (table * seen).sum(axis=-1, keepdims=True) / np.maximum(seen.sum(axis=-1, keepdims=True), 1e-300)
    return np.concatenate([mean, table], axis=-1)


def _together(table: Array) -> Array:
    """(L, S, A) with its sum over actions in front."""
    return np.concatenate([table.sum(axis=-1, keepdims=True), table], axis=-1)


def _workspace(spec: Spec, rows: Array, rewards: Array, width: Array, spread: Array) -> Workspace:
    """Room for one more action: rows (L, S, A+1, S), and tables (L, S, A+1) of rewards and of what is taken off."""
    work = workspace(Spec(spec.states, spec.actions + 1, spec.horizon, spec.dynamics), dispersed=True)
    for kind, table in ((REWARD, rewards), (WIDTH, -width), (SPREAD, -spread)):
        work.pairs[kind] = table.reshape(len(table), -1)
    if spec.horizon > 1:
        work.transitions[:] = rows.reshape(len(rows), -1, spec.states).transpose(0, 2, 1)
    return work
