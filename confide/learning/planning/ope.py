"""Off-policy evaluation from a release: the value of a policy, and how much more than current practice.

The value of current practice is people's mean return, which was queried. For any function V, and with d the expected visits,

    gain = sum_h E_{d^pi}[r + P V_{h+1} - V_h] - sum_h E_{d^b}[r + P V_{h+1} - V_h],

where b is current practice; where they start cancels. The second sum is one over people: counts times V over n. The
first weighs counts by how much more often the policy comes by than people did. V, and the weights d^pi(s, a)/N(s, a), come
from the part of the release that chose the policy; the counts come from the part that judges it, whose errors are
independent (`parting`). So given the first, the estimate is a fixed linear function of the counts, with

    variance = sigma^2 sum (coefficients)^2 + sum (count) (coefficient)^2                noise, and sampling error.

Its bias is a product: (error of the weights) x (error of V). Where policy and people visit alike the coefficients are
zero: what is kept unchanged adds no doubt. What the release cannot carry is not estimated but bounded (`_Lean`): pairs that
do not exceed the noise as tried bring anything that is possible (`mdp.reach`), and those who leave current practice are followed
only into states that exceed the noise. And the second sum is held against people's returns (`_misfit`). `estimates.SPENT` leaves
room for the rest; how often intervals hold is measured by `./run coverage`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ... import validation
from ...mdp import Policy
from ...mdp.possible_cells import PossibleCells
from ...protocol.kinds.counts import DROPPED
from ...protocol.releases.release import Array, CountRelease, Counts, Radius, VisitCounts
from .consistency import Mask
from .estimates import Difference, Estimate, estimate
from .logged import LoggedModel, noise_deviation
from .practice import Practice
from .rows import crossed
from .thinning import Cells, noised_cells, possible

SPREADS = 2.0
"""Where the release does not tell what follows, it is taken to differ by at most this many deviations of people's returns."""

MISFIT = 2.0
"""By how many deviations the model must be wrong about current practice for that to be held against it."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence that policies are judged by: the model that chose, the counts that judge, and people's returns.

    louder: by what the sampling error in the judging counts has more variance than in the log (`parting`).
    """

    model: LoggedModel
    judging: CountRelease
    practice: Practice
    louder: float = 1.0

    @cached_property
    def cells(self) -> Cells:
        """The judging counts, in the cells that got noise."""
        return noised_cells(self.judging, self.model.knowledge)

    @cached_property
    def where(self) -> Mask:
        """(L, cells): which of its possible transition counts have noise."""
        return possible(self.judging, self.model.knowledge)

    def evaluate(self, policy: Policy | Array | Difference | None = None, confidence: float = 0.95) -> Estimate:
        """The value of a policy (H, S, A) or (H, S, A+1), or of a known difference; None is current practice."""
        practice, bounds = self.practice, self.model.knowledge.worths
        if policy is None:
            return estimate(practice.mean, practice.deviation, 0.0, confidence, bounds)
        more = self._difference(policy)
        # Who was logged is sampling error in both sums; noise is drawn for each.
        deviation = math.hypot(math.sqrt(practice.luck) + math.sqrt(more.luck), math.sqrt(practice.noise + more.noise))
        whole = estimate(practice.mean + more.value, deviation, more.unknown, confidence, bounds)
        return whole.around(practice.mean + more.guess)

    def _difference(self, policy: Policy | Array | Difference) -> Difference:
        return policy if isinstance(policy, Difference) else difference(self, policy)

    def compare(self, policy: Policy | Array | Difference, confidence: float = 0.95) -> Estimate:
        """The gain of a policy over current practice.

        Where it is current practice throughout, that is nothing; the interval then has the width of current practice's.
        """
        low, high = self.model.knowledge.worths
        more = self._difference(policy)
        deviation = math.sqrt(more.luck + more.noise)
        if deviation + more.unknown == 0:
            deviation = self.practice.deviation
        return estimate(more.value, deviation, more.unknown, confidence, (low - high, high - low)).around(more.guess)


def worth(model: LoggedModel, policy: Policy | Array | None) -> float:
    """The value in the model, without an interval; None is current practice."""
    return model.at_start(policy_values(model, extended(model, policy))[0][0])


def replica(
    release: CountRelease, model: LoggedModel, rng: np.random.Generator, noise_ratio: float = 1.0, louder: float = 1.0
) -> CountRelease:
    """A simulated release, as if the model were the truth: as many people, fresh sampling, fresh noise.

    noise_ratio: the noise's deviation over that of the release; 0 is no privacy. louder: times sampling error and noise
    (`parting`).
    """
    knowledge, shape = model.knowledge, model.visits.shape
    ways, cells, where = knowledge.ways, noised_cells(release, knowledge), possible(release, knowledge)
    noise = louder * noise_ratio * noise_deviation(release, knowledge)
    expected = ways.each(model.moves) * model.rows.chances
    seen = expected + louder * np.sqrt(expected) * rng.standard_normal(expected.shape)
    moved = (seen + noise * rng.standard_normal(expected.shape)) * where
    rest = np.maximum(model.visits - model.moves, 0.0)
    seen_visits = ways.summed(seen) + rest + louder * np.sqrt(rest) * rng.standard_normal(shape)
    visits = ways.summed(moved)
    if cells.visited is not None:
        visits = np.where(knowledge.acting, seen_visits + cells.louder * noise * rng.standard_normal(shape), 0.0)
    mean = model.rewards[..., 1:]
    spread = np.sqrt(np.maximum(model.visits * mean * (1 - mean), 0.0))  # which floats may round below 0
    earned = seen_visits * mean + louder * spread * rng.standard_normal(shape)
    paid = earned + noise * rng.standard_normal(shape) + cells.middle * (visits - seen_visits)
    paid = np.where(knowledge.acting, paid, 0.0)
    radius = Radius(*(louder * noise_ratio * size for size in release.radius))
    again = replace(release, counts=Counts(visits, paid, paid, ways.tables(moved)), radius=radius)
    if release.visited is None:
        return again
    own = noise_ratio**2 * release.visited.variance  # which is not made louder: it is no part of what judges
    asked = seen_visits + math.sqrt(own) * rng.standard_normal(shape)
    return replace(again, visited=VisitCounts(asked, own))


def difference(evidence: Evidence, policy: Policy | Array) -> Difference:
    """The estimated gain of a policy over current practice, by the sums in the docstring of this module."""
    model = evidence.model
    chosen = extended(model, policy)
    if (chosen[..., 0] == 1).all():
        return Difference(0.0, 0.0, 0.0, 0.0)
    lean = _Lean.of(model, chosen, SPREADS * evidence.practice.spread)
    estimate = _summed(evidence, lean)
    wrong = _misfit(evidence, lean)
    # It may be chance after all; or all of it is in the second sum; or, where the policy keeps to current practice, in both,
    # one way or the other.
    value = estimate.value - wrong / 2
    return replace(estimate, value=value + lean.shift, unknown=lean.unknown + abs(wrong), guess=value)


def foreseen(evidence: Evidence, policy: Array) -> Difference:
    """What `difference` may be expected to say, by the part that chose alone: the judging counts are not looked at."""
    model = evidence.model
    lean = _Lean.of(model, policy, SPREADS * evidence.practice.spread)
    gain = worth(model, policy) - worth(model, None)
    return replace(_summed(evidence, lean), value=gain + lean.shift, unknown=lean.unknown, guess=gain)


def _summed(evidence: Evidence, lean: _Lean) -> Difference:
    """The judging counts times their coefficients, with the variances of that."""
    model, release = evidence.model, evidence.judging
    cells, where = evidence.cells, evidence.where
    sigma, value, luck, noise = noise_deviation(release, model.knowledge), 0.0, 0.0, 0.0
    for layer in range(len(model.rows)):
        coefficients = _Coefficients.of(model, release, layer, lean, cells, evidence.practice.episodes)
        value += coefficients.total(cells, layer)
        noise += sigma**2 * coefficients.squares(cells, where[layer])
        practice = evidence.practice
        luck += evidence.louder * practice.most * coefficients.luck(model, layer, practice.alike)
    return Difference(value, luck, noise, 0.0)


def misfit(evidence: Evidence, policy: Policy | Array) -> float | None:
    """By how much the model is wrong about people's returns, 0 if that may be chance; None where that cannot be seen."""
    model = evidence.model
    if len(model.rows) > 1 or model.knowledge.spec.horizon == 1 or evidence.judging.lost is not None:
        return None
    return _misfit(evidence, _Lean.of(model, extended(model, policy), SPREADS * evidence.practice.spread))


def fully_followed(evidence: Evidence) -> Evidence:
    """The evidence with what current practice would bring if no user were lost to follow-up.

    No user's return shows that. It is V_1 + sum_h E_{d^b}[r + P V_{h+1} - V_h], the second sum of the module for the V of current
    practice, where every transition that is known stands for those that are not.
    """
    model, practice = evidence.model, evidence.practice
    lean = _Lean.of(model, extended(model, None), SPREADS * practice.spread)
    sums = _summed(evidence, replace(lean, visits=np.zeros_like(lean.visits), usual=lean.people))
    first = model.at_start(lean.values[0])
    low, high = model.knowledge.worths
    starts = model.at_start((lean.values[0] - first) ** 2) / max(practice.people, 1.0)
    mean = min(max(first - sums.value, low), high)
    return replace(evidence, practice=replace(practice, mean=mean, luck=sums.luck + starts, noise=sums.noise))


def _misfit(evidence: Evidence, lean: _Lean) -> float:
    """By how much the second sum of the module is wrong, as held against people's returns; 0 if that may be chance.

    Counts pooled over steps are parted among the steps as the model says. If current practice changes from step to step
    that is wrong, and it shows: sum_h E_{d^b}[r + P V_{h+1} - V_h] must be people's return minus V_1 where they start.
    """
    model, practice = evidence.model, evidence.practice
    if len(model.rows) > 1 or model.knowledge.spec.horizon == 1 or evidence.judging.lost is not None:
        return 0.0
    people = _summed(evidence, replace(lean, visits=np.zeros_like(lean.visits), usual=lean.people))
    wrong = practice.mean - model.at_start(lean.values[0]) + people.value
    deviation = math.sqrt(people.luck + people.noise + practice.luck + practice.noise)
    return wrong if abs(wrong) > MISFIT * deviation else 0.0


@dataclass(frozen=True, eq=False)
class _Lean:
    """How a gain leans on the model. values: (H+1, S), of the policy; q: (H, S, A+1), of each of its actions.

    visits: (H, S, A+1), how likely the policy is at each. usual: (H, S), how likely current practice is; of those who
    leave it under the policy, both are followed only as far as the release carries. people: (H, S), how likely current
    practice is, followed to the end; seen: (H, S), the same of those who are not lost to follow-up. unknown: by how much
    the gain may be off where either was not followed; shift: how far the
    middle of what is possible there is above what the model says.
    """

    values: Array
    q: Array
    visits: Array
    usual: Array
    people: Array
    seen: Array
    unknown: float
    shift: float

    @classmethod
    def of(cls, model: LoggedModel, policy: Array, spread: float) -> _Lean:
        """spread: by how much what follows may differ where nothing is known, but at most by half of what is possible."""
        horizon, states = policy.shape[:2]
        reach = model.knowledge.reach
        half, middle = reach.half, reach.middle
        values, q = policy_values(model, policy)
        visits, usual, people = np.zeros(policy.shape), np.zeros((horizon, states)), np.zeros((horizon, states))
        seen = people if (model.followed == 1).all() else _seen(model, horizon)
        # Of people: all; those who have followed current practice so far; those who have left it, and where they would be.
        everyone, together, departed, instead = model.initial, model.initial, np.zeros(states), np.zeros(states)
        unknown, shift = 0.0, 0.0
        for h in range(horizon):
            layer = h if len(model.rows) > 1 else 0
            unclear, untried = model.unclear[layer], ~model.covered[layer]
            apart = np.minimum((reach.high[h] - reach.low[h]) / 2, spread)
            lost = float(((departed * policy[h, :, 0] + instead) * apart)[unclear].sum())
            instead = np.where(unclear, 0.0, instead)
            after = departed[:, None] * policy[h]
            after[unclear, 0] = 0.0
            acting = together[:, None] * policy[h]
            risky = (acting + after)[:, 1:]
            unknown += lost + float((risky * half[h])[untried].sum())
            shift += float((risky * (middle[h] - q[h, :, 1:]))[untried].sum())
            acting[:, 1:][untried] = 0.0
            after[:, 1:][untried] = 0.0
            visits[h], usual[h], people[h] = acting + after, acting[:, 0] + instead, everyone
            leaving = together * policy[h, :, 1:].sum(axis=-1)
            usual[h] += leaving
            leaves = acting.copy()
            leaves[:, 0] = 0.0
            departed = model.rows.flow(layer, after + leaves)
            following = np.stack([instead + leaving, everyone, acting[:, 0]]) @ model.rows.practice[layer]
            instead, everyone, together = following
        return cls(values, q, visits, usual, people, seen, unknown, shift)


def _seen(model: LoggedModel, horizon: int) -> Array:
    """(H, S): how likely people are at each state and not lost before."""
    found, here = np.empty((horizon, len(model.initial))), model.initial
    for h in range(horizon):
        layer = h if len(model.rows) > 1 else 0
        found[h] = here
        pairs = np.zeros((len(here), model.behaviour.shape[-1] + 1))
        pairs[:, 1:] = here[:, None] * model.behaviour[layer] * model.followed
        here = model.rows.flow(layer, pairs)
    return found


def policy_values(model: LoggedModel, policy: Array) -> tuple[Array, Array]:
    """(H+1, S) and (H, S, A+1), in the model."""
    horizon, layers = len(policy), len(model.rows)
    values, q = np.zeros((horizon + 1, policy.shape[1])), np.empty(policy.shape)
    for h in range(horizon - 1, -1, -1):
        layer = h if layers > 1 else 0
        q[h] = model.rewards[layer] + model.rows.after(layer, values[h + 1])
        values[h] = (policy[h] * q[h]).sum(axis=-1)
    return values, q


@dataclass(frozen=True, eq=False)
class _Coefficients:
    """By what the estimate multiplies the counts of one layer. moved: (cells,), of possible transitions; visited, paid: (S, A),
    for rewards minus `middle`."""

    ways: PossibleCells
    moved: Array
    visited: Array
    paid: Array
    middle: float

    @classmethod
    def of(
        cls, model: LoggedModel, release: CountRelease, layer: int, lean: _Lean, cells: Cells, people: float
    ) -> _Coefficients:
        horizon = model.knowledge.spec.horizon
        steps = np.arange(horizon) if len(model.rows) == 1 else np.array([layer])
        # Nothing follows the last step: where its transition is not counted, it takes no part in those that are.
        followed = steps < horizon - 1 if release.question.last == DROPPED else np.ones(len(steps), dtype=np.bool_)
        now, pairs, usual = lean.visits[steps, :, 0], lean.visits[steps, :, 1:], lean.usual[steps]
        after, paid, everyone = lean.values[steps + 1], model.rewards[layer], lean.seen[steps]
        visits = people * np.maximum(everyone.sum(axis=0), 1 / people)  # (S,)
        moves = people * np.maximum(everyone[followed].sum(axis=0), 1 / people)
        on_practice, off_practice = now / visits, usual / visits  # (steps, S)
        all_of = 1 / model.counted  # (S, A): how many visits each that is counted stands for
        all_moves = all_of / model.followed  # and how many each does of which it is known where it led
        tried = pairs / np.maximum(model.visits[layer], 1.0)  # (steps, S, A)
        # Rewards: r for all; minus what was expected of the policy, and minus V of current practice.
        reward = (on_practice - off_practice).sum(axis=0)[:, None] * all_of + tried.sum(axis=0)
        baseline = -(on_practice.sum(axis=0) * paid[:, 0])[:, None] * all_of - tried.sum(axis=0) * paid[:, 1:]
        baseline = baseline + (off_practice * lean.values[steps]).sum(axis=0)[:, None] * all_of
        # Transitions: V at the next state, minus what was expected of the policy.
        on_practice, off_practice = (now * followed[:, None]) / moves, (usual * followed[:, None]) / moves
        tried = pairs * followed[:, None, None] / np.maximum(model.moves[layer], 1.0)
        expected = lean.q[steps] - paid
        ways = model.knowledge.ways
        moved = crossed(ways, tried + (on_practice - off_practice)[..., None] * all_moves, after)
        centre = (on_practice * expected[..., 0]).sum(axis=0)[:, None] * all_moves + (tried * expected[..., 1:]).sum(
            axis=0
        )
        moved -= ways.each(centre[None])[0]
        acting = model.knowledge.acting
        visited = baseline + reward * (paid[:, 1:] if cells.paid is None else cells.middle)
        rewarded = np.where(acting, 0.0 if cells.paid is None else reward, 0.0)
        return cls(ways, moved, np.where(acting, visited, 0.0), rewarded, cells.middle)

    def total(self, cells: Cells, layer: int) -> float:
        """The sum of coefficients times counts."""
        visited = self.ways.summed(cells.moved[layer : layer + 1])[0] if cells.visited is None else cells.visited[layer]
        moved = np.vdot(self.moved, cells.moved[layer])  # which is 0 where nothing can happen
        total = float(moved) + float((self.visited * visited).sum())
        return total if cells.paid is None else total + float((self.paid * cells.paid[layer]).sum())

    def squares(self, cells: Cells, where: Mask) -> float:
        """The sum of squares of what multiplies each cell that has noise, in units of that of a cell."""
        if cells.visited is None:
            squares = float(((self.moved + self.ways.each(self.visited[None])[0])[where] ** 2).sum())
        else:
            squares = float((self.moved[where] ** 2).sum() + (cells.louder**2 * self.visited**2).sum())
        return squares + float((self.paid**2).sum())

    def luck(self, model: LoggedModel, layer: int, alike: float = 1.0) -> float:
        """Variance if every count were a Poisson number, and rewards 0 or 1, and two more of them had been seen.

        alike: in how many episodes a person may do the same. What follows, and what is paid, is drawn anew each time.
        """
        paid, often = model.rewards[layer][:, 1:], model.visits[layer]
        here = self.visited + self.paid * (paid - self.middle)
        each, chances = self.moved + self.ways.each(here[None])[0], model.rows.chances[layer]
        moving, spread = self.ways.summed(np.stack([chances, chances * each**2]))
        spread = spread + (1 - np.minimum(moving, 1.0)) * here**2  # whom nothing follows
        spread = spread + self.paid**2 * _chance_variance(often, paid)
        if alike > 1:
            expected = self.ways.summed((chances * each)[None])[0] + (1 - np.minimum(moving, 1.0)) * here
            spread = spread + (alike - 1) * expected**2
        return float((often * spread).sum())


def _chance_variance(often: Array, mean: Array) -> Array:
    """The variance of one reward of 0 or 1 with that mean, if two more of them had been seen so often."""
    chance = (often * mean + 1) / (often + 2)
    return np.asarray(chance * (1 - chance))


def extended(model: LoggedModel, policy: Policy | Array | None) -> Array:
    """A policy (H, S, A), or (H, S, A+1) with current practice first; None is current practice."""
    spec = model.knowledge.spec
    if policy is None:
        practice = np.zeros((spec.horizon, spec.states, spec.actions + 1))
        practice[..., 0] = 1.0
        return practice
    table = policy.probabilities if isinstance(policy, Policy) else np.asarray(policy, dtype=np.float64)
    if table.shape == (spec.horizon, spec.states, spec.actions + 1):
        return table
    return model.with_practice(validation.array("policy", table, (spec.horizon, spec.states, spec.actions)))
