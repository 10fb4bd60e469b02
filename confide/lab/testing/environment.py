"""The conformance suite of environments."""

from __future__ import annotations

import numpy as np

from ...learning.planning.evaluation import optimal_value, policy_value
from ...mdp import PER_STEP, Policy
from ..environments import Environment, make

EPISODES = 20


class EnvironmentConformance:
    """Tests of an `Environment` that has a name. Inherit, and return yours from `make`."""

    def make(self) -> Environment:
        """The world, as `environments.make` builds it."""
        raise NotImplementedError("return your environment from make()")

    def uniform(self) -> Policy:
        """The policy for which every action is equally likely."""
        spec = self.make().spec
        return Policy.uniform(spec.horizon, spec.states, spec.actions)

    def test_its_address_builds_it_again(self) -> None:
        """The same address, horizon and model always give the same world."""
        world = self.make()
        assert world.address, "register the world, and make it by its address"
        again = make(world.address, world.spec.horizon, world.spec.dynamics)
        assert (again.spec, again.scale, again.address) == (world.spec, world.scale, world.address)
        if world.model is not None and again.model is not None:
            assert np.array_equal(world.model.transitions, again.model.transitions), "transitions differ"
            assert np.array_equal(world.model.rewards, again.model.rewards), "rewards differ"
            assert np.array_equal(world.model.initial, again.model.initial), "initial differ"

    def test_says_what_it_is(self) -> None:
        """It has a description, in one sentence."""
        description = self.make().description
        assert description and description.endswith("."), "describe the world in a sentence"

    def test_values_lie_between_nothing_and_the_horizon(self) -> None:
        """Values are at most the horizon, and nothing beats the best policy."""
        world = self.make()
        if world.model is not None:
            best, usual = optimal_value(world.model), policy_value(world.model, self.uniform())
            assert 0 <= usual <= best * (1 + 1e-12) <= world.spec.horizon * (1 + 1e-12)

    def test_can_be_told_step_by_step(self) -> None:
        """With one layer for each step, and the same values."""
        world = self.make()
        if world.model is not None and world.spec.horizon * world.spec.states**2 * world.spec.actions < 10**7:
            per_step = world.with_dynamics(PER_STEP)
            assert per_step.model is not None and per_step.spec.layers == per_step.spec.horizon == len(
                per_step.model.transitions
            )
            assert np.isclose(optimal_value(per_step.model), optimal_value(world.model), rtol=1e-12)

    def test_episodes_fit_its_sizes(self) -> None:
        """If it can only be played: H steps, each beginning where the one before ended, rewards in [0, 1]."""
        world, rng = self.make(), np.random.default_rng(0)
        if world.interact is None:
            return
        spec = world.spec
        for _ in range(EPISODES):
            states, actions, rewards, following = world.interact(self.uniform(), rng)
            assert len(states) == len(actions) == len(rewards) == len(following) == spec.horizon
            assert np.array_equal(states[1:], following[:-1]), "each step must begin where the one before ended"
            assert min(states.min(), following.min()) >= 0 and max(states.max(), following.max()) < spec.states
            assert actions.min() >= 0 and actions.max() < spec.actions
            assert rewards.min() >= 0 and rewards.max() <= 1, "rewards must lie in [0, 1]"

    def test_the_same_luck_plays_the_same_episode(self) -> None:
        """So that a simulation can be run again."""
        world = self.make()
        if world.interact is not None:
            first, second = (world.interact(self.uniform(), np.random.default_rng(1)) for _ in range(2))
            assert all(np.array_equal(left, right) for left, right in zip(first, second, strict=True))
