"""The value of a policy in a known model, exactly.

One policy's value from the first state's law runs forwards, as a flow of probability: states and actions that are never
reached cost nothing, and a step is a weighted sum of rows. Values of all states run backwards, by the one induction.
"""

from __future__ import annotations

import numpy as np

from ... import validation
from ...compiled import compiled, merged
from ...mdp import Model, Policy
from ...protocol.releases.release import Array
from .induction import GIVEN, GREEDY, MAXIMISE, REWARD, Workspace, backward_induction, workspace
from .inlined import inlined


@inlined
def enter(initial: Array, flow: Array) -> None:
    """The law of the first state, as the flow before step 0."""
    for s in range(flow.shape[1]):
        flow[0, s] = initial[s]


@inlined
def turn(step: int, flow: Array) -> tuple[int, int]:
    """Which row of the flow holds the law of the states at a step, and which, emptied, is to hold the next."""
    now, after = step % 2, 1 - step % 2
    for s in range(flow.shape[1]):
        flow[after, s] = 0.0
    return now, after


@merged
def flow_value(transitions: Array, rewards: Array, initial: Array, policy: Array, flow: Array) -> float:
    """The expected return sum_h sum_s,a d_h(s) policy_h(a|s) r(s, a).

    transitions: (L, S, A, S); rewards: (L, S, A); initial: (S,); policy: (H, S, A); flow: (2, S), scratch.
    """
    horizon, states, actions = policy.shape
    layers = rewards.shape[0]
    value = 0.0
    enter(initial, flow)
    for h in range(horizon):
        layer = h if layers > 1 else 0
        now, after = turn(h, flow)
        for s in range(states):
            if flow[now, s] != 0.0:
                for a in range(actions):
                    mass = flow[now, s] * policy[h, s, a]
                    if mass != 0.0:
                        value += mass * rewards[layer, s, a]
                        for t in range(states):
                            flow[after, t] += mass * transitions[layer, s, a, t]
    return value


@compiled
def flow_visits(transitions: Array, initial: Array, policy: Array, flow: Array, visits: Array) -> None:
    """Write visits (H, S, A), how likely each pair is at each step; the other shapes are those of `flow_value`."""
    horizon, states, actions = policy.shape
    layers = transitions.shape[0]
    enter(initial, flow)
    for h in range(horizon):
        layer = h if layers > 1 else 0
        now, after = turn(h, flow)
        for s in range(states):
            for a in range(actions):
                mass = flow[now, s] * policy[h, s, a]
                visits[h, s, a] = mass
                if mass != 0.0:
                    for t in range(states):
                        flow[after, t] += mass * transitions[layer, s, a, t]


def policy_value(model: Model, policy: Policy) -> float:
    """The expected return of one episode."""
    table = _table(model, policy)
    flow = np.empty((2, model.spec.states))
    return float(flow_value(model.transitions, model.rewards, model.initial, table, flow))


def policy_values(model: Model, policy: Policy) -> Array:
    """The expected return from every step and state on, (H+1, S)."""
    values = np.empty((model.horizon + 1, model.spec.states))
    backward_induction(known(model), MAXIMISE, -np.inf, np.inf, GIVEN, _table(model, policy), values)
    return values


def occupancy(model: Model, policy: Policy) -> Array:
    """How likely each pair is at each step, (H, S, A); each step sums to one."""
    table = _table(model, policy)
    visits = np.empty_like(table)
    flow_visits(model.transitions, model.initial, table, np.empty((2, model.spec.states)), visits)
    return visits


def optimal(model: Model) -> tuple[Policy, Array]:
    """A best policy, deterministic, the first action on ties, and its values (H+1, S)."""
    spec = model.spec
    policy, values = np.empty((spec.horizon, spec.states, spec.actions)), np.empty((spec.horizon + 1, spec.states))
    backward_induction(known(model), MAXIMISE, -np.inf, np.inf, GREEDY, policy, values)
    return Policy(policy), values


def optimal_value(model: Model) -> float:
    """The expected return of a best policy: by arrays, so that nothing is compiled for it."""
    values = np.zeros(model.spec.states)
    for step in reversed(range(model.horizon)):
        layer = step if len(model.rewards) > 1 else 0
        values = (model.rewards[layer] + model.transitions[layer] @ values).max(axis=1)
    return float(model.initial @ values)


def known(model: Model) -> Workspace:
    """A known model as the induction takes it, without bonus."""
    work = workspace(model.spec)
    work.pairs[REWARD] = model.rewards.reshape(work.pairs[REWARD].shape)
    pairs_first = model.transitions.reshape(len(model.transitions), -1, model.spec.states)
    work.transitions[:] = pairs_first.transpose(0, 2, 1)
    return work


def _table(model: Model, policy: Policy) -> Array:
    spec = model.spec
    return validation.array("policy", policy.probabilities, (spec.horizon, spec.states, spec.actions))
