"""A mechanism that crosses the wire in words is the same mechanism on the other side, or none."""

from __future__ import annotations

import json
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import FormatError
from confide.mechanisms.bounded import Bounded
from confide.mechanisms.catalogue import from_description
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.randomizer import Randomizer
from confide.mechanisms.unary import KARY, UNARY, SampledStep

SIZES = st.floats(1e-3, 1e6)
GRIDS = st.sampled_from([0.0, 1.0, 0.5, 2.0**-20])
MECHANISMS = st.one_of(
    st.builds(Laplace, SIZES, GRIDS),
    st.builds(Gaussian, SIZES, GRIDS),
    st.builds(RandomizedResponse, st.floats(1e-6, 20)),
    st.builds(SampledStep, st.floats(1e-6, 20), st.integers(2, 10**6), st.sampled_from([UNARY, KARY])),
    st.builds(Bounded, SIZES, st.sampled_from([1.0, 0.5])),
)


@given(MECHANISMS)
def test_a_mechanism_is_what_it_says(mechanism: Randomizer | SampledStep) -> None:
    said = mechanism.describe()
    for arrived in (said, json.loads(json.dumps(said)), dict(msgpack.unpackb(msgpack.packb(sorted(said.items()))))):
        assert from_description(arrived) == mechanism


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "exponential"}, "'exponential' is not one of laplace, discrete-laplace"),
        ({"name": "laplace"}, "contradict"),
        ({"name": ["laplace"]}, "unhashable"),
        ({"scale": -1.0}, "scale must be positive"),
        ({"scale": float("nan")}, "scale must be a positive finite number"),
        ({"scale": float("inf")}, "scale must be a positive finite number"),
        ({"scale": "3.0"}, "not all numbers"),
        ({"scale": True}, "not all numbers"),
        ({"scale": None}, "not all numbers"),
        ({"grid": 2.0}, "grid must be between 0 and 1"),
        ({"sigma": 3.0}, "contradict"),
    ],
)
def test_other_words_are_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as refused:
        from_description({**Laplace(3.0, 1.0).describe(), **change})
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "'name' is missing"),
        ({"name": "laplace", "grid": 0.0}, "'scale' is missing"),
        ({**SampledStep(1.0, 5).describe(), "categories": 5.5}, "categories must be a whole number"),
        ({**SampledStep(1.0, 5).describe(), "categories": 10**12}, "more than"),
        ({**RandomizedResponse(1.0).describe(), "flip": 0.5}, "contradict"),
        ({**RandomizedResponse(1.0).describe(), "bit_epsilon": 1e5}, "math range|contradict"),
        ({**Bounded(20.0).describe(), "grid": 1.0}, "contradict"),
        ({"name": "bounded", "bound": 1e300, "unit": 1.0, "grid": 1.0}, "more than"),
        ({"name": "bounded", "bound": 1e300, "unit": 1e300, "grid": 1e-300}, "more than|contradict"),
        ("laplace", "indices"),
    ],
)
def test_words_that_fit_nothing_are_refused(said: Any, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        from_description(said)
