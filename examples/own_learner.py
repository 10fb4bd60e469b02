"""A learner of your own, in forty lines, and everything that is asked of it, inherited.

Run `pytest examples/own_learner.py` to test it, or this file to see it learn under joint differential privacy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import confide
from confide.compiled import compiled
from confide.lab.testing import LearnerConformance
from confide.learning.learners import Context, Learner, TabularLearner, register
from confide.learning.planning import GREEDY, MAXIMISE, backward_induction, workspace
from confide.learning.planning.estimate import ratios
from confide.protocol.kinds import CountQuestion


@compiled
def plan_wanderer(estimates: Any, constants: Any, memory: Any, rng: Any, policy: Any, values: Any) -> None:
    """The best policy of the estimated model, with less and less wandering; called after every release.

    Adding the error radius to what divides makes pairs look poor as long as their visits may be noise.
    """
    error = estimates.radius.visits
    ratios(estimates.counts, error, error, False, memory)
    backward_induction(memory, MAXIMISE, 0.0, 1.0, GREEDY, policy, values)
    wander = constants[0] / (1.0 + estimates.users) ** (1 / 3)
    for h in range(policy.shape[0]):
        for s in range(policy.shape[1]):
            for a in range(policy.shape[2]):
                policy[h, s, a] = (1.0 - wander) * policy[h, s, a] + wander / policy.shape[2]


def constants(context: Context) -> Any:
    """How much to wander; `--bonus-scale` sets it."""
    return np.array([min(1.0, context.bonus_scale)])


def memory(context: Context) -> Any:
    """Room for the estimated model."""
    return workspace(context.spec)


@register("wanderer")
def wanderer() -> Learner:
    """Acts at random now and then, less and less often."""
    return TabularLearner("wanderer", plan_wanderer, CountQuestion, constants, memory)


class TestWanderer(LearnerConformance):
    """Everything a learner must keep."""

    def make(self) -> Learner:
        """What all tests are run on."""
        return wanderer()


def main() -> None:
    """From now on its name works wherever a learner is named."""
    privacy = confide.Joint(epsilon=1, delta=1e-6)
    for name in ("wanderer", "ucbvi"):
        run = confide.simulate(name, "riverswim/3", horizon=6, privacy=privacy, episodes=20_000, seeds=3)
        print(f"{name}: regret {run.regret[:, -1].mean():.0f}")


if __name__ == "__main__":
    main()
