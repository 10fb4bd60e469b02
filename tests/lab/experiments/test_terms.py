"""Bounds of two terms: coefficients, intervals and misfits come back from data that were made of them."""

from __future__ import annotations

import numpy as np
import pytest

from confide.lab.experiments.part import PartResult
from confide.lab.experiments.terms import OVER_EPSILON, ROOT_OF_PEOPLE, Terms, fitted, power_misfit
from confide.lab.experiments.view import Slopes

X = np.geomspace(1e2, 1e8, 7)


def made(first: float, second: float, terms: Terms, spread: float = 0.01) -> PartResult:
    luck = np.random.default_rng(3).normal(1, spread, (8, len(X)))
    return PartResult("a, over people", X, (first * terms.first(X) + second * terms.second(X)) * luck, "")


def test_two_terms_come_back_where_one_power_is_far_off() -> None:
    result = made(500.0, 2.0, ROOT_OF_PEOPLE)
    fit = fitted(result, ROOT_OF_PEOPLE)
    for found, true in ((fit.first, 500.0), (fit.second, 2.0)):
        assert found.low is not None and found.high is not None and found.low < true < found.high
        assert found.high - found.low < 0.2 * true
    assert fit.holds and power_misfit(result) > 0.3
    (row,) = Slopes("t", (), (("a, over people", ROOT_OF_PEOPLE),)).table([result])[1:]
    assert "sqrt(K)" in row[6] and row[7] == f"{fit.misfit:.0%}"


def test_a_form_that_does_not_hold_is_seen() -> None:
    fit = fitted(made(0.0, 1.0, Terms(("1", "K"), np.ones_like, np.asarray)), ROOT_OF_PEOPLE)
    assert not fit.holds and fit.misfit > 0.5


def test_coefficients_are_not_negative_and_one_seed_has_no_interval() -> None:
    fit = fitted(PartResult("a", np.array([1.0, 2.0, 4.0]), np.array([[4.0, 2.0, 1.0]]), ""), OVER_EPSILON)
    assert fit.first.value == pytest.approx(0.0) and fit.second.value == pytest.approx(4.0) and fit.second.low is None
    assert fit.text(OVER_EPSILON) == "4 (-) /epsilon"
