"""Linear mixtures: what they describe, how large their features get, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lab.environments import Environment, make
from confide.mdp import MixtureFeatures, Model
from confide.mdp import features as module
from tests.refusals import refused


def random_model(rng: np.random.Generator, states: int, actions: int, horizon: int, layers: int = 1) -> Model:
    kernel = rng.dirichlet(np.ones(states), size=(layers, states, actions))
    return Model(kernel, rng.random((layers, states, actions)), rng.dirichlet(np.ones(states)), horizon)


def corners(features: MixtureFeatures, low: float, high: float) -> tuple[float, float]:
    """Every corner of the cube, every pair, by hand."""
    reached = [features.weighted(np.array(values)) for values in itertools.product((low, high), repeat=features.states)]
    squares = np.array(reached) ** 2
    return float(squares.sum(-1).max()), float((squares**2).sum(-1).max())


def test_a_table_is_a_mixture_whose_parameters_are_its_probabilities() -> None:
    model = random_model(np.random.default_rng(0), 3, 2, 4, layers=4)
    features = MixtureFeatures.one_hot(3, 2)
    assert (features.dimension, features.blocks, features.size) == (18, 6, 3)
    assert features.maps.size == 9  # nothing of size d x d, nor of size d for each pair
    theta = features.parameters(model)
    np.testing.assert_allclose(theta, model.transitions.reshape(4, 18))
    np.testing.assert_allclose(features.probabilities(theta), model.transitions, atol=1e-12)
    assert np.linalg.norm(theta, axis=1).max() <= features.parameter_norm


def test_one_block_says_the_same_as_many() -> None:
    rng = np.random.default_rng(1)
    model, features = random_model(rng, 3, 2, 4), MixtureFeatures.one_hot(3, 2)
    dense = features.dense()
    assert (dense.dimension, dense.blocks, dense.size) == (18, 1, 18)
    values = rng.random(3)
    for s, a in np.ndindex(3, 2):
        block = features.block[s, a]
        expected = np.zeros((6, 3))
        expected[block] = features.weighted(values)[s, a]
        np.testing.assert_array_equal(dense.weighted(values)[s, a], expected.ravel())
    np.testing.assert_allclose(dense.probabilities(dense.parameters(model)), model.transitions, atol=1e-9)
    assert dense.disjoint and features.disjoint and dense.acute
    assert dense.norms(-1, 1) == pytest.approx(features.norms(-1, 1))
    assert dense.dense() is dense


def test_an_array_a_function_and_an_embedding_of_the_same_features_agree() -> None:
    rng = np.random.default_rng(2)
    left, right = rng.random((3, 2, 2)), rng.random((3, 2))
    table = np.einsum("sai,tj->satij", left, right).reshape(3, 2, 3, 4)
    ways = [
        MixtureFeatures.from_array(table),
        MixtureFeatures.from_function(lambda t, s, a: np.outer(left[s, a], right[t]).ravel(), 3, 2),
        MixtureFeatures.embedding(left, right),
    ]
    values = rng.random(3)
    for features in ways:
        np.testing.assert_allclose(features.maps, ways[0].maps)
        np.testing.assert_allclose(features.weighted(values), np.einsum("satd,t->sad", table, values))
        assert features.to_bytes() == ways[0].to_bytes()
    core = rng.random((2, 2))
    kernel = np.einsum("satd,d->sat", table, core.ravel())
    np.testing.assert_allclose(kernel, np.einsum("sai,ij,tj->sat", left, core, right))


def test_norms_are_the_worst_corner_and_no_more() -> None:
    rng = np.random.default_rng(3)
    for scale in ((0.0, 1.0), (-1.0, 1.0), (0.0, 2.5)):
        for features in (
            MixtureFeatures.from_array(rng.normal(size=(3, 2, 3, 4))),
            MixtureFeatures.one_hot(3, 2),
            make("hard-mixture/d3h3").features,
        ):
            assert features is not None
            assert features.norms(*scale) == pytest.approx(corners(features, *scale))


def test_norms_without_corners_bound_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    mixed, positive = (MixtureFeatures.from_array(f(rng.normal(size=(3, 2, 3, 4)))) for f in (np.asarray, np.abs))
    exact = mixed.norms(-1, 1), positive.norms(0, 1)
    monkeypatch.setattr(module, "VERTICES", 0)
    assert mixed.norms(-1, 1)[0] >= exact[0][0]
    assert positive.norms(0, 1) == pytest.approx(exact[1])  # exact where one value function is worst everywhere


def test_acute_and_disjoint_are_found() -> None:
    assert MixtureFeatures.one_hot(2, 2).acute
    turned = np.zeros((2, 1, 2, 2))
    turned[0, 0, 0], turned[1, 0, 0] = (1, -1), (-1, 1)
    features = MixtureFeatures.from_array(turned)
    assert not features.acute and not features.disjoint


def test_the_hard_instance_is_a_mixture_with_the_stated_norms() -> None:
    environment = make("hard-mixture/d5h6")
    assert environment.address == "hard-mixture/d5h6"
    features, model = environment.features, environment.model
    assert features is not None and model is not None
    assert (model.spec.states, model.spec.actions, features.dimension) == (8, 16, 5)
    assert features.norms(0, 1)[0] <= 1  # the definition's ||phi_V|| <= max V, computed
    theta = features.parameters(model)
    assert np.linalg.norm(theta, axis=1).max() <= features.parameter_norm * (1 + 1e-9)
    gap = np.sqrt(1 / 6 / 10**4) / (4 * np.sqrt(2))
    reach = model.transitions[0, 0, :, 7]
    assert reach.max() - reach.min() == pytest.approx(8 * gap)
    assert reach.mean() == pytest.approx(1 / 6)
    private = make("hard-mixture/d5h6?epsilon=1").model
    assert private is not None
    spread = float(np.ptp(private.transitions[0, 0, :, 7]))
    assert spread == pytest.approx(8 * np.sqrt(1 / 6) / (2 * (np.e - 1) * np.sqrt(6 * 10**4)))


@pytest.mark.parametrize("inhomogeneous", [False, True])
def test_riverswim_as_a_mixture_is_riverswim_with_rewards_over_the_horizon(inhomogeneous: bool) -> None:
    mixture = make("riverswim-mixture/3", inhomogeneous=inhomogeneous)
    plain = make("riverswim-inhomogeneous/3" if inhomogeneous else "riverswim/3", horizon=6)
    assert mixture.model is not None and plain.model is not None and mixture.features is not None
    np.testing.assert_array_equal(mixture.model.transitions, plain.model.transitions)
    np.testing.assert_allclose(mixture.model.rewards, plain.model.rewards / (1 if inhomogeneous else 6))
    assert (mixture.spec.horizon, mixture.features.dimension) == (6, 18)


def test_probabilities_that_are_none_are_refused_where_they_are() -> None:
    features = MixtureFeatures.one_hot(2, 1)
    with refused("negative-probability: <phi(s'|s,a), theta>", match=r"-0\.5.*\(0, 1, 0\)"):
        features.probabilities([[1.0, 0.0, 1.5, -0.5]])
    with refused("probabilities-not-summing-to-one: <phi(s'|s,a), theta>", match=r"1\.2.*\(0, 0, 0\)"):
        features.probabilities([[1.0, 0.2, 0.5, 0.5]])


def test_features_that_cannot_express_the_model_are_refused_where_they_fail() -> None:
    model = random_model(np.random.default_rng(5), 3, 2, 4)
    features = MixtureFeatures.from_array(np.ones((3, 2, 3, 1)))
    with pytest.raises(InvalidInput, match="At state . action . next state . of layer 0".replace(" . ", r" \d,? ")):
        Environment(model.spec, model, features=features)
    with refused("features-of-other-model"):
        MixtureFeatures.one_hot(2, 2).parameters(model)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: MixtureFeatures.from_array(np.ones((3, 2, 2, 1))), "features-shape"),
        (lambda: MixtureFeatures.from_array(np.full((2, 1, 2, 1), np.nan)), "not-finite: features"),
        (lambda: MixtureFeatures.from_function(lambda t, s, a: [1.0] * (1 + t), 2, 1), "features-function"),
        (lambda: MixtureFeatures.from_function(lambda t, s, a: np.ones(10**4), 1000, 10), "features-too-large"),
        (lambda: MixtureFeatures.one_hot(200, 50).dense(), "features-too-large"),
        (lambda: MixtureFeatures.one_hot(3000, 10).check_memory(20), "features-too-large"),
        (lambda: make("hard-mixture/d5h6?episodes=1&epsilon=0.1"), "hard-mixture-episodes"),
        (lambda: make("hard-mixture/d5h6", horizon=7), "hard-mixture-horizon"),
        (lambda: make("hard-mixture/5x6"), "address-sizes"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(build: object, said: str) -> None:
    with refused(said):
        build()  # type: ignore[operator]
