"""The worlds are those of the papers, entry by entry, and their values are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lab.environments import make
from confide.lab.environments.lower_bound import advantage, shortest_horizon, tree_depth
from confide.mdp import Model, Policy
from tests.refusals import refused

Optimal = Callable[[Model], float]
Value = Callable[[Model, Policy], float]


def known(address: str, **keywords: object) -> Model:
    model = make(address, **keywords).model  # type: ignore[arg-type]
    assert model is not None
    return model


def test_riverswim_entry_by_entry(optimal: Optimal) -> None:
    model = known("riverswim/4", horizon=3)
    left = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    right = [[0.4, 0.6, 0, 0], [0.05, 0.6, 0.35, 0], [0, 0.05, 0.6, 0.35], [0, 0, 0.4, 0.6]]
    np.testing.assert_allclose(model.transitions[0, :, 0], left, atol=1e-15)
    np.testing.assert_allclose(model.transitions[0, :, 1], right, atol=1e-15)
    np.testing.assert_array_equal(model.rewards[0], [[0.005, 0], [0, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(model.initial, [1, 0, 0, 0])
    # three steps cannot pay at the far end, so the near end's .005 a step is all there is
    assert optimal(model) == pytest.approx(0.015)
    # the fourth step pays 1 after three successes; a user who fails early turns back for what the near end still pays
    success, waits, turns = 0.6 * 0.35 * 0.35, 0.4 * 0.015, 0.6 * (0.6 * 0.005 + 0.05 * 0.01)
    assert optimal(known("riverswim/4", horizon=4)) == pytest.approx(success + waits + turns)


def test_riverswim_of_two_states() -> None:
    model = known("riverswim/2")
    np.testing.assert_allclose(model.transitions[0], [[[1.0, 0.0], [0.4, 0.6]]] * 2)


def test_riverswim_pays_for_persistence(value: Value, optimal: Optimal) -> None:
    """Always swimming right, by powers of its kernel, is the best that can be done in the long run."""
    model = known("riverswim/6", horizon=20)
    kernel = np.diag([0.4, 0.6, 0.6, 0.6, 0.6, 0.6]) + np.diag([0.6, 0.35, 0.35, 0.35, 0.35], 1)
    kernel += np.diag([0.05, 0.05, 0.05, 0.05, 0.4], -1)
    always = sum(np.linalg.matrix_power(kernel, step)[0, 5] for step in range(20))
    right = Policy.deterministic(np.ones((20, 6), dtype=np.int64), 2)
    assert value(model, right) == pytest.approx(always)
    assert always < optimal(model) < always + 0.02


def test_inhomogeneous_riverswim_entry_by_entry() -> None:
    horizon = 7
    model = known("riverswim-inhomogeneous/4", horizon=horizon, seed=5)
    currents = model.transitions[:, 0, 1, 1]
    assert ((currents >= 0.8) & (currents <= 1)).all() and len(set(currents)) == horizon
    for kernel, p in zip(model.transitions, currents, strict=True):
        np.testing.assert_array_equal(
            kernel[:, 0], [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5]]
        )
        rest = (1 - p) / 2
        right = [[1 - p, p, 0, 0], [rest, rest, p, 0], [0, rest, rest, p], [0, 0, rest, (1 + p) / 2]]
        np.testing.assert_allclose(kernel[:, 1], right, atol=1e-15)
    paid = np.zeros((horizon, 4, 2))
    paid[:, 0, 0], paid[:, 3, 1] = 5 / (1000 * horizon), 1 / horizon
    np.testing.assert_allclose(model.rewards, paid)
    assert not np.array_equal(currents, known("riverswim-inhomogeneous/4", horizon=horizon).transitions[:, 0, 1, 1])


def test_random_worlds_follow_their_law() -> None:
    """Of a Dirichlet(0.1) over n next states the mean is 1/n and the variance (1/n)(1 - 1/n)/(0.1 n + 1)."""
    n = 40
    model = known(f"random/{n}x20", seed=3)
    assert set(np.unique(model.rewards)) == {0.0, 1.0}
    rows = n * 20
    assert abs(model.rewards.mean() - 0.5) < 4.9 * 0.5 / math.sqrt(rows)
    variance = (1 / n) * (1 - 1 / n) / (0.1 * n + 1)
    seen = model.transitions.var()
    assert 0.9 * variance < seen < 1.1 * variance
    np.testing.assert_allclose(model.initial, 1 / n)


def test_the_default_random_world_stays_as_it_is() -> None:
    """Published figures name this world by its address alone."""
    model = known("random/2x2")
    np.testing.assert_array_equal(model.rewards[0], [[1, 1], [0, 0]])
    to_first = [[0.9999999999987869, 0.9493745414964405], [0.05006231952604462, 0.9999745305010812]]
    np.testing.assert_allclose(model.transitions[0, :, :, 0], to_first, atol=1e-12)


@pytest.mark.parametrize(
    ("states", "actions", "depth"), [(3, 2, 1), (5, 2, 2), (9, 2, 3), (6, 3, 2), (15, 3, 3), (42, 3, 4)]
)
def test_the_hard_tree(states: int, actions: int, depth: int, optimal: Optimal, value: Value) -> None:
    horizon = shortest_horizon(states, actions) + 1
    model = known(f"lower-bound/{states}x{actions}", horizon=horizon, episodes=10**5, epsilon=0.3, seed=1)
    transitions, good, bad = model.transitions[0], states - 2, states - 1
    leaves = actions ** (depth - 1)
    first_leaf = good - leaves
    assert tree_depth(states, actions) == depth
    assert horizon > 2 * math.log(states - 2, actions) + 2 >= horizon - 2
    # inner nodes: every other node is the sure child of exactly one node and action
    inner = transitions[:first_leaf].reshape(-1, states)
    assert sorted(inner.argmax(axis=1)) == list(range(1, good))
    assert set(np.unique(inner)) <= {0.0, 1.0}
    # leaves: one action of one of them is better by Delta
    delta = math.sqrt(leaves * actions / 1e5) / (16 * math.sqrt(2) * min(math.exp(0.3) - 1, 0.5))
    lift = transitions[first_leaf:good, :, good] - 0.5
    assert np.count_nonzero(lift) == 1
    assert lift.max() == pytest.approx(delta)
    np.testing.assert_allclose(transitions[first_leaf:good, :, good:].sum(axis=-1), 1)
    # ends hold, and only "+" pays
    assert (transitions[good, :, good] == 1).all() and (transitions[bad, :, bad] == 1).all()
    assert (model.rewards[0, good] == 1).all() and model.rewards.sum() == actions
    # equation (7) of the paper
    assert optimal(model) == pytest.approx((horizon - depth) * (0.5 + delta))
    chance = 1 / (leaves * actions)
    uniform = Policy.uniform(horizon, states, actions)
    assert value(model, uniform) == pytest.approx((horizon - depth) * (0.5 + delta * chance))


def test_the_good_leaf_depends_on_the_seed() -> None:
    """Uniform over 16 places: thirty seeds would show fewer than 8 of them with probability below 1e-5."""
    best = {int(known("lower-bound/17x2", seed=seed).transitions[0, 7:15, :, 15].argmax()) for seed in range(30)}
    assert len(best) >= 8


def test_delta_stops_shrinking_where_privacy_does_not_matter() -> None:
    assert advantage(8, 2, 10**6, 10.0) == advantage(8, 2, 10**6, 1000.0) == advantage(8, 2, 10**6, math.log(1.5))
    assert advantage(8, 2, 10**6, 0.1) > advantage(8, 2, 10**6, 0.2) > advantage(8, 2, 10**6, 1.0)
    # the paper's condition on K is the same as Delta <= 1/(2 sqrt2)
    least = math.ceil(16 / (8 * math.expm1(0.1)) ** 2)
    assert advantage(8, 2, least, 0.1) <= 1 / (2 * math.sqrt(2))
    with refused("lower-bound-episodes", match=f"{least}"):
        advantage(8, 2, least - 1, 0.1)


@pytest.mark.parametrize(
    ("address", "keywords", "said"),
    [
        ("lower-bound/8x2", {}, "Got 8. Use 5 or 9 with 2 actions."),
        ("lower-bound/2x2", {}, "states must be a whole number of at least 3"),
        ("lower-bound/9x1", {}, "actions must be a whole number of at least 2"),
        ("lower-bound/9x2", {"horizon": 7}, "horizon must be a whole number of at least 8. Got 7. The bound needs H"),
        ("lower-bound/9x2?epsilon=0", {}, "epsilon must be positive"),
        ("lower-bound/9x2?episodes=0", {}, "episodes must be"),
    ],
)
def test_trees_that_prove_nothing_are_refused(address: str, keywords: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make(address, **keywords)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_the_chain(optimal: Optimal, value: Value) -> None:
    environment = make("chain/3", horizon=2)
    model = known("chain/3", horizon=2)
    np.testing.assert_allclose(model.transitions[0, :, 0], [[0.2, 0.8, 0], [0.2, 0, 0.8], [0.2, 0, 0.8]])
    np.testing.assert_allclose(model.transitions[0, :, 1], [[0.8, 0.2, 0], [0.8, 0, 0.2], [0.8, 0, 0.2]])
    people = environment.scale.to_people(model.rewards[0], 1)
    np.testing.assert_allclose(people, [[0.4, 1.6], [0.4, 1.6], [8.4, 3.6]])
    # two steps do not reach the end, so going back twice is best
    assert environment.scale.to_people(optimal(model), 2) == pytest.approx(3.2)
    # with time it is patience that pays
    long = known("chain/5", horizon=100)
    forward, back = (Policy.deterministic(np.full((100, 5), action), 2) for action in (0, 1))
    assert value(long, forward) > 1.5 * value(long, back)


def test_the_grid(optimal: Optimal) -> None:
    model = known("grid/2x3", horizon=3)
    up, right, down, left = range(4)
    np.testing.assert_allclose(model.transitions[0, 0, right], [0.1, 0.8, 0, 0.1, 0, 0])
    np.testing.assert_allclose(model.transitions[0, 1, up], [0.1, 0.8, 0.1, 0, 0, 0])
    np.testing.assert_allclose(model.transitions[0, 4, left], [0, 0.1, 0, 0.8, 0.1, 0])
    np.testing.assert_allclose(model.transitions[0, 2, down], [0, 0.1, 0.1, 0, 0, 0.8])
    assert (model.transitions[0, 5, :, 5] == 1).all()
    assert model.rewards[0, 5].min() == 1 and model.rewards.sum() == 4
    # three moves at least lead to the corner, which pays from the fourth step on
    assert optimal(model) == 0
    assert 0.8**3 <= optimal(known("grid/2x3", horizon=4)) < 1
    assert optimal(known("grid/1x2", horizon=2)) == pytest.approx(0.8)


@pytest.mark.skipif(find_spec("icu_sepsis") is None, reason="icu-sepsis is not installed")
def test_sepsis_has_its_published_values(optimal: Optimal) -> None:
    """Its authors state .78 for random treatment and .88 for the best, without a horizon; 100 steps come close."""
    model = known("icu-sepsis", horizon=100)
    assert model.transitions.shape == (1, 716, 25, 716)
    at_random, survived = model.transitions[0].mean(axis=1), np.zeros(716)
    for _ in range(100):
        survived = model.rewards[0].mean(axis=1) + at_random @ survived
    assert round(float(model.initial @ survived), 2) == 0.78
    assert round(optimal(model), 2) == 0.88


def test_an_illness_goes_up_or_down_by_one_and_ends() -> None:
    model = known("illness/6x3?seed=1", horizon=8)
    rows = model.transitions[0]
    assert np.allclose(rows.sum(axis=-1), 1) and np.array_equal(rows[-1], np.tile(np.eye(6)[-1], (3, 1)))
    for s, a in np.ndindex(5, 3):
        assert set(np.flatnonzero(rows[s, a])) == {max(0, s - 1), s, s + 1}
        assert 0.02 <= rows[s, a, s + 1] <= 0.4
    assert np.all(np.diff(model.rewards[0], axis=0) <= 0) and np.all(model.rewards[0, -1] == 0)
    assert not np.array_equal(rows, known("illness/6x3?seed=2").transitions[0])


def test_climbing_by_hand() -> None:
    model = known("climb/4?slip=0.2&rest=0.3")
    climb, rest = model.transitions[0, :, 0], model.transitions[0, :, 1]
    assert np.allclose(climb, [[0.2, 0.8, 0, 0], [0.2, 0, 0.8, 0], [0.2, 0, 0, 0.8], [0.2, 0, 0, 0.8]])
    assert np.allclose(rest, [[0.9, 0.1, 0, 0], [0.9, 0, 0.1, 0], [0.9, 0, 0, 0.1], [0, 0.9, 0, 0.1]])
    assert model.rewards[0].tolist() == [[0, 0.3], [0, 0.3], [0, 0.3], [1, 0.3]] and model.horizon == 12
    with refused("out-of-range: slip"):
        known("climb/4?slip=2")


def test_worlds_of_operations_by_hand(optimal: Optimal) -> None:
    """One row of each, and the best that a last day can be."""
    stock = known("inventory/2x2")  # one customer, who comes with a chance of 0.3; amounts lie between -0.5 and 1
    np.testing.assert_allclose(stock.transitions[0, 0], [[1, 0], [0.3, 0.7]])
    np.testing.assert_allclose(stock.rewards[0, 0], [0.5 / 1.5, (0.3 - 0.07 - 0.4 + 0.5) / 1.5])
    machine = known("replacement/3")
    np.testing.assert_allclose(machine.transitions[0, 0], [[0.32, 0.6, 0.08], [1, 0, 0]])
    np.testing.assert_allclose(machine.rewards[0, :, 0], [1, 0.75, 0])
    line = known("queue/3x2")
    np.testing.assert_allclose(line.transitions[0, 1, 0], [1 / 6, 1 / 2, 1 / 3])
    np.testing.assert_allclose(line.rewards[0, 1], [0.65, 0.35])
    customer = known("churn/3x2")
    np.testing.assert_allclose(customer.transitions[0, 1], [[0.3, 0.7, 0], [0.15, 0.5, 0.35]])
    np.testing.assert_allclose(customer.rewards[0, 1], [0.5, 0.25])
    season = known("pricing/3x2", horizon=1)
    np.testing.assert_allclose(season.rewards[0], [[0, 0], [0.5, math.exp(-1)], [0.5, math.exp(-1)]])
    assert optimal(season) == pytest.approx(0.5)
    pupil, solved = known("tutoring/2x2"), 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(pupil.rewards[0, 0], [solved / 2, 0.5])
    np.testing.assert_allclose(
        pupil.transitions[0, 0, 0], [1 - 0.5 * solved, 0.5 * solved]
    )  # no one falls below the first
    np.testing.assert_allclose(pupil.transitions[0, 1, 1, 0], 0.08 * (1 - 0.5 * solved))
    drives = known("courier/3")
    np.testing.assert_allclose(drives.transitions[0, 1, 1:], [[0.85, 0.15, 0], [0, 0.15, 0.85]])
    assert drives.transitions.shape == (12, 3, 3, 3) and len({tuple(hour[:, 0]) for hour in drives.rewards}) == 12
    sparse = known("garnet/9x2?branching=3&seed=1")
    assert ((sparse.transitions[0] > 0).sum(axis=-1) == 3).all() and (sparse.rewards[0].max(axis=1) > 0).sum() == 3
