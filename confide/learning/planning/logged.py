"""The model of a logged world that a release gives: transitions, rewards, current practice, and how sure each is.

Current practice, what the logged people did, is one more action, and the first of them. Its row is that of all actions
of a state together, so it has their counts, and it is known better than any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...mdp.knowledge import Knowledge
from ...mdp.possible_cells import PossibleCells
from ...protocol.kinds.counts import COUNTED, DROPPED, VISITS
from ...protocol.releases.release import Array, CountRelease
from .consistency import Mask, balanced, reconciled, settle
from .counted import ONE, WALKERS, Histories, counted_share
from .rows import TransitionRows
from .shrinkage import shrink

REWARD_SPREAD = 1 / 12
"""Prior variance of a mean reward around that of its state: that of a number drawn uniformly from [0, 1]."""

CLEAR = 1.0
"""A state is known as far as its visits exceed this many standard deviations of their noise."""

ROUNDS = 3
"""How often the share of histories that is counted follows from the model that the share before gives."""

MOST_LOST = 0.8
"""Of those at a state and action, no larger share is taken to be lost."""

UNTRIED = 0.01
"""Of the pairs that are taken for tried, at most this share was not, on average."""


@dataclass(frozen=True, eq=False)
class LoggedModel:
    """An estimated model with current practice as its first action.

    rows: where all S (A+1) pairs lead; rewards, reward_variance, spread: (L, S, A+1), the mean reward, the variance of its
    estimate, and what Var_P(V) is multiplied by to give the variance of the estimate of P V. visits, moves: (L, S, A), how
    often a pair was visited, and how often it is known what followed: less, where the last step's transition is not counted.
    covered: (L, S, A), tried so often that noise cannot have made it; tried: (L, S, A), so often that a policy may take it.
    unclear: (L, S), visited so rarely that noise may have made it. counted: (S, A), which share of all visits these
    are: 1, or what a budget lets through. followed: (S, A), of whom it is known what followed, at a step before the last:
    1, or less
    where people are lost to follow-up. behaviour: (L, S, A), what people did. noise: the standard deviation of the noise in a
    count.
    """

    knowledge: Knowledge
    users: int
    noise: float
    visits: Array
    moves: Array
    rows: TransitionRows
    rewards: Array
    reward_variance: Array
    spread: Array
    behaviour: Array
    tried: Mask
    covered: Mask
    unclear: Mask
    initial: Array
    counted: Array
    followed: Array

    def at_start(self, values: Array) -> float:
        """The mean of values (S,) over the states where people begin: a plain sum, since BLAS would start threads for long ones."""
        return float(np.einsum("s,s->", self.initial, values))

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
    from scipy.special import ndtri

    radius = release.radius.transitions
    if radius <= 0:
        return 0.0
    spec = knowledge.spec
    covered = spec.layers * (int(knowledge.width[knowledge.allowed].sum()) + 4 * spec.states * spec.actions)
    return float(radius / -ndtri(min(release.failure / covered, 0.5) / 2))


def logged_model(
    release: CountRelease,
    knowledge: Knowledge,
    initial: Array | None = None,
    told_apart: float | None = None,
    along: Array | None = None,
    walkers: int = WALKERS,
) -> LoggedModel:
    """Everything a planner needs, from one release. `initial` (S,) is used where the knowledge has none. walkers: see `counted`.

    A pair is covered if its visits exceed this many standard deviations of their noise that of all that do only the share
    `UNTRIED` are mistaken. told_apart: by how many it must exceed them to be tried, hence taken; by default as many.

    Rows are made consistent (`consistency`), then shrunk to that of their state, and states to that of all
    (`shrinkage`), along the value functions (L, S) if they are given.
    """
    spec, ways = knowledge.spec, knowledge.ways
    if release.visited is None:
        release.require_complete("What people do, and where they begin")
    if release.question.spec != spec:
        raise InvalidInput(
            "release-of-other-sizes", f"The release must be about {spec}. Got one about {release.question.spec}."
        )
    noise = noise_deviation(release, knowledge)
    counts = consistent(release, knowledge)
    rowwise = ways.summed(counts)
    first = _initial(release, knowledge, rowwise, counts, initial)
    share = _counted_share(release, knowledge, counts, first, walkers)
    moves = np.maximum(rowwise, 0.0)
    followed = _followed(release, moves)
    transitions, spread = _transition_rows(counts, knowledge, noise, along, share * followed)
    louder, single = release.visits_apart, spec.horizon == 1
    apart = louder is not None and (single or release.question.last == DROPPED)
    visits = np.where(knowledge.allowed, np.maximum(release.counts.visits, 0.0), 0.0) if apart else moves
    deviation, own = row_deviation(release, knowledge), noise * (louder or 1.0)
    covered, tried = _covered(moves, visits if apart else None, knowledge, (deviation, own), told_apart)
    behaviour = _behaviour(visits / share, knowledge.allowed)
    rewards, doubt = _rewards(release, knowledge, visits, behaviour, own if apart else deviation)
    return LoggedModel(
        knowledge,
        release.users,
        noise,
        visits,
        moves,
        transitions,
        rewards,
        doubt,
        spread,
        behaviour,
        tried,
        covered,
        _unclear(knowledge, release.counts.visits if apart else None, rowwise, (deviation, own)),
        first,
        share,
        followed,
    )


def _followed(release: CountRelease, moves: Array) -> Array:
    """(S, A): of those who are not in their last step, whose next state is known: the others were lost to follow-up.

    A share lost/(lost + moves) is mixed with that of all pairs together, by the variance of true differences, by moments.
    """
    if release.lost is None:
        return np.ones(moves.shape[1:])
    lost, before = release.lost.counts[0], moves.sum(axis=0)
    seen = np.maximum(before + np.maximum(lost, 0.0), 1.0)
    grand = min(max(float(lost.sum()) / float(seen.sum()), 0.0), MOST_LOST)
    error = grand * (1 - grand) / seen + release.lost.variance / seen**2
    apart = lost / seen - grand
    trust = 1 / (error + 1e-6) ** 2
    true = max(float((trust * (apart**2 - error)).sum() / float(trust.sum())), 0.0)
    share = grand + true / np.maximum(true + error, 1e-300) * apart
    return np.asarray(1 - np.clip(share, 0.0, MOST_LOST))


def _counted_share(release: CountRelease, knowledge: Knowledge, counts: Array, initial: Array, walkers: int) -> Array:
    """(S, A): the share of all visits that counts (L, cells) are of, by the model that they give if it is 1; of histories, of which
    a smaller share is counted, then by the model that they give if it is that."""
    share = np.ones(knowledge.allowed.shape)
    if not release.budget:
        return share
    noise, rowwise = noise_deviation(release, knowledge), knowledge.ways.summed(counts)
    histories = ONE if release.came is None else Histories(release.came, float(rowwise.sum()) / max(release.users, 1))
    histories = histories._replace(walked=walkers)
    for _ in range(1 if release.came is None else ROUNDS):
        rows = _transition_rows(counts, knowledge, noise, None, share)[0]
        behaviour = _behaviour(np.maximum(rowwise, 0.0) / share, knowledge.allowed)
        share = counted_share(rows, behaviour[0], initial, knowledge, release.budget, histories)
    return share


def row_deviation(release: CountRelease, knowledge: Knowledge) -> Array:
    """(S, A): the standard deviation of the noise in a row's sum; less, where visits were asked for by themselves."""
    own = noise_deviation(release, knowledge) ** 2 * knowledge.width
    if release.visited is None:
        return np.asarray(np.sqrt(own))
    other = release.visited.variance
    return np.asarray(np.sqrt(own * other / np.maximum(own + other, 1e-300)))


def _transition_rows(
    counts: Array, knowledge: Knowledge, noise: float, along: Array | None, counted: Array
) -> tuple[TransitionRows, Array]:
    """Rows of transitions, each shrunk to that of its state, and states to that of all; and (L, S, A+1) how uncertain they are.

    counted: (S, A), which share of all visits the counts are of; a state's row is that of all of them.
    """
    ways, width = knowledge.ways, knowledge.width.astype(np.float64)  # (S, A)
    either_table = np.asarray(knowledge.support.any(axis=1))  # (S, S)
    either = PossibleCells.of(either_table[None])
    several = (
        noise**2 * (width / counted**2).sum(axis=1) / np.maximum(np.diff(either.starts), 1)
    )  # noise in a cell of a state's row
    layers, states, actions, following = len(counts), *knowledge.support.shape
    practice, chances = np.empty((layers, states, following)), np.empty(counts.shape)
    spread = np.empty((layers, states, actions + 1))
    from_state = ways.rows // actions * following + ways.following  # of each cell: from which state to which
    for layer in range(layers):
        all_visits = counts[layer] / ways.each(counted[None])[0]
        together = np.asarray(np.bincount(from_state, all_visits, states * following), dtype=np.float64)
        together = together.reshape(1, 1, states, following)
        value = None if along is None else along[layer]
        grand = _rates(together[0, 0], either_table)[None]
        state_counts = shrink(either.picked(together)[0], either, several[None], grand, value)
        practice[layer] = either.tables(state_counts.rows[None])[0, 0]
        pairs = shrink(counts[layer], ways, np.full((states, actions), noise**2), practice[layer], value)
        chances[layer] = pairs.rows
        spread[layer, :, 0] = state_counts.doubt[0]
        spread[layer, :, 1:] = pairs.doubt + (1 - pairs.weights) ** 2 * state_counts.doubt[0][:, None]
    return TransitionRows(practice, ways, chances), spread


def _rates(counts: Array, possible: Mask) -> Array:
    """(S,): how often people go to each state, of all their visits (S, S) of states that may lead there.

    A state that every other may lead to is no more likely for that, and one that few lead to no less.
    """
    visits = np.maximum(counts.sum(axis=1), 0.0)
    return np.asarray(np.maximum(counts.sum(axis=0), 0.0) / np.maximum(visits @ possible, 1.0))


def _covered(
    moves: Array,
    visits: Array | None,
    knowledge: Knowledge,
    deviations: tuple[Array, float],
    told_apart: float | None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(L, S, A): which pairs are covered, and which are tried; see `logged_model`. visits: where they were asked for apart.
    deviations: of the noise in a row's sum (S, A), and in visits that were asked for apart.
    """
    width, layers = knowledge.width.astype(np.float64), len(moves)
    deviation, of_visits = deviations
    standing, enough = _standing(moves, deviation), moves >= 1
    if visits is not None:
        last = np.zeros(moves.shape, dtype=np.bool_)
        last[-1 if layers > 1 or knowledge.spec.horizon == 1 else layers :] = True  # nothing follows the last step
        own = _standing(visits, np.full(width.shape, of_visits))
        standing, enough = np.where(last, own, np.minimum(standing, own)), (enough | last) & (visits >= 1)
    level = _level(standing[:, knowledge.acting])
    covered = enough & (standing >= level)
    tried = enough & (standing >= (level if told_apart is None else told_apart))
    for mask in (covered, tried):
        if knowledge.rewards is not None:
            mask |= width <= 1  # where there is one way to go, or none, nothing is to be learned
        elif knowledge.end is not None:
            mask[:, knowledge.end] = True
    return covered & knowledge.allowed, tried & knowledge.allowed


def _unclear(
    knowledge: Knowledge, visits: Array | None, rowwise: Array, deviations: tuple[Array, float]
) -> NDArray[np.bool_]:
    """(L, S): states whose visits, all actions together, do not exceed `CLEAR` standard deviations of their noise.

    rowwise: (L, S, A), sums of transitions; visits: (L, S, A), where they were asked for apart. Sums are taken before anything
    is clipped at 0. deviations: see `_covered`.
    """
    deviation, of_visits = deviations
    whole = np.sqrt(np.where(knowledge.allowed, deviation**2, 0.0).sum(axis=1))
    unclear = rowwise.sum(axis=-1) < np.maximum(1.0, CLEAR * whole)
    if visits is not None:
        if len(unclear) > 1 or knowledge.spec.horizon == 1:
            unclear[-1] = False  # nothing follows the last step
        actions = knowledge.allowed.sum(axis=-1)
        unclear |= np.where(knowledge.allowed, visits, 0.0).sum(axis=-1) < np.maximum(
            1.0, CLEAR * of_visits * np.sqrt(actions)
        )
    if knowledge.end is not None:
        unclear[:, knowledge.end] = False
    return np.asarray(unclear)


def _standing(counts: Array, deviation: Array) -> Array:
    """By how many standard deviations of their noise counts exceed 0: without noise, by any number."""
    return np.asarray(np.where(deviation > 0, counts / np.where(deviation > 0, deviation, 1.0), np.inf))


def _level(standing: Array) -> float:
    """The number of standard deviations by which a pair must exceed its noise, by the rule of Benjamini and Hochberg (1995).

    If k of m pairs exceed their noise by z, about m Phi(-z) of them were never tried: z is the least with m Phi(-z) <= k UNTRIED.
    """
    from scipy.special import ndtr, ndtri

    chances = np.sort(ndtr(-standing.ravel()))
    passing = np.flatnonzero(chances <= UNTRIED * np.arange(1, chances.size + 1) / max(chances.size, 1))
    share = (passing[-1] + 1) / chances.size if passing.size else 1 / max(chances.size, 1)
    return float(-ndtri(UNTRIED * share))


def consistent(release: CountRelease, knowledge: Knowledge) -> Array:
    """(L, cells) of transitions that are possible, which agree with visits asked for beside them, and flow step by step."""
    question, support, counts = release.question, knowledge.support, release.counts.transitions
    if question.spec.horizon == 1:
        return np.zeros((len(counts), 0))  # nothing follows
    if VISITS in question.parts and question.last != DROPPED:
        counts = reconciled(counts, release.counts.visits, support)
    if question.spec.layers > 1 and question.last == COUNTED and release.radius.transitions > 0:
        counts = balanced(counts, release.users, support, knowledge.end)
    cells = knowledge.ways.picked(counts)
    return cells if release.visited is None else _agreed(cells, release, knowledge)


def _agreed(cells: Array, release: CountRelease, knowledge: Knowledge) -> Array:
    """Cells (L, cells) whose rows agree with visits that were asked for by themselves: by least squares, each weighed by its noise.

    min sum_t (x_t - n_t)^2/v + (sum_t x_t - n)^2/u moves each of K cells by (n - sum_t n_t)/(K + u/v).
    """
    assert release.visited is not None
    ways, own = knowledge.ways, noise_deviation(release, knowledge) ** 2
    gap = release.visited.counts - ways.summed(cells)
    shift = own * gap / np.maximum(own * knowledge.width + release.visited.variance, 1e-300)
    return np.asarray(cells + ways.each(np.where(knowledge.acting, shift, 0.0)))


def _behaviour(visits: Array, allowed: NDArray[np.bool_]) -> Array:
    """(L, S, A) what people did: shares of visits; every allowed action alike where nothing is known."""
    usual = np.where(allowed, 1.0, 0.0)
    counts = np.where(allowed, visits, 0.0)
    total = counts.sum(axis=-1, keepdims=True)
    return np.asarray(
        np.where(total > 0, counts / np.maximum(total, 1e-300), usual / usual.sum(axis=-1, keepdims=True))
    )


def _rewards(
    release: CountRelease, knowledge: Knowledge, visits: Array, behaviour: Array, deviation: Array | float
) -> tuple[Array, Array]:
    """Mean rewards (L, S, A+1) and the variance of their estimates: known, or shrunk to the state's mean.

    A mean reward is c + Rc/N. If Rc is off by z and N by e, it is off by (z + (c - r) e)/N. deviation: of the noise in visits,
    (S, A) or one for all; r is taken to be somewhere about the mean that it is shrunk to.
    """
    if knowledge.rewards is not None:
        means, doubt = np.broadcast_to(knowledge.rewards, visits.shape), np.zeros_like(visits)
    else:
        centre, cell = release.reward_centre, noise_deviation(release, knowledge) ** 2
        seen, sums = np.maximum(visits, 1.0), release.centred + centre * visits
        error = np.broadcast_to(np.asarray(deviation) ** 2, visits.shape)
        # The mean of all, then of each state, then of each pair: each as far as it is known better than the one before.
        grand = np.full((len(visits), 1, 1), float(np.clip(sums.sum() / max(float(visits.sum()), 1.0), 0, 1)))
        state_visits = np.maximum(visits.sum(axis=-1, keepdims=True), 1.0)
        state_noise = visits.shape[-1] * cell + ((grand - centre) ** 2 + REWARD_SPREAD) * error.sum(-1, keepdims=True)
        mean, unsure = _shrunk(
            sums.sum(axis=-1, keepdims=True) / state_visits, 0.25 / state_visits + state_noise / state_visits**2, grand
        )
        noise = cell + ((mean - centre) ** 2 + REWARD_SPREAD) * error
        means, doubt = _shrunk(sums / seen, 0.25 / seen + noise / seen**2, mean, unsure)
        if knowledge.end is not None:
            means[:, knowledge.end], doubt[:, knowledge.end] = knowledge.end_reward, 0.0
    practice = (behaviour * means).sum(axis=-1, keepdims=True)
    practice_doubt = (behaviour**2 * doubt).sum(axis=-1, keepdims=True)
    return np.concatenate([practice, means], axis=-1), np.concatenate([practice_doubt, doubt], axis=-1)


def _shrunk(means: Array, error: Array, towards: Array, unsure: Array | float = 0.0) -> tuple[Array, Array]:
    """Means with errors of that variance, mixed with what they scatter around; and the variance that is left."""
    weight = REWARD_SPREAD / (REWARD_SPREAD + error)
    mixed = np.asarray(np.clip(towards + weight * (means - towards), 0, 1))
    return mixed, np.asarray(weight * error + (1 - weight) ** 2 * unsure)


def _initial(
    release: CountRelease, knowledge: Knowledge, rowwise: Array, counts: Array, declared: Array | None
) -> Array:
    """The law of the first state.

    Per step, the visits of the first step. Pooled, what leaves a state more often than it is entered: that is starts
    minus those still there after the last step, so give a law where many are.
    """
    if knowledge.initial is not None or declared is not None:
        law = knowledge.initial if knowledge.initial is not None else declared
        return np.asarray(law, dtype=np.float64)
    release.require_complete("Where people begin")
    single = knowledge.spec.horizon == 1
    starts = (release.counts.visits if single else rowwise)[0].sum(axis=-1)
    if len(counts) == 1 and not single:
        starts = starts - knowledge.ways.arriving(counts)[0]
    if knowledge.end is not None:
        starts[knowledge.end] = 0.0
    law = np.maximum(starts / max(release.users, 1), 0.0)
    settle(law, 1.0)
    return np.asarray(law)
