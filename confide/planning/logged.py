"""What a release says about a logged world: how it moves and pays, what people did in it, and how sure that is.

Current practice, what the logged people did, is one more action, and the first of them. Its row is that of all actions
of a state together, so it has their counts, and it is known better than any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..mdp.knowledge import Knowledge
from ..questions.counts import COUNTED, DROPPED, VISITS
from ..releases.release import Array, CountRelease
from .consistency import Mask, balanced, reconciled, settle
from .shrinkage import shrink

REWARD_SPREAD = 1 / 12
"""Prior variance of a mean reward around that of its state: that of a number drawn uniformly from [0, 1]."""

TOLD_APART = 1.0
"""A pair counts as tried if its visits exceed this many standard deviations of their noise."""


@dataclass(frozen=True, eq=False)
class LoggedModel:
    """An estimated model with current practice as its first action.

    rows: (L, S, A+1, S); rewards, reward_doubt, spread: (L, S, A+1), the mean reward, the variance of its estimate, and
    what Var_P(V) is multiplied by to give the variance of the estimate of P V. visits, weights: (L, S, A), estimated
    visits and how much a row is its own. covered: (L, S, A), tried so often that noise cannot have made it. behaviour:
    (L, S, A), what people did. noise, reward_noise: standard deviations of the noise in a transition count and in a sum
    of rewards. kappas: (L, 2), how far rows may
    differ, for pairs and for states. returned: the mean return of the logged people, which needs no model, and
    returned_noise, (L, S, A), what one unit of noise in a transition count adds to it.
    """

    knowledge: Knowledge
    users: int
    noise: float
    reward_noise: float
    visits: Array
    rows: Array
    rewards: Array
    reward_doubt: Array
    spread: Array
    weights: Array
    state_weights: Array
    kappas: Array
    behaviour: Array
    covered: Mask
    initial: Array
    initial_doubt: float
    returned: float
    returned_noise: Array

    @property
    def state_visits(self) -> Array:
        """(L, S), at least 1."""
        return np.asarray(np.maximum(self.visits.sum(axis=-1), 1.0))

    def with_practice(self, policy: Array) -> Array:
        """A policy (H, S, A) as one over A+1 actions that never takes the first."""
        return np.concatenate([np.zeros((*policy.shape[:2], 1)), policy], axis=-1)

    def resolved(self, policy: Array) -> Array:
        """A policy (H, S, A+1) as one over A actions: where it follows current practice it does what people did."""
        behaviour = np.broadcast_to(self.behaviour, (len(policy), *self.behaviour.shape[1:]))
        return np.asarray(policy[..., 1:] + policy[..., :1] * behaviour)


def noise_deviation(release: CountRelease, knowledge: Knowledge) -> float:
    """The standard deviation of one transition count, read off its error radius as if the noise were normal.

    A radius is a quantile at failure over the number of cells and sums it covers. Laplace noise has heavier tails, so
    that for it the deviation is taken for larger than it is.
    """
    return _deviation(release.radius.transitions, release, knowledge)


def _deviation(radius: float, release: CountRelease, knowledge: Knowledge) -> float:
    from scipy.special import ndtri

    if radius <= 0:
        return 0.0
    spec = knowledge.spec
    moves = knowledge.support & knowledge.allowed[..., None]
    covered = spec.layers * (int(moves.sum()) + 4 * spec.states * spec.actions)
    return float(radius / -ndtri(min(release.failure / covered, 0.5) / 2))


def logged_model(
    release: CountRelease,
    knowledge: Knowledge,
    initial: Array | None = None,
    told_apart: float = TOLD_APART,
    along: Array | None = None,
) -> LoggedModel:
    """Everything a planner needs, from one release. `initial` (S,) is used where the knowledge has none.

    Rows are made consistent (`consistency`), then shrunk to that of their state, and states to that of all
    (`shrinkage`), along the value functions (L, S) if they are given.
    """
    spec, support = knowledge.spec, knowledge.support
    if release.question.spec != spec:
        raise InvalidInput(f"The release must be about {spec}. Got one about {release.question.spec}.")
    noise = noise_deviation(release, knowledge)
    counts = consistent(release, knowledge)
    width = support.sum(axis=-1).astype(np.float64)  # (S, A)
    either = np.asarray(support.any(axis=1))
    several = noise**2 * width.sum(axis=1) / np.maximum(either.sum(axis=1), 1)  # noise in a cell of a state's row
    layers, states, actions = counts.shape[:3]
    rows = np.empty((layers, states, actions + 1, states))
    weights, state_weights = np.empty((layers, states, actions)), np.empty((layers, states))
    spread, kappas = np.empty((layers, states, actions + 1)), np.empty((layers, 2))
    for layer in range(layers):
        table = counts[layer]
        together = table.sum(axis=1)[None]
        value = None if along is None else along[layer]
        grand = np.maximum(together.sum(axis=1), 0.0)
        whole = shrink(together, either[None], several[None], grand, value)
        pairs = shrink(table, support, np.full((states, actions), noise**2), whole.rows[0], value)
        rows[layer, :, 0], rows[layer, :, 1:] = whole.rows[0], pairs.rows
        spread[layer, :, 0] = whole.doubt[0]
        spread[layer, :, 1:] = pairs.doubt + (1 - pairs.weights) ** 2 * whole.doubt[0][:, None]
        weights[layer], state_weights[layer] = pairs.weights, whole.weights[0]
        kappas[layer] = pairs.most, whole.most
    visits = np.maximum(counts.sum(axis=-1), 0.0)
    covered = visits >= np.maximum(1.0, told_apart * noise * np.sqrt(width))
    behaviour = _behaviour(visits, knowledge.allowed)
    rewards, doubt = _rewards(release, knowledge, visits, behaviour)
    if knowledge.rewards is not None:
        covered = covered | (width == 1)  # where there is one way to go, nothing is to be learned
    elif knowledge.end is not None:
        covered[:, knowledge.end] = True
    start, start_doubt = _initial(release, knowledge, counts, noise, initial)
    return LoggedModel(
        knowledge,
        release.users,
        noise,
        _deviation(release.radius.rewards, release, knowledge),
        visits,
        rows,
        rewards,
        doubt,
        spread,
        weights,
        state_weights,
        kappas,
        behaviour,
        covered & knowledge.allowed,
        start,
        start_doubt,
        *_returned(release, knowledge, counts),
    )


def consistent(release: CountRelease, knowledge: Knowledge) -> Array:
    """(L, S, A, S) transitions that are possible, agree with visits asked for beside them, and flow step by step."""
    question, support = release.question, knowledge.support
    counts = np.where(support, release.counts.transitions, 0.0)
    if VISITS in question.parts and question.last != DROPPED:
        counts = reconciled(counts, release.counts.visits, support)
    if question.spec.layers > 1 and question.last == COUNTED and release.radius.transitions > 0:
        counts = balanced(counts, release.users, support, knowledge.end)
    return counts


def _behaviour(visits: Array, allowed: NDArray[np.bool_]) -> Array:
    """(L, S, A) what people did: shares of visits; every allowed action alike where nothing is known."""
    usual = np.where(allowed, 1.0, 0.0)
    found = np.where(allowed, visits, 0.0)
    total = found.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, found / np.maximum(total, 1e-300), usual / usual.sum(axis=-1, keepdims=True)))


def _rewards(release: CountRelease, knowledge: Knowledge, visits: Array, behaviour: Array) -> tuple[Array, Array]:
    """Mean rewards (L, S, A+1) and the variance of their estimates: known, or shrunk to the state's mean."""
    if knowledge.rewards is not None:
        found, doubt = np.broadcast_to(knowledge.rewards, visits.shape), np.zeros_like(visits)
    else:
        noise = _deviation(release.radius.rewards, release, knowledge)
        seen, sums = np.maximum(visits, 1.0), release.counts.rewards
        whole = np.maximum(visits.sum(axis=-1, keepdims=True), 1.0)
        mean = np.clip(sums.sum(axis=-1, keepdims=True) / whole, 0, 1)
        error = 0.25 / seen + (noise / seen) ** 2
        weight = REWARD_SPREAD / (REWARD_SPREAD + error)
        found, doubt = np.clip(mean + weight * (sums / seen - mean), 0, 1), weight * error
        if knowledge.end is not None:
            found[:, knowledge.end], doubt[:, knowledge.end] = knowledge.end_reward, 0.0
    practice = (behaviour * found).sum(axis=-1, keepdims=True)
    practice_doubt = (behaviour**2 * doubt).sum(axis=-1, keepdims=True)
    return np.concatenate([practice, found], axis=-1), np.concatenate([practice_doubt, doubt], axis=-1)


def _returned(release: CountRelease, knowledge: Knowledge, counts: Array) -> tuple[float, Array]:
    """What the logged people earned on average, and how noise in a transition count moves it.

    With known rewards, visits times rewards. Otherwise the sums of rewards, whose own noise is spread over the cells.
    """
    people, horizon = max(release.users, 1), knowledge.spec.horizon
    visits = counts.sum(axis=-1)
    after = knowledge.end_reward * (people * horizon - float(visits.sum())) / people if knowledge.ends else 0.0
    if knowledge.rewards is not None:
        paid = np.broadcast_to(knowledge.rewards, visits.shape)
        return float((visits * paid).sum()) / people + after, paid / people
    noise = _deviation(release.radius.rewards, release, knowledge)
    cells = np.maximum(knowledge.support.sum(axis=-1), 1.0)
    share = noise / max(noise_deviation(release, knowledge), 1e-300) / np.sqrt(cells) / people
    return float(release.counts.rewards.sum()) / people + after, np.broadcast_to(share, visits.shape)


def _initial(
    release: CountRelease, knowledge: Knowledge, counts: Array, noise: float, given: Array | None
) -> tuple[Array, float]:
    """The law of the first state, and the variance of one estimated probability; 0 if it is public.

    Per step, the visits of the first step. Pooled, what leaves a state more often than it is entered: that is starts
    minus those still there after the last step, so give a law where many are.
    """
    states = knowledge.spec.states
    if knowledge.initial is not None or given is not None:
        law = knowledge.initial if knowledge.initial is not None else given
        return np.asarray(law, dtype=np.float64), 0.0
    people = max(release.users, 1)
    cells = float(knowledge.support.sum()) / states
    if len(counts) > 1:
        starts = counts[0].sum(axis=(1, 2))
    else:
        starts, cells = counts[0].sum(axis=(1, 2)) - counts[0].sum(axis=(0, 1)), 2 * cells
    if knowledge.end is not None:
        starts[knowledge.end] = 0.0
    law = np.maximum(starts / people, 0.0)
    settle(law, 1.0)
    return law, noise**2 * cells / people**2
