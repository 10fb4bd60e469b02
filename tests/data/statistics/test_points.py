"""Sums over people whose states are vectors: those of a reference in loops, exact, and no more sensitive than priced."""

from __future__ import annotations

import numpy as np
import pytest

from confide.data.statistics.gram import cut
from confide.data.statistics.points import PIECE, LoggedPoints, StepPoints, random_halves
from confide.errors import InvalidInput
from confide.mdp.critic import Critic, ValueVariance
from confide.mdp.linear import BlockFeatures
from confide.protocol.kinds.gram import FEATURE_BITS, TARGET_BITS, VALUE, VARIANCE, GramForm, GramQuestion, cost

HORIZON, ACTIONS, WIDTH, BOUND = 3, 2, 2, 2.0


def log(rng, people: int, features: BlockFeatures, early: bool = False, scale: float = 0.7):
    """Steps of people, and their rows (h, x, a, r, next x or None) as plain tuples."""
    x = rng.normal(scale=scale, size=(HORIZON, people, WIDTH))
    x /= np.maximum(1, np.linalg.norm(x, axis=-1, keepdims=True) / BOUND)
    actions = rng.integers(ACTIONS, size=(HORIZON, people))
    rewards = rng.integers(0, (1 << TARGET_BITS) + 1, size=(HORIZON, people))
    steps, rows, here = [], [], np.arange(people)
    for h in range(HORIZON):
        stays = np.full(len(here), h + 1 < HORIZON) & ((not early) | (here % 3 > h))
        given = cut(features.scaled(x[h, here]), FEATURE_BITS).astype(np.int32)
        steps.append(StepPoints(given, actions[h, here].astype(np.int32), rewards[h, here].astype(np.int32), stays))
        for i, person in enumerate(here):
            after = x[h + 1, person] if stays[i] else None
            rows.append((h, person, x[h, person], actions[h, person], rewards[h, person] / (1 << TARGET_BITS), after))
        here = here[stays]
    return tuple(steps), rows


def functions(rng, features: BlockFeatures, top: float) -> tuple[Critic, ValueVariance]:
    shape = features.blocks, features.dimension
    critic = Critic(rng.uniform(-0.5, 1, shape), np.array([np.eye(shape[1])] * shape[0]), 0.6, 0.1, 0.0, top)
    return critic, ValueVariance(rng.uniform(0, 3, shape), rng.uniform(0, 0.2, shape), (1.2, 0.1), 2.0)


def phi_of(features: BlockFeatures, x, action: int) -> np.ndarray:
    """phi(x, a), long: x in the block of a."""
    given = np.append(x / BOUND, 1) / np.sqrt(2) if features.intercept else x / BOUND
    return np.concatenate([given if a == action else np.zeros_like(given) for a in range(ACTIONS)])


def value_of(features: BlockFeatures, critic: Critic, x) -> float:
    best = -np.inf
    for action in range(ACTIONS):
        phi = phi_of(features, x, action)
        penalty = critic.multiplier * np.linalg.norm(phi)
        best = max(best, phi @ critic.weights.ravel() + critic.middle - penalty - critic.margin)
    return float(np.clip(best, 0, critic.top))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [VARIANCE, VALUE])
@pytest.mark.parametrize("early", [False, True])
def test_sums_are_those_over_people(kind, intercept, early):
    rng = np.random.default_rng(1)
    features = BlockFeatures(ACTIONS, WIDTH, BOUND, intercept)
    form = GramForm(features, HORIZON, centred=intercept, end_reward=0.25 if early else None)
    steps, rows = log(rng, 50, features, early)
    step = 0
    critic, spread = functions(rng, features, float(HORIZON - 1 - step))
    matrix, vectors = LoggedPoints(features, steps).sums(
        GramQuestion(form, step, kind, critic, spread if kind == VALUE else None)
    )
    size = ACTIONS * features.dimension
    expected, sums = np.zeros((size, size)), np.zeros((len(vectors), size))
    for h, _, x, a, r, after in rows:
        if h != step:
            continue
        phi, v = phi_of(features, x, a), 1.0
        if kind == VALUE:
            square = np.clip(phi @ spread.squares.ravel() + 1.2, 0, 4)
            v = max(1.0, square - np.clip(phi @ spread.means.ravel() + 0.1, 0, 2) ** 2)
        value = form.end_value(step + 1) if after is None else value_of(features, critic, after)
        targets = [value**2, value] if kind == VARIANCE else [r + value]
        expected += np.outer(phi, phi) / v
        for i, (target, middle) in enumerate(zip(targets, form.middle(step, kind), strict=True)):
            sums[i] += phi * (target - middle) / v
    blocks = matrix * 4.0**-FEATURE_BITS
    d = features.dimension
    for a in range(ACTIONS):
        mine = slice(a * d, (a + 1) * d)
        np.testing.assert_allclose(blocks[a], expected[mine, mine], atol=50 * 3 * 2.0**-FEATURE_BITS)
        np.testing.assert_allclose(
            vectors[:, a] * 2.0 ** -(FEATURE_BITS + TARGET_BITS), sums[:, mine], atol=50 * 3 * 2.0**-TARGET_BITS
        )
    assert not expected[:d, d:].any()  # outside the blocks nothing ever stands


def test_pieces_do_not_matter_and_nothing_is_rounded():
    """Many people: sums of whole numbers, the same as in integers, over more rows than are looked at together."""
    rng, features = np.random.default_rng(2), BlockFeatures(ACTIONS, WIDTH, BOUND)
    many = PIECE + 1000
    rows = rng.integers(-(1 << FEATURE_BITS), 1 << FEATURE_BITS, size=(many, WIDTH)).astype(np.int32)
    one = StepPoints(
        rows,
        np.zeros(many, dtype=np.int32),
        rng.integers(1 << TARGET_BITS, size=many).astype(np.int32),
        np.zeros(many, bool),
    )
    matrix, vectors = LoggedPoints(features, (one,)).sums(GramQuestion(GramForm(features, 1), 0, VALUE))
    whole = rows.astype(np.int64)
    np.testing.assert_array_equal(matrix[0], whole.T @ whole)
    np.testing.assert_array_equal(vectors[0, 0], one.rewards.astype(np.int64) @ whole)
    assert not matrix[1].any()


@pytest.mark.parametrize("kind", [VARIANCE, VALUE])
def test_one_person_moves_the_sums_within_the_price(kind):
    rng, features = np.random.default_rng(3), BlockFeatures(ACTIONS, WIDTH, BOUND)
    form, step, noise = GramForm(features, HORIZON), 1, 0.5
    sizes = (1.5, 1.0) if kind == VARIANCE else (1.5,)
    critic, spread = functions(rng, features, float(HORIZON - 1 - step))
    question = GramQuestion(form, step, kind, critic, spread if kind == VALUE else None)
    results = [LoggedPoints(features, log(rng, 1, features, scale=9.0)[0]).sums(question) for _ in range(80)]
    most = 0.0
    for one, others in results:
        for other, rest in results:
            square = (((one - other) * 4.0**-FEATURE_BITS) ** 2).sum() / (2 * noise**2)
            for before, after, size in zip(others, rest, sizes, strict=True):
                square += (((before - after) * 2.0 ** -(FEATURE_BITS + TARGET_BITS)) ** 2).sum() / size**2
            most = max(most, float(square))
    bound = cost(form, step, kind, noise, sizes)
    assert 0.5 * bound < most <= bound


def test_sums_of_returns_and_of_values():
    rng, features = np.random.default_rng(4), BlockFeatures(ACTIONS, WIDTH, BOUND)
    form = GramForm(features, HORIZON, end_reward=0.5)
    steps, rows = log(rng, 30, features, early=True)
    critic, _ = functions(rng, features, float(HORIZON))
    returned, predicted = LoggedPoints(features, steps).values(form, critic) * 2.0**-TARGET_BITS
    assert returned == pytest.approx(sum(row[4] for row in rows) + 0.5 * (30 * HORIZON - len(rows)))
    starts = [row[2] for row in rows if row[0] == 0]
    assert predicted == pytest.approx(
        sum(value_of(features, critic, x) for x in starts), abs=30 * 2 * 2.0**-TARGET_BITS
    )


def test_halves_share_nobody_and_add_up():
    rng, features = np.random.default_rng(5), BlockFeatures(ACTIONS, WIDTH, BOUND)
    steps, _ = log(rng, 41, features, early=True)
    second = random_halves(41)
    assert second.sum() == 20
    split, whole = GramForm(features, HORIZON, split=True, end_reward=0.0), GramForm(features, HORIZON, end_reward=0.0)
    halves, together = LoggedPoints(features, steps, second), LoggedPoints(features, steps)
    assert halves.people == (21, 20) and together.people == (41,)
    for step in range(HORIZON - 1):
        asked = [form for form in (split, whole)]
        variance, _ = halves.sums(GramQuestion(asked[0], step, VARIANCE))
        value, _ = halves.sums(GramQuestion(asked[0], step, VALUE))
        every, _ = together.sums(GramQuestion(asked[1], step, VALUE))
        np.testing.assert_array_equal(variance + value, every)
        assert variance.any() and value.any()


def test_which_half_somebody_is_in_is_chance():
    """Every person is in the second half with probability 1/2; 4,000 draws are off by 6 deviations once in 5e8."""
    share = np.mean([random_halves(3) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(share, 1 / 3, atol=6 * np.sqrt(2 / 9 / 4000))


def test_long_vectors():
    features = BlockFeatures(ACTIONS, WIDTH, BOUND)
    assert features.long(np.array([[2.0, 0.0], [2.0, 0.1]])).tolist() == [False, True]
    assert np.linalg.norm(features.scaled(np.array([[200.0, 100.0]]))) <= 1
    with pytest.raises(InvalidInput, match="longer than 2"):
        features.at([2.0, 2.0])
    with pytest.raises(InvalidInput, match="shape"):
        features.at([1.0])
    with pytest.raises(InvalidInput, match="norm bound"):
        BlockFeatures(ACTIONS, WIDTH, -1.0)
    clipped = BlockFeatures(ACTIONS, WIDTH, BOUND, clip=True).at([2.0, 2.0])
    assert np.linalg.norm(clipped.rows) == pytest.approx(1)
