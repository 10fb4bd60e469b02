"""Losses and their composition against exact sums, and the least noise that keeps a guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from confide.errors import InvalidInput
from confide.privacy import (
    Act,
    Central,
    Concentrated,
    GaussianLoss,
    Joint,
    Local,
    Loss,
    NoPrivacy,
    Pure,
    Sensitivity,
    Tabulated,
    compose,
    keeps,
    least_noise,
    repeat,
    rho_of,
    settled,
    true_guarantee,
)
from confide.privacy.conversion import zcdp_rho

ONE = Sensitivity(1.0, 1.0, ((1.0, 1),), 1)


def exact_responses(bit: float, times: int, epsilon: float) -> float:
    """delta of `times` bits, each randomised with epsilon `bit`, by summing over how many were reported truly."""
    honest = np.arange(times + 1)
    truth, lie = 1 / (1 + math.exp(-bit)), 1 / (1 + math.exp(bit))
    here, there = binom.pmf(honest, times, truth), binom.pmf(honest, times, lie)
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum())


# One loss.


@given(st.floats(1e-3, 30), st.floats(0, 30))
def test_a_pure_loss_is_that_of_randomised_response(value: float, epsilon: float) -> None:
    assert Pure(value).delta(epsilon) == pytest.approx(exact_responses(value, 1, epsilon), rel=1e-9, abs=1e-12)
    assert Pure(value).epsilon(0) == value


@given(st.floats(0.01, 50), st.floats(1e-9, 0.4))
def test_a_pure_loss_inverts_itself(value: float, delta: float) -> None:
    epsilon = Pure(value).epsilon(delta)
    assert epsilon <= value
    if epsilon > 0:
        assert Pure(value).delta(epsilon) == pytest.approx(delta, rel=1e-6)
    else:
        assert Pure(value).delta(0) <= delta * (1 + 1e-9)


def test_the_ends_of_a_pure_loss() -> None:
    assert Pure(1e-9).delta(0) == pytest.approx(5e-10)
    assert Pure(1e4).epsilon(0.1) == pytest.approx(1e4 + math.log(0.9))
    assert Pure(1e4).delta(1.0) == 1.0
    assert Pure(1.0).epsilon(0.9) == 0.0


@pytest.mark.parametrize("loss", [Pure(0.7), GaussianLoss(0.9), Pure(30.0)])
def test_a_table_of_a_loss_dominates_it_and_hardly_more(loss: Loss) -> None:
    table = Tabulated(loss.distribution())
    for epsilon in (0.0, 0.3, 0.69, 2.0):
        assert table.delta(epsilon) >= loss.delta(epsilon) * (1 - 1e-9)
        assert table.delta(epsilon) <= loss.delta(epsilon) + 2e-4
    for delta in (1e-6, 1e-2):
        assert loss.epsilon(delta) * (1 - 1e-9) <= table.epsilon(delta) <= loss.epsilon(delta) + 2e-4


def test_a_zcdp_bound_has_no_table() -> None:
    with pytest.raises(TypeError, match="zCDP"):
        Concentrated(0.1).distribution()


def test_rho_of_each_loss() -> None:
    assert rho_of(Pure(1.0)) == 0.5
    assert rho_of(Pure(5.0)) == 5.0
    assert rho_of(GaussianLoss(2.0)) == 2.0
    assert rho_of(GaussianLoss(2.0, 1.9)) == 1.9
    assert rho_of(Concentrated(0.3)) == 0.3
    assert rho_of(Tabulated(Pure(1.0).distribution())) is None


@pytest.mark.parametrize("value", [0.1, 1.0, 2.0, 2.5, 10.0])
def test_the_rho_of_a_pure_loss_bounds_all_its_renyi_divergences(value: float) -> None:
    """D_alpha of randomised response, exactly: log(p^a q^(1-a) + q^a p^(1-a)) / (a - 1)."""
    truth = 1 / (1 + math.exp(-value))
    rho = rho_of(Pure(value))
    assert rho is not None
    for order in (1 + np.exp(np.linspace(-8, 8, 200))).tolist():
        logs = (order * math.log(truth) + (1 - order) * (math.log(truth) - value), (1 - order) * math.log(truth))
        second = order * (math.log(truth) - value) + logs[1]
        divergence = float(np.logaddexp(logs[0], second)) / (order - 1)
        assert divergence <= rho * order * (1 + 1e-9)


# Many losses.


def test_a_hundred_randomised_responses() -> None:
    """dp-accounting's accountant ignores how often randomised response was used; what is composed here does not."""
    noise, delta = 0.9, 1e-6
    bit = math.log((1 - noise / 2) / (noise / 2))
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_accounting.dp_event.RandomizedResponseDpEvent(noise, 2), 100)
    assert accountant.get_epsilon(delta) == pytest.approx(0.2007, abs=1e-4)  # wrong: that is one response

    many = repeat(Tabulated(Pure(bit).distribution()), 100)
    epsilon = many.epsilon(delta)
    assert epsilon == pytest.approx(10.72, abs=0.01)
    assert exact_responses(bit, 100, epsilon) <= delta
    assert exact_responses(bit, 100, epsilon - 0.02) > delta
    assert repeat(Pure(bit), 100).epsilon(0) == pytest.approx(100 * bit)


@pytest.mark.parametrize("times", [1, 2, 7])
def test_composition_is_repetition(times: int) -> None:
    for loss in (Pure(0.3), GaussianLoss(0.8, 0.31), Concentrated(0.2)):
        together, again = compose([loss] * times), repeat(loss, times)
        assert together.delta(0.5) == pytest.approx(again.delta(0.5))
        assert rho_of(together) == pytest.approx(rho_of(again))
    table = Tabulated(Pure(0.3).distribution())
    assert compose([table] * times).delta(0.5) == pytest.approx(repeat(table, times).delta(0.5), abs=1e-9)


def test_closed_forms_add_up() -> None:
    assert compose([Pure(0.25), Pure(0.5)]) == Pure(0.75)
    assert compose([GaussianLoss(3.0), GaussianLoss(4.0)]) == GaussianLoss(5.0)
    assert rho_of(compose([GaussianLoss(3.0, 4.0), GaussianLoss(4.0)])) == 12.0
    assert compose([Concentrated(0.25), GaussianLoss(1.0), Pure(1.0)]) == Concentrated(1.25)
    assert compose([]) == Pure(0.0)
    assert repeat(GaussianLoss(3.0), 4) == GaussianLoss(6.0)


def test_a_single_act_is_itself() -> None:
    table = Tabulated(Pure(0.3).distribution())
    assert compose([table]) is table
    assert repeat(table, 1) is table


def test_mixed_losses_are_tabulated_and_dominate_their_parts() -> None:
    """Against the exact composition of randomised response with a Gaussian: a mixture of two shifted profiles."""
    value, mu = 0.7, 0.9
    mixed = compose([Pure(value), GaussianLoss(mu)])
    assert isinstance(mixed, Tabulated)
    truth = 1 / (1 + math.exp(-value))
    for epsilon in (0.8, 1.5, 3.0):
        # delta = E over the response's loss l of (1 - e^(eps - l))-weighted Gaussian parts.
        exact = truth * GaussianLoss(mu).delta(epsilon - value) + (1 - truth) * GaussianLoss(mu).delta(epsilon + value)
        assert mixed.delta(epsilon) == pytest.approx(exact, abs=1e-4)
        assert mixed.delta(epsilon) >= exact * (1 - 1e-6)


def test_a_zcdp_bound_composes_with_nothing_it_cannot_bound() -> None:
    with pytest.raises(TypeError, match="zCDP"):
        compose([Concentrated(0.1), Tabulated(Pure(1.0).distribution())])


@pytest.mark.parametrize("times", [0, -1, 1.5])
def test_an_act_happens_a_whole_number_of_times(times: Any) -> None:
    with pytest.raises(InvalidInput, match="times"):
        repeat(Pure(1.0), times)


# From guarantee to noise, and back.


@dataclass(frozen=True)
class Scaled:
    """Laplace or Gaussian noise of some size, as calibration sees a mechanism."""

    size: float
    kind: str
    name: str = "scaled"

    def loss(self, sensitivity: Sensitivity) -> Loss:
        if self.kind == "laplace":
            return Pure(sensitivity.l1 / self.size)
        if self.kind == "coarse":
            return Concentrated(sensitivity.l2**2 / (2 * self.size**2))
        return GaussianLoss(sensitivity.l2 / self.size)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "size": self.size}


@pytest.mark.parametrize("start", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "coarse"])
@pytest.mark.parametrize("promise", [Local(1.0), Local(0.3, 1e-6), Central(rho=0.5), Joint(20.0, 0.1)])
def test_least_noise_keeps_the_promise_and_no_less_noise_does(start: float, kind: str, promise: Any) -> None:
    if promise.pure and kind != "laplace":
        with pytest.raises(InvalidInput, match="No noise keeps"):
            least_noise(lambda size: Scaled(size, kind), ONE, promise, start)
        return
    result = least_noise(lambda size: Scaled(size, kind), ONE, promise, start)
    assert keeps(result.loss(ONE), promise)
    assert not keeps(Scaled(result.size * (1 - 1e-7), kind).loss(ONE), promise)


def test_the_least_laplace_and_gaussian_noise_in_closed_form() -> None:
    assert least_noise(lambda size: Scaled(size, "laplace"), ONE, Local(0.5)).size == pytest.approx(2.0)
    assert least_noise(lambda size: Scaled(size, "gaussian"), ONE, Local(1, 1e-6)).size == pytest.approx(1 / 0.23670438)
    rho = zcdp_rho(1, 1e-6)
    coarse = least_noise(lambda size: Scaled(size, "coarse"), ONE, Local(1, 1e-6)).size
    assert coarse == pytest.approx(1 / math.sqrt(2 * rho), rel=1e-6)


def test_keeps() -> None:
    assert keeps(Pure(1.0), Local(1.0))
    assert not keeps(Pure(1.0 + 1e-12), Local(1.0))
    assert keeps(Pure(1.0 + 1e-12), Local(1.0, 1e-6))
    assert not keeps(GaussianLoss(1e-9), Local(1.0))
    assert not keeps(Tabulated(Pure(0.1).distribution()), Local(1.0))
    assert not keeps(Tabulated(Pure(0.1).distribution()), Central(rho=9.0))
    assert keeps(Concentrated(0.5), Central(rho=0.5))
    assert keeps(GaussianLoss(1.001, 0.5), Central(rho=0.5))
    assert keeps(GaussianLoss(100.0), NoPrivacy())


def test_true_guarantees() -> None:
    assert true_guarantee(Pure(2.0), Local(1.0)) == Local(2.0)
    assert true_guarantee(Pure(2.0), Local(1.0, 0.01)).epsilon == pytest.approx(Pure(2.0).epsilon(0.01))
    assert true_guarantee(GaussianLoss(1.0), Central(rho=0.1)) == Central(rho=0.5)
    stated = true_guarantee(GaussianLoss(1.0), Local(1.0))  # no epsilon at delta 0: delta is stated
    assert (stated.epsilon, stated.delta) == (1.0, GaussianLoss(1.0).delta(1.0))
    assert true_guarantee(GaussianLoss(1e-5), Local(1.0, 0.1)).epsilon == 1e-12  # a guarantee needs some epsilon
    assert true_guarantee(GaussianLoss(1.0), NoPrivacy()) == NoPrivacy()
    with pytest.raises(InvalidInput, match="no rho"):
        true_guarantee(Tabulated(Pure(1.0).distribution()), Central(rho=0.1))


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_settled_moves_by_a_last_digit_only(change: float, epsilon: float) -> None:
    scale = settled(change / epsilon, lambda size: change / size <= epsilon, math.inf)
    assert change / scale <= epsilon
    assert scale == pytest.approx(change / epsilon, rel=1e-15)


def test_an_act_counts_its_times_and_shows_its_sensitivity() -> None:
    act = Act(Scaled(2.0, "laplace"), ONE.scaled(3.0), times=4)
    assert act.loss == Pure(6.0)
    assert act.describe() == {"name": "scaled", "size": 2.0, "sensitivity": {"l1": 3.0, "l2": 3.0}, "times": 4}
    assert ONE.scaled(3.0) == Sensitivity(3.0, 3.0, ((3.0, 1),), 1)


def test_the_fixture_of_this_file_tabulates_as_dp_accounting_does() -> None:
    """`exact_responses`, which the above stands on, against dp-accounting's own distribution."""
    table = privacy_loss_distribution.from_randomized_response(2 / (1 + math.exp(0.5)), 2).self_compose(20)
    for epsilon in (1.0, 4.0):
        assert table.get_delta_for_epsilon(epsilon) == pytest.approx(exact_responses(0.5, 20, epsilon), rel=0.01)


# Several parts.


@given(st.integers(2, 40), st.floats(1e-3, 3), st.floats(0, 30))
def test_equal_pure_parts_compose_as_that_many_randomised_responses(times: int, part: float, epsilon: float) -> None:
    together = repeat(Pure(part), times)
    assert together.delta(epsilon) == pytest.approx(exact_responses(part, times, epsilon), rel=1e-7, abs=1e-12)
    assert together.epsilon(0) == part * times
    assert together.delta(epsilon) <= Pure(part * times).delta(epsilon) * (1 + 1e-9)


def test_equal_pure_parts_invert_themselves_and_have_a_table() -> None:
    together = repeat(Pure(0.2), 30)
    assert together == Pure(6.0)
    epsilon = together.epsilon(1e-6)
    assert epsilon < 0.95 * Pure(6.0).epsilon(1e-6)
    assert together.delta(epsilon) <= 1e-6 < together.delta(epsilon - 1e-6)
    assert together.epsilon(0.9) == 0.0
    assert Tabulated(together.distribution()).delta(2.0) == pytest.approx(together.delta(2.0), abs=2e-3)
    assert rho_of(together) == pytest.approx(30 * 0.02)
    assert repeat(together, 2).delta(3.0) == pytest.approx(exact_responses(0.2, 60, 3.0), rel=1e-7)
