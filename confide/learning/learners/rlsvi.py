"""RLSVI: randomised least-squares value iteration in tables, by Russo (2019), "Worst-Case Regret Bounds for Exploration via
Randomized Value Functions" (Osband, Van Roy and Wen (2016) have the idea). A baseline without privacy: it takes counts for exact.

After every release about k users:

1. estimate r(s, a) = R / (N + 1) and P(s, a, .) = N(s, a, .) / (N + 1), which leaves out a share 1/(N + 1) of what comes next;
2. draw w(s, a) ~ Normal(0, beta_k / (N + 1)) with beta_k = S H^3 log(2 H S A k) / 2, and solve the model of rewards r + w;
3. the next users follow its best policy.

Pairs are those that are counted: of each step in a model per step, as the paper has it, else of all steps together. `bonus_scale`
multiplies the standard deviation of w.
"""

from __future__ import annotations

import math

import numpy as np

from ...compiled import compiled
from ...mdp import Spec
from ...protocol.kinds.counts import DROPPED, REWARDS, TRANSITIONS, VISITS, CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.induction import GREEDY, MAXIMISE, REWARD, Workspace, backward_induction, workspace
from .learner import Context, TabularLearner


@compiled
def plan_rlsvi(
    estimates: Estimates, constants: Array, memory: Workspace, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Perturb the estimated rewards and solve the model; constants: the scale of w."""
    counts, users = estimates.counts, estimates.users
    layers, states, actions = counts.visits.shape
    horizon = policy.shape[0]
    beta = 0.5 * states * horizon**3 * math.log(2.0 * horizon * states * actions * (users + 1.0))
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                more = max(0.0, counts.visits[layer, s, a]) + 1.0
                for t in range(states):
                    memory.transitions[layer, t, i] = counts.transitions[layer, s, a, t] / more
                noise = constants[0] * math.sqrt(beta / more) * rng.standard_normal()
                memory.pairs[REWARD, layer, i] = counts.rewards[layer, s, a] / more + noise
    backward_induction(memory, MAXIMISE, -np.inf, np.inf, GREEDY, policy, values)


def rlsvi() -> TabularLearner:
    """Randomised least-squares value iteration; it has no options of its own."""
    return TabularLearner("rlsvi", plan_rlsvi, _question, _constants, _memory)


def _question(spec: Spec) -> CountQuestion:
    return CountQuestion(spec, (VISITS, REWARDS, TRANSITIONS), last=DROPPED)


def _constants(context: Context) -> Array:
    return np.array([context.bonus_scale])


def _memory(context: Context) -> Workspace:
    return workspace(context.spec)
