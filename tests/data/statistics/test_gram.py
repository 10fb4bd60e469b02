from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from confide.data.statistics.gram import LoggedSteps
from confide.errors import InvalidInput, PrivacyError
from confide.mdp.critic import Critic, ValueVariance
from confide.mdp.linear import LinearFeatures
from confide.protocol.kinds.gram import FEATURE_BITS, TARGET_BITS, VALUE, VARIANCE, GramForm, GramQuestion, cost

HORIZON, STATES, ACTIONS, SIZE = 3, 3, 2, 4


def form(**options) -> GramForm:
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(STATES, ACTIONS, SIZE))
    phi[..., -1] = 1.0
    return GramForm(LinearFeatures.declared(phi), HORIZON, **options)


def logged(rng, people: int) -> tuple[LoggedSteps, list]:
    moves = np.zeros((1, HORIZON, STATES, ACTIONS, STATES), dtype=np.int64)
    rewards = np.zeros((1, HORIZON, STATES, ACTIONS), dtype=np.int64)
    rows = []
    for _ in range(people):
        state = rng.integers(STATES)
        for h in range(HORIZON):
            action, after = rng.integers(ACTIONS), rng.integers(STATES)
            level = int(rng.integers((1 << TARGET_BITS) + 1))
            moves[0, h, state, action, after] += 1
            rewards[0, h, state, action] += level
            rows.append((h, state, action, after, level / (1 << TARGET_BITS)))
            state = after
    return LoggedSteps(form().features, moves, rewards, (people,)), rows


def critic(rng, top: float = 1.0) -> Critic:
    """A value function with a penalty; V lies well inside its range."""
    weights, doubt = rng.uniform(0.1, 0.6, (1, SIZE)), np.eye(SIZE)[None]
    return Critic(weights, doubt, middle=0.3, multiplier=0.1, margin=0.05, top=top)


def values_of(made: Critic, phi: np.ndarray) -> np.ndarray:
    """The formula of `Critic`, written again."""
    q = (
        phi @ made.weights[0]
        + made.middle
        - made.multiplier * np.sqrt((phi @ made.covariance[0] * phi).sum(-1))
        - made.margin
    )
    return np.clip(q.max(axis=-1), 0, made.top)


def spread(rng) -> ValueVariance:
    return ValueVariance(rng.uniform(0, 4, (1, SIZE)), rng.uniform(0, 0.3, (1, SIZE)), (1.0, 0.2), 2.0)


def spread_of(made: ValueVariance, phi: np.ndarray) -> np.ndarray:
    square = np.clip(phi @ made.squares[0] + made.middles[0], 0, made.top**2)
    return np.maximum(1, square - np.clip(phi @ made.means[0] + made.middles[1], 0, made.top) ** 2)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("kind", [VARIANCE, VALUE])
def test_gram_sums_are_the_sums_over_people(kind, centred):
    rng = np.random.default_rng(1)
    asked = form(centred=centred)
    log, rows = logged(rng, 40)
    step = 1
    made, varied = critic(rng), spread(rng)
    values, variances = values_of(made, asked.features.phi), np.ones((STATES, ACTIONS))
    if kind == VALUE:
        variances = spread_of(varied, asked.features.phi)
        assert variances.max() > 1
    matrix, vectors = log.sums(GramQuestion(asked, step, kind, made, varied if kind == VALUE else None))
    assert matrix.shape == (1, SIZE, SIZE) and vectors.shape[1:] == (1, SIZE)
    matrix, vectors = matrix[0], vectors[:, 0]
    expected, sums = np.zeros((SIZE, SIZE)), np.zeros((len(vectors), SIZE))
    for h, s, a, t, r in rows:
        if h != step:
            continue
        phi, v = asked.features.phi[s, a], variances[s, a]
        targets = [values[t] ** 2, values[t]] if kind == VARIANCE else [r + values[t]]
        expected += np.outer(phi, phi) / v
        for i, (target, middle) in enumerate(zip(targets, asked.middle(step, kind), strict=True)):
            sums[i] += phi * (target - middle) / v
    np.testing.assert_allclose(matrix * 4.0**-FEATURE_BITS, expected, atol=40 * 3 * 2.0**-FEATURE_BITS)
    np.testing.assert_allclose(vectors * 2.0 ** -(FEATURE_BITS + TARGET_BITS), sums, atol=40 * 3 * 2.0**-TARGET_BITS)


@pytest.mark.parametrize(
    "ratio", [0.3, 3.9, 4.1, *(pytest.param(r, marks=pytest.mark.slow) for r in (0.01, 1.0, 40.0))]
)
@pytest.mark.parametrize("one_sided", [False, True])
def test_no_two_people_differ_by_more_than_the_price(ratio, one_sided):
    """mu^2 of random and of chosen replacements, by the density of the noise itself, against g(a, K)."""
    rng = np.random.default_rng(2)
    top, matrix_noise = 2.0, 0.7
    alone = 1 / matrix_noise**2
    low = 0.0 if one_sided else -top
    noise = math.sqrt((2 * top) ** 2 / (ratio * alone))
    bound = alone * (1 + ratio / 4) ** 2 if ratio <= 4 else ratio * alone

    def distance(x, z, y, w):
        change = x[..., :, None] * x[..., None, :] - z[..., :, None] * z[..., None, :]
        square = change[..., 0, 1] ** 2 / matrix_noise**2
        square = square + (change[..., 0, 0] ** 2 + change[..., 1, 1] ** 2) / (2 * matrix_noise**2)
        return square + ((x * y[..., None] - z * w[..., None]) ** 2).sum(axis=-1) / noise**2

    many = 200_000
    x, z = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in rng.normal(size=(2, many, 2)))
    x, z = (v * rng.random((many, 1)) ** 0.1 for v in (x, z))
    y, w = np.where(rng.random((2, many)) < 0.8, rng.choice([low, top], (2, many)), rng.uniform(low, top, (2, many)))
    worst = float(distance(x, z, y, w).max())
    cosine = min(1.0, ratio / 4)
    x, z = np.array([1.0, 0.0]), np.array([-cosine, math.sqrt(1 - cosine**2)])
    reached = distance(x, z, np.array(top), np.array(top))
    assert reached == pytest.approx(bound)
    assert worst <= bound * (1 + 1e-12)
    assert worst > 0.9 * bound


def test_the_price_of_a_question_is_that_of_its_ranges():
    plain, centred = form(), form(centred=True)
    assert plain.ranges(0, VARIANCE) == (4.0, 2.0) and plain.ranges(0, VALUE) == (3.0,)
    assert cost(plain, 0, VARIANCE, 1.0, (8.0, 4.0)) == pytest.approx((1 + 2 / 4) ** 2)
    assert cost(centred, 0, VARIANCE, 1.0, (4.0, 2.0)) == pytest.approx((1 + 2 / 4) ** 2)
    assert cost(plain, 0, VALUE, 1.0, (6.0,)) == pytest.approx((1 + 1 / 4) ** 2, rel=1e-3)
    assert cost(plain, 0, VALUE, 1.0, (6.0,)) > (1 + 1 / 4) ** 2  # cutting is charged
    assert cost(plain, 0, VALUE, 1.0, (1e-3,)) == pytest.approx(36e6, rel=1e-3)


def test_one_person_moves_the_cut_sums_within_the_price():
    """Brute force over pairs of one-person logs, the sums as they are released."""
    rng = np.random.default_rng(3)
    asked = form()
    step, noise, sizes = 1, 0.5, (1.5, 1.0)
    steep = Critic(rng.normal(scale=3.0, size=(1, SIZE)), np.eye(SIZE)[None], 0.3, 0.1, 0.0, 1.0)
    for kind, vector_noise in ((VARIANCE, sizes), (VALUE, (1.5,))):
        question = GramQuestion(asked, step, kind, steep, None if kind == VARIANCE else spread(rng))
        sums = [logged(rng, 1)[0].sums(question) for _ in range(60)]
        most = 0.0
        for one, others in sums:
            for other, rest in sums:
                change = (one - other) * 4.0**-FEATURE_BITS
                square = (change**2).sum() / (2 * noise**2)
                for before, after, size in zip(others, rest, vector_noise, strict=True):
                    square += (((before - after) * 2.0 ** -(FEATURE_BITS + TARGET_BITS)) ** 2).sum() / size**2
                most = max(most, float(square))
        assert 0 < most <= cost(asked, step, kind, noise, vector_noise)


def test_refusals():
    with pytest.raises(InvalidInput, match="State 0, action 0"):
        LinearFeatures.declared(np.full((2, 2, 4), 1.0), bound=1.0)
    clipped = LinearFeatures.declared(np.full((2, 2, 4), 1.0), bound=1.0, clip=True)
    assert np.linalg.norm(clipped.phi, axis=-1).max() <= 1
    with pytest.raises(InvalidInput, match="constant"):
        GramForm(LinearFeatures.declared(np.random.default_rng(0).normal(size=(3, 3, 2))), 2, centred=True)
    asked, rng = form(), np.random.default_rng(0)
    for top in (1.5, -0.1):
        with pytest.raises(PrivacyError, match="nothing was released"):
            GramQuestion(asked, 1, VALUE, critic(rng, top)).checked()
    with pytest.raises(PrivacyError, match="overflow"):
        GramQuestion(asked, 1, VALUE, replace(critic(rng), weights=np.full((1, SIZE), 1e50))).checked()
    with pytest.raises(InvalidInput, match="shape"):
        GramQuestion(asked, 1, VALUE, replace(critic(rng), weights=np.ones((2, SIZE)))).checked()


def test_no_function_leaves_its_range_whoever_made_it_up():
    """What the noise was made for holds for any question that is answered at all."""
    rng = np.random.default_rng(4)
    phi = form().features
    for _ in range(200):
        wild = Critic(
            *(10.0 ** rng.uniform(-3, 39) * rng.normal(size=(1, *[SIZE] * n)) for n in (1, 2)), 3.0, 9.0, -5.0, 1.0
        )
        values = wild.checked(1, SIZE).value(phi)
        assert values.min() >= 0 and values.max() <= 1
        most = ValueVariance(
            *(10.0 ** rng.uniform(0, 39) * rng.normal(size=(1, SIZE)) for _ in range(2)), (1e9, -1e9), 2.0
        )
        assert most.checked(1, SIZE).at(phi).min() >= 1 and most.at(phi).max() <= 4


def test_people_who_would_overflow_a_sum_are_refused():
    log = logged(np.random.default_rng(0), 1)[0]
    with pytest.raises(InvalidInput, match="people"):
        replace(log, people=(1 << 40,)).sums(GramQuestion(form(), 1, VALUE))


def test_a_log_shows_nothing_of_itself():
    assert "moves" not in repr(logged(np.random.default_rng(0), 2)[0])
