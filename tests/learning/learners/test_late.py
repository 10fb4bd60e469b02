"""People who come late are weighed by the visits that were expected of them, not by those expected of people who come now."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from confide.learning.learners import Context
from confide.learning.learners import make as learner_of
from confide.learning.learners.late import expected_visits, learn_late
from confide.learning.learners.learner import State
from confide.mdp import Spec
from confide.privacy import Local, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import ReportAggregate, Sum
from confide.protocol.releases.release import CountRelease

SPEC = Spec(3, 2, 4)
DESIGN = make(Request(CountQuestion(SPEC), Local(4.0), Schedule.batches(4000, 4), mechanism="k-ary"))


def releases() -> list[CountRelease]:
    """About 1000, 1400 and 2000 people who reported anything."""
    rng, aggregate, result = np.random.default_rng(1), ReportAggregate(DESIGN), []
    for many in (1000, 400, 600):
        drawn = rng.multinomial(many, rng.dirichlet(np.ones(DESIGN.question.width)))
        aggregate.take_sum(Sum(DESIGN.digest, drawn[None].astype(np.int64), np.array([many])))
        result.append(aggregate.close())
    return result


def begun(learner) -> State:
    return learner.begin(Context(SPEC, 4000), np.random.default_rng(0))


@pytest.mark.parametrize("name", ["ucbvi", "po"])
def test_weights_are_those_of_the_round_that_people_followed(name: str) -> None:
    """u = (1 + v/H) rho / (rho + v), with one v for all pairs, whatever it is: and nothing else of the state is touched."""
    learner, (first, second, _) = learner_of(name, **({"objective": "reward"} if name == "po" else {})), releases()
    state = learner.learn(begun(learner), first)
    now = expected_visits(state)
    then = np.linspace(0.1, 1.5, now.size).reshape(now.shape)
    after = learn_late(learner, state, second, then)
    weight = np.sqrt((after.memory.weighted.people - state.memory.weighted.people) / 400)
    v = then * (1 - weight) / (weight - then / SPEC.horizon)
    assert v == pytest.approx(np.full(v.shape, v.flat[0])) and v.flat[0] > 0
    given = weight * (second.counts.visits - first.counts.visits)
    assert after.memory.weighted.counts.visits - state.memory.weighted.counts.visits == pytest.approx(given)
    assert np.array_equal(expected_visits(after), now) and np.array_equal(after.policy, state.policy)
    assert after.users == 1400 and np.array_equal(after.values, state.values)
    for name in set(state.memory._fields) - {"weighted", "work"}:
        kept, before = getattr(after.memory, name), getattr(state.memory, name)
        both = zip(kept, before, strict=True) if isinstance(kept, tuple) else [(kept, before)]
        assert all(np.array_equal(one, other) for one, other in both)


def test_who_followed_the_same_policy_may_be_told_apart_or_not() -> None:
    learner, (first, second, third) = learner_of("ucbvi"), releases()
    state = learner.learn(begun(learner), first)
    apart = learner.learn(learn_late(learner, state, second, expected_visits(state)), third)
    once = learner.learn(state, third)
    assert apart.memory.weighted.people == pytest.approx(
        once.memory.weighted.people, rel=0.01
    )  # a radius grows a little faster than a root
    assert np.array_equal(apart.policy, once.policy)


def test_a_round_of_people_who_are_late_only_is_learned_from() -> None:
    """No one follows the round's own policy: what the late ones reported is planned on all the same."""
    learner, (first, second, _) = learner_of("ucbvi"), releases()
    state = learner.learn(begun(learner), first)
    late = learner.learn(learn_late(learner, state, second, expected_visits(state)), second)
    once = learner.learn(state, second)
    assert np.array_equal(late.policy, once.policy) and np.array_equal(late.values, once.values)
    assert np.array_equal(expected_visits(late), expected_visits(once))


def test_a_round_that_nobody_came_to_leaves_no_trace_in_what_is_expected() -> None:
    """The next user follows the last policy, and no other."""
    learner, (first, *_) = learner_of("ucbvi"), releases()
    state = learner.learn(begun(learner), first)
    again = learner.learn(state, first)
    elsewhere = state.memory.weighted._replace(expected=np.zeros_like(expected_visits(state)))
    nowhere = learner.learn(replace(state, memory=state.memory._replace(weighted=elsewhere)), first)
    assert np.array_equal(expected_visits(again), expected_visits(nowhere))


def test_learners_that_weigh_nobody_learn_the_same() -> None:
    learner, first = learner_of("ucbvi", bonus="private"), releases()[0]
    state = begun(learner)
    assert expected_visits(state) is None
    assert learn_late(learner, state, first, np.ones((1, 3, 2))) is state
