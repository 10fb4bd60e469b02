"""Features by a public description: what they are, their bytes, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from confide.mdp.described import (
    ACTION,
    COS,
    IS,
    POWER,
    SIN,
    Category,
    DescribedFeatures,
    Factor,
    Number,
    polynomial,
    spread_evenly,
)
from confide.mdp.feature_policy import FeaturePolicy
from tests.refusals import refused

INPUTS = (Number("age", 18, 98), Category("plan", ("free", "pro")))
TERMS = (
    (),
    (Factor("age", POWER, 1),),
    (Factor("age", POWER, 2), Factor("plan", IS, "pro")),
    (Factor("age", COS, 1),),
    (Factor("age", SIN, 2), Factor("price", ACTION)),
)
NUMBERS = (("price", (2.0, -1.0)),)
RAW = DescribedFeatures(INPUTS, ("mail", "call"), TERMS, np.eye(5), TERMS[:2], np.eye(2), NUMBERS)


def test_terms_are_products_of_their_factors() -> None:
    seen = np.array([RAW.encode({"age": 78, "plan": "pro"}), RAW.encode({"age": 200, "plan": "free"})])
    x = RAW.x(seen, np.array([0, 1]))
    assert x[0] == pytest.approx([1, 0.5, 0.25, 0.0, 2 * np.sin(np.pi)], abs=1e-12)
    assert x[1] == pytest.approx([1, 1, 0, -1, 0], abs=1e-12)  # beyond the range is at its end
    assert RAW.psi(seen)[0] == pytest.approx([1, 0.5])
    assert RAW.all_x(seen)[:, 1] == pytest.approx(RAW.x(seen, np.array([1, 1])))


def test_numbers_of_actions_make_one_block_and_no_numbers_one_for_each() -> None:
    assert RAW.blocks == 1
    apart = DescribedFeatures(INPUTS, ("mail", "call"), TERMS[:4], np.eye(4))
    assert (apart.blocks, apart.dimension, apart.ahead) == (2, 4, 0)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_over_the_cloud_features_are_orthogonal_with_a_mean_square_norm_of_one(degree: int) -> None:
    inputs = (Number("a", 0, 10), Number("b", -1, 1), Category("c", ("x", "y", "z")))
    described = DescribedFeatures.over_cloud(inputs, ["0", "1"], polynomial(inputs, degree))
    x = described.all_x(described.cloud)[:, 0]
    assert np.allclose(x.T @ x / len(x), np.eye(described.dimension) / described.dimension, atol=1e-9)
    assert described.ahead == described.dimension - 1
    assert np.abs(described.psi(described.cloud).mean(axis=0)).max() < 1e-9


def test_the_cloud_is_spread_evenly() -> None:
    inputs = (Number("a", 0, 1), Number("b", 0, 1), Category("c", tuple("wxyz")))
    points = spread_evenly(inputs, 1024)
    boxes = np.histogram2d(points[:, 0], points[:, 1], bins=8)[0]
    assert boxes.min() >= 10 and boxes.max() <= 25  # 16 each; at random some have 6, others 28
    assert np.bincount(points[:, 2].astype(int)).min() >= 240


def test_bytes_are_json_that_gives_the_same_features_again() -> None:
    again = DescribedFeatures.from_bytes(RAW.to_bytes())
    assert again.to_bytes() == RAW.to_bytes() and again.digest == RAW.digest
    assert json.loads(RAW.to_bytes())["format"] == "confide.features/1"
    seen = np.array([[40.0, 1.0]])
    assert np.array_equal(again.x(seen, np.array([0])), RAW.x(seen, np.array([0])))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "confide.features/0"),
        (("inputs", 0, "low"), 99),
        (("inputs", 0, "low"), None),
        (("inputs", 1, "values"), ["pro", "pro"]),
        (("terms", 1), [{"number": "height", "power": 1}]),
        (("terms", 1), [{"number": "age", "power": 0}]),
        (("terms", 1), [{"number": "plan", "power": 1}]),
        (("terms", 1), [{"number": "age", "code": "import os"}]),
        (("terms", 2), [{"category": "plan", "is": "gold"}]),
        (("next_terms", 0), [{"action": "price"}]),
        (("mix", 0, 0), float("inf")),
        (("mix",), [[1.0]]),
        (("numbers", "price"), [1.0]),
        (("actions",), ["mail", "mail"]),
        (("further",), 1),
    ],
)
def test_another_description_is_refused(path: tuple[object, ...], value: object) -> None:
    plain = json.loads(RAW.to_bytes())
    place = plain
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with refused("features-unreadable"):
        DescribedFeatures.from_plain(plain)
    with refused("features-not-json"):
        DescribedFeatures.from_bytes(b"{")


def test_observations_are_refused_by_name_and_never_by_value() -> None:
    with refused("observation-names"):
        RAW.encode({"age": 3})
    with refused("observation-names"):
        RAW.encode({"age": 3, "plan": "pro", "name": "x"})
    with refused("category-unknown") as error:
        RAW.encode({"age": 3, "plan": "secret"})
    assert "secret" not in str(error.value)
    with refused("category-unknown"):
        RAW.checked([[3.0, 2.0]])


def test_terms_that_say_the_same_are_refused() -> None:
    inputs = (Number("a", 0, 1),)
    same = [(), (Factor("a", POWER, 1),), (Factor("a", POWER, 1),)]
    with refused("features-collinear"):
        DescribedFeatures.over_cloud(inputs, ["0"], same)


def test_a_policy_is_a_formula_with_bytes() -> None:
    weights = np.zeros((1, 1, 5))
    weights[0, 0, 4] = 1.0  # sin(2 pi u) times the price: mail where it is positive
    policy = FeaturePolicy(RAW, weights)
    assert policy.act(0, {"age": 68, "plan": "pro"}) == "mail"
    assert policy.act(0, {"age": 28, "plan": "pro"}) == "mail"
    assert policy.act(0, {"age": 48, "plan": "free"}) == "call"
    again = FeaturePolicy.from_bytes(policy.to_bytes())
    assert np.array_equal(again.weights, weights) and again.features.digest == RAW.digest
    with refused("feature-policy-unreadable"):
        FeaturePolicy.from_bytes(policy.to_bytes()[:-8])
