"""The conformance suite of learners from counts."""

from __future__ import annotations

import numpy as np

from ...learning.learners.learner import Context, CountLearner, State
from ...learning.planning.evaluation import optimal_value, policy_value
from ...mdp import PER_STEP, STATIONARY, Model, Policy
from ...privacy import Guarantee
from ...protocol.kinds import CountQuestion
from ...protocol.releases import CountRelease, Counts, Radius
from ..environments import make

WORLD, HORIZON = "riverswim/3", 6
BATCH = 10_000
"""People between two releases."""

ENOUGH = 1e12
"""Visits of every pair that leave nothing to explore."""


def exact(model: Model, question: CountQuestion, users: int, visits: float) -> CountRelease:
    """The release of a learner without privacy, had every pair been visited equally often and shown its mean."""
    paid = 1 - model.rewards if question.objective == "cost" else model.rewards
    seen, moved = np.full(model.rewards.shape, visits), visits * model.transitions
    counts = Counts(seen, visits * paid, visits * paid, moved)
    return CountRelease(question, users, counts, Radius.zero(), 0.0, Guarantee.none())


def noisy(release: CountRelease, size: float, rng: np.random.Generator) -> CountRelease:
    """The release with errors of the given size in every count, and radii that cover them."""
    counts = Counts(*(part + size * rng.standard_normal(part.shape) for part in release.counts))
    radius = Radius(*(4 * size,) * 4, 4 * size * len(release.counts.visits[0]))
    return CountRelease(release.question, release.users, counts, radius, 0.1, release.guarantee)


class LearnerConformance:
    """Tests of a learner that asks for counts. Inherit, and return yours from `make`."""

    rounds = 100
    """How many exact releases it takes to learn a problem of three states."""

    def make(self) -> CountLearner:
        """The learner."""
        raise NotImplementedError("return your learner from make()")

    def begin(self, model: str = STATIONARY, seed: int = 0) -> tuple[CountLearner, Model, State]:
        """The learner, a small world, and the learner's first state."""
        learner, world = self.make(), make(WORLD, HORIZON, model).model
        assert world is not None
        return learner, world, learner.begin(Context(world.spec, self.rounds * BATCH), np.random.default_rng(seed))

    def test_has_a_name(self) -> None:
        """It has a name, by which commands know it."""
        assert self.make().name and isinstance(self.make().name, str)

    def test_asks_about_its_own_problem(self) -> None:
        """Its question is about its own sizes, and survives the way to a device."""
        for model in (STATIONARY, PER_STEP):
            learner, world, state = self.begin(model)
            question = learner.ask(state)
            assert question.spec == world.spec
            assert CountQuestion.from_bytes(question.to_bytes()) == question

    def test_plans_before_anybody_came(self) -> None:
        """It has a policy before the first person, and after a release that says nothing."""
        for model in (STATIONARY, PER_STEP):
            learner, world, state = self.begin(model)
            check_plan(state)
            check_plan(learner.learn(state, exact(world, learner.ask(state), 0, 0.0)))

    def test_learns_a_world_of_which_everything_is_told(self) -> None:
        """At least nine tenths of the way from acting at random to acting best."""
        for model in (STATIONARY, PER_STEP):
            learner, world, state = self.begin(model)
            for batch in range(1, self.rounds + 1):
                state = learner.learn(state, exact(world, learner.ask(state), batch * BATCH, ENOUGH))
            check_plan(state)
            spec = world.spec
            random = policy_value(world, Policy.uniform(spec.horizon, spec.states, spec.actions))
            best, learned = optimal_value(world), policy_value(world, Policy(state.policy))
            assert learned >= random + 0.9 * (best - random), f"found a policy of value {learned:.3f} of {best:.3f}"

    def test_survives_any_noise(self) -> None:
        """Counts that are negative, fractional, inconsistent or huge never make it say what is no policy."""
        for model in (STATIONARY, PER_STEP):
            for size in (0.5, 1e3, 1e9):
                learner, world, state = self.begin(model)
                rng = np.random.default_rng(1)
                for _ in range(3):
                    state = learner.learn(state, noisy(exact(world, learner.ask(state), 1, 10.0), size, rng))
                    check_plan(state)

    def test_the_same_luck_learns_the_same(self) -> None:
        """A run can be run again; and learning leaves the state before it as it was."""
        plans = []
        for _ in range(2):
            learner, world, before = self.begin(seed=3)
            release = noisy(exact(world, learner.ask(before), 1, 10.0), 2.0, np.random.default_rng(2))
            policy = before.policy.copy()
            once, again = (learner.learn(before, release) for _ in range(2))
            assert np.array_equal(before.policy, policy), "learning must not change the state before it"
            assert np.array_equal(once.policy, again.policy), "learning twice from one state must give one policy"
            plans.append((before.policy, once.policy, once.values))
        assert all(np.array_equal(first, second) for first, second in zip(*plans, strict=True))


def check_plan(state: State) -> None:
    """Check that a state has a policy whose rows sum to one, and finite values."""
    spec = state.context.spec
    assert state.policy.shape == (spec.horizon, spec.states, spec.actions)
    Policy(state.policy)
    assert state.values.shape == (spec.horizon + 1, spec.states)
    assert np.isfinite(state.values).all(), "values must be finite"
