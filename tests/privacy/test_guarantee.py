"""What may be guaranteed, how it is said, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from confide.errors import InvalidInput, UnknownName
from confide.privacy import ADD_REMOVE, REPLACE, Central, Guarantee, Joint, Local, NoPrivacy, Pure, Shuffle, keeps
from confide.privacy.conversion import gaussian_mu, zcdp_epsilon
from confide.privacy.guarantee import TRUSTS, rounded_down, rounded_up
from tests.refusals import refused


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, -math.inf, "one", True, 10**400])
def test_a_bad_epsilon_is_refused_with_the_way_out(epsilon: Any) -> None:
    for make in (Local, Joint, Central, Shuffle):
        with refused("not-positive: epsilon"):
            make(epsilon)


@pytest.mark.parametrize("delta", [1, 1.5, -1e-9, math.nan, math.inf, "small"])
def test_a_bad_delta_is_refused(delta: Any) -> None:
    with refused("not-a-delta: delta", match="pure epsilon"):
        Local(1.0, delta)


@pytest.mark.parametrize("rho", [0, -0.5, math.nan, math.inf])
def test_a_bad_rho_is_refused(rho: float) -> None:
    with pytest.raises(InvalidInput, match=r"^rho must be "):
        Central(rho=rho)


def test_a_promise_is_made_in_one_currency() -> None:
    with pytest.raises(InvalidInput, match="not both"):
        Central(1.0, rho=0.5)
    with pytest.raises(InvalidInput, match="takes no delta"):
        Central(delta=1e-6, rho=0.5)
    with pytest.raises(InvalidInput, match="needs epsilon"):
        Local()
    with pytest.raises(InvalidInput, match="has no guarantee"):
        Guarantee("none", 1.0)
    with pytest.raises(InvalidInput, match="has no guarantee"):
        Guarantee("none", rho=1.0)


def test_unknown_words_are_refused() -> None:
    with refused("unknown-name: trust"):
        Guarantee("jiont", 1.0)
    with pytest.raises(UnknownName, match="neighbours"):
        Guarantee("joint", 1.0, neighbours="some")


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (Local(1), "1-DP, local"),
        (Joint(0.5, 1e-6), "(0.5, 1e-06)-DP, joint"),
        (Central(rho=0.25), "0.25-zCDP, central"),
        (Shuffle(2.0, 1e-5), "(2, 1e-05)-DP, shuffle"),
        (NoPrivacy(), "no privacy"),
    ],
)
def test_how_a_promise_reads(promise: Guarantee, words: str) -> None:
    assert str(promise) == words


def test_pure_means_epsilon_without_delta() -> None:
    assert Local(1).pure
    assert not Local(1, 1e-9).pure
    assert not Central(rho=1).pure
    assert not NoPrivacy().pure


@given(st.sampled_from(TRUSTS[1:]), st.floats(1e-3, 50), st.floats(0, 0.5))
def test_epsilon_as_json(trust: str, epsilon: float, delta: float) -> None:
    document = Guarantee(trust, epsilon, delta).as_json()
    assert document == {"trust": trust, "epsilon": epsilon, "delta": delta, "rho": None, "converted": False}


def test_rho_as_json_is_converted_at_a_stated_delta() -> None:
    document = Central(rho=0.5).as_json()
    assert document == {
        "trust": "central",
        "epsilon": zcdp_epsilon(0.5, 1e-6),
        "delta": 1e-6,
        "rho": 0.5,
        "converted": True,
    }


def test_no_promise_as_json() -> None:
    assert NoPrivacy() == Guarantee.none()
    document = NoPrivacy().as_json()
    assert (document["trust"], document["epsilon"], document["rho"], document["converted"]) == (
        "none",
        None,
        None,
        False,
    )


def test_what_is_hidden_and_from_whom_are_part_of_the_promise() -> None:
    assert Local(1).neighbours == REPLACE
    assert Local(1).unit == "one person's whole trajectory"
    assert Guarantee("central", 1.0, neighbours=ADD_REMOVE) != Central(1.0)
    assert Joint(1) != Local(1)
    assert isinstance(Local(1).epsilon, float)


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (0.4999999, "0.5"),
        (1.0000004, "1.00001"),
        (1e-6, "1e-06"),
        (1.00000049e-6, "1.00001e-06"),
    ],
)
def test_promises_are_printed_rounded_up(number: float, printed: str) -> None:
    assert rounded_up(number) == printed and float(printed) >= number
    assert str(Central(rho=number)) == f"{printed}-zCDP, central"
    assert str(Local(number)) == f"{printed}-DP, local"
    assert str(Joint(number, 1.0000004e-7)) == f"({printed}, 1.00001e-07)-DP, joint"


@given(st.floats(1e-300, 1e300))
def test_what_is_printed_is_never_more_than_is_kept(number: float) -> None:
    up, down = float(rounded_up(number)), float(rounded_down(number))
    assert down <= number <= up <= number * (1 + 2e-5) and down >= number * (1 - 2e-5)
    assert float(rounded_down(-number)) <= -number


# What noise may spend.


@pytest.mark.parametrize("share", [1.0, 0.95, 0.05])
def test_the_mu_of_a_promise_or_of_a_share_of_it(share: float) -> None:
    """rho is mu^2/2; epsilon with delta is the mu of its normal; shares are of mu^2."""
    assert Local(rho=0.5).mu(share) == pytest.approx(math.sqrt(share))
    assert Local(rho=8.0).mu(share) == pytest.approx(4 * math.sqrt(share))
    assert Joint(1.0, 1e-6).mu(share) == pytest.approx(gaussian_mu(1.0, 1e-6) * math.sqrt(share))
    mu = Local(1.0, 1e-5).mu()
    assert ndtr(-1 / mu + mu / 2) - math.e * ndtr(-1 / mu - mu / 2) == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.parametrize("promise", [Local(1.0), NoPrivacy()], ids=str)
def test_no_gaussian_noise_keeps_a_pure_promise(promise: Guarantee) -> None:
    with pytest.raises(InvalidInput, match="needs delta above 0"):
        promise.mu()


@pytest.mark.parametrize("share", [1.0, 0.95, 0.05])
def test_the_pure_epsilon_of_a_promise_or_a_share_of_it(share: float) -> None:
    """rho allows sqrt(2 rho), or rho if that is larger; a share is of the epsilon, as epsilons add up."""
    assert Local(3.0).pure_epsilon(share) == 3.0 * share
    assert Joint(3.0, 1e-6).pure_epsilon(share) == 3.0 * share
    assert Local(rho=0.5).pure_epsilon(share) == pytest.approx(1.0 * share)
    assert Local(rho=8.0).pure_epsilon(share) == pytest.approx(8.0 * share)
    with pytest.raises(InvalidInput, match="needs a guarantee"):
        NoPrivacy().pure_epsilon(share)


@given(st.floats(1e-6, 1e4), st.floats(0.0, 1.0))
def test_shares_of_laplace_noise_keep_rho_together(rho: float, share: float) -> None:
    promise = Central(rho=rho)
    spent = promise.pure_epsilon(share) + promise.pure_epsilon(1 - share)
    assert min(spent**2 / 2, spent) <= rho * (1 + 1e-12)
    assert keeps(Pure(promise.pure_epsilon()), promise)
    assert spent == pytest.approx(promise.pure_epsilon())
