"""Noise on devices and shufflers together: what is guaranteed, what the papers print, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from confide import Local, Shuffle
from confide.errors import InvalidInput
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.unary import SampledStep
from confide.privacy import Certificate, Guarantee, Schedule
from confide.privacy.shuffling import ShuffledCrowd, shuffled_loss
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds import find as reading
from confide.protocol.kinds.bits import BitQuestion
from confide.protocol.kinds.counts import DROPPED, REWARDS, TRANSITIONS
from confide.protocol.shuffled_obi import claimed_epsilon
from confide.protocol.trusts.mixing import Mixing
from confide.protocol.trusts.shuffle import local_guarantee, remaining, smallest_batch
from confide.service.contract.intermediary import Intermediary, _check_tickets
from tests.refusals import refused

from .making import design

PROMISE = Shuffle(1.0, 1e-6)
TWO = CountQuestion(Spec(2, 2, 2), last=DROPPED)


def shuffle(
    question: CountQuestion,
    promise: Guarantee = PROMISE,
    batch: int = 200,
    users: int = 2000,
    calibration: str = "sound",
    mechanism: str = "auto",
    failure: float = 0.1,
    **mixing: Any,
) -> Design:
    mixed = Mixing(batch, **mixing)
    return design(question, promise, mixed.schedule(users), calibration, mechanism, "", mixed, failure)


# What is guaranteed.


@pytest.mark.parametrize(("batch", "p"), [(200, 0.5455), (1000, 0.2483), (5000, 0.0691)])
def test_figures_for_two_steps(batch: int, p: float) -> None:
    privatizer = shuffle(TWO, batch=batch, users=10 * batch)
    device = privatizer.devices[0]
    assert isinstance(device, RandomizedResponse)
    assert 2 * device.flip == pytest.approx(p, rel=3e-3)
    assert math.sqrt(batch * device.variance(2)) == pytest.approx(19.6, rel=3e-3)


def test_two_promises_the_sums_first() -> None:
    certificate = shuffle(TWO).certificate("replayable")
    joint, local = certificate.promises
    assert joint.true.trust == "shuffle" and local.true.trust == "local"
    assert joint.true.epsilon == pytest.approx(1.0, rel=1e-3) and joint.true.epsilon <= 1 and joint.true.delta == 1e-6
    flip = certificate.mechanisms[0]["flip"]
    assert local.true.epsilon == pytest.approx(10 * math.log((1 - flip) / flip)) and local.true.pure
    assert Certificate.from_json(certificate.as_json()) == certificate
    text = str(certificate)
    assert "sums of full batches" in text and "at least 200 of the 200 people of a batch are honest" in text


def test_batches_that_widen_keep_the_promise_with_flips_of_their_own() -> None:
    privatizer = shuffle(TWO, batch=100, users=6400, widening=True)
    flips = [device.flip for device in privatizer.devices]
    assert len(flips) == 3 and flips == sorted(flips, reverse=True)
    assert privatizer.guarantee.epsilon <= 1 and privatizer.guarantee.epsilon == pytest.approx(1.0, rel=1e-3)
    for level, flip in enumerate(flips):
        loss = shuffled_loss((ShuffledCrowd(flip, 100 << level),), round(privatizer.question.price().l1))
        assert loss.delta(1.0) <= 1e-6
    alone = local_guarantee(privatizer)
    assert alone.epsilon == pytest.approx(10 * math.log((1 - flips[-1]) / flips[-1]))
    again = Design.from_bytes(privatizer.to_bytes())
    assert again.digest == privatizer.digest and again.schedule == privatizer.schedule
    noise = [float(privatizer.law(people).variance()) for people in (1600, 1600 + 200, 1600 + 399)]
    each = 1600 * privatizer.devices[0].variance()
    assert noise[0] == pytest.approx(each)
    assert noise[1] == noise[2] == pytest.approx(each + 200 * privatizer.devices[1].variance())
    assert "later batches are up to 4 times as large" in str(privatizer.certificate("replayable"))
    fewer = remaining(privatizer, 50)
    assert fewer.epsilon > 1 and fewer.epsilon < alone.epsilon


def test_crowds_that_are_not_those_of_the_batches_are_refused() -> None:
    privatizer = shuffle(TWO, batch=100, users=6400, widening=True)
    together = replace(privatizer.act, mechanism=replace(privatizer.mechanism, apart=False))
    with refused("sizes-of-other-batches"):
        replace(privatizer, act=together).verified()
    equal = shuffle(TWO, batch=100, users=6400)
    with refused("sizes-of-other-batches"):
        replace(equal, mixing=privatizer.mixing).verified()
    with refused("shuffle-schedule", match="100 people"):
        design(TWO, PROMISE, Schedule.sized(6400, 100), "sound", "auto", "", Mixing(100, widening=True), 0.1)


def test_no_service_takes_a_tree_of_shufflers() -> None:
    """It has one shuffler, to which a person reports once."""
    about = Intermediary("shuffler", "somebody", bytes(32), tickets=400)
    with pytest.raises(ValueError, match="choose no tree"):
        _check_tickets(about, shuffle(TWO, batch=200, users=6400, tree=True))
    _check_tickets(about, shuffle(TWO, batch=200, users=6400, widening=True))


def test_the_promise_is_the_loss_of_the_bits_that_are_really_flipped() -> None:
    privatizer = shuffle(TWO, calibration="tight")
    (device,) = privatizer.devices
    assert isinstance(device, RandomizedResponse)
    loss = shuffled_loss((ShuffledCrowd(device.flip, 200),), round(privatizer.question.price().l1))
    assert loss.epsilon(1e-6) == pytest.approx(privatizer.guarantee.epsilon, rel=1e-9)


def test_tight_never_adds_more_noise_than_sound() -> None:
    for horizon in (1, 2, 5):
        question = CountQuestion(Spec(2, 2, horizon), last=DROPPED)
        sound, tight = (shuffle(question, calibration=calibration) for calibration in ("sound", "tight"))
        noises = [reading(one.question.kind).backup_variance(one.question, one.devices[0]) for one in (tight, sound)]
        assert noises[0] <= noises[1]
    assert noises[0] < 0.9 * noises[1] and tight.question.counts.parts == (REWARDS, TRANSITIONS)


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_a_sampled_step_has_its_own_accounting(model: str) -> None:
    question = CountQuestion(Spec(2, 2, 4, model))
    privatizer = shuffle(question, batch=2000, users=4000, calibration="tight", mechanism="shuffled-step")
    (device,), (crowd,) = privatizer.devices, privatizer.mechanism.crowds
    assert isinstance(device, SampledStep) and device.miss == pytest.approx(crowd.flip)
    assert local_guarantee(privatizer).epsilon == pytest.approx(device.epsilon)
    assert privatizer.guarantee.epsilon == pytest.approx(1.0, rel=1e-3)
    if model == STATIONARY:
        assert crowd.people == 2000 and privatizer.mechanism.missing == 0
    else:  # as many as surely draw the same step, but for a part of delta
        missing = privatizer.mechanism.missing
        assert 0 < missing < 1e-6
        assert 1 - stats.binom.sf(crowd.people - 2, 1999, 1 / 4) <= missing
        assert crowd.people > 300
    # Far fewer bits may change, so devices keep far more by themselves.
    whole = shuffle(question, batch=2000, users=4000, calibration="tight", mechanism="shuffled-bits")
    assert (local_guarantee(privatizer).epsilon or 0) < 0.5 * (local_guarantee(whole).epsilon or 0)


def test_honest_people_are_what_hides() -> None:
    some, all_of_them = shuffle(TWO, honest=0.5), shuffle(TWO)
    half = shuffle(TWO, batch=100, users=1000)
    assert some.devices == half.devices
    assert shuffle(TWO, honest=100).devices == half.devices
    left = remaining(all_of_them, 100)
    assert left.trust == "shuffle" and 1.2 < (left.epsilon or 0) < 2.0
    assert remaining(all_of_them, 200).epsilon == pytest.approx(1.0, rel=1e-3)


def test_alone_only_the_device_is_left() -> None:
    privatizer = shuffle(TWO, batch=20, users=200)
    left = remaining(privatizer, 1)
    alone = local_guarantee(privatizer)
    assert (left.epsilon or 0) <= (alone.epsilon or 0)


def test_a_tree_charges_every_level() -> None:
    plain, tree = shuffle(TWO, batch=50, users=400), shuffle(TWO, batch=50, users=400, tree=True)
    assert len(plain.devices) == 1 and len(tree.devices) == 4  # 8 base batches
    crowds = tree.mechanism.crowds
    assert [crowd.people for crowd in crowds] == [50, 100, 200, 400]
    assert tree.guarantee.epsilon == pytest.approx(1.0, rel=1e-3)
    assert crowds[0].variance > 3.5 * plain.mechanism.crowds[0].variance
    assert local_guarantee(tree).epsilon == pytest.approx(10 * sum(crowd.bit_epsilon for crowd in crowds))
    # After 7 batches three nodes count, after 8 one.
    seven, eight = tree.radii(350, 0.1)[3], tree.radii(400, 0.1)[3]
    assert seven / eight == pytest.approx(math.sqrt(3), rel=0.05)


# The paper's protocol.


def paper(promise: Guarantee = PROMISE, **mixing: Any) -> Design:
    return design(TWO, promise, Schedule.every(10**6), "paper", mixing=Mixing(2, **mixing))


def test_the_papers_protocol_promises_locally_only_and_says_why() -> None:
    privatizer = paper(local_epsilon=6.0, burn_in=1000)
    certificate = privatizer.certificate("replayable")
    (promise,) = certificate.promises
    assert promise.true == Local(6.0 * 10 / 12) and promise.nominal == Local(6.0)
    assert certificate.calibration == "paper"
    assert "differ by exactly one person's report" in certificate.assumptions[0]
    assert Certificate.from_json(certificate.as_json()) == certificate


def test_the_papers_noise_is_that_of_proposition_five() -> None:
    privatizer = paper(burn_in=10**6)
    device = privatizer.mechanism
    assert isinstance(device, RandomizedResponse)
    assert claimed_epsilon(device.flip, 10**6, 2, 1e-6) == pytest.approx(1.0, rel=1e-6)
    assert claimed_epsilon(device.flip * 0.99, 10**6, 2, 1e-6) > 1.0


def test_proposition_five_is_vacuous_for_all_practical_sizes() -> None:
    assert claimed_epsilon(0.25, 10**6, 2, 1e-6) > 10
    assert claimed_epsilon(0.25, 1, 2, 1e-6) == math.inf


def test_the_papers_noise_with_several_reward_bits() -> None:
    """Lemma 4: epsilon/((4 + 2m)H) a bit, of which (4 + 2m)H - 2 can change."""
    made = paper(local_epsilon=6.0, reward_bits=3)
    assert made.mechanism.bit_epsilon == pytest.approx(6.0 / 20)
    (promise,) = made.certificate("replayable").promises
    assert promise.true.epsilon == pytest.approx(6.0 * 18 / 20) and promise.nominal == Local(6.0)


@pytest.mark.parametrize(
    ("mixing", "reason"),
    [
        ({"burn_in": 1000}, "proposition-burn-in"),
        ({"local_epsilon": 0.5}, "local-epsilon-not-above"),
    ],
)
def test_where_the_paper_says_nothing(mixing: dict[str, Any], reason: str) -> None:
    with refused(reason):
        paper(**mixing)


# What is refused.


@pytest.mark.parametrize(
    ("mixing", "reason"),
    [
        ({"batch": 1}, "not-a-whole-number: batch"),
        ({"batch": 0}, "not-a-whole-number: batch"),
        ({"batch": 10, "honest": 0.0}, "not-positive: honest"),
        ({"batch": 10, "honest": 11}, "honest-above-batch"),
        ({"batch": 10, "honest": 0.15}, "honest-below-two"),
        ({"batch": 10, "reward_bits": 0}, "not-a-whole-number: reward_bits"),
        ({"batch": 10, "local_epsilon": -1.0}, "not-positive: local_epsilon"),
        ({"batch": 10, "burn_in": -1}, "not-a-whole-number: burn_in"),
    ],
)
def test_impossible_mixings(mixing: dict[str, Any], reason: str) -> None:
    with refused(reason):
        Mixing(**mixing)


def test_a_batch_that_is_too_small_is_answered_with_the_smallest_that_works() -> None:
    least = smallest_batch(BitQuestion(TWO), PROMISE, 15.0)
    with refused("batch-too-small", match=rf"200 people.* {least:,}\."):
        shuffle(TWO, local_epsilon=15.0)
    assert local_guarantee(shuffle(TWO, batch=least, users=9999, local_epsilon=15.0)).epsilon == pytest.approx(15.0)
    with pytest.raises(InvalidInput, match="too small"):
        shuffle(TWO, batch=least - 1, users=9999, local_epsilon=15.0)
    # With every second person honest, twice as many.
    assert abs(smallest_batch(BitQuestion(TWO), PROMISE, 15.0, share=0.5) - 2 * least) <= 1


@pytest.mark.parametrize(
    ("promise", "choices", "reason"),
    [
        (Shuffle(1.0), {}, "batch-needs-delta"),
        (PROMISE, {"local_epsilon": 0.9}, "local-epsilon-not-above"),
        (PROMISE, {"mechanism": "laplace"}, "unknown-name: mechanism"),
        (PROMISE, {"mechanism": "shuffled-step", "tree": True}, "tree-needs-shuffled-bits"),
        (PROMISE, {"mechanism": "shuffled-step", "widening": True}, "tree-needs-shuffled-bits"),
        (PROMISE, {"mechanism": "shuffled-step", "reward_bits": 2}, "category-reward-bits"),
    ],
)
def test_impossible_promises(promise: Guarantee, choices: dict[str, Any], reason: str) -> None:
    with refused(reason):
        shuffle(TWO, promise, **choices)


def test_policies_change_only_between_batches() -> None:
    for schedule in (Schedule.every(2000), Schedule.sized(2000, 100), Schedule.growth(2000, 2.0)):
        with refused("shuffle-schedule", match="200 people"):
            design(TWO, PROMISE, schedule, "sound", mixing=Mixing(200))
    with pytest.raises(InvalidInput, match="Give a batch"):
        design(TWO, PROMISE, Schedule.sized(2000, 200))
