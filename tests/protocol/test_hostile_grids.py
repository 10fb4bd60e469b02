"""Grids that a hostile contract may name: none on which a message, or that there is one, says more than was priced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.errors import FormatError
from confide.mdp import Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.tree import TreeCounter
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from tests.refusals import refused

from .combinations import BATCH, described

PURE = (1.0, 0.0)


def read_again(question: Any, mechanism: Any, trust: str) -> Design:
    return Design.from_bytes(described(question, mechanism, trust, PURE).to_bytes())


@pytest.mark.parametrize("parts", [("rewards", "transitions"), ("visits", "rewards", "transitions")])
def test_randomised_response_counts_whole_bits_whatever_the_contract_says(parts: tuple[str, ...]) -> None:
    """On a grid of one half, rewards of one half would have no report: who sends none says so."""
    question = CountQuestion(Spec(2, 2, 3), parts, "dropped", levels=2)
    with refused("response-grid"):
        RandomizedResponse(1 / question.price().l1, grid=0.5)
    honest = CountQuestion(Spec(2, 2, 3), parts, "dropped")
    data = described(honest, RandomizedResponse(1 / honest.price().l1), "local", PURE).to_bytes()
    assert Design.from_bytes(data).mechanism.grid == 1
    forged = data.replace(
        b"\xa4grid\xcb" + np.array(1.0, ">f8").tobytes(), b"\xa4grid\xcb" + np.array(0.5, ">f8").tobytes()
    )
    assert forged != data
    with refused("design-unreadable", match="of randomised response"):
        Design.from_bytes(forged)


class Large:
    """A source whose Laplace noise is one and the same odd number, beyond what floats hold."""

    def discrete_laplace(self, scale: float, shape: Any) -> Any:
        return np.full(shape, 2**53 + 1, dtype=np.int64)


def test_noise_is_added_in_whole_numbers() -> None:
    """Floats round 2^53 + 1 to 2^53: then no odd number comes out for whom the noise must be beyond it, and some do for others."""
    grid = 2.0**-51
    noisy = Laplace(3.0, grid).randomize(np.array([-1.0]), np.ones(1, dtype=np.int64), Large())  # type: ignore[arg-type]
    assert int(noisy[0] / grid) == 2**53 + 1 - 2**51


def test_a_device_refuses_a_grid_on_which_its_numbers_are_no_floats() -> None:
    question = CountQuestion(Spec(2, 2, 1), ("centred", "transitions"), "end")
    scale = question.price().l1
    assert read_again(question, Laplace(scale, 2.0**-36), "local").guarantee.epsilon == 1
    for grid in (2.0**-43, 2.0**-51):
        with pytest.raises(FormatError, match="too large"):
            read_again(question, Laplace(scale, grid), "local")


def test_a_counter_refuses_no_batch_for_what_people_did() -> None:
    """On a grid of 2^-42 a counter has room for 16: one in which nine people stay would be refused, one with eight not."""
    question = CountQuestion(Spec(2, 2, 3), ("centred", "transitions"), "end")
    scale = question.price().l1
    fine = 2.0**-42
    with refused("design-unreadable", match="too large"):
        read_again(question, TreeCounter(1, "laplace", scale, fine), "joint")
    assert question.range.furthest * BATCH > 16
    assert read_again(question, TreeCounter(1, "laplace", scale, 2 * fine), "joint").guarantee.epsilon == 1
