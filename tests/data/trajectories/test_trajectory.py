"""Episodes from outside: accepted, or refused by position and never by content."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.errors import InvalidInput
from confide.mdp import Spec
from confide.privacy import Joint, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import open_aggregate
from tests.refusals import refused

SPEC = Spec(states=5, actions=3, horizon=4)


def episode(states: Any = (0, 4, 2), actions: Any = (0, 2), rewards: Any = (0.0, 1.0)) -> Trajectory:
    return Trajectory.checked(SPEC, states, actions, rewards)


@st.composite
def episodes(draw: st.DrawFn) -> tuple[list[int], list[int], list[float]]:
    steps = draw(st.integers(0, SPEC.horizon))
    known = draw(st.booleans())
    states = draw(st.lists(st.integers(0, 4), min_size=steps + known, max_size=steps + known))
    actions = draw(st.lists(st.integers(0, 2), min_size=steps, max_size=steps))
    return states, actions, draw(st.lists(st.floats(0, 1), min_size=steps, max_size=steps))


@given(episodes())
def test_what_is_right_is_accepted_as_it_is(given_episode: tuple[list[int], list[int], list[float]]) -> None:
    states, actions, rewards = given_episode
    result = Trajectory.checked(SPEC, states, actions, rewards)
    assert result.states.tolist() == states
    assert result.actions.tolist() == actions
    assert result.rewards.tolist() == rewards
    assert result.steps == len(actions)
    assert result.ended_known == (len(states) > len(actions))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"states": (0, 5, 2)},
            "index-out-of-range: states",
        ),
        ({"states": (0, -1, 2)}, "index-out-of-range: states"),
        ({"actions": (0, 3)}, "index-out-of-range: actions"),
        ({"actions": (0, 1.5)}, "not-a-list-of-whole-numbers: actions"),
        ({"states": (0, math.nan, 1)}, "not-a-list-of-whole-numbers: states"),
        ({"states": [[0], [1, 2]]}, "not-a-list-of-whole-numbers: states"),
        ({"states": "012"}, "not-a-list-of-whole-numbers: states"),
        ({"rewards": (0.0, 1.1)}, "reward-out-of-range"),
        ({"rewards": (-0.1, 1.0)}, "reward-out-of-range"),
        ({"rewards": (0.0, math.nan)}, "not-finite: rewards"),
        ({"rewards": (0.0, math.inf)}, "not-finite: rewards"),
        ({"rewards": (0.0,)}, "episode-lengths"),
        ({"states": (0,)}, "episode-lengths"),
        ({"states": (0, 1, 2, 3)}, "episode-lengths"),
        ({"rewards": [[0.0, 1.0]]}, "wrong-shape: rewards"),
    ],
)
def test_what_is_wrong_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with refused(sentence):
        episode(**changes)


def test_an_episode_longer_than_the_horizon_is_refused() -> None:
    with refused("episode-too-long", match="4 steps.*Got 5"):
        episode([0] * 6, [0] * 5, [0.0] * 5)


def test_no_message_shows_what_is_in_an_episode() -> None:
    for changes in ({"states": (0, 77777, 2)}, {"rewards": (0.0, 55555.5)}, {"actions": (0, 88888)}):
        with pytest.raises(InvalidInput) as caught:
            episode(**changes)
        assert not any(digits in str(caught.value) for digits in ("77777", "55555", "88888"))


def test_a_repr_shows_shapes_only() -> None:
    result = episode(states=(3, 4, 1))
    assert repr(result) == str(result) == f"{result}" == "Trajectory(steps=2)"
    assert repr([result]) == "[Trajectory(steps=2)]"


def test_an_empty_episode_is_an_episode() -> None:
    assert episode((), (), ()).steps == 0
    assert not episode((), (), ()).ended_known
    assert episode((3,), (), ()).ended_known
    assert np.asarray(episode((), (), ()).rewards).shape == (0,)


def test_a_device_under_joint_trust_has_no_report_to_send() -> None:
    """As in the README, with `Joint` in place of `Local`."""
    spec = Spec(3, 2, 2)
    design = make(Request(CountQuestion(spec), Joint(1.0, 1e-6), Schedule.every(1000)))
    message = respond(design, None, Trajectory.checked(spec, [0, 1, 2], [1, 1], [0.0, 1.0]))
    with refused("episode-is-no-report"):
        message.to_bytes(design)
    with refused("messages-are-episodes"):
        open_aggregate(design)
