"""UCRL-VTR in a table, against its formulas written again: what is believed of a row, what values are drawn around, who is sent."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.errors import InvalidInput
from confide.learning.learners import Context
from confide.learning.learners.vtr_table import in_table
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.privacy import Guarantee
from confide.protocol.releases.release import CountRelease, Counts, Noise, Radius

TOTAL, SHORT = 10_000, {"states": 4, "actions": 3, "horizon": 5}
REWARDS = np.random.default_rng(5).random((5, 4, 3)) / 5


def drawn(spec: Spec, rng: np.random.Generator, sd: float) -> Counts:
    pairs = (spec.layers, spec.states, spec.actions)
    moved = rng.integers(0, 60, size=(*pairs, spec.states)) + sd * rng.standard_normal((*pairs, spec.states))
    return Counts(moved.sum(axis=-1), np.zeros(pairs), np.zeros(pairs), moved)


def reference(
    counts: Counts, noise: Noise, spread: float, rng: np.random.Generator, spec: Spec
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The greedy policy (H, S, A) and its values (H+1, S), with plain arrays."""
    moves, luck = noise.transitions, noise.luck
    visits = counts.transitions.sum(axis=-1)
    total = spec.states * moves
    shown = np.maximum(1.0, np.maximum(visits, np.sqrt(total)))
    kept = np.maximum(counts.transitions - np.minimum(2 * np.sqrt(moves), shown / 5)[..., None], 0.0)
    sums = kept.sum(axis=-1, keepdims=True)
    rows = np.where(sums > 0, kept / np.where(sums > 0, sums, 1.0), 1 / spec.states)
    n = np.where(visits > 0, np.sqrt(np.maximum(0.0, visits**2 - total)), 0.0)
    z = spread * rng.standard_normal(visits.shape)
    values = np.zeros((spec.horizon + 1, spec.states))
    policy = np.zeros((spec.horizon, spec.states, spec.actions))
    for h in reversed(range(spec.horizon)):
        layer, after = h if spec.layers > 1 else 0, values[h + 1]
        prior = after.var()
        first = rows[layer] @ after
        lucky = rows[layer] @ after**2 - first**2
        known = np.where(n[layer] > 0, n[layer], 1.0)
        apart = ((after - first[..., None]) ** 2).sum(axis=-1)
        error = moves * apart / known**2 + luck * (known * lucky + luck * prior) / ((known + luck) * known)
        seen = (n[layer] > 0) & (prior > 0)
        weight = np.where(seen, prior / np.where(seen, prior + error, 1.0), 0.0)
        deviation = np.sqrt(np.where(seen, weight * error, prior))
        q = REWARDS[h] + weight * first + (1 - weight) * after.mean() + z[layer] * deviation
        q += 1e-9 * rng.random(q.shape)
        policy[h] = np.eye(spec.actions)[q.argmax(axis=-1)]
        values[h] = np.clip(q.max(axis=-1), 0.0, spec.horizon - h)
    return policy, values


@pytest.mark.parametrize("dynamics", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("noise", [Noise(0.0, 900.0, 0.0, 1.0, 3600.0), Noise(0.0, 25.0, 0.0, 2.0, 100.0)])
def test_the_plan_is_its_formula(dynamics: str, noise: Noise) -> None:
    spec = Spec(**SHORT, dynamics=dynamics)
    learner = in_table("ucrl-vtr", REWARDS)
    state = learner.begin(Context(spec, TOTAL), np.random.default_rng(3))
    assert np.all(state.policy == 1 / spec.actions)
    counts = drawn(spec, np.random.default_rng(4), noise.transitions**0.5)
    again = np.random.default_rng()
    again.bit_generator.state = state.rng.bit_generator.state
    release = CountRelease(learner.ask(state), 100, counts, Radius.zero(), 0.1, Guarantee.none(), noise)
    planned = learner.learn(state, release)
    assert len(planned.policies) == 8
    for policy in planned.policies:
        expected, values = reference(counts, noise, 0.1 * 100**0.25, again, spec)
        np.testing.assert_array_equal(policy, expected)
    np.testing.assert_allclose(planned.values, values, atol=1e-9)


def test_what_is_known_is_not_asked() -> None:
    spec = Spec(**SHORT, dynamics=STATIONARY)
    learner = in_table("ucrl-vtr", REWARDS)
    question = learner.ask(learner.begin(Context(spec, TOTAL), np.random.default_rng(3)))
    assert question.parts == ("transitions",) and question.tight().parts == ("transitions",)
    assert question.having(parts=("visits", "rewards", "transitions")).tight().parts == ("centred", "transitions")
    with pytest.raises(InvalidInput, match="bonus_scale"):
        learner.begin(Context(spec, TOTAL, bonus_scale=0.5), np.random.default_rng(3))
