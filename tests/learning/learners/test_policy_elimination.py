"""Policy elimination in stages: what it explores is the best of a linear program, stages forget, and the best policy is left."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import confide as cf
from confide.lab.environments import make
from confide.lab.testing import LearnerConformance
from confide.lab.testing.learner import BATCH, ENOUGH, exact
from confide.learning import learners
from confide.learning.learners.learner import Context, State
from confide.learning.learners.policy_elimination import MIXED, STAGES, WIDTH, StageMemory, best_value, reach
from confide.learning.planning.evaluation import optimal_value, policy_value
from confide.mdp import PER_STEP, STATIONARY, Model, Policy, Spec
from confide.protocol.releases import CountRelease, Counts
from confide.protocol.releases.release import PEOPLES, Noise


class TestPolicyElimination(LearnerConformance):
    def make(self) -> Any:
        return learners.make("policy-elimination")

    def test_learns_a_world_of_which_everything_is_told(self) -> None:
        """As for the others, but for counts that grow: it forgets what was given before."""
        for model in (STATIONARY, PER_STEP):
            learner, world, state = self.begin(model)
            for batch in range(1, self.rounds + 1):
                state = learner.learn(state, exact(world, learner.ask(state), batch * BATCH, batch * ENOUGH))
            spec = world.spec
            random = policy_value(world, Policy.uniform(spec.horizon, spec.states, spec.actions))
            assert policy_value(world, Policy(state.policy)) >= random + 0.9 * (optimal_value(world) - random)


def told(world: Model, users: int, visits: float, **changed: Any) -> CountRelease:
    """Counts that show a world as it is, had every pair been visited so often at every step."""
    learner = learners.make("policy-elimination")
    release = exact(world, learner.ask(begun(world.spec)), users, visits)
    return replace(release, **changed)


def begun(spec: Spec, scale: float = 1.0) -> State:
    context = Context(spec, 1_000_000, bonus_scale=scale)
    state: State = learners.make("policy-elimination").begin(context, np.random.default_rng(0))
    return state


def program(memory: StageMemory, floor: float) -> float:
    """The most of the goal over laws of visits whose reward is at least `floor`, by linear programming."""
    horizon, pairs = memory.goal.shape
    layers, states = len(memory.rewards), memory.initial.size
    actions = pairs // states
    flow = np.zeros((horizon, states, horizon, pairs))
    for h in range(horizon):
        for i in range(pairs):
            flow[h, i // actions, h, i] = 1
            if h + 1 < horizon:
                flow[h + 1, :, h, i] -= memory.transitions[h if layers > 1 else 0, i]
    enters = np.zeros((horizon, states))
    enters[0] = memory.initial
    rewards = np.broadcast_to(memory.rewards, (horizon, pairs)) if layers == 1 else memory.rewards
    found = linprog(
        -memory.goal.ravel(),
        A_ub=-rewards.reshape(1, -1),
        b_ub=[-floor],
        A_eq=flow.reshape(horizon * states, -1),
        b_eq=enters.ravel(),
    )
    assert found.status == 0
    return float(-found.fun)


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_a_mixture_reaches_what_a_linear_program_does(kind: str) -> None:
    rng, tight = np.random.default_rng(5), 0
    for _ in range(20):
        spec = Spec(3, 2, 4, kind)
        memory: StageMemory = begun(spec).memory
        memory.transitions[:] = rng.dirichlet(np.ones(3), size=memory.transitions.shape[:2])
        memory.rewards[:] = rng.random(memory.rewards.shape)
        memory.initial[:] = rng.dirichlet(np.ones(3))
        memory.goal[:] = rng.random(memory.goal.shape) * (rng.random(memory.goal.shape) < 0.3)
        values = np.zeros((5, 3))
        best = best_value(memory, values)
        for below in (10.0, 0.5, 0.1, 0.01, 0.0):
            floor = best - below
            memory.visits[MIXED] = 0.0
            reached = reach(memory, floor, values)
            assert reached == pytest.approx(program(memory, floor), abs=2e-5)
            mixed = memory.visits[MIXED]
            assert (memory.goal * mixed).sum() == pytest.approx(reached)
            assert mixed.sum(axis=1) == pytest.approx(np.ones(4))
            worth = (memory.rewards * mixed).sum()
            assert worth >= floor - 1e-9
            tight += worth < floor + 1e-6
    assert tight > 20  # the constraint is what decides, often


def test_a_stage_forgets_what_came_before_it() -> None:
    rng = np.random.default_rng(3)
    world = make("random/3x2?seed=100", 4).model
    assert world is not None
    state, learner = begun(world.spec), learners.make("policy-elimination")
    first = told(world, 1000, 1e4)
    odd = Counts(*(part + 1000 * rng.random(part.shape) for part in first.counts[:4]))
    models = []
    for begins in (first.counts, odd):
        after = learner.learn(state, replace(first, counts=begins))
        assert after.memory.clock[STAGES] == 1
        grown = Counts(*(had + new for had, new in zip(begins[:4], told(world, 1000, 5e4).counts[:4], strict=True)))
        after = learner.learn(after, replace(first, users=2000, counts=grown))
        assert after.memory.clock[STAGES] == 2
        models.append(after.memory)
    np.testing.assert_allclose(models[0].rewards, models[1].rewards)
    np.testing.assert_allclose(models[0].transitions, models[1].transitions, atol=1e-9)
    assert np.abs(learner.learn(state, replace(first, counts=odd)).memory.rewards - models[1].rewards).max() > 1e-3


def test_widths_are_those_of_the_docstring_with_the_noise_of_the_stage_alone() -> None:
    """Counts like these, visits n of each pair, by hand: b, the same for all pairs, H times."""
    world = make("random/3x2?seed=100", 4).model
    assert world is not None
    learner, log = learners.make("policy-elimination"), math.log(3 * 2 * 4 * 1_000_000 / 0.1)

    def noisy(variance: float) -> Noise:
        return Noise(PEOPLES, variance, variance, 1.0, variance)

    state = learner.learn(begun(world.spec, 0.01), told(world, 1000, 1e6, noise=noisy(900.0)))
    for variance, visits in ((900.0, 1e6), (2500.0, 3e6)):
        deviation, seen = (30.0, 1e6) if variance == 900.0 else (40.0, 2e6)  # 40^2 = 2500 - 900
        if variance > 900.0:
            state = learner.learn(state, told(world, 2000, visits, noise=noisy(variance)))
        later = np.arange(4, 0, -1)
        pair = 4 * math.sqrt(log / (2 * seen)) + (1 + 4 * math.sqrt(3)) * deviation * math.sqrt(2 * log) / seen
        assert state.memory.widths == pytest.approx(np.full((1, 6), 0.01 * pair))
        assert state.memory.clock[WIDTH] == pytest.approx(np.minimum(later, 0.01 * pair).sum())


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_the_best_policy_is_never_eliminated_and_others_are(kind: str) -> None:
    """Without privacy, with the widths of the docstring: the regret of later users is less, and the best policy stays."""
    run = cf.simulate(
        "policy-elimination",
        "random/3x2?seed=100",
        horizon=4,
        privacy=cf.NoPrivacy(),
        episodes=10**8,
        seeds=3,
        schedule="growth:1.2",
        model=kind,
        bonus_scale=0.1,
    )
    half = np.searchsorted(run.checkpoints, 10**7)
    early = run.regret[:, half] / run.checkpoints[half]
    late = (run.regret[:, -1] - run.regret[:, half]) / (run.checkpoints[-1] - run.checkpoints[half])
    assert (late < 0.5 * early).all()
    assert (run.optimal_value - run.final_value < 0.02 * run.optimal_value).all()
