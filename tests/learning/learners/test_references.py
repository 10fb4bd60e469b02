"""Every learner equals its paper's formulas, written again in plain Python: without privacy, and with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.learning import learners
from confide.learning.learners import Context, State, TabularLearner
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.privacy import Guarantee
from confide.protocol.releases.release import CountRelease, Counts, Radius

from . import reference
from .reference import ReferenceProblem

TOTAL = 5000


def world(seed: int, kind: str, noise: float, users: int = 300) -> tuple[Spec, Counts, Radius]:
    """Counts of people who walked at random through a random world, with noise and radii that say so."""
    rng = np.random.default_rng(seed)
    states, actions, horizon = int(rng.integers(1, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    spec = Spec(states, actions, horizon, kind)
    pairs = (spec.layers, states, actions)
    each = users * horizon / spec.layers
    visits = rng.multinomial(int(each), rng.dirichlet(np.ones(states * actions)), size=spec.layers).reshape(pairs)
    moved = np.array([rng.multinomial(n, rng.dirichlet(np.full(states, 0.5))) for n in visits.ravel()])
    rewards = rng.binomial(visits, rng.random(pairs))
    parts = (visits, rewards, rewards, moved.reshape(*pairs, states))
    counts = Counts(*(part + noise * rng.standard_normal(part.shape) for part in parts))
    sizes = (3.0, 3.5, 4.0, 4.5)
    return spec, counts, Radius(*(noise * size for size in sizes), noise * 4.5 * np.sqrt(states))


def learnt(learner: Any, spec: Spec, counts: Counts, radius: Radius, users: int = 300, scale: float = 1.0) -> State:
    assert isinstance(learner, TabularLearner)
    state = learner.begin(Context(spec, TOTAL, bonus_scale=scale), np.random.default_rng(7))
    release = CountRelease(learner.ask(state), users, counts, radius, 0.1, Guarantee.none())
    return learner.learn(state, release)


OPTIMISTIC: list[tuple[str, dict[str, Any], Callable[[ReferenceProblem], tuple[np.ndarray, np.ndarray]]]] = [
    ("ucbvi", {"bonus": "private", "objective": "cost"}, reference.private_ucbvi),
    ("ucbvi", {"bonus": "private", "objective": "reward"}, reference.private_ucbvi),
    ("ucbvi", {"bonus": "hoeffding"}, reference.hoeffding_ucbvi),
    ("ucbvi", {"bonus": "bernstein"}, reference.bernstein_ucbvi),
    ("ucbvi", {"bonus": "dp-bernstein"}, reference.dp_ucbvi),
    ("obi", {"bonus": "paper"}, reference.ldp_obi),
    ("obi", {"bonus": "paper", "alpha": 3.0}, lambda problem: reference.ldp_obi(problem, 3.0)),
    ("pucb", {"bonus": "paper"}, reference.vietri_pucb),
]


@pytest.mark.parametrize("noise", [0.0, 2.0, 40.0])
@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
@pytest.mark.parametrize(
    ("name", "options", "formula"), OPTIMISTIC, ids=lambda x: str(x) if isinstance(x, dict) else None
)
def test_optimism(name: str, options: dict[str, Any], formula: Any, kind: str, noise: float) -> None:
    """At the paper's scale everything may be clipped; at a small part of it, the estimates decide."""
    told_apart = set()
    for seed in range(6):
        spec, counts, radius = world(seed, kind, noise)
        for scale in (1.0, 0.01, 1e-4):
            state = learnt(learners.make(name, **options), spec, counts, radius, scale=scale)
            sense = -1 if options.get("objective") == "cost" else 1
            problem = ReferenceProblem(counts, radius, spec.horizon, 300, TOTAL, scale=scale, sense=sense)
            policy, values = formula(problem)
            assert np.allclose(state.values, values, rtol=1e-9, atol=1e-9)
            assert np.array_equal(state.policy, policy)
            told_apart.add(float(values.sum()))
    assert len(told_apart) > 6, "the comparison must see values that differ"


@pytest.mark.parametrize("noise", [0.0, 2.0, 40.0])
@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("posterior", ["paper", "own priors"])
def test_posterior_sampling(posterior: str, kind: str, noise: float) -> None:
    """The same generator draws the same model, pair by pair, next states before rewards."""
    priors = {"alpha0": 0.5, "mu0": 0.3, "lambda0": 2.0, "nu0": 3.0, "beta0": 0.7} if posterior == "own priors" else {}
    for seed in range(8):
        spec, counts, radius = world(seed, kind, noise)
        learner = learners.make("psrl", posterior="paper", **priors)
        assert isinstance(learner, TabularLearner)
        before = learner.begin(Context(spec, TOTAL), np.random.default_rng(7))
        state = learnt(learner, spec, counts, radius)
        again = np.random.default_rng()
        again.bit_generator.state = before.rng.bit_generator.state
        problem = ReferenceProblem(counts, radius, spec.horizon, 300, TOTAL)
        policy, values = reference.psrl(problem, again, priors)
        assert np.allclose(state.values, values, rtol=1e-9, atol=1e-9)
        assert np.array_equal(state.policy, policy)


def test_priors_are_for_the_papers_posterior() -> None:
    with pytest.raises(InvalidInput, match="posterior"):
        learners.make("psrl", mu0=0.5)
    assert learners.make("psrl", alpha0=0.25).constants(Context(Spec(2, 2, 2), TOTAL))[0] == 0.25


@pytest.mark.parametrize("noise", [0.0, 2.0])
@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("objective", ["cost", "reward"])
def test_policy_optimisation(objective: str, kind: str, noise: float) -> None:
    """A sequence of releases, after one user each and after many."""
    for seed, schedule in ((0, [0, 1, 2, 3, 4]), (4, [0, 100, 250, 4000])):
        spec = world(seed, kind, noise)[0]
        learner = learners.make("po", steps="paper", objective=objective)
        assert isinstance(learner, TabularLearner)
        state = learner.begin(Context(spec, TOTAL, bonus_scale=0.01), np.random.default_rng(0))
        blank = Counts(*(np.zeros_like(part) for part in world(seed, kind, noise)[1]))
        problems, states = [], [state]
        for number, users in enumerate(schedule):
            counts, radius = (blank, Radius.zero()) if users == 0 else world(seed, kind, noise, 40 * number)[1:]
            sense = -1 if objective == "cost" else 1
            problems.append(ReferenceProblem(counts, radius, spec.horizon, users, TOTAL, scale=0.01, sense=sense))
            if users:
                state = learner.learn(
                    state, CountRelease(learner.ask(state), users, counts, radius, 0.1, Guarantee.none())
                )
                states.append(state)
        for mine, (policy, values) in zip(states, reference.private_po(problems), strict=True):
            assert np.allclose(mine.policy, policy, rtol=1e-9)
            assert np.allclose(mine.values, values, rtol=1e-9, atol=1e-12)
        assert not np.allclose(states[-1].policy, 1 / spec.actions) or spec.actions == 1


@pytest.mark.parametrize("bonus", ["private", "hoeffding", "bernstein", "dp-bernstein"])
def test_costs_and_rewards_mirror_each_other_without_noise(bonus: str) -> None:
    """Where every pair was visited, cost = 1 - reward gives the same policy and V_cost = H-h+1 - V_reward."""
    for seed in range(4):
        spec, counts, radius = world(seed, PER_STEP, 0.0)
        seen = counts.visits + 5
        moved = counts.transitions + 5 / spec.states
        rewards = learnt(
            learners.make("ucbvi", bonus=bonus, objective="reward"),
            spec,
            Counts(seen, counts.rewards, counts.rewards, moved),
            radius,
            scale=0.01,
        )
        costs = learnt(
            learners.make("ucbvi", bonus=bonus, objective="cost"),
            spec,
            Counts(seen, seen - counts.rewards, seen - counts.rewards, moved),
            radius,
            scale=0.01,
        )
        left = np.arange(spec.horizon, -1, -1)[:, None]
        assert np.allclose(costs.values, left - rewards.values)
        assert np.array_equal(costs.policy, rewards.policy)
