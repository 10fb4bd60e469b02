"""Optimistic value iteration: UCB-VI, PRIVATE-UCB-VI, DP-UCBVI and our own, which differ in estimate and bonus only.

After every release:

1. estimate r and P from the counts;
2. find the bonus b(s, a) of every pair, from counts, radius and, for Bernstein bonuses, the next step's values;
3. for h = H..1: Q_h = r + P V_{h+1} + b clipped to [0, H-h+1], pi_h = argmax Q_h, V_h = max Q_h (costs: - b, min);
4. the next users follow pi.

`private`: PRIVATE-UCB-VI, Algorithm 2 of Chowdhury and Zhou (2022), "Differentially Private Regret Minimization in
Episodic Markov Decision Processes", eq. (1) and Lemma 2; stated with costs. At radius 0 its bonus is (1+H) L_c/sqrt(N).
`hoeffding`, `bernstein`: Azar, Osband and Munos (2017), "Minimax Regret Bounds for Reinforcement Learning". They take
counts for exact. The running minimum over episodes, which only the proof for Bernstein needs, is left out: a plan is a
function of its release. Visits to a next state are counted by the transitions into it, pooled in a stationary model.
`dp-bernstein`: DP-UCBVI, Qiao and Wang (2023), "Near-Optimal Differentially Private Reinforcement Learning". Counts are
made distributions; its E is four times the radius.
`tight`: ours, for very noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ... import validation
from ...mdp import Spec
from ...protocol.kinds.counts import CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.bonus import (
    bernstein,
    bernstein_future,
    hoeffding,
    private_bernstein,
    private_future,
    private_reward,
    private_value,
)
from ..planning.estimate import distributions, ratios
from ..planning.induction import ROWS, SPREAD, VISITS, WIDTH, Workspace
from ..planning.inlined import inlined
from .learner import Context, Plan, TabularLearner
from .optimism import SENSES, constants, memory, optimistic
from .tight import tight


@inlined
def _private(estimates: Estimates, constants: Array, work: Workspace, horizon: int) -> None:
    """PRIVATE-UCB-VI; own constant: ln(4 S A T / delta)."""
    counts, radius = estimates.counts, estimates.radius
    states, scale, log = counts.visits.shape[1], constants[2], constants[3]
    error = max(radius.visits, radius.rewards)
    ratios(counts, error, error, False, work)
    for layer in range(work.pairs.shape[1]):
        for i in range(work.pairs.shape[2]):
            n = work.pairs[VISITS, layer, i]
            reward = private_reward(n, log, error)
            value = private_value(n, states, horizon, log, error, radius.transitions)
            work.pairs[WIDTH, layer, i] = scale * (reward + value)


@inlined
def _hoeffding(estimates: Estimates, constants: Array, work: Workspace, horizon: int) -> None:
    """UCB-VI with the Hoeffding bonus; own constant: ln(5 S A T / delta)."""
    ratios(estimates.counts, 0.0, 0.0, False, work)
    for layer in range(work.pairs.shape[1]):
        for i in range(work.pairs.shape[2]):
            work.pairs[WIDTH, layer, i] = constants[2] * hoeffding(work.pairs[VISITS, layer, i], horizon, constants[3])


@inlined
def _bernstein(estimates: Estimates, constants: Array, work: Workspace, horizon: int) -> None:
    """UCB-VI with the Bernstein bonus; own constant: ln(5 S A T / delta)."""
    _, states, actions = estimates.counts.visits.shape
    scale, log = constants[2], constants[3]
    ratios(estimates.counts, 0.0, 0.0, False, work)
    for layer in range(work.pairs.shape[1]):
        for t in range(states):
            work.scratch[0, t] = bernstein_future(_arrivals(work, layer, t), states, actions, horizon, log)
        _expect(work, layer)
        for i in range(work.pairs.shape[2]):
            n = work.pairs[VISITS, layer, i]
            work.pairs[WIDTH, layer, i] = scale * bernstein(n, horizon, log, work.scratch[1, i])
            work.pairs[SPREAD, layer, i] = scale * scale * 8.0 * log / n


@inlined
def _dp_bernstein(estimates: Estimates, constants: Array, work: Workspace, horizon: int) -> None:
    """DP-UCBVI; own constant: ln(30 H S A T / beta)."""
    counts, radius = estimates.counts, estimates.radius
    _, states, actions = counts.visits.shape
    scale, log = constants[2], constants[3]
    error = 4.0 * max(radius.visits, radius.rewards, radius.transitions)
    distributions(counts, error / 4.0, error / (2.0 * states), work)
    for layer in range(work.pairs.shape[1]):
        for t in range(states):
            work.scratch[0, t] = private_future(_arrivals(work, layer, t), states, actions, horizon, log, error)
        _expect(work, layer)
        for i in range(work.pairs.shape[2]):
            n = work.pairs[VISITS, layer, i]
            work.pairs[WIDTH, layer, i] = scale * private_bernstein(n, states, horizon, log, error, work.scratch[1, i])
            work.pairs[SPREAD, layer, i] = scale * scale * 4.0 * log / n


@inlined
def _arrivals(work: Workspace, layer: int, state: int) -> float:
    """N'(s'): how often `state` came next, in one layer of the estimated model."""
    total = 0.0
    for i in range(work.pairs.shape[2]):
        total += work.transitions[layer, state, i] * work.pairs[ROWS, layer, i]
    return total


@inlined
def _expect(work: Workspace, layer: int) -> None:
    """scratch[1, i] = sum_t P(t | i) scratch[0, t]."""
    _, states, pairs = work.transitions.shape
    for i in range(pairs):
        work.scratch[1, i] = 0.0
    for t in range(states):
        for i in range(pairs):
            work.scratch[1, i] += work.transitions[layer, t, i] * work.scratch[0, t]


class BonusForm(NamedTuple):
    """One bonus: its plan, that plan's memory, the objective it was stated for, and the factors (c, p)
    of its confidence level ln(c H^p S A T / delta).
    """

    plan: Plan
    memory: Callable[[Context], Workspace]
    objective: str
    level: tuple[float, int]


PLAIN, DISPERSED = partial(memory, dispersed=False), partial(memory, dispersed=True)

FORMS = {
    "private": BonusForm(optimistic("private", _private), PLAIN, "cost", (4.0, 0)),
    "hoeffding": BonusForm(optimistic("hoeffding", _hoeffding), PLAIN, "reward", (5.0, 0)),
    "bernstein": BonusForm(optimistic("bernstein", _bernstein), DISPERSED, "reward", (5.0, 0)),
    "dp-bernstein": BonusForm(optimistic("dp_bernstein", _dp_bernstein), DISPERSED, "reward", (30.0, 1)),
}


def ucbvi(bonus: str = "tight", objective: str | None = None) -> TabularLearner:
    """Optimistic value iteration with one of the bonuses above, on rewards or costs (else as the bonus was stated)."""
    validation.choice("bonus", bonus, ("tight", *FORMS))
    stated = "reward" if bonus == "tight" else FORMS[bonus].objective
    chosen = validation.choice("objective", stated if objective is None else objective, SENSES)
    question = partial(_question, objective=chosen)
    if bonus == "tight":
        return tight("ucbvi", question, SENSES[chosen])
    form = FORMS[bonus]
    return TabularLearner(
        name="ucbvi",
        plan=form.plan,
        question=question,
        constants=partial(_constants, level=form.level, sense=SENSES[chosen]),
        memory=form.memory,
        draws=False,
    )


def _question(spec: Spec, objective: str) -> CountQuestion:
    return CountQuestion(spec, objective=objective)


def _constants(context: Context, level: tuple[float, int], sense: float) -> Array:
    spec = context.spec
    factor = level[0] * spec.horizon ** level[1] / context.failure
    log = math.log(factor * spec.states * spec.actions * context.steps)
    return constants(context, log, sense=sense)
