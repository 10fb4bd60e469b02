"""Designs for users who come again: they keep the guarantee for all of a user's episodes, and say what one of them costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from confide.lab.audit.sweep import swept
from confide.mdp import MixtureFeatures, Spec
from confide.privacy import ONCE, Guarantee, Joint, Local, Participation, Schedule, Shuffle, keeps
from confide.protocol.defaults import request_for
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.mixture import MixtureForm
from confide.protocol.trusts.joint import first_batch
from tests.refusals import refused

RIVER = CountQuestion(Spec(4, 2, 6))
OFTEN = Participation(4, 3)
PROMISES = [
    Joint(1.0, 1e-6),
    Joint(1.0),
    Joint(rho=0.5),
    Local(3.0),
    Local(1.0, 1e-6),
    Local(rho=0.5),
    Shuffle(1.0, 1e-6),
]
SLACK = 1e-4
"""Tables of losses are rounded up, by less than this."""


def designed(promise: Guarantee, participation: Participation = OFTEN) -> Design:
    return make(request_for(RIVER, promise, 20_000, participation=participation))


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_the_promise_covers_all_episodes_of_a_user_and_one_costs_less(promise: Guarantee) -> None:
    design, once = designed(promise), designed(promise, ONCE)
    taken = OFTEN if promise.trust == "joint" else Participation(4)
    assert design.participation == taken and once.participation == ONCE
    assert keeps(design.act.loss, promise)
    whole, part = (design.guarantee, design.guarantee_once)
    lost = (part.rho or 0) / (whole.rho or 1) if promise.rho else (part.epsilon or 0) / (whole.epsilon or 1)
    assert 0.05 < lost < 0.6
    assert design.guarantee.unit == taken.unit
    assert once.guarantee_once == once.guarantee


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_bytes_say_how_often_and_less_noise_for_as_often_is_refused(promise: Guarantee) -> None:
    design = designed(promise)
    read = Design.from_bytes(design.to_bytes())
    assert read.participation == design.participation and read.digest == design.digest
    if promise.trust == "joint":
        cheap = replace(design, act=replace(design.act, mechanism=replace(design.mechanism, participations=5)))
    else:
        cheap = replace(design, act=replace(design.act, times=5))
    with refused("design-unreadable"):
        Design.from_bytes(cheap.to_bytes())


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_the_certificate_prints_both_guarantees_and_what_they_rest_on(promise: Guarantee) -> None:
    design = designed(promise)
    text = str(design.certificate("replayable"))
    assert str(design.guarantee) in text and str(design.guarantee_once) in text
    assert "up to 4 times" in text and "up to 4 of them" in text
    assert "when people came" in text
    assert "takes part" not in str(designed(promise, ONCE).certificate("replayable"))


def test_questions_that_are_priced_for_one_episode_are_refused() -> None:
    mixture = MixtureForm(Spec(2, 2, 2), MixtureFeatures.one_hot(2, 2), np.array([1.0, 0.0]))
    for promise in (Joint(1.0, 1e-6), Local(1.0, 1e-6)):
        with refused("participation-not-priced"):
            make(Request(mixture, promise, Schedule.batches(100, 10), participation=OFTEN))


@pytest.mark.parametrize("promise", [Joint(1.0, 1e-6), Local(1.0)], ids=str)
def test_of_a_single_step_every_episode_is_charged_too(promise: Guarantee) -> None:
    design = make(request_for(CountQuestion(Spec(3, 2, 1)), promise, 1000, participation=Participation(3)))
    assert design.participation == Participation(3) and keeps(design.act.loss, promise)
    assert (design.guarantee_once.epsilon or 0) < 0.7 * (promise.epsilon or 0)


def test_first_batches_grow_with_the_noise() -> None:
    sizes = [
        first_batch(RIVER, Joint(1.0, 1e-6), often) for often in (ONCE, Participation(4, 20), Participation(16, 4))
    ]
    assert sizes[0] < 0.7 * sizes[1] < 0.4 * sizes[2]
    assert first_batch(RIVER, Joint(1.0), OFTEN) == pytest.approx(4 * first_batch(RIVER, Joint(1.0)), abs=4)


@pytest.mark.parametrize("mechanism", ["toeplitz", "buffered-toeplitz", "tree-gaussian", "tree-laplace"])
@pytest.mark.parametrize("often", [Participation(2, 2), Participation(3, 1)], ids=str)
def test_no_two_people_are_less_hidden_wherever_their_episodes_lie(mechanism: str, often: Participation) -> None:
    promise = Joint(1.0) if mechanism == "tree-laplace" else Joint(1.0, 0.01)
    question = CountQuestion(Spec(2, 2, 2))
    design = make(Request(question, promise, Schedule.batches(5, 5), mechanism=mechanism, participation=often))
    assert swept(design) <= promise.delta + SLACK
    cheap = make(Request(question, promise, Schedule.batches(5, 5), mechanism=mechanism))
    short = replace(cheap.mechanism, participations=often.times, separation=often.apart)
    assert swept(replace(cheap, act=replace(cheap.act, mechanism=short))) > promise.delta + SLACK
