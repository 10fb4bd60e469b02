"""PRIVATE-UCB-PO: optimistic policy optimisation, Algorithm 1 of Chowdhury and Zhou (2022), "Differentially Private
Regret Minimization in Episodic Markov Decision Processes"; at radius 0, that of Efroni et al. (2020).

pi^1 is uniform. After every release, before user k:

1. improve: pi^k(a) ~ pi^{k-1}(a) exp(-eta m Q^{k-1}(a)), where m users have followed pi^{k-1};
2. estimate c and P by eq. (1), with the bonus b = beta_c + H beta_p of Lemma 1;
3. evaluate pi^k: Q_h^k = c + P V_{h+1} - b clipped to [0, H-h+1], V_h = sum_a pi_h^k(a|s) Q_h^k(s, a);
4. user k follows pi^k.

With a release after every user m is 1 and this is the paper's algorithm. In a batch of m users every user follows the
same policy, so the paper's m steps become one of m times the rate. eta = sqrt(2 ln A / (H^2 K)). With rewards the signs
of b and eta are the other way round.

`steps="tight"`, ours: the step size, not the bonus, is what costs. After a batch of m people under pi, with the noise that the
release says it has (people weighed as in `planning.weighing` where it is their own): estimates shrunk as in `planning.sampling`;
the bonus of `planning.standard_errors` with half a standard deviation of the noise inside its roots; evaluate pi; improve it at a
rate for each state (`state_rates`). There is neither K nor a scale in it.

A step is one of mirror descent with the Kullback-Leibler divergence, in logarithms.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ... import validation
from ...compiled import compiled
from ...mdp import Spec
from ...protocol.kinds.counts import CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.bonus import private_reward, private_rows
from ..planning.estimate import ratios
from ..planning.induction import GIVEN, ROWS, VISITS, WIDTH, Workspace, backward_induction, workspace
from ..planning.inlined import inlined
from ..planning.standard_errors import noisy_errors
from ..planning.value_sampling import one_persons
from ..planning.weighing import WeightedCounts, expect, no_weighted_counts, weigh
from .learner import Context, Plan, TabularLearner
from .optimism import SENSES, constants
from .tight import tight_constants


@inlined
def state_rates(sense: float, people: float, q: Array, policy: Array, sums: Array, steps: Array) -> None:
    """Write steps (H, S A), the weight of m people under a rate for each state that needs neither K nor H.

    G(h, s) += m^2 Var_{a~policy} q_h(s, a), kept in sums (H, S); a step is m sqrt(ln A / G) (q - E_policy q). So the rate is as
    large as what was seen of the state allows, and steps of a state that people never differ in are none.
    """
    horizon, states, actions = policy.shape
    for h in range(horizon):
        for s in range(states):
            mean, square = 0.0, 0.0
            for a in range(actions):
                value = q[h, s * actions + a]
                mean += policy[h, s, a] * value
                square += policy[h, s, a] * value * value
            sums[h, s] += people * people * max(0.0, square - mean * mean)
            rate = people * math.sqrt(math.log(float(actions)) / sums[h, s]) if sums[h, s] > 0.0 else 0.0
            for a in range(actions):
                steps[h, s * actions + a] = sense * rate * (q[h, s * actions + a] - mean)


@inlined
def mirror_step(logits: Array, q: Array, rate: float, policy: Array) -> None:
    """policy'(a) = policy(a) exp(rate q(a)) / sum_b policy(b) exp(rate q(b)), for every step and state.

    logits: (H, S A), the logarithm of the policy, kept normalised so that no number of steps overflows or drifts; it is
    updated and its exponential written to policy (H, S, A). q: (H, S A).
    """
    horizon, states, actions = policy.shape
    for h in range(horizon):
        for s in range(states):
            first = s * actions
            top = -math.inf
            for a in range(actions):
                logits[h, first + a] += rate * q[h, first + a]
                top = max(top, logits[h, first + a])
            total = 0.0
            for a in range(actions):
                policy[h, s, a] = math.exp(logits[h, first + a] - top)
                total += policy[h, s, a]
            shift = top + math.log(total)
            for a in range(actions):
                policy[h, s, a] /= total
                logits[h, first + a] -= shift


class PolicyMemory(NamedTuple):
    """Room to plan in, whose `q` is that of the last plan; the policy's logarithm, (H, S A); the users so far, (1,)."""

    work: Workspace
    logits: Array
    users: Array


@compiled
def plan_po(
    estimates: Estimates, constants: Array, memory: PolicyMemory, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """One improvement and one evaluation; own constants: ln(4 S A T / delta), ln(6 S A T / delta), eta."""
    counts, radius, users = estimates.counts, estimates.radius, estimates.users
    horizon, states, _ = policy.shape
    sense, scale, reward_log, rows_log, eta = constants[0], constants[2], constants[3], constants[4], constants[5]
    work = memory.work
    mirror_step(memory.logits, work.q, sense * eta * (users - memory.users[0]), policy)
    memory.users[0] = users
    error = max(radius.visits, radius.rewards)
    ratios(counts, error, error, False, work)
    for layer in range(work.pairs.shape[1]):
        for i in range(work.pairs.shape[2]):
            n = work.pairs[VISITS, layer, i]
            rows = private_rows(n, states, rows_log, error, radius.transitions)
            work.pairs[WIDTH, layer, i] = scale * (private_reward(n, reward_log, error) + horizon * rows)
    backward_induction(work, sense, constants[1], 1.0, GIVEN, policy, values)


class TightPolicyMemory(NamedTuple):
    """Room to plan in; weighted counts; the policy's logarithm and a step of it, (H, S A); G, (H, S)."""

    work: Workspace
    weighted: WeightedCounts
    logits: Array
    steps: Array
    sums: Array


@compiled
def plan_po_tight(
    estimates: Estimates,
    constants: Array,
    memory: TightPolicyMemory,
    rng: np.random.Generator,
    policy: Array,
    values: Array,
) -> None:
    """One evaluation of what people followed, and one improvement."""
    _, _, noise, users = estimates
    work, weighted, logits, steps, sums = memory
    horizon, states, actions = policy.shape
    sense, people = constants[0], users - weighted.users[0]
    if users == 0.0:
        policy[:] = 1.0 / actions
        work.pairs[ROWS] = 0.0
    else:
        own = min(1.0, noise.own) * states * one_persons(noise.transitions, users) / noise.luck
        weigh(estimates, own, horizon, weighted)
        noisy_errors(weighted, noise, users, horizon, work)
        backward_induction(work, sense, 0.0, 1.0, GIVEN, policy, values)
        state_rates(sense, people, work.q, policy, sums, steps)
        mirror_step(logits, steps, 1.0, policy)
        work.pairs[ROWS] = 1.0
    expect(work, policy, weighted)


def po(steps: str = "tight", objective: str = "cost") -> TabularLearner:
    """Optimistic policy optimisation with steps as printed, or ours; on costs as the paper states it, or on rewards."""
    validation.choice("objective", objective, SENSES)
    tightly = validation.choice("steps", steps, STEPS) == "tight"
    return TabularLearner(
        name="po",
        plan=STEPS[steps],
        question=partial(_question, objective=objective),
        constants=partial(tight_constants if tightly else _constants, sense=SENSES[objective]),
        memory=_tight_memory if tightly else _memory,
        scaled=not tightly,
        draws=False,
    )


STEPS: dict[str, Plan] = {"tight": plan_po_tight, "paper": plan_po}


def _question(spec: Spec, objective: str) -> CountQuestion:
    return CountQuestion(spec, objective=objective)


def _constants(context: Context, sense: float) -> Array:
    spec = context.spec
    inside = spec.states * spec.actions * context.steps / context.failure
    eta = math.sqrt(2.0 * math.log(spec.actions) / (spec.horizon**2 * context.users))
    return constants(context, math.log(4.0 * inside), math.log(6.0 * inside), eta, sense=sense)


def _tight_memory(context: Context) -> TightPolicyMemory:
    spec = context.spec
    shape = (spec.horizon, spec.states * spec.actions)
    room = workspace(spec, dispersed=True)
    return TightPolicyMemory(
        room, no_weighted_counts(spec), np.zeros(shape), np.zeros(shape), np.zeros((spec.horizon, spec.states))
    )


def _memory(context: Context) -> PolicyMemory:
    spec = context.spec
    return PolicyMemory(workspace(spec), np.zeros((spec.horizon, spec.states * spec.actions)), np.zeros(1))
