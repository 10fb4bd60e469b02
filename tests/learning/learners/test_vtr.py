"""UCRL-VTR against a reference that was written for these tests alone: inverses, loops over pairs, no blocks."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from confide.errors import FormatError, InvalidInput, UnknownName
from confide.learning import learners
from confide.learning.learners.state_bytes import mixture_from_bytes, mixture_to_bytes
from confide.learning.learners.vtr import MixtureContext, MixtureState, UcrlVtr
from confide.learning.planning.least_squares import factor, forward, raise_eigenvalues, solve
from confide.learning.planning.value_targeted import problem, value_tops
from confide.mdp import PER_STEP, STATIONARY, MixtureFeatures, Spec
from confide.privacy import Guarantee
from confide.protocol.kinds.mixture import CENTRED, RAW, UNIT, MixtureForm, MixtureRadius, MixtureRelease
from tests.refusals import refused

USERS = 1000


def context(features: MixtureFeatures, model: str, scaling: str, scale: float = 1.0, seed: int = 0) -> MixtureContext:
    spec = Spec(features.states, features.actions, 4, model)
    rewards = np.random.default_rng(seed).random((4, features.states, features.actions))
    ranges = np.append(value_tops(rewards)[1:], 0.0)
    form = MixtureForm(spec, features, ranges, scaling)
    return MixtureContext(spec, USERS, 0.1, scale, form=form, rewards=rewards)


def release(told: MixtureContext, users: int, radius: MixtureRadius, noise: float, seed: int = 1) -> MixtureRelease:
    """Sums over random people with random value functions, and noise."""
    form, rng = told.form, np.random.default_rng(seed)
    features = form.features
    gram = np.zeros((form.layers, features.blocks, features.size, features.size))
    vector = np.zeros((form.layers, features.blocks, features.size))
    for _ in range(users):
        for step in range(form.steps):
            low, high = form.reference(step)
            v = rng.uniform(low, high, features.states)
            s, a, t = rng.integers(features.states), rng.integers(features.actions), rng.integers(features.states)
            x, layer = features.weighted(v)[s, a], step if form.layers > 1 else 0
            gram[layer, features.block[s, a]] += np.outer(x, x)
            vector[layer, features.block[s, a]] += x * v[t]
    shaken = noise * rng.normal(size=gram.shape)
    return MixtureRelease(form, users, gram + shaken + shaken.swapaxes(-1, -2), vector, radius, 0.1, Guarantee.none())


def reference(told: MixtureContext, told_release: MixtureRelease, learner: UcrlVtr) -> tuple[np.ndarray, np.ndarray]:
    """Values (H+1, S) and actions (H, S), by inverses of full d x d matrices."""
    form, features = told.form, told.form.features
    d, blocks, m = features.dimension, features.blocks, features.size
    gamma, xi = told_release.radius
    tops, horizon = value_tops(told.rewards), form.spec.horizon
    values, actions = np.zeros((horizon + 1, features.states)), np.zeros((horizon, features.states), dtype=int)
    widths = [(high - low) / 2 for low, high in map(form.reference, range(form.steps))]
    exact, noisy = {"derived": (0.15, 0.01)}.get(learner.beta, (1.0, 1.0))
    c = (noisy if gamma > 0 else exact) if learner.c is None else learner.c
    for h in reversed(range(horizon)):
        q = told.rewards[h].copy()
        if h < horizon - 1:
            layer = h if form.layers > 1 else 0
            sigma, u = np.zeros((d, d)), told_release.vector[layer].ravel()
            for b in range(blocks):
                sigma[b * m : (b + 1) * m, b * m : (b + 1) * m] = told_release.gram[layer, b]
            rho = learner.ridge + gamma
            if learner.definite == "floor" and gamma > 0:
                w, vectors = np.linalg.eigh(sigma + learner.ridge * np.eye(d))
                sigma = vectors @ np.diag(np.maximum(w, rho)) @ vectors.T
            else:
                sigma += (learner.ridge + 2 * gamma) * np.eye(d)
            inverse = np.linalg.inv(sigma)
            width = widths[h] if form.layers > 1 else max(widths)
            if learner.beta == "printed":
                beta = c * d**0.75 * (horizon - h) ** 1.5 * (told_release.users + 1) ** 0.25
            elif learner.beta == "published":
                log_det = np.linalg.slogdet(sigma)[1]
                beta = c * features.parameter_norm + (horizon - h) * math.sqrt(2 * math.log(USERS) + log_det)
            elif learner.definite == "floor" and gamma > 0:
                log_det = np.linalg.slogdet(3 * sigma / rho)[1]
                beta = math.sqrt(3) * width * math.sqrt(2 * math.log(USERS) + log_det) + xi / math.sqrt(rho)
                beta = c * (beta + features.parameter_norm * (learner.ridge + 3 * gamma) / math.sqrt(rho))
            else:
                log_det = np.linalg.slogdet(sigma / rho)[1]
                beta = width * math.sqrt(2 * math.log(USERS) + log_det) + xi / math.sqrt(rho)
                beta = c * (beta + features.parameter_norm * math.sqrt(learner.ridge + 3 * gamma))
            v = values[h + 1]
            shift, size = {
                RAW: (0.0, 1.0),
                UNIT: (0.0, v.max()),
                CENTRED: ((v.max() + v.min()) / 2, (v.max() - v.min()) / 2),
            }[form.scaling]
            for s in range(features.states):
                for a in range(features.actions):
                    x = np.zeros((blocks, m))
                    x[features.block[s, a]] = features.weighted((v - shift) / (size or 1.0))[s, a]
                    mean, spread = inverse @ u @ x.ravel(), x.ravel() @ inverse @ x.ravel()
                    q[s, a] += shift + size * (mean + told.bonus_scale * beta * math.sqrt(spread))
        actions[h] = q.argmax(axis=1)
        values[h] = np.clip(q.max(axis=1), 0, tops[h])
    return values, actions


FEATURES = {
    "one-hot": MixtureFeatures.one_hot(3, 2),
    "general": MixtureFeatures.from_array(np.random.default_rng(5).normal(size=(3, 2, 3, 4))),
}


@pytest.mark.parametrize("model", [PER_STEP, STATIONARY])
@pytest.mark.parametrize("scaling", [RAW, UNIT, CENTRED])
@pytest.mark.parametrize("kind", FEATURES)
def test_without_noise_it_is_ucrl_vtr(kind: str, scaling: str, model: str) -> None:
    known = context(FEATURES[kind], model, scaling)
    radii = UcrlVtr(beta="printed", c=0.01), UcrlVtr(beta="published", c=0.1)
    for learner in (UcrlVtr(), *radii, UcrlVtr(definite="shift", ridge=0.5, c=0.1)):
        received = release(known, 60, MixtureRadius(0.0, 0.0), 0.0)
        state = learner.learn(learner.begin(known), received)
        values, actions = reference(known, received, learner)
        np.testing.assert_allclose(state.values, values, rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(state.policy.argmax(axis=-1), actions)


@pytest.mark.parametrize("definite", ["shift", "floor"])
@pytest.mark.parametrize("kind", FEATURES)
def test_with_noise_it_is_the_private_form(kind: str, definite: str) -> None:
    known = context(FEATURES[kind], PER_STEP, CENTRED)
    learner = UcrlVtr(definite=definite)
    received = release(known, 60, MixtureRadius(40.0, 3.0), 1.0)
    if definite == "floor":
        assert np.linalg.eigvalsh(received.gram).min() + 1 < 41  # something is floored
    state = learner.learn(learner.begin(known), received)
    values, actions = reference(known, received, learner)
    np.testing.assert_allclose(state.values, values, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(state.policy.argmax(axis=-1), actions)


def test_the_radius_without_noise_is_that_of_the_formula_sheet() -> None:
    """sqrt(S A) + (range/2) sqrt(2 log K + log det M), M = I before the first user."""
    known = context(MixtureFeatures.one_hot(3, 2), PER_STEP, RAW, scale=1e-3)
    state = UcrlVtr(c=1.0).begin(known)
    tops = value_tops(known.rewards)
    last = known.rewards[3].max(axis=1)
    beta = math.sqrt(6) + tops[3] / 2 * math.sqrt(2 * math.log(USERS))
    expected = known.rewards[2].max(axis=1) + 1e-3 * beta * np.linalg.norm(last)
    np.testing.assert_allclose(state.values[2], np.minimum(expected, tops[2]))


def test_the_question_carries_the_values_of_the_plan_and_they_are_in_range() -> None:
    known = context(FEATURES["general"], PER_STEP, RAW, scale=1e6)
    learner = UcrlVtr(c=1.0)
    state = learner.begin(known)
    question = learner.ask(state)  # a question out of range would be refused
    np.testing.assert_array_equal(question.values, state.values)
    np.testing.assert_allclose(state.values[1:].max(axis=1)[:2], known.form.ranges[:2])


def test_more_people_less_optimism() -> None:
    known = context(MixtureFeatures.one_hot(3, 2), PER_STEP, RAW)
    learner = UcrlVtr()
    start: MixtureState = learner.begin(known)
    few, many = (learner.learn(start, release(known, n, MixtureRadius(0.0, 0.0), 0.0)) for n in (5, 2000))
    assert few.values[0].sum() > many.values[0].sum()


@pytest.mark.parametrize(
    ("ridge", "radius", "noise", "way_out"),
    [
        (0.0, 0.0, 0.0, "Give a ridge above 0"),
        (1.0, 1e-3, 50.0, "larger than its stated radius"),
        (1.0, 0.0, 50.0, "not a sum of squares"),
    ],
)
def test_a_singular_matrix_explains_itself(ridge: float, radius: float, noise: float, way_out: str) -> None:
    known = context(FEATURES["general"], PER_STEP, RAW)
    learner = UcrlVtr(definite="shift", ridge=ridge)
    start = UcrlVtr().begin(known)
    with refused("gram-not-definite", match=rf"block 0.* \d people.*{way_out}"):
        learner.learn(start, release(known, 2, MixtureRadius(radius, 0.0), noise))


def test_factors_and_solves() -> None:
    rng = np.random.default_rng(6)
    a = rng.normal(size=(7, 7))
    matrix, right, vector = a @ a.T, rng.normal(size=(7, 3)), rng.normal(size=7)
    lower = np.tril(matrix)
    assert factor(lower, 2.0, np.zeros(7))
    lower = np.tril(lower)
    np.testing.assert_allclose(lower @ lower.T, matrix + 2 * np.eye(7))
    theta, z = vector.copy(), right.copy()
    solve(lower, theta)
    forward(lower, z, 3)
    np.testing.assert_allclose((matrix + 2 * np.eye(7)) @ theta, vector)
    np.testing.assert_allclose(lower @ z, right)
    assert not factor(np.tril(matrix), -2 * float(np.linalg.eigvalsh(matrix)[-1]), np.zeros(7))
    raised = np.tril(matrix)
    raise_eigenvalues(raised, 0.0, 5.0)
    full = np.tril(raised) + np.tril(raised, -1).T
    w, vectors = np.linalg.eigh(matrix)
    np.testing.assert_allclose(full, vectors @ np.diag(np.maximum(w, 5.0)) @ vectors.T, atol=1e-9)


def test_the_catalogue_and_its_options() -> None:
    assert learners.make("ucrl-vtr", beta="printed").name == "ucrl-vtr"
    assert learners.listing("ucrl-vtr").paper == {"beta": "printed", "definite": "shift"}
    with pytest.raises(UnknownName):
        learners.make("ucrl-vtr", beta="wide")
    with refused("out-of-range: c"):
        learners.make("ucrl-vtr", c=-1)
    with pytest.raises(InvalidInput, match="ridge"):
        UcrlVtr(ridge=-1.0)


def test_ranges_below_what_rewards_can_pay_are_refused() -> None:
    known = context(FEATURES["general"], PER_STEP, RAW)
    small = MixtureForm(known.form.spec, known.form.features, known.form.ranges / 2)
    with refused("ranges-too-small"):
        problem(small, known.rewards)


def test_a_state_is_kept_in_bytes() -> None:
    known, learner = context(FEATURES["general"], PER_STEP, CENTRED), UcrlVtr()
    state = learner.learn(learner.begin(known), release(known, 60, MixtureRadius(0.0, 0.0), 0.0))
    data = mixture_to_bytes(state)
    kept = mixture_from_bytes(data, known)
    assert mixture_to_bytes(kept) == data and np.array_equal(kept.values, state.values)
    assert learner.ask(kept).digest == learner.ask(state).digest
    other = context(FEATURES["one-hot"], PER_STEP, CENTRED)
    for bad, whose in (
        (data[:-1], known),
        (data, other),
        (b"", known),
        (data.replace(b"state/1", b"state/9"), known),
    ):
        with pytest.raises(FormatError):
            mixture_from_bytes(bad, whose)


def test_golden_bytes() -> None:
    """What one version stored the next must read: a state made by hand, without any arithmetic in it."""
    features = MixtureFeatures.from_array(np.arange(16.0).reshape(2, 2, 2, 2) / 16, 1.0)
    form = MixtureForm(Spec(2, 2, 3, PER_STEP), features, np.array([3.0, 2.0, 1.0]), RAW)
    known = MixtureContext(form.spec, USERS, form=form, rewards=np.zeros((3, 2, 2)))
    data = mixture_to_bytes(MixtureState(known, np.full((3, 2, 2), 0.5), np.zeros((4, 2))))
    assert hashlib.sha256(data).hexdigest() == GOLDEN
    assert mixture_from_bytes(data, known).policy.shape == (3, 2, 2)


GOLDEN = "d09ed9c033962b2d02f175b17a335a389df294bdc2b807544f1eb5c232150ed8"
