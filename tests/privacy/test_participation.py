"""How often one user takes part, and what each of their answers may then lose."""

from __future__ import annotations

import pytest

from confide.mechanisms.gaussian import Gaussian
from confide.privacy import ONCE, Guarantee, Local, Participation, Pure, Sensitivity, keeps, one_of, repeat
from confide.privacy.guarantee import UNIT
from confide.privacy.shuffling import ShuffledCrowd, shuffled_loss
from tests.refusals import refused

ONE = Sensitivity(1.0, 1.0, ((1.0, 1),), 1)
PROMISES = [Local(1.0), Local(1.0, 1e-6), Local(8.0, 1e-3), Local(rho=0.3)]
TIMES = [1, 2, 7, 64, 1000]


def test_in_so_many_groups_fits_only_so_much() -> None:
    often = Participation(16, 4)
    assert [often.within(groups) for groups in (1, 4, 5, 60, 61, 1000)] == [1, 1, 2, 15, 16, 16]
    assert str(often) == "up to 16 times, at least 4 batches apart" and str(ONCE) == "once"
    assert ONCE.unit == UNIT != often.unit and "16" in often.unit
    with refused("not-a-whole-number: returns"):
        Participation(0)
    with refused("not-a-whole-number: apart"):
        Participation(2, 0)


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("times", TIMES)
def test_answers_of_pure_noise_together_keep_the_promise_and_more_of_them_do_not(
    promise: Guarantee, times: int
) -> None:
    each = one_of(promise, times, pure=True).pure_epsilon()
    assert keeps(repeat(Pure(each), times), promise)
    assert times == 1 or not keeps(repeat(Pure(each * (1 + 1e-5)), times), promise)


@pytest.mark.parametrize("promise", PROMISES[1:], ids=str)
@pytest.mark.parametrize("times", TIMES)
def test_answers_of_gaussian_noise_together_keep_the_promise_and_with_less_do_not(
    promise: Guarantee, times: int
) -> None:
    noise = Gaussian.keeping(one_of(promise, times, gaussian=True), ONE, 1.0)
    assert keeps(repeat(noise.loss(ONE), times), promise)
    assert not keeps(repeat(Gaussian(noise.sigma * (1 - 1e-3), noise.grid).loss(ONE), times), promise)


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_any_other_noise_shares_what_there_is(promise: Guarantee) -> None:
    each = one_of(promise, 5)
    if promise.rho is not None:
        assert each.rho == pytest.approx(promise.rho / 5)
    else:
        assert (each.epsilon, each.delta) == pytest.approx(((promise.epsilon or 0) / 5, promise.delta / 5))


def test_exact_composition_gives_each_of_many_pure_answers_more_than_its_share() -> None:
    assert one_of(Local(1.0, 1e-6), 1000, pure=True).pure_epsilon() > 4e-3


def test_sums_of_several_batches_compose_as_those_of_one_with_as_many_bits() -> None:
    """A user of m batches changes m times as many bits, each among as many others."""
    crowd = (ShuffledCrowd(0.2, 400),)
    for epsilon in (0.5, 1.0, 2.0):
        again = repeat(shuffled_loss(crowd, 4), 3).delta(epsilon)
        assert again == pytest.approx(shuffled_loss(crowd, 12).delta(epsilon), rel=1e-6)
    certain = shuffled_loss(crowd, 4, 1e-4)
    assert repeat(certain, 3).delta(50.0) == pytest.approx(3e-4, rel=1e-3)
