"""A prototype that was not built: of an asked pair one bit about the next reward and a public function of the next state.

Under local privacy every user draws one pair from a public law, and reports of the first visit there either a bit that is 1 with
the chance (r + V(s') - low)/(1 + high - low), V being the round's public function with values in low .. high, or that there was
none: three categories with the whole epsilon, in place of 2 S + 1. For each pair (r, P) has a Gaussian prior, with the mean 1/2
and the uniform law, and the variances of `learning.planning.value_sampling`; a round measures r + P V, so that what was measured
about an older V counts for as much as it says of the present one. A share of the rounds (`explored`) asks about random sets of next
states, V in {0, 1}, in place of the plan's own V: without them rows are never known, and it is unknown where people will be.
projected: the posterior mean is moved to the nearest law, in the metric of its precision.

It is one loop in numpy, for `tools.attempts`; no device, no service and no audit knows it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.lab.simulation.draws import World, totals_of
from confide.lab.simulation.setting import Setting
from confide.privacy import Schedule
from confide.protocol.kinds.asked import AskedQuestion, following

Array = NDArray[np.float64]
FIRST, GROWTH = 200, 1.03
LAST, POWER = 0.1, 1 / 3
STEPS = 25
"""Of the projection."""


@dataclass(frozen=True)
class ValueTargets:
    """How value-targeted bits are asked for; `play` is one seed: regret and the value of the last policy."""

    explored: float
    projected: bool = False

    def play(self, setting: Setting, seed: int) -> tuple[float, float]:
        """Play all users of a setting under local privacy."""
        run = _Rounds(setting, self, np.random.default_rng([seed, 77]))
        regret, before = 0.0, 0
        ends = Schedule.growth(setting.schedule.users, GROWTH).ends
        for end in (int(end) for end in ends if end >= FIRST):
            regret += (setting.optimal_value - setting.value_of(run.policy)) * (end - before)
            run.hear(end - before)
            run.plan(LAST * (setting.schedule.users / end) ** POWER)
            before = end
        return regret, setting.value_of(run.policy)


class _Rounds:
    """What is known, and the policy: rows are pairs, per step where models are."""

    def __init__(self, setting: Setting, how: ValueTargets, rng: np.random.Generator) -> None:
        spec, model = setting.environment.spec, setting.model
        self.spec, self.how, self.rng = spec, how, rng
        self.world = World(model.transitions, model.rewards, model.initial)
        self.asked = AskedQuestion(setting.counts)
        states, rows = spec.states, self.asked.rows
        grown = np.exp(setting.guarantee.epsilon or 0.0)
        self.hit, self.miss = grown / (grown + 2), 1 / (grown + 2)
        self.noise = 2 * self.miss / (self.hit - self.miss) ** 2
        self.count_noise = self.noise * (1 - 2 * self.miss)
        prior = np.zeros((states + 1, states + 1))
        prior[0, 0] = 0.25
        prior[1:, 1:] = (1.001 * np.eye(states) - 1 / states) / states
        self.row_doubt = float(np.trace(prior[1:, 1:]))
        self.prior = np.linalg.inv(prior)
        self.start = self.prior @ np.r_[0.5, np.full(states, 1 / states)]
        self.known = np.zeros((rows, states + 1, states + 1))
        self.heard, self.middles = np.zeros((2, rows, states + 1))
        self.counted, self.expected, self.unsure = np.zeros((3, rows))
        per_pair = spec.horizon if spec.layers == 1 else 1
        self.visits = np.full(rows, min(1.0, per_pair / (states * spec.actions)))
        self.policy = np.full((spec.horizon, states, spec.actions), 1 / spec.actions)
        self.values = np.zeros((spec.horizon + 1, states))
        self.mean: Array | None = None

    def target(self) -> Array:
        """(rows, S) the public function of this round, for each pair."""
        spec = self.spec
        if self.mean is None or self.rng.random() < self.how.explored:
            chosen = (self.rng.random((spec.layers, spec.states)) < 0.5).astype(np.float64)
        elif spec.layers > 1:
            chosen = self.values[1:]
        else:
            chosen = self.values[[self.rng.integers(1, max(2, spec.horizon))]]
        return np.repeat(chosen, spec.states * spec.actions, axis=0)

    def hear(self, people: int) -> None:
        """A round: every user is asked about one pair, and the noisy sums are added to what is known."""
        target, rng = self.target(), self.rng
        low, span = target.min(axis=1), 1 + np.ptp(target, axis=1)
        totals, asked = totals_of(self.world, self.asked, self.policy, people, rng)
        told = totals[:, :-1].reshape(len(asked), -1, 2).astype(np.int64)
        chances = np.zeros(told.shape)
        for bit in (0, 1):
            chances[:, : self.spec.states, bit] = (bit + target - low[:, None]) / span[:, None]
        ones, came = rng.binomial(told, np.clip(chances, 0, 1)).sum(axis=(1, 2)), told.sum(axis=(1, 2))
        reports = np.zeros((len(asked), 3))
        for category, many in enumerate((ones, came - ones, asked - came)):
            law = np.full(3, self.miss)
            law[category] = self.hit
            reports += rng.multinomial(many, law)
        estimates = (reports - asked[:, None] * self.miss) / (self.hit - self.miss)
        visits = self.visits
        variance = span**2 / 4 * (self.noise + visits)
        x = np.concatenate([np.ones((len(asked), 1)), target], axis=1)
        weight = asked * visits**2 / variance
        self.known += weight[:, None, None] * x[:, :, None] * x[:, None, :]
        self.heard += (visits / variance * span / 2 * (estimates[:, 0] - estimates[:, 1]))[:, None] * x
        self.middles += (weight * (low + span / 2))[:, None] * x
        share = visits / (self.count_noise + visits)
        self.counted += share * (estimates[:, 0] + estimates[:, 1])
        self.expected += share * asked * visits
        self.unsure += share**2 * asked * self.count_noise

    def plan(self, spread: float) -> None:
        """Values drawn from what is known, the policy that is greedy in them, and the visits expected under it."""
        spec, states, actions = self.spec, self.spec.states, self.spec.actions
        sure = np.sqrt(np.maximum(0, self.counted**2 - self.unsure)) * (self.counted > 0)
        came = np.clip(sure / np.maximum(self.expected, 1e-9), 0, 3)[:, None]
        precision = self.prior + came[:, :, None] ** 2 * self.known
        doubt = np.linalg.inv(precision)
        mean = np.einsum("rij,rj->ri", doubt, self.start + came * self.heard + came**2 * self.middles)
        if self.how.projected:
            mean = _projected(mean, precision, self.mean)
        self.mean = mean
        drawn = spread * self.rng.standard_normal(len(mean))
        self.policy = np.zeros_like(self.policy)
        self.values[-1] = 0.0
        for h in range(spec.horizon - 1, -1, -1):
            x, here = np.r_[1.0, self.values[h + 1]], self._layer(h)
            deviation = np.sqrt(np.maximum(0, np.einsum("rij,i,j->r", doubt[here], x, x)))
            q = (mean[here] @ x + drawn[here] * deviation).reshape(states, actions)
            best = q.argmax(axis=1)
            self.policy[h, np.arange(states), best] = 1.0
            self.values[h] = np.clip(q.max(axis=1), 0, spec.horizon - h)
        laws = np.clip(mean[:, 1:], 0, None) + 1e-12
        laws /= laws.sum(axis=1, keepdims=True)
        believed = np.clip(1 - np.trace(doubt[:, 1:, 1:], axis1=1, axis2=2) / self.row_doubt, 0, 1)[:, None]
        laws = believed * laws + (1 - believed) / states
        flow, expected = self.world.initial, np.zeros((spec.layers, states, actions))
        for h in range(spec.horizon):
            mass = flow[:, None] * self.policy[h]
            expected[h if spec.layers > 1 else 0] += mass
            flow = mass.ravel() @ laws[self._layer(h)]
        self.visits = np.minimum(1, expected.ravel())
        self.asked = AskedQuestion(self.asked.counts, following(expected))

    def _layer(self, h: int) -> slice:
        pairs = self.spec.states * self.spec.actions
        first = h * pairs if self.spec.layers > 1 else 0
        return slice(first, first + pairs)


def _simplex(points: Array) -> Array:
    """The nearest laws to points (rows, S)."""
    ordered = -np.sort(-points, axis=1)
    sums, places = np.cumsum(ordered, axis=1) - 1, np.arange(1, points.shape[1] + 1)
    last = (ordered > sums / places).sum(axis=1)
    shift: Array = (sums[np.arange(len(points)), last - 1] / last)[:, None]
    return np.maximum(points - shift, 0.0)


def _legal(x: Array) -> Array:
    return np.concatenate([np.clip(x[:, :1], 0, 1), _simplex(x[:, 1:])], axis=1)


def _projected(mean: Array, precision: Array, begin: Array | None) -> Array:
    """The rewards and laws nearest to the mean in the metric of the precision: accelerated gradients, from where it last ended."""
    step = 1 / np.abs(precision).sum(axis=2).max(axis=1)[:, None]
    x = _legal(mean if begin is None else begin)
    y, t = x, 1.0
    for _ in range(STEPS):
        new = _legal(y - step * np.einsum("rij,rj->ri", precision, y - mean))
        after = (1 + np.sqrt(1 + 4 * t * t)) / 2
        y, x, t = new + (t - 1) / after * (new - x), new, after
    return x
