"""Gram sums: what all questions cost together, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide.mdp.linear import LinearFeatures
from confide.mechanisms.gaussian import effective_sigma
from confide.privacy import Central, Schedule
from confide.protocol.design import PAPER, Request, make
from confide.protocol.kinds.gram import MATRIX_GRID, VALUE, VARIANCE, VECTOR_GRID, GramForm, cost

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
