"""Gymnasium's worlds are given exactly, those without a table can be played, and ours can be lent to Gymnasium."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from confide.errors import InvalidInput
from confide.lab.environments import Environment, as_gymnasium, from_gymnasium, make
from confide.mdp import PER_STEP, Model, Policy
from tests.refusals import refused

FALSE_ALARM = 1e-6
"""Of each statistical check, were its seed not fixed."""

TAXI = next(name for name in ("Taxi-v4", "Taxi-v3") if name in gymnasium.registry)
CLIFF = next(name for name in ("CliffWalking-v1", "CliffWalking-v0") if name in gymnasium.registry)
NAMES = ["FrozenLake-v1", TAXI, CLIFF]

Optimal = Callable[[Model], float]
Value = Callable[[Model, Policy], float]


def peoples_value(world: Any, horizon: int, policy: Policy | None = None) -> float:
    """Exact expected total in the world's own rewards, from its table: what has ended has the value 0."""
    states, actions = world.observation_space.n, world.action_space.n
    values = np.zeros(states)
    for step in reversed(range(horizon)):
        quality = np.zeros((states, actions))
        for state in range(states):
            for action in range(actions):
                for chance, after, reward, ended in world.P[state][action]:
                    quality[state, action] += chance * (reward + (0.0 if ended else values[after]))
        values = quality.max(axis=1) if policy is None else (policy.probabilities[step] * quality).sum(axis=1)
    return float(world.initial_state_distrib @ values)


def mostly(actions: np.ndarray, size: int) -> Policy:
    """The given actions (H, S) nine times in ten, any action otherwise."""
    return Policy(0.9 * np.eye(size)[actions] + 0.1 / size)


@pytest.mark.parametrize("name", NAMES)
def test_totals_are_exact_in_peoples_units(name: str, optimal: Optimal, value: Value) -> None:
    horizon = 20
    environment, world = make(f"gymnasium:{name}", horizon=horizon), gymnasium.make(name).unwrapped
    model = environment.model
    assert model is not None
    assert environment.spec.states == world.observation_space.n  # type: ignore[attr-defined]
    assert environment.scale.to_people(optimal(model), horizon) == pytest.approx(
        peoples_value(world, horizon), abs=1e-9
    )
    uniform = Policy.uniform(horizon, environment.spec.states, environment.spec.actions)
    expected = peoples_value(world, horizon, uniform)
    assert environment.scale.to_people(value(model, uniform), horizon) == pytest.approx(expected, abs=1e-9)


def test_values_that_are_known(optimal: Optimal) -> None:
    cliff, lake = make(f"gymnasium:{CLIFF}", horizon=30), make("gymnasium:FrozenLake-v1", horizon=100)
    assert cliff.model is not None and lake.model is not None
    assert (cliff.scale.low, cliff.scale.high) == (-100, 0)
    assert cliff.scale.to_people(optimal(cliff.model), 30) == pytest.approx(-13)  # thirteen moves along the edge
    assert optimal(lake.model) == pytest.approx(0.74, abs=0.005)  # Gymnasium registers "optimum = 0.74"
    dry = make("gymnasium:FrozenLake-v1?is_slippery=false", horizon=6)
    assert dry.model is not None and dry.address == "gymnasium:FrozenLake-v1?is_slippery=false"
    assert optimal(dry.model) == 1


@pytest.mark.parametrize("name", NAMES)
def test_models_agree_with_the_worlds_they_describe(name: str, value: Value, best_actions: Callable[..., Any]) -> None:
    """People walk the real world; where they are at each step, and what they are paid, is what the model says."""
    horizon, people = 20, 1500
    environment, world = make(f"gymnasium:{name}", horizon=horizon), gymnasium.make(name)
    model, spec = environment.model, environment.spec
    assert model is not None
    policy = mostly(best_actions(model), spec.actions)
    rng = np.random.default_rng(11)
    paid, visits = np.zeros(people), np.zeros((horizon, spec.states))
    for person in range(people):
        state, _ = world.reset(seed=17 if person == 0 else None)
        ended = False
        for step in range(horizon):
            visits[step, state] += 1
            if not ended:
                action = int(np.searchsorted(policy.probabilities[step, state].cumsum(), rng.random()))
                state, reward, ended, _, _ = world.step(action)
                paid[person] += float(reward)
    occupancy, expected = model.initial, np.zeros((horizon, spec.states))
    for step in range(horizon):
        expected[step] = occupancy
        occupancy = np.einsum("s,sa,san->n", occupancy, policy.probabilities[step], model.transitions[0])
    # Hoeffding for every cell at once
    radius = math.sqrt(math.log(2 * expected.size / FALSE_ALARM) / (2 * people))
    assert np.abs(visits / people - expected).max() < radius
    assert expected[-1].max() > radius  # not satisfied by an empty world
    exact = environment.scale.to_people(value(model, policy), horizon)
    radius = NormalDist().inv_cdf(1 - FALSE_ALARM / 2) * paid.std() / math.sqrt(people)
    assert abs(paid.mean() - exact) < radius
    # and a model whose ends pay the least reward instead of zero would be noticed, where the two differ
    if environment.scale.low < 0:
        ends = [s for s in range(spec.states) if (model.transitions[0, s, :, s] == 1).all()]
        rewards = model.rewards.copy()
        rewards[0, ends] = 0.0
        wrong = Model(model.transitions, rewards, model.initial, horizon)
        assert abs(paid.mean() - environment.scale.to_people(value(wrong, policy), horizon)) > radius


class Turnstile(gymnasium.Env[int, int]):
    """One may leave through state 0 or pass it: both an end and a place on the way. State numbers start at 0."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Discrete(2)  # type: ignore[assignment]
        self.action_space = gymnasium.spaces.Discrete(2)  # type: ignore[assignment]
        self.P: Any = {
            0: {0: [(0.5, 0, 3.0, True), (0.5, 1, -1.0, False)], 1: [(1.0, 1, 0.5, False)]},
            1: {0: [(0.25, 0, 2.0, False), (0.75, 1, 0.0, True)], 1: [(1.0, 0, -0.5, True), (0.0, 1, 99.0, True)]},
        }
        self.initial_state_distrib = np.array([0.9, 0.1])


def test_an_end_that_is_also_a_place_gets_a_state_of_its_own(optimal: Optimal, value: Value) -> None:
    world = Turnstile()
    environment = from_gymnasium(world, 5)
    assert environment.model is not None
    assert environment.spec.states == 3
    assert (environment.scale.low, environment.scale.high) == (-1, 3)
    assert (environment.model.transitions[0, 2, :, 2] == 1).all()
    assert environment.scale.to_people(optimal(environment.model), 5) == pytest.approx(peoples_value(world, 5))
    expected = peoples_value(world, 5, Policy.uniform(5, 2, 2))
    assert environment.scale.to_people(value(environment.model, Policy.uniform(5, 3, 2)), 5) == pytest.approx(expected)


def test_a_world_that_pays_always_the_same_has_a_scale() -> None:
    world = Turnstile()
    world.P = {state: {action: [(1.0, 1 - state, 2.0, False)] for action in range(2)} for state in range(2)}
    environment = from_gymnasium(world, 5)
    assert environment.model is not None and environment.spec.states == 2
    assert environment.scale.to_people(environment.model.rewards, 1) == pytest.approx(np.full((1, 2, 2), 2.0))


@pytest.mark.parametrize("table", [{0: {0: []}}, {}, 3, {s: {a: [(1.0, 0)] for a in range(2)} for s in range(2)}])
def test_a_broken_table_is_refused(table: object) -> None:
    world = Turnstile()
    world.P = table
    with refused("gym-table"):
        from_gymnasium(world, 5)


def test_a_table_that_is_not_the_whole_truth_is_not_believed() -> None:
    paid_double = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda reward: 2 * float(reward))
    assert from_gymnasium(paid_double, 5, (0, 2)).model is None
    fickle = make(f"gymnasium:{TAXI}?fickle_passenger=true", horizon=5, reward_range=(-10, 20))
    assert fickle.model is None


def play(environment: Environment, policy: Policy, people: int, seed: int) -> list[Any]:
    assert environment.interact is not None
    rng = np.random.default_rng(seed)
    return [environment.interact(policy, rng) for _ in range(people)]


def test_blackjack_can_be_played() -> None:
    environment = make("gymnasium:Blackjack-v1?reward_range=-1,1", horizon=6)
    assert environment.model is None and environment.address == "gymnasium:Blackjack-v1?reward_range=-1,1"
    end = 32 * 11 * 2
    assert environment.spec.states == end + 1
    policy = Policy.uniform(6, end + 1, 2)
    episodes = play(environment, policy, 300, seed=2)
    for states, actions, rewards, following in episodes:
        assert states.shape == actions.shape == rewards.shape == following.shape == (6,)
        np.testing.assert_array_equal(states[1:], following[:-1])
        assert states[0] < end == following[-1]  # everyone has a hand, and no hand lasts for six draws
        total = environment.scale.to_people(rewards.sum(), 6)
        assert min(abs(total - paid) for paid in (-1, 0, 1)) < 1e-12
        np.testing.assert_array_equal(rewards[states == end], 0.5)
    again = play(environment, policy, 300, seed=2)
    assert all(
        np.array_equal(a, b) for one, two in zip(episodes, again, strict=True) for a, b in zip(one, two, strict=True)
    )
    after_the_end = np.concatenate([actions[states == end] for states, actions, _, _ in episodes])
    assert 0.4 < after_the_end.mean() < 0.6  # the policy is followed there too


def test_rewards_outside_the_declared_range_are_clipped() -> None:
    environment = make("gymnasium:Blackjack-v1?reward_range=-0.5,0.25", horizon=6)
    rewards = np.concatenate([e[2] for e in play(environment, Policy.uniform(6, 705, 2), 100, seed=1)])
    assert rewards.min() == 0 and rewards.max() == 1
    assert make("gymnasium:Blackjack-v1?reward_range=1,2").scale.low == 0  # widened to hold the zero after an end


def test_a_played_world_survives_the_way_to_another_process() -> None:
    environment = make("gymnasium:Blackjack-v1?reward_range=-1,1", horizon=6)
    copy = pickle.loads(pickle.dumps(environment))
    one, two = (play(e, Policy.uniform(6, 705, 2), 5, seed=3) for e in (environment, copy))
    assert all(np.array_equal(a, b) for a, b in zip(one[4], two[4], strict=True))


def test_playing_a_lent_world_returns_what_its_model_says(value: Value) -> None:
    """There and back again: our chain, lent to Gymnasium, played as a world without a model."""
    horizon, people = 8, 1500
    ours = make("chain/3", horizon=horizon)
    played = from_gymnasium(as_gymnasium(ours), horizon, (0, 10))
    assert ours.model is not None
    assert played.spec.states == 4
    policy = Policy(np.broadcast_to([0.7, 0.3], (horizon, 4, 2)))
    paid = np.array([rewards.sum() for _, _, rewards, _ in play(played, policy, people, seed=5)])
    exact = value(ours.model, Policy(policy.probabilities[:, :3]))
    radius = NormalDist().inv_cdf(1 - FALSE_ALARM / 2) * paid.std() / math.sqrt(people)
    assert abs(paid.mean() - exact) < radius < 0.1 * exact


def test_a_per_step_world_is_lent_step_by_step() -> None:
    kernel = np.zeros((3, 3, 1, 3))
    for step in range(3):
        kernel[step, :, 0, (step + 1) % 3] = 1.0
    rewards = np.zeros((3, 3, 1))
    rewards[1] = 1.0
    world = as_gymnasium(Environment.known(Model(kernel, rewards, np.array([0.0, 0.0, 1.0]), 3)))
    assert world.reset(seed=1)[0] == 2
    assert [world.step(0)[:4] for _ in range(3)] == [(1, 0, False, False), (2, 1, False, False), (0, 0, False, True)]


@pytest.mark.parametrize("address", ["riverswim/6", "riverswim-inhomogeneous/3", "chain/5", "random/3x2"])
def test_lent_worlds_satisfy_gymnasium(address: str) -> None:
    world = as_gymnasium(make(address))
    check_env(world, skip_render_check=True)
    walks = []
    for _ in range(2):
        first, _ = world.reset(seed=9)
        walks.append([first, *(world.step(step % 2)[:2] for step in range(5))])
    assert walks[0] == walks[1]


class Dial(gymnasium.Env[Any, int]):
    """Two coordinates that do not start at zero; shows the number of the last action, which does not either."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.MultiDiscrete([2, 3], start=[5, -1])
        self.action_space = gymnasium.spaces.Discrete(3, start=-1)  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return np.array([6, 1]), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.array([5, action]), 1.0, False, False, {}


def test_spaces_that_start_elsewhere() -> None:
    environment = from_gymnasium(Dial(), 3, (0, 1))
    assert (environment.spec.states, environment.spec.actions) == (7, 3)
    policy = Policy.deterministic(np.array([[0] * 7, [2] * 7, [1] * 7]), 3)
    states, actions, _, following = play(environment, policy, 1, seed=0)[0]
    assert (list(states), list(actions), list(following)) == ([5, 0, 2], [0, 2, 1], [0, 2, 1])
    assert from_gymnasium(Dial(), 3, (0, 1)).with_dynamics(PER_STEP).spec.dynamics == PER_STEP


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("gymnasium", "gymnasium:NAME. Got 'gymnasium'. Write 'gymnasium:FrozenLake-v1'"),
        ("gymnasium/FrozenLake-v1", "of the form gymnasium:NAME"),
        ("gymnasium:CartPole-v1", "observation space of CartPole-v1 must be discrete. Got Box("),
        ("gymnasium:Pendulum-v1", "Discretise it with a wrapper, or learn with features."),
        ("gymnasium:FrozenLke-v1", "Gymnasium cannot make 'FrozenLke-v1': "),
        ("gymnasium:FrozenLake-v0", "Gymnasium cannot make 'FrozenLake-v0': "),
        ("gymnasium:no_such_module:World-v0", "No module named 'no_such_module'"),
        ("gymnasium:FrozenLake-v1?bogus=1", "unexpected keyword argument 'bogus'"),
        ("gymnasium:FrozenLake-v1?reward_range=0,1", "reward_range must be left out for FrozenLake-v1"),
        (
            "gymnasium:Blackjack-v1",
            "reward_range must be a pair (low, high). Got None. Blackjack-v1 publishes no model",
        ),
        ("gymnasium:Blackjack-v1?reward_range=1", "reward_range must be a pair"),
        ("gymnasium:Blackjack-v1?reward_range=1,-1", "highest reward must be above the lowest"),
    ],
)
def test_what_is_wrong_is_said(address: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make(address)
    assert said in str(caught.value)


def test_actions_must_be_a_single_choice() -> None:
    world = Dial()
    world.action_space = gymnasium.spaces.MultiDiscrete([2, 2])  # type: ignore[assignment]
    with refused("gym-actions-not-discrete"):
        from_gymnasium(world, 3, (0, 1))
    world.action_space = gymnasium.spaces.Box(0, 1)  # type: ignore[assignment]
    with refused("gym-not-discrete"):
        from_gymnasium(world, 3, (0, 1))


def test_only_known_models_can_be_lent() -> None:
    with refused("gym-needs-model"):
        as_gymnasium(make("gymnasium:Blackjack-v1?reward_range=-1,1"))
