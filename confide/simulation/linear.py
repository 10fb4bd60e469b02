"""Linear mixtures, simulated: every person walks, reports and is forgotten, in one compiled loop with exact regret.

Noise is drawn once a release, as the sum of what the people of a group would add (a sum of independent Gaussians is one
Gaussian), or as the counter correlates it. `play` is the same protocol with real questions, devices and releases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from ..designs import Design
from ..designs.mixture import MixtureProblem
from ..environments import Environment
from ..errors import InvalidInput
from ..learners import Context
from ..learners.vtr import MIXTURE, MixtureContext
from ..mdp import MixtureFeatures
from ..mechanisms.buffered import best_factors
from ..planning.evaluation import flow_value
from ..planning.least_squares import add_outer, explain, weigh
from ..planning.value_targeted import Problem, Rule, Work, plan, problem, value_ranges, workspace
from ..privacy.guarantee import JOINT, LOCAL, NONE
from .draws import Array, World, pick
from .setting import Outcome, Setting
from .streams import streams


def asks(learner: object) -> bool:
    """Whether a learner asks about linear mixtures."""
    return getattr(learner, "family", "") == MIXTURE


def supports(setting: Setting) -> bool:
    """Whether the compiled loop can serve: a learner of linear mixtures, under a trust model that it knows."""
    return asks(setting.learner) and setting.design.trust in _DRAWN


def asked(
    environment: Environment, learner: Any, context: Context
) -> tuple[MixtureProblem, Callable[[Design], MixtureContext]]:
    """What the learner is about, and what it is told once the form of its questions is fixed."""
    model = environment.model
    if model is None:
        raise InvalidInput(
            f"{learner.name} needs known rewards. {environment.address} has no model. Use another learner."
        )
    features = environment.features or MixtureFeatures.one_hot(context.spec.states, context.spec.actions)
    rewards = np.repeat(model.rewards, context.spec.horizon // len(model.rewards), axis=0)

    def told(design: Design) -> MixtureContext:
        facts = (context.spec, context.users, context.failure, context.bonus_scale)
        return MixtureContext(*facts, form=design.question, rewards=rewards)

    return MixtureProblem(context.spec, features, value_ranges(rewards)), told


class Drawn(NamedTuple):
    """What is added: sigma a report, or a counter's sigma with the weights and decays of its outer buffers."""

    sigma: float
    weights: Array
    decays: Array


@compiled
def draw(noise: Drawn, people: int, rng: np.random.Generator, buffers: Array, drawn: Array) -> None:
    """Change the noise of all cells, flat, to that of the next release."""
    if noise.sigma == 0.0:
        return
    if noise.weights.size == 0:
        size = noise.sigma * np.sqrt(people)
        for i in range(drawn.size):
            drawn[i] += size * rng.standard_normal()
        return
    for i in range(drawn.size):
        fresh = noise.sigma * rng.standard_normal()
        total = 0.0
        for m in range(noise.weights.size):
            buffers[m, i] += fresh - noise.decays[m] * buffers[m, i]
            total += noise.weights[m] * buffers[m, i]
        drawn[i] = total


@compiled
def stroll(world: World, problem: Problem, work: Work, rng: np.random.Generator, cells: Array) -> None:
    """One person's episode, added to the cells (L, blocks, c)."""
    horizon, states = work.actions.shape
    actions = problem.rewards.shape[1] // states
    layers = world.rewards.shape[0]
    s = pick(world.initial, rng)
    for h in range(horizon):
        layer = h if layers > 1 else 0
        a = work.actions[h, s]
        t = pick(world.transitions[layer, s, a], rng)
        if h + 1 < horizon:
            pair = s * actions + a
            weigh(problem.features, pair, work.scaled[h], work.x, 0)
            where = h if cells.shape[0] > 1 else 0
            add_outer(work.x, 0, work.scaled[h, t], problem.diagonal, cells[where, problem.features.block[pair]])
        s = t


@compiled
def value_of(world: World, work: Work, policy: Array, flow: Array) -> float:
    """What the planned actions are worth; writes them into policy (H, S, A)."""
    policy[:] = 0.0
    for h in range(policy.shape[0]):
        for s in range(policy.shape[1]):
            policy[h, s, work.actions[h, s]] = 1.0
    return flow_value(world.transitions, world.rewards, world.initial, policy, flow)


@compiled
def loop(
    world: World,
    best: float,
    problem: Problem,
    rule: Rule,
    noise: Drawn,
    ends: NDArray[np.int64],
    radii: Array,
    worlds: np.random.Generator,
    noises: np.random.Generator,
    work: Work,
    cells: Array,
    policy: Array,
    checkpoints: NDArray[np.int64],
    regret: Array,
) -> tuple[int, int, float]:
    """Plan, walk a group, answer, again: returns the failed block or -1, the people until then, and the last value."""
    drawn = np.zeros(cells.size if noise.sigma > 0.0 else 0)
    buffers = np.zeros((noise.weights.size, drawn.size))
    flow = np.zeros((2, policy.shape[1]))
    released = np.zeros_like(cells)
    flat, shown = cells.reshape(cells.size), released.reshape(cells.size)
    k, mark, total, value = 0, 0, 0.0, 0.0
    for release in range(ends.size + 1):
        failed = plan(problem, rule, released, radii[release, 0], radii[release, 1], float(k), work)
        if failed >= 0:
            return failed, k, value
        value = value_of(world, work, policy, flow)
        if release == ends.size:
            break
        start = k
        while k < ends[release]:
            k += 1
            total += best - value
            if k == checkpoints[mark]:
                regret[mark] = total
                mark += 1
            stroll(world, problem, work, worlds, cells)
        draw(noise, k - start, noises, buffers, drawn)
        for i in range(flat.size):
            shown[i] = flat[i]
        for i in range(drawn.size):
            shown[i] += drawn[i]
    return -1, k, value


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """One seed, compiled."""
    luck, model, learner, design = streams(root), setting.model, setting.learner, setting.design
    if not asks(learner):
        raise InvalidInput("This loop is for learners of linear mixtures. Use the batched engine.")
    form, spec, context = design.question, design.question.spec, cast(MixtureContext, setting.context)
    policy = np.zeros((spec.horizon, spec.states, spec.actions))
    regret = np.zeros(len(setting.checkpoints))
    ends = setting.schedule.ends
    radii = np.concatenate([np.zeros((1, 2)), design.radii(ends)])
    failed, people, value = loop(
        World(model.transitions, model.rewards, model.initial),
        setting.optimal_value,
        problem(form, context.rewards),
        learner.rule(context),
        _drawn(design),
        ends,
        radii,
        luck.world,
        luck.noise,
        workspace(form),
        np.zeros((form.layers, form.features.blocks, form.block_cells)),
        policy,
        np.append(setting.checkpoints, np.iinfo(np.int64).max),
        regret,
    )
    if failed >= 0:
        radius = radii[np.searchsorted(ends, people) + 1 if people else 0, 0]
        raise explain(failed, form.features.blocks, people, learner.ridge, radius)
    return Outcome(regret, float(value), policy)


def _drawn(design: Design) -> Drawn:
    return _DRAWN[design.trust](design.mechanism)


def _correlated(counter: Any) -> Drawn:
    _, outer = best_factors(counter.releases, counter.buffers)
    return Drawn(counter.sigma, outer.weights, outer.decays)


_DRAWN: dict[str, Callable[[Any], Drawn]] = {
    NONE: lambda mechanism: Drawn(0.0, np.zeros(0), np.zeros(0)),
    LOCAL: lambda mechanism: Drawn(mechanism.sigma, np.zeros(0), np.zeros(0)),
    JOINT: _correlated,
}
"""By trust model, what its mechanism adds."""
