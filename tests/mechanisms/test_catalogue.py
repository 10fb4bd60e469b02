"""A mechanism that is written down in words is the same mechanism on the other side, or none."""

from __future__ import annotations

import json
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FormatError
from confide.mechanisms.bounded import Bounded
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.catalogue import from_parameters, parameters
from confide.mechanisms.exact import ExactCounter
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.shuffled_bits import ShuffledBits
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.mechanisms.tree import TreeCounter
from confide.mechanisms.unary import KARY, SYMMETRIC, UNARY, SampledStep
from confide.privacy import Local, Sensitivity
from confide.privacy.shuffling import ShuffledCrowd

SIZES = st.floats(1e-3, 1e6)
GRIDS = st.sampled_from([0.0, 1.0, 0.5, 2.0**-20])
FINE = st.sampled_from([1.0, 0.5, 2.0**-20])
CROWDS = st.builds(ShuffledCrowd, st.floats(1e-6, 0.4), st.integers(2, 10**6))
MECHANISMS = st.one_of(
    st.builds(Laplace, SIZES, GRIDS),
    st.builds(Gaussian, SIZES, GRIDS),
    st.builds(RandomizedResponse, st.floats(1e-6, 20)),
    st.builds(SampledStep, st.floats(1e-6, 20), st.integers(2, 10**6), st.sampled_from([UNARY, SYMMETRIC, KARY])),
    st.builds(Bounded, SIZES, st.sampled_from([1.0, 0.5])),
    st.builds(TreeCounter, st.integers(1, 10**6), st.sampled_from(["laplace", "gaussian"]), SIZES, FINE),
    st.builds(ToeplitzCounter, st.integers(1, 10**6), SIZES, FINE),
    st.builds(BufferedToeplitzCounter, st.integers(1, 10**6), SIZES, FINE),
    st.builds(ExactCounter, st.integers(1, 10**6), FINE),
    st.builds(
        ShuffledBits, st.lists(CROWDS, min_size=1, max_size=4).map(tuple), st.floats(0, 1e-3), st.integers(0, 1000)
    ),
)
SIZE = Sensitivity(2.0, 2.0, ((2.0, 1),), 2)


def made(told: Any) -> Any:
    return from_parameters(told, SIZE, Local(1.0), 1.0)


@given(MECHANISMS)
def test_a_mechanism_is_what_it_says(mechanism: Any) -> None:
    description = parameters(mechanism)
    for arrived in (
        description,
        json.loads(json.dumps(description)),
        dict(msgpack.unpackb(msgpack.packb(sorted(description.items())))),
    ):
        assert made(arrived) == mechanism


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mechanism": "exponential"}, "'exponential' is not one of laplace, gaussian"),
        ({"mechanism": "gaussian"}, "unexpected keyword argument"),
        ({"mechanism": ["laplace"]}, "unhashable"),
        ({"mechanism": "registered"}, "'name' is missing"),
        ({"scale": -1.0}, "scale must be positive"),
        ({"scale": float("nan")}, "scale must be a positive finite number"),
        ({"scale": float("inf")}, "scale must be a positive finite number"),
        ({"scale": "3.0"}, "not all numbers"),
        ({"scale": True}, "not all numbers"),
        ({"scale": None}, "not all numbers"),
        ({"grid": 2.0}, "grid must be between 0 and 1"),
        ({"sigma": 3.0}, "unexpected keyword argument"),
        ({"name": "laplace"}, "not all numbers"),
    ],
)
def test_other_words_are_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as refused:
        made({**parameters(Laplace(3.0, 1.0)), **change})
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({}, "'mechanism' is missing"),
        ({"mechanism": "laplace", "grid": 0.0}, "scale"),
        ({**parameters(SampledStep(1.0, 5)), "categories": 5.5}, "categories must be a whole number"),
        ({**parameters(SampledStep(1.0, 5)), "categories": 10**12}, "more than"),
        ({**parameters(SampledStep(1.0, 5)), "categories": "5"}, "not all numbers"),
        ({**parameters(SampledStep(1.0, 5)), "encoding": "morse"}, "encoding"),
        ({**parameters(RandomizedResponse(1.0)), "flip": 0.5}, "unexpected keyword argument"),
        ({**parameters(Bounded(20.0)), "bound": 1e300}, "more than"),
        ({**parameters(ToeplitzCounter(5, 1.0, 1.0)), "releases": 0}, "releases must be"),
        ({**parameters(TreeCounter(5, "laplace", 1.0, 1.0)), "node": "cauchy"}, "node"),
        ({"mechanism": "shuffled-bits", "crowds": [], "missing": 0.0, "categories": 0}, "batch sizes"),
        ({"mechanism": "shuffled-bits", "crowds": [[0.1]], "missing": 0.0, "categories": 0}, "missing"),
        ({"mechanism": "shuffled-bits", "crowds": 7, "missing": 0.0, "categories": 0}, "not iterable"),
        ({"mechanism": "registered", "name": "nobody's", "says": {}}, "is registered here"),
        ("laplace", "not a mechanism|does not describe"),
    ],
)
def test_words_that_fit_nothing_are_refused(told: Any, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        made(told)
