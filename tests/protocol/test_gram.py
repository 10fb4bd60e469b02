"""Gram sums: what all questions cost together, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide.mdp.linear import LinearFeatures
from confide.mechanisms.gaussian import effective_sigma
from confide.privacy import Central, Schedule
from confide.protocol.design import PAPER, SOUND, TIGHT, Design, Request, make
from confide.protocol.kinds.gram import MATRIX_GRID, VALUE, VARIANCE, VECTOR_GRID, GramForm, cost, pure_cost
from tests.refusals import refused

FEATURES = LinearFeatures.declared(np.array([[[0.6, 0.8], [1.0, 0.0]], [[0.0, 0.5], [0.5, 0.0]]]))


@pytest.mark.parametrize("split", [False, True])
def test_halves_cost_what_the_dearer_one_does_and_all_people_the_sum(split: bool) -> None:
    """With the paper's noise the two halves cost differently: of H = 3 steps two have variance questions, three values."""
    form = GramForm(FEATURES, 3, split=split)
    design = make(Request(form, Central(rho=1.0), Schedule.every(1), PAPER))
    spent = {VARIANCE: 0.0, VALUE: 0.0}
    for (step, kind), (matrix, vectors) in zip(form.questions, design.mechanism.sizes, strict=True):
        fine = effective_sigma(matrix, MATRIX_GRID), tuple(effective_sigma(one, VECTOR_GRID) for one in vectors)
        spent[kind] += cost(form, step, kind, *fine)  # type: ignore[arg-type]
    assert spent[VARIANCE] != pytest.approx(spent[VALUE], rel=0.1)
    together = max(spent.values()) if split else sum(spent.values())
    assert design.mechanism.mu == pytest.approx(math.sqrt(together), rel=1e-12)


def pure(form: GramForm, epsilon: float = 1.0, calibration: str = PAPER) -> Design:
    return make(Request(form, Central(epsilon), Schedule.every(1), calibration))


def test_laplace_noise_of_gram_sums_by_hand() -> None:
    """H = 2, d = 3, epsilon_0 = 1/10: matrices (3 + 1) 10 = 40; 2 H sqrt(3) 10 = 69.28203 for V, and H times that for V^2.

    Spent: at the last step 4/40 + 2 sqrt(3)/69.28203 = .15; on variances before it .1 + 2 sqrt(3)/138.56406 + .05 = .175; on values
    .1 + 4 sqrt(3)/69.28203 = .2. In halves .175 for one and .35 for the other.
    """
    features = LinearFeatures.declared(np.eye(3).reshape(3, 1, 3))
    for split, spent in ((False, 0.525), (True, 0.35)):
        design = pure(GramForm(features, 2, split=split))
        assert [matrix for matrix, _ in design.mechanism.sizes] == pytest.approx([40.0] * 3)
        assert design.mechanism.sizes[1][1] == pytest.approx((138.56406, 69.28203))
        assert design.mechanism.deviations[1][1] == pytest.approx((195.95918, 97.97959))
        assert design.act.loss.epsilon(0.0) == pytest.approx(spent) and design.guarantee.epsilon == pytest.approx(spent)
        assert design.guarantee.delta == 0 and design.mechanism.name == "gram-laplace"
    assert pure(GramForm(features, 2), calibration=SOUND).mechanism.sizes == pure(GramForm(features, 2)).mechanism.sizes
    again = Design.from_bytes(design.to_bytes())
    assert again.to_bytes() == design.to_bytes() and again.mechanism.sizes == design.mechanism.sizes
    with refused("gram-needs-delta"):
        pure(GramForm(features, 2), calibration=TIGHT)


def triangle(x: np.ndarray) -> np.ndarray:
    above = np.triu_indices(len(x))
    return np.outer(x, x)[above]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("centred", [False, True])
def test_no_two_people_are_further_apart_in_l1_than_is_charged(size: int, centred: bool) -> None:
    """Searched at random and at corners; two people whose vectors are furthest apart reach their part of the price."""
    features = LinearFeatures.declared(np.eye(size)[:, None, :] if size > 1 else np.ones((1, 1, 1)))
    form = GramForm(features, 3, centred=centred)
    rng, most = np.random.default_rng(size), 3.0  # of r + V at the first step
    low, high = (-most / 2, most / 2) if centred else (0.0, most)
    people = [np.sign(corner) / math.sqrt(size) for corner in rng.normal(size=(40, size))]
    people += [one / np.linalg.norm(one) for one in rng.normal(size=(40, size))] + list(np.eye(size))
    matrices = [np.abs(triangle(one) - triangle(other)).sum() for one in people for other in people]
    vectors = [
        np.abs(one * first - other * second).sum()
        for one in people
        for other in people
        for first in (low, high)
        for second in (low, high)
    ]
    alone = [pure_cost(form, 0, VALUE, 1.0, (math.inf,)), pure_cost(form, 0, VALUE, math.inf, (1.0,))]
    assert 0 <= max(matrices) <= alone[0] and max(vectors) <= alone[1] * (1 + 1e-12)
    assert max(vectors) == pytest.approx(alone[1])
    assert size == 1 or max(matrices) > alone[0] / 2
