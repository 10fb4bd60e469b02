"""Optimistic Q-learning: Algorithm 1 of Jin, Allen-Zhu, Bubeck and Jordan (2018), "Is Q-learning Provably Efficient?" (UCB-H). A
baseline without privacy: it learns from what happened since the last release, which noise would drown.

Q_h(s, a) begins at H. At the t-th visit of (s, a) at step h, which paid r and led to s', in the order of the steps,

    Q_h(s, a) <- (1 - alpha_t) Q_h(s, a) + alpha_t (r + V_{h+1}(s') + b_t),   V_h(s) = min(H, max_a Q_h(s, a)),

with alpha_t = (H + 1)/(H + t) and b_t = c sqrt(H^3 log(S A T/delta) / t); the next user takes the best actions. Counts of each step
show an episode exactly where every user has a release (`--schedule every`). In a release about several, the visits of a pair are
taken one after the other, next state by next state, each with the mean of their rewards. c is `bonus_scale`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import compiled
from ...errors import InvalidInput
from ...mdp import Spec
from ...protocol.kinds.counts import DROPPED, REWARDS, TRANSITIONS, VISITS, CountQuestion
from ...protocol.releases.release import Array, Estimates, Noise
from ..planning.inlined import inlined
from .learner import Context, Plan, TabularLearner


class QMemory(NamedTuple):
    """Action values (H, S, A), and the counts that they were learned from: visits, rewards, transitions."""

    q: Array
    visits: Array
    rewards: Array
    transitions: Array


@compiled
def plan_q_learning(
    estimates: Estimates, constants: Array, memory: QMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Learn from what is new in the counts, step by step; constants: c sqrt(H^3 log(S A T/delta))."""
    counts = estimates.counts
    horizon, states, actions = policy.shape
    for h in range(horizon):
        for s in range(states):
            for a in range(actions):
                new = counts.visits[h, s, a] - memory.visits[h, s, a]
                if new > 0.0:
                    reward = (counts.rewards[h, s, a] - memory.rewards[h, s, a]) / new
                    seen = memory.visits[h, s, a]
                    if h == horizon - 1:  # nothing comes after it
                        for _ in range(int(new)):
                            seen += 1.0
                            memory.q[h, s, a] = _learned(memory.q[h, s, a], horizon, seen, reward, constants[0])
                    else:
                        for t in range(states):
                            for _ in range(int(counts.transitions[h, s, a, t] - memory.transitions[h, s, a, t])):
                                seen += 1.0
                                target = reward + values[h + 1, t]
                                memory.q[h, s, a] = _learned(memory.q[h, s, a], horizon, seen, target, constants[0])
    for h in range(horizon):
        for s in range(states):
            best = 0
            for a in range(actions):
                memory.visits[h, s, a] = counts.visits[h, s, a]
                memory.rewards[h, s, a] = counts.rewards[h, s, a]
                for t in range(states):
                    memory.transitions[h, s, a, t] = counts.transitions[h, s, a, t]
                if memory.q[h, s, a] > memory.q[h, s, best]:
                    best = a
            for a in range(actions):
                policy[h, s, a] = 1.0 if a == best else 0.0
            values[h, s] = min(float(horizon), memory.q[h, s, best])


@inlined
def _learned(value: float, horizon: int, seen: float, target: float, width: float) -> float:
    """An action value after one visit more, the `seen`-th of the pair."""
    rate = (horizon + 1.0) / (horizon + seen)
    return (1.0 - rate) * value + rate * (target + width / math.sqrt(seen))


def q_learning() -> TabularLearner:
    """Optimistic Q-learning; it has no options of its own."""
    return TabularLearner("q-learning", plan_q_learning, _question, _constants, _memory, draws=False, plans=_plan_for)


def _plan_for(noise: Noise, users: float, spec: Spec) -> Plan:
    if noise.transitions > 0:
        raise InvalidInput(
            "q-learning-noise",
            "q-learning learns from single episodes, without privacy. The release has noise. Take --trust none, or ucbvi.",
        )
    return plan_q_learning


def _question(spec: Spec) -> CountQuestion:
    if spec.layers < spec.horizon:
        raise InvalidInput(
            "q-learning-pooled",
            "q-learning has values of each step. The model pools counts of all steps. Say --model per-step.",
        )
    return CountQuestion(spec, (VISITS, REWARDS, TRANSITIONS), last=DROPPED)


def _constants(context: Context) -> Array:
    spec = context.spec
    log = math.log(spec.states * spec.actions * context.steps / context.failure)
    return np.array([context.bonus_scale * math.sqrt(spec.horizon**3 * log)])


def _memory(context: Context) -> QMemory:
    spec = context.spec
    pairs = (spec.horizon, spec.states, spec.actions)
    return QMemory(
        np.full(pairs, float(spec.horizon)), np.zeros(pairs), np.zeros(pairs), np.zeros((*pairs, spec.states))
    )
