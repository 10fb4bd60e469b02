"""Sizes, models and policies: what they accept, what they refuse, and that nothing in them changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import InvalidInput
from confide.mdp import PER_STEP, STATIONARY, Model, Policy, Spec
from tests.refusals import refused


def world(layers: int = 1, horizon: int = 3, **changes: Any) -> Model:
    parts: dict[str, Any] = {
        "transitions": np.full((layers, 2, 2, 2), 0.5),
        "rewards": np.full((layers, 2, 2), 0.25),
        "initial": np.array([0.75, 0.25]),
        "horizon": horizon,
    }
    return Model(**{**parts, **changes})


# Spec.


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 50))
def test_the_leading_axis(states: int, actions: int, horizon: int) -> None:
    spec = Spec(states, actions, horizon)
    assert spec.dynamics == STATIONARY
    assert spec.layers == 1
    assert spec.with_dynamics(PER_STEP).layers == horizon
    assert spec.with_dynamics(PER_STEP).with_dynamics(STATIONARY) == spec


def test_whole_floats_become_integers() -> None:
    spec = Spec(2.0, 3.0, 1e3)  # type: ignore[arg-type]
    assert spec == Spec(2, 3, 1000)
    assert all(isinstance(size, int) for size in (spec.states, spec.actions, spec.horizon))


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, "two", None, True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_bad_sizes_are_refused(bad: Any, place: int) -> None:
    sizes: list[Any] = [2, 2, 2]
    sizes[place] = bad
    with refused(f"not-a-whole-number: {('states', 'actions', 'horizon')[place]}"):
        Spec(*sizes)


def test_an_unknown_kind_of_model_is_refused() -> None:
    with refused("unknown-name: model"):
        Spec(2, 2, 2, "perstep")


# Model.


def test_a_model_knows_its_sizes() -> None:
    assert world().spec == Spec(2, 2, 3, STATIONARY)
    assert world(layers=3).spec == Spec(2, 2, 3, PER_STEP)
    assert world(layers=1, horizon=1).spec.layers == 1


def test_one_layer_for_each_step() -> None:
    model = world().per_step()
    assert model.spec == Spec(2, 2, 3, PER_STEP)
    assert model.transitions.shape == (3, 2, 2, 2)
    again = model.per_step()
    assert np.array_equal(again.transitions, model.transitions)
    deep = world(layers=3, rewards=np.arange(12).reshape(3, 2, 2) / 12)
    assert np.array_equal(deep.per_step().rewards, deep.rewards)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"transitions": np.full((2, 2, 2, 2), 0.5)}, "model-layers"),
        ({"transitions": np.full((1, 2, 2, 3), 1 / 3)}, "wrong-shape: transitions"),
        ({"transitions": np.full((1, 2, 2), 0.5)}, "wrong-shape: transitions"),
        (
            {"transitions": np.full((2, 2), 0.5)},
            "wrong-shape: transitions",
        ),
        ({"rewards": np.zeros(2)}, "wrong-shape: rewards"),
        ({"transitions": np.full((1, 2, 2, 2), 0.4)}, "probabilities-not-summing-to-one: transitions"),
        ({"transitions": np.tile([1.5, -0.5], (1, 2, 2, 1))}, "negative-probability: transitions"),
        ({"transitions": np.full((1, 2, 2, 2), np.nan)}, "not-finite: transitions"),
        ({"transitions": np.zeros((1, 0, 2, 0))}, "empty-array: transitions"),
        ({"rewards": np.full((1, 2, 2), 1.5)}, "rewards-out-of-range"),
        ({"rewards": np.full((1, 2, 2), -0.1)}, "rewards-out-of-range"),
        ({"rewards": np.full((1, 2, 3), 0.5)}, "wrong-shape: rewards"),
        ({"initial": np.array([0.5, 0.6])}, "probabilities-not-summing-to-one: initial"),
        ({"initial": np.array([1.0])}, "wrong-shape: initial"),
        ({"horizon": 0}, "not-a-whole-number: horizon"),
    ],
)
def test_bad_worlds_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with refused(sentence):
        world(**changes)


# Policy.


def test_uniform_and_deterministic_policies() -> None:
    assert Policy.uniform(2, 3, 4).probabilities.tolist() == np.full((2, 3, 4), 0.25).tolist()
    chosen = np.array([[0, 2], [1, 1]])
    policy = Policy.deterministic(chosen, 3)
    assert np.array_equal(policy.actions, chosen)
    assert policy.act(0, 1) == 2
    assert policy.act(0, 1, np.random.default_rng(0)) == 2


def test_actions_are_drawn_with_their_probabilities() -> None:
    policy, rng = Policy(np.array([[[0.2, 0.0, 0.8]]])), np.random.default_rng(0)
    drawn = np.bincount([policy.act(0, 0, rng) for _ in range(4000)], minlength=3)
    assert drawn[1] == 0
    assert 0.17 < drawn[0] / 4000 < 0.23
    assert policy.act(0, 0) == 2


@pytest.mark.parametrize(
    "table", [np.full((1, 1, 2), 0.4), np.array([[[1.5, -0.5]]]), np.full((1, 2), 0.5), np.zeros((1, 1, 0)), [[["a"]]]]
)
def test_bad_policies_are_refused(table: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^policy must "):
        Policy(table)


@pytest.mark.parametrize("chosen", [[[0, 3]], [[0, -1]], [[0.5, 0]]])
def test_actions_that_do_not_exist_are_refused(chosen: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^actions must "):
        Policy.deterministic(np.array(chosen), 3)


@pytest.mark.parametrize(("step", "state"), [(2, 0), (-1, 0), (0, 2), (0, -1), (0.5, 0)])
def test_steps_and_states_that_do_not_exist_are_refused(step: Any, state: Any) -> None:
    with refused("not-a-whole-number"):
        Policy.uniform(2, 2, 2).act(step, state)


def test_a_stationary_model_may_leave_out_its_layer() -> None:
    whole = world()
    plain = Model(whole.transitions[0], whole.rewards[0], whole.initial, whole.horizon)
    assert plain.spec == whole.spec and plain.transitions.shape == whole.transitions.shape == (1, 2, 2, 2)
    assert np.array_equal(plain.rewards, whole.rewards)
