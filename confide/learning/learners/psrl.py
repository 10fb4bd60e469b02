"""PSRL and LDP-PSRL: posterior sampling, Algorithm 7 of Garcelon, Perchet, Pike-Burke and Pirotta (2021), "Local
Differentially Private Regret Minimization in Reinforcement Learning"; at radius 0, that of Osband, Russo and Van Roy
(2013), "(More) Efficient Reinforcement Learning via Posterior Sampling".

After every release:

1. draw P(s, a) ~ Dirichlet(alpha_0 + N(s, a, .)) and the mean reward r(s, a) ~ Normal-Gamma(mu, lambda, nu, beta) with
   lambda = lambda_0 + N, nu = nu_0 + N/2, mu = (lambda_0 mu_0 + R) / lambda and
   beta = beta_0 + R2/2 + lambda_0 mu_0^2/2 - (lambda_0 mu_0 + R)^2 / (2 lambda), R2 the sum of squared rewards
   (eq. (102), with its slip for mu_0 != 0 put right);
2. the next users follow the best policy of the model drawn.

Priors, `paper`: alpha_0 = lambda_0 = nu_0 = beta_0 = 1 and mu_0 = 0 without privacy. With it, eq. (103)-(107) raise
them to the error radius after all K users, beta_0 to five times that, so that noise cannot make them negative; alpha_0 has
the radius of a whole row, as printed. What is below zero all the same is clamped. Each is an input of Algorithm 7, and an
option here.

`tight`, ours: a posterior that knows how noisy counts are (`planning.sampling`), with Dirichlet(alpha_0) rows, 1 by default, and
beta rewards; people are weighed by the visits expected of them where their noise is their own (`planning.weighing`). Squares are
not asked for: rewards are rounded to 0 or 1 before they are counted.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ... import validation
from ...compiled import compiled
from ...mdp import Spec
from ...protocol.kinds.counts import DROPPED, REWARDS, SQUARES, TRANSITIONS, VISITS, CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.induction import GREEDY, MAXIMISE, REWARD, ROWS, Workspace, backward_induction, workspace
from ..planning.inlined import inlined
from ..planning.sampling import draw_dirichlet, draw_mean, draw_model
from ..planning.value_sampling import one_persons
from ..planning.weighing import WeightedCounts, expect, no_weighted_counts, weigh
from .learner import Context, Plan, TabularLearner


@compiled
def plan_psrl_paper(
    estimates: Estimates, constants: Array, memory: Workspace, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """Draw a model from the posterior and solve it; constants: the five priors, not a number for the paper's."""
    counts, radius = estimates.counts, estimates.radius
    layers, states, actions = counts.visits.shape
    cell_prior = _given(constants[0], max(1.0, radius.rows))
    mean_prior, count_prior = _given(constants[1], 0.0), _given(constants[2], max(1.0, radius.visits))
    shape_prior = _given(constants[3], max(1.0, radius.visits))
    rate_prior = _given(constants[4], max(1.0, 5.0 * radius.visits))
    priors = mean_prior, count_prior, shape_prior, rate_prior
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                i = s * actions + a
                for t in range(states):
                    memory.transitions[layer, t, i] = cell_prior + counts.transitions[layer, s, a, t]
                draw_dirichlet(memory, layer, i, rng)
                memory.pairs[REWARD, layer, i] = _drawn_reward(
                    counts.visits[layer, s, a],
                    counts.rewards[layer, s, a],
                    counts.squares[layer, s, a],
                    priors,
                    rng,
                )
    backward_induction(memory, MAXIMISE, -np.inf, np.inf, GREEDY, policy, values)


class PosteriorMemory(NamedTuple):
    """Room to plan in; weighted counts; which share of a release's noise is in a pair's weighed counts, (L, S, A)."""

    work: Workspace
    weighted: WeightedCounts
    shares: Array


@compiled
def plan_psrl_tight(
    estimates: Estimates,
    constants: Array,
    memory: PosteriorMemory,
    rng: np.random.Generator,
    policy: Array,
    values: Array,
) -> None:
    """Draw a model from the posterior, with counts made credible first, and solve it; no constants."""
    counts, _, noise, users = estimates
    work, weighted, shares = memory
    layers, states, actions = counts.visits.shape
    own = min(1.0, noise.own) * states * one_persons(noise.transitions, users) / noise.luck
    weigh(estimates, own, policy.shape[0], weighted)
    for layer in range(layers):
        for s in range(states):
            for a in range(actions):
                shares[layer, s, a] = one_persons(weighted.people[layer, s, a], users) if noise.own > 0.0 else 1.0
    draw_model(weighted.counts, noise, shares, _given(constants[0], 1.0), work, rng)
    backward_induction(work, MAXIMISE, -np.inf, np.inf, GREEDY, policy, values)
    for layer in range(layers):
        for i in range(states * actions):
            work.pairs[ROWS, layer, i] = 1.0
    expect(work, policy, weighted)


@inlined
def _drawn_reward(
    visits: float,
    rewards: float,
    squares: float,
    priors: tuple[float, float, float, float],
    rng: np.random.Generator,
) -> float:
    """A draw of the mean reward; priors: mu_0, lambda_0, nu_0, beta_0."""
    mean, pseudo, shape, rate = priors
    count, total = max(1e-3, pseudo + visits), pseudo * mean + rewards
    spread = rate + squares / 2.0 + pseudo * mean * mean / 2.0 - total * total / (2.0 * count)
    return draw_mean(total / count, count, shape + visits / 2.0, spread, rng)


@inlined
def _given(value: float, printed: float) -> float:
    """The value, or what is printed where it is not a number."""
    return printed if value != value else value


PLANS: dict[str, Plan] = {"paper": plan_psrl_paper, "tight": plan_psrl_tight}


def psrl(
    posterior: str = "tight",
    alpha0: float | None = None,
    mu0: float | None = None,
    lambda0: float | None = None,
    nu0: float | None = None,
    beta0: float | None = None,
) -> TabularLearner:
    """Posterior sampling with the paper's posterior, or ours.

    alpha0 to beta0: the priors of Algorithm 7, by default eq. (103)-(107); ours has alpha0 only.
    """
    validation.choice("posterior", posterior, PLANS)
    options = {"alpha0": alpha0, "mu0": mu0, "lambda0": lambda0, "nu0": nu0, "beta0": beta0}
    priors = []
    for name, value in options.items():
        if value is not None and posterior != "paper" and name != "alpha0":
            raise validation.refusal(
                "posterior-option", name, "left out for our own posterior", value, 'Give posterior="paper" with it.'
            )
        if value is not None:
            value = validation.number(name, value) if name == "mu0" else validation.positive(name, value)
        priors.append(np.nan if value is None else float(value))
    squares = (SQUARES,) if posterior == "paper" else ()
    parts = (VISITS, REWARDS, *squares, TRANSITIONS)
    tightly = posterior == "tight"
    return TabularLearner(
        name="psrl",
        plan=PLANS[posterior],
        question=partial(_question, parts=parts),
        constants=partial(_constants, priors=tuple(priors)),
        memory=_tight_memory if tightly else _memory,
        scaled=False,
        expected=_expected if tightly else None,
    )


def _question(spec: Spec, parts: tuple[str, ...]) -> CountQuestion:
    return CountQuestion(spec, parts, last=DROPPED)


def _constants(context: Context, priors: tuple[float, ...]) -> Array:
    return np.array(priors)


def _memory(context: Context) -> Workspace:
    return workspace(context.spec)


def _tight_memory(context: Context) -> PosteriorMemory:
    spec = context.spec
    shares = np.ones((spec.layers, spec.states, spec.actions))
    return PosteriorMemory(workspace(spec, dispersed=True), no_weighted_counts(spec), shares)


def _expected(memory: PosteriorMemory) -> Array:
    return memory.weighted.expected
