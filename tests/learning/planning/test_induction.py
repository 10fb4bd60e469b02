"""The one backward induction against enumeration of every policy, and against loops written again."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from confide.learning.planning import MAXIMISE, MINIMISE, backward_induction, optimal, policy_values, workspace
from confide.learning.planning.induction import NOISE, REWARD, SLOPE, SPREAD, WIDTH, Workspace
from confide.mdp import PER_STEP, STATIONARY, Model, Policy, Spec


def random_model(rng: np.random.Generator, states: int, actions: int, horizon: int, kind: str) -> Model:
    layers = Spec(states, actions, horizon, kind).layers
    transitions = rng.dirichlet(np.ones(states), size=(layers, states, actions))
    return Model(transitions, rng.random((layers, states, actions)), rng.dirichlet(np.ones(states)), horizon)


def value_of(model: Model, actions: np.ndarray) -> float:
    """The return of a deterministic policy (H, S), summed over every path of states."""
    states, total = range(model.spec.states), 0.0
    for path in itertools.product(states, repeat=model.horizon):
        chance, reward = model.initial[path[0]], 0.0
        for h, s in enumerate(path):
            layer = h if len(model.rewards) > 1 else 0
            reward += model.rewards[layer, s, actions[h, s]]
            if h + 1 < model.horizon:
                chance *= model.transitions[layer, s, actions[h, s], path[h + 1]]
        total += chance * reward
    return total


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_optimal_is_the_best_of_all_policies(kind: str) -> None:
    model = random_model(np.random.default_rng(0), 2, 2, 3, kind)
    tables = [np.array(choice).reshape(3, 2) for choice in itertools.product(range(2), repeat=6)]
    returns = [value_of(model, table) for table in tables]
    policy, values = optimal(model)
    assert model.initial @ values[0] == pytest.approx(max(returns), abs=1e-12)
    assert value_of(model, policy.actions) == pytest.approx(max(returns), abs=1e-12)
    assert max(returns) - min(returns) > 0.1


def test_minimising_is_maximising_the_opposite() -> None:
    rng = np.random.default_rng(1)
    model = random_model(rng, 3, 2, 4, PER_STEP)
    work = workspace(model.spec)
    work.transitions[:] = model.transitions.reshape(4, 6, 3).transpose(0, 2, 1)
    work.pairs[REWARD] = 1 - model.rewards.reshape(4, 6)
    policy, values = np.empty((4, 3, 2)), np.empty((5, 3))
    backward_induction(work, MINIMISE, -np.inf, np.inf, True, policy, values)
    best, result = optimal(model)
    assert np.array_equal(policy, best.probabilities)
    assert np.allclose(values, np.arange(4, -1, -1)[:, None] - result)


def loops(
    work: Workspace, spec: Spec, sense: float, low: float, high: float, policy: np.ndarray | None
) -> tuple[list[list[list[float]]], list[list[float]]]:
    """The docstring of `backward_induction`, in loops; `policy` None means greedy."""
    values = [[0.0] * spec.states for _ in range(spec.horizon + 1)]
    chosen = [[[0.0] * spec.actions for _ in range(spec.states)] for _ in range(spec.horizon)]
    for h in reversed(range(spec.horizon)):
        layer = h if spec.layers > 1 else 0
        left, later = spec.horizon - h, values[h + 1]
        for s in range(spec.states):
            raw = []
            for a in range(spec.actions):
                i = s * spec.actions + a
                row = [float(work.transitions[layer, t, i]) for t in range(spec.states)]
                mean = sum(p * v for p, v in zip(row, later, strict=True))
                bonus = work.pairs[WIDTH, layer, i] + work.pairs[SLOPE, layer, i] * left
                if len(work.pairs) > SPREAD:
                    variance = sum(p * v * v for p, v in zip(row, later, strict=True)) - mean**2
                    distance = sum((v - mean) ** 2 for v in later)
                    square = work.pairs[SPREAD, layer, i] * variance + work.pairs[NOISE, layer, i] * distance
                    bonus += math.copysign(math.sqrt(abs(square)), square)
                raw.append(work.pairs[REWARD, layer, i] + mean + sense * bonus)
            clipped = [min(max(x, low), high * left) for x in raw]
            best = max(range(spec.actions), key=lambda a: sense * raw[a])
            weights = [float(a == best) for a in range(spec.actions)] if policy is None else list(policy[h, s])
            chosen[h][s] = weights
            values[h][s] = sum(w * x for w, x in zip(weights, clipped, strict=True))
    return chosen, values


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("dispersed", [True, False])
@pytest.mark.parametrize(
    ("states", "kind"), [(1, STATIONARY), (3, PER_STEP), (4, STATIONARY), (6, PER_STEP), (9, STATIONARY)]
)
def test_every_part_of_the_bonus(states: int, kind: str, dispersed: bool, greedy: bool) -> None:
    rng = np.random.default_rng(states)
    spec = Spec(states, 3, 5, kind)
    for sense, low, high in (
        (MAXIMISE, 0.0, 1.0),
        (MINIMISE, 0.0, 1.0),
        (MAXIMISE, -np.inf, 1.0),
        (MAXIMISE, -np.inf, np.inf),
    ):
        work = workspace(spec, dispersed)
        work.pairs[:] = rng.random(work.pairs.shape) * 0.3
        work.transitions[:] = rng.dirichlet(np.ones(states), size=(spec.layers, states * 3)).transpose(0, 2, 1)
        given = rng.dirichlet(np.ones(3), size=(5, states))
        policy, values = given.copy(), np.full((6, states), np.nan)
        backward_induction(work, sense, low, high, greedy, policy, values)
        expected, theirs = loops(work, spec, sense, low, high, None if greedy else given)
        assert np.allclose(policy, expected, atol=0)
        assert np.allclose(values, theirs, atol=1e-12)


def test_a_bonus_below_zero_is_pessimism() -> None:
    spec = Spec(4, 2, 3)
    rng = np.random.default_rng(5)
    work = workspace(spec, dispersed=True)
    work.pairs[REWARD], work.pairs[SPREAD] = rng.random((1, 8)), -0.2
    work.transitions[:] = rng.dirichlet(np.ones(4), size=(1, 8)).transpose(0, 2, 1)
    policy, values = np.empty((3, 4, 2)), np.empty((4, 4))
    backward_induction(work, MAXIMISE, 0.0, 1.0, True, policy, values)
    expected, theirs = loops(work, spec, MAXIMISE, 0.0, 1.0, None)
    assert np.array_equal(policy, expected) and np.allclose(values, theirs)
    work.pairs[SPREAD] = 0.0
    better = np.empty((4, 4))
    backward_induction(work, MAXIMISE, 0.0, 1.0, True, policy, better)
    assert (better[:2] > values[:2]).all()


def test_ties_go_to_the_first_action_and_clipped_ones_to_the_widest_bonus() -> None:
    spec = Spec(1, 3, 1)
    work = workspace(spec)
    work.transitions[:] = 1.0
    policy, values = np.empty((1, 1, 3)), np.empty((2, 1))
    backward_induction(work, MAXIMISE, 0.0, 1.0, True, policy, values)
    assert policy[0, 0].tolist() == [1, 0, 0]
    work.pairs[WIDTH, 0] = 5.0, 7.0, 7.0
    backward_induction(work, MAXIMISE, 0.0, 1.0, True, policy, values)
    assert policy[0, 0].tolist() == [0, 1, 0] and values[0, 0] == 1.0
    assert work.q.tolist() == [[1.0, 1.0, 1.0]]


def test_values_of_a_given_policy_match_those_of_its_paths() -> None:
    model = random_model(np.random.default_rng(3), 2, 3, 3, PER_STEP)
    table = np.random.default_rng(4).integers(0, 3, (3, 2))
    values = policy_values(model, Policy.deterministic(table, 3))
    assert model.initial @ values[0] == pytest.approx(value_of(model, table), abs=1e-12)
