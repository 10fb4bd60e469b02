"""Simulations of services without an end: the rule of the schedule is public, how many users come is not known."""

from __future__ import annotations

import numpy as np
import pytest

from confide.lab.simulation import simulate
from confide.lab.simulation.simulate import prepare
from confide.privacy import Guarantee, Joint, Local, NoPrivacy, Shuffle
from confide.protocol.defaults import ENDLESS
from tests.refusals import refused

WORLD = "riverswim/3"
PROMISES = [Joint(1.0, 1e-6), Local(2.0), Shuffle(1.0, 1e-6)]


@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_batches_and_noise_do_not_depend_on_how_many_come(promise: Guarantee) -> None:
    few, many = (prepare("ucbvi", WORLD, promise, users, expected=10_000, horizon=6) for users in (3_000, 30_000))
    assert few.design.digest == many.design.digest and few.design.schedule.users == ENDLESS
    played = few.schedule.ends
    assert played[-1] == 3_000 and (played[:-1] == few.design.schedule.ends[: len(played) - 1]).all()
    assert (many.schedule.ends[: len(played) - 1] == played[:-1]).all()
    assert few.context.users == many.context.users == 10_000


def test_a_counter_without_an_end_has_little_more_noise_than_one_that_knew() -> None:
    known = prepare("ucbvi", "riverswim/4", Joint(1.0, 1e-6), 100_000)
    endless = prepare("ucbvi", "riverswim/4", Joint(1.0, 1e-6), 100_000, expected=100_000)
    last = known.schedule.releases
    assert known.design.question == endless.design.question
    assert 1.0 < endless.design.mechanism.std(last) / known.design.mechanism.std(last) < 1.15
    assert endless.design.schedule.releases < 300


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("engine", ["batched", "plain"])
def test_it_is_played_up_to_whoever_comes_last(promise: Guarantee, engine: str) -> None:
    users = 1_500 if promise.trust == "shuffle" else 300
    run = simulate("ucbvi", WORLD, promise, users, seeds=1, engine=engine, expected=1_000, horizon=4)
    assert run.checkpoints[-1] == run.episodes == users
    assert np.isfinite(run.regret).all() and (np.diff(run.regret) >= -1e-9).all()
    assert 0 <= run.final_value[0] <= run.optimal_value + 1e-9


def test_what_has_a_schedule_of_its_own_has_an_end() -> None:
    for choices in ({"schedule": "batches:10"}, {"calibration": "sound"}):
        with refused("endless-needs-default"):
            prepare("ucbvi", WORLD, Joint(1.0, 1e-6), 100, expected=50, **choices)
    with refused("endless-needs-default"):
        prepare("ucbvi", WORLD, NoPrivacy(), 100, expected=50)
    with refused("not-a-whole-number: expected"):
        prepare("ucbvi", WORLD, Joint(1.0, 1e-6), 100, expected=0)
