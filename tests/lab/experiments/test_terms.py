"""Bounds of two terms: coefficients, intervals and misfits come back from data that were made of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from confide.lab.experiments.part import PAPER, PartResult
from confide.lab.experiments.publishing import CLAIMS, folder_of
from confide.lab.experiments.terms import (
    BENT,
    OUTSIDE,
    OVER_EPSILON,
    POWER,
    ROOT_OF_PEOPLE,
    SEEDS,
    STEPS,
    STRETCH,
    Departure,
    Terms,
    departure,
    fitted,
    power_misfit,
)
from confide.lab.experiments.view import Slopes

PAGES = Path(__file__).parents[3] / "docs" / "reproductions"
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


def differs(values: list[float], terms: Terms, spread: float = 0.0, x: list[float] | None = None) -> Departure | None:
    places = np.array(x or [10.0**power for power in range(2, 2 + len(values))])
    luck = 1 + spread * np.linspace(-1, 1, 5)[:, None]
    return departure(PartResult("a, over people", places, np.array(values) * luck, ""), terms)


def test_what_differs_is_named_kind_by_kind() -> None:
    """Each kind by data made for it: K = 10^2, 10^3, ... and the form a + b sqrt(K)."""
    roots = [10.0, 31.6, 100.0, 316.0]
    assert differs(roots, ROOT_OF_PEOPLE) is None, "nothing differs"
    for values, spread, kind in (
        ([10.0, 50.0, 50.0, 500.0], 0.9, SEEDS),
        ([0.5, *roots], 0.0, STRETCH),
        ([100.0, 1e3, 1e4, 1e5], 0.0, POWER),
        ([1.0, 20.0, 300.0, 700.0], 0.0, OUTSIDE),
    ):
        found = differs(values, ROOT_OF_PEOPLE, spread)
        assert found is not None and found.kind == kind, (values, found)
    falling = differs([100.0, 80.0, 30.0, 4.0], OVER_EPSILON, x=[0.1, 1.0, 10.0, 100.0])
    assert falling is not None and falling.kind == BENT and "-0.10, -0.43, -0.88" in falling.measured
    gaps = Terms(("1/sqrt(n)", "1/n"), lambda n: n**-0.5, lambda n: 1 / n)
    steps = differs([1.0, 0.99, 0.98, 0.01, 0.0099], gaps)
    assert steps is not None and steps.kind == STEPS


def test_a_stretch_says_where_it_is_and_how_it_goes_on() -> None:
    found = differs([0.5, 10.0, 31.6, 100.0, 316.0], ROOT_OF_PEOPLE)
    assert found is not None and found.measured.startswith(
        "it holds from 1e+03 to 1e+06 (off by 0%); before that the power is 1.30"
    )


def test_a_sum_of_two_powers_is_never_bent() -> None:
    """What the kind says of the form is true of it: on logarithmic axes its slope does not fall."""
    x = np.geomspace(0.1, 100, 50)
    for first, second in ((1.0, 1.0), (3.0, 0.01), (1e-3, 10.0)):
        slopes = np.diff(np.log(first + second / x)) / np.diff(np.log(x))
        assert (np.diff(slopes) >= -1e-12).all()


def test_regret_is_set_beside_acting_at_random() -> None:
    x = np.array([1e2, 1e3, 1e4])
    found = departure(PartResult("a", x, x[None] / 2, ""), ROOT_OF_PEOPLE, x)
    assert found is not None and "regret is 0.5 at the first place, 0.5 at the last" in found.measured


@pytest.mark.parametrize(
    "address", ["private-ucb/table-1-joint", "private-ucb/table-1-local", "ldp-obi/table-1", "ldp-ucrl-vtr/theorem-5.2"]
)
def test_each_sweep_that_has_not_the_form_has_a_cause_on_its_page(address: str) -> None:
    """Of the data that are published: none is said to miss the form without what differs."""
    claims = json.loads((folder_of(PAGES, address, PAPER) / CLAIMS).read_text())
    (missed,) = [
        claim["measured"].partition("it does not for ")[2]
        for claim in claims
        if "the form holds for" in claim["measured"]
    ]
    causes = " ".join(claim["measured"] for claim in claims if claim["claim"].startswith("What differs"))
    labels = [each.rpartition(" (")[0] for each in missed.split("; ")]
    assert labels and all(f"{label}: " in causes for label in labels)
