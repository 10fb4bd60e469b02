"""Off-policy evaluation from a release: what a policy is worth, or how much more than another, with an interval.

The estimate is the value in the estimated model. Its error is, to first order, a sum over the cells of the release: one
more person seen going from (s, a) to t moves the value by

    I(a, t) = (w_a / N_a) (g_a(t) - P_a g_a) + (w_s / N_s) [(G(t) - P_s G) + d_0 (r_a - r_s)],

where g_a(t) = sum_h d_h(s, a) V_{h+1}(t) is how much the value leans on the row of (s, a), and
G = g_0 + sum_a (1 - w_a) g_a on that of the state s, which is that of current practice (action 0, taken with expected
frequency d_0) and, as far as rows are shrunk, of every action; w_a and w_s are the weights of `shrinkage`. So its
variance is

    sum_{s,a} [ N_a sum_t P_a(t) I(a,t)^2 + sigma^2 sum_t I(a,t)^2 ]                 luck, and privacy noise
    + sum_{s,a} (1 - w_a)^2 kappa Var(g_a) + sum_s (1 - w_s)^2 kappa_s Var(G)        what shrinking may have taken away
    + sum d(s,a)^2 (variance of the reward) + variance of V_1 under the first state's law / n.

For a difference of two policies, take the differences of g, d and V_1: errors that both share cancel. Current practice
is worth what the logged people earned, which needs no model: noise in a count moves that by r_a/n. Luck is that of
people who move independently.

The interval is the estimate plus and minus a normal quantile, widened twice. Pairs nobody is known to have tried bring
the worst and the best they could. And the model is taken to be as wrong about any policy as it is about current
practice, where what it says can be held against what people earned: clipping noise, shrinking, and a practice that
changed from step to step all show there. The estimate stands between the model and the model so corrected: midway for a
policy that has nothing in common with current practice, and at the latter for one that keeps to it everywhere. How often
intervals hold is measured on simulated logs by the tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..mdp import Policy
from ..releases.release import Array, CountRelease, Counts, Radius
from .logged import LoggedModel


@dataclass(frozen=True)
class Estimate:
    """A value, or a difference of values, with an interval that holds with the stated confidence."""

    value: float
    low: float
    high: float
    deviation: float
    confidence: float

    def sure(self) -> bool:
        """Whether the interval lies above zero: of a difference, whether it can be said that it is better."""
        return self.low > 0


def evaluate(
    model: LoggedModel, policy: Policy | Array | None = None, confidence: float = 0.95, optimism: float = 0.0
) -> Estimate:
    """What a policy (H, S, A) or (H, S, A+1) is worth; None is current practice.

    optimism: by how much the policy looks better than it is because the same release chose it (see `replica`).
    """
    return _estimate(model, _Lean.of(model, _extended(model, policy)), None, confidence, optimism)


def compare(
    model: LoggedModel,
    policy: Policy | Array,
    other: Policy | Array | None = None,
    confidence: float = 0.95,
    optimism: float = 0.0,
) -> Estimate:
    """How much more a policy is worth than another, or than current practice."""
    first, second = _extended(model, policy), _extended(model, other)
    return _estimate(model, _Lean.of(model, first), _Lean.of(model, second), confidence, optimism)


def worth(model: LoggedModel, policy: Policy | Array | None) -> float:
    """The value in the model, without an interval; None is current practice."""
    found = _Lean.of(model, _extended(model, policy))
    return found.worth - found.off if found.practice else found.worth


def replica(release: CountRelease, model: LoggedModel, rng: np.random.Generator, loudness: float = 1.0) -> CountRelease:
    """What might have been released if the model were the truth: as many people, fresh luck, fresh noise.

    loudness: the noise's deviation over that of the release; 0 is no privacy.

    A policy that was chosen by a release looks better in it than it is. By how much one chosen by the replica looks
    better in the replica than in the model says by how much (the bootstrap's estimate of bias).
    """
    expected = model.visits[..., None] * model.rows[:, :, 1:]
    spread = np.sqrt(expected + (loudness * model.noise) ** 2)
    moved = np.where(model.knowledge.support, expected + spread * rng.standard_normal(expected.shape), 0.0)
    earned = model.visits * model.rewards[..., 1:]
    spread = np.sqrt(0.25 * model.visits + (loudness * model.reward_noise) ** 2)
    earned = earned + spread * rng.standard_normal(earned.shape)
    radius = Radius(*(loudness * size for size in release.radius))
    return replace(release, counts=Counts(moved.sum(axis=-1), earned, earned, moved), radius=radius)


@dataclass(frozen=True, eq=False)
class _Lean:
    """How a policy's value leans on the model. visits: (H, S, A+1), how likely; values: (H+1, S).

    off: by how much people following current practice earned more than the model says.
    """

    visits: Array
    values: Array
    worth: float
    bounds: tuple[float, float]
    practice: bool
    off: float

    @property
    def kept(self) -> float:
        """The share of steps that follow current practice."""
        return float(self.visits[..., 0].sum() / max(self.visits.sum(), 1e-300))

    @classmethod
    def of(cls, model: LoggedModel, policy: Array) -> _Lean:
        horizon, states = policy.shape[:2]
        layers = len(model.rows)
        values, low, high = (np.zeros((horizon + 1, states)) for _ in range(3))
        risky = np.concatenate([np.zeros((layers, states, 1), dtype=np.bool_), ~model.covered], axis=-1)
        for h in range(horizon - 1, -1, -1):
            layer = h if layers > 1 else 0
            rows, paid = model.rows[layer], model.rewards[layer]
            for table, unknown in ((values, None), (low, 0.0), (high, float(horizon - h))):
                q = paid + rows @ table[h + 1]
                if unknown is not None:
                    q = np.where(risky[layer], unknown, q)
                table[h] = (policy[h] * q).sum(axis=-1)
        visits, here = np.empty_like(policy), model.initial
        for h in range(horizon):
            layer = h if layers > 1 else 0
            visits[h] = here[:, None] * policy[h]
            here = np.einsum("sa,sat->t", visits[h], model.rows[layer])
        worst, worth, best = (float(model.initial @ table[0]) for table in (low, values, high))
        if (policy[..., 0] == 1).all():
            return cls(visits, values, model.returned, (model.returned, model.returned), True, model.returned - worth)
        return cls(visits, values, worth, (worst, best), False, cls.of(model, _extended(model, None)).off)


def _estimate(model: LoggedModel, first: _Lean, second: _Lean | None, confidence: float, optimism: float) -> Estimate:
    from scipy.special import ndtri

    sure = validation.between("confidence", confidence, 0.5, 1 - 1e-9)
    deviation = float(np.sqrt(_variance(model, first, second)))
    width = float(ndtri((1 + sure) / 2)) * deviation
    horizon = float(model.knowledge.spec.horizon)
    optimism = 0.0 if first.practice else optimism  # what is done now was not chosen by the release
    if second is None:
        value, (low, high) = first.worth, first.bounds
    else:
        value = first.worth - second.worth
        low, high = first.bounds[0] - second.bounds[1], first.bounds[1] - second.bounds[0]
    # What the model would have to be corrected by, were it as wrong about every policy as about current practice.
    sides = [(1.0, first)] if second is None else [(1.0, first), (-1.0, second)]
    wrong = sum(sign * side.off for sign, side in sides if not side.practice)
    likely = sum(sign * side.off * (1 + side.kept) / 2 for sign, side in sides if not side.practice)
    low, high = low + min(wrong, 0.0) - width - optimism, high + max(wrong, 0.0) + width
    least = 0.0 if second is None else -horizon
    low, high = float(np.clip(low, least, horizon)), float(np.clip(high, least, horizon))
    return Estimate(float(np.clip(value + likely - optimism, low, high)), low, high, deviation, sure)


def _variance(model: LoggedModel, first: _Lean, second: _Lean | None) -> float:
    layers, horizon = len(model.rows), model.knowledge.spec.horizon
    sides = [(1.0, first)] if second is None else [(1.0, first), (-1.0, second)]
    total = 0.0
    for layer in range(layers):
        steps = np.array([layer]) if layers > 1 else np.arange(horizon)
        for s in range(model.knowledge.spec.states):
            total += _state_variance(model, layer, s, steps, sides)
    # Where people start is luck, unless its law is public; what the logged people earned depends on it in any case.
    start, public = np.zeros(model.knowledge.spec.states), model.initial_doubt == 0
    for sign, side in sides:
        start = start + sign * side.values[0] * (side.practice or not public)
    off = start - model.initial @ start
    return total + float(model.initial @ off**2) / max(model.users, 1) + model.initial_doubt * float((off**2).sum())


def _state_variance(
    model: LoggedModel, layer: int, s: int, steps: NDArray[np.int64], sides: list[tuple[float, _Lean]]
) -> float:
    """The part of one state's rows, (A, S) cells: luck and noise of counts, what shrinking hides, and rewards."""
    support, rows = model.knowledge.support[s], model.rows[layer, s]
    lucky, noisy = np.zeros(support.shape), np.zeros(support.shape)
    lean, taken = np.zeros(rows.shape), np.zeros(len(rows))
    for sign, side in sides:
        often = side.visits[steps, s]  # (steps, A+1)
        own, many = often.T @ side.values[steps + 1], often.sum(axis=0)
        moved = _influence(model, layer, s, own, many)
        lucky += sign * moved
        if side.practice:
            noisy += sign * model.returned_noise[layer, s][:, None]
        else:
            noisy += sign * moved
            lean += sign * own
        taken += sign * many
    luck = float(model.visits[layer, s] @ np.einsum("at,at->a", rows[1:], np.where(support, lucky, 0.0) ** 2))
    noise = model.noise**2 * float((np.where(support, noisy, 0.0) ** 2).sum())
    weight, own_state = model.weights[layer, s], float(model.state_weights[layer, s])
    kappa, kappa_state = model.kappas[layer]
    hidden = kappa * float((1 - weight) ** 2 @ _spread(rows[1:], lean[1:]))
    together = lean[0] + (1 - weight) @ lean[1:]
    hidden += kappa_state * (1 - own_state) ** 2 * float(_spread(rows[:1], together[None])[0])
    return float(luck + noise + hidden + taken**2 @ model.reward_doubt[layer, s])


def _influence(model: LoggedModel, layer: int, s: int, lean: Array, taken: Array) -> Array:
    """I (A, S): by how much one more person seen going from (s, a) to t moves the value in the model."""
    rows, paid = model.rows[layer, s], model.rewards[layer, s]
    weight, own = model.weights[layer, s], float(model.state_weights[layer, s])
    together = lean[0] + (1 - weight) @ lean[1:]
    mean = np.einsum("at,at->a", rows[1:], lean[1:])
    moved = (weight / np.maximum(model.visits[layer, s], 1.0))[:, None] * (lean[1:] - mean[:, None])
    state = (together - rows[0] @ together)[None, :] + taken[0] * (paid[1:] - paid[0])[:, None]
    return np.asarray(moved + own / float(model.state_visits[layer, s]) * state)


def _spread(rows: Array, table: Array) -> Array:
    """Var_P of each row of a table."""
    mean = np.einsum("at,at->a", rows, table)
    return np.asarray(np.maximum(np.einsum("at,at->a", rows, table**2) - mean**2, 0.0))


def _extended(model: LoggedModel, policy: Policy | Array | None) -> Array:
    spec = model.knowledge.spec
    if policy is None:
        practice = np.zeros((spec.horizon, spec.states, spec.actions + 1))
        practice[..., 0] = 1.0
        return practice
    table = policy.probabilities if isinstance(policy, Policy) else np.asarray(policy, dtype=np.float64)
    if table.shape == (spec.horizon, spec.states, spec.actions + 1):
        return table
    return model.with_practice(validation.array("policy", table, (spec.horizon, spec.states, spec.actions)))
