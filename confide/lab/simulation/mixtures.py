"""The engine for linear mixtures: every person walks, reports and is forgotten, in one compiled loop with exact regret.

The people between two releases follow one policy and answer about one value function: of more than `WALKED` of them the counts of
moves are drawn at once, exactly, and their cells are sums by these counts. Noise is drawn once a release, as the sum of what the
people of a group would add (a sum of independent Gaussians is one Gaussian), or as the counter correlates it. `play` is the same
protocol with real questions, devices and releases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...errors import InvalidInput
from ...learning.learners import Context
from ...learning.learners.learner import AnyLearner, family_of
from ...learning.learners.vtr import MIXTURE, MixtureContext, UcrlVtr
from ...learning.learners.vtr_table import in_table
from ...learning.learners.vtr_targets import TargetContext, TargetLearner
from ...learning.planning.least_squares import add_outer, explain, weigh
from ...learning.planning.value_targeted import PublicProblem, Rule, Work, plan, problem, value_ranges, workspace
from ...mdp import MixtureFeatures, Model
from ...mechanisms.buffered import BufferedToeplitzCounter, best_factors
from ...mechanisms.gaussian import Gaussian
from ...mechanisms.mechanism import NoiseMechanism
from ...privacy.guarantee import JOINT, LOCAL, NONE
from ...protocol.design import TIGHT, Design
from ...protocol.kinds import mixture
from ...protocol.kinds.mixture import MixtureForm
from ...protocol.kinds.targets import TARGETS as TARGETS_KIND
from ...protocol.kinds.targets import TargetsQuestion
from ..environments import Environment
from .bundles import Luck, RegretCurve, curve_of, luck_of
from .draws import Array, World, pick, split, world_value
from .setting import Choices, Outcome, Setting
from .streams import streams

WALKED = 32
"""Groups of at most this many people walk one after the other."""


def learns_mixtures(learner: AnyLearner) -> TypeGuard[UcrlVtr]:
    """Whether a learner asks about linear mixtures."""
    return family_of(learner) == MIXTURE


def tight_form(learner: AnyLearner, environment: Environment, choices: Choices) -> AnyLearner:
    """A learner of mixtures with default settings in its form under `tight`: for tables (`learners.vtr_table`), or of feature
    targets where known models are mixed (`learners.vtr_targets`); else itself."""
    promise, model, spec = choices.privacy, environment.model, environment.spec
    if not (learns_mixtures(learner) and learner == type(learner)() and choices.bonus_scale == 1 and model is not None):
        return learner
    if choices.calibration != TIGHT or choices.engine == MIXTURE:
        return learner
    table = MixtureFeatures.one_hot(spec.states, spec.actions)
    if environment.features is None or environment.features.to_bytes() == table.to_bytes():
        tabled = promise.trust in (LOCAL, JOINT, NONE)
        return in_table(learner.name, _known_rewards(model)) if tabled else learner
    mixes_models = TargetsQuestion.of(spec, environment.features).models if spec.horizon > 1 else False
    return TargetLearner(learner.name) if mixes_models else learner


def target_problem(
    environment: Environment, context: Context, private: bool
) -> tuple[TargetsQuestion, Callable[[Design], TargetContext]]:
    """What is to be designed for a learner of targets, and a function from the design to the learner's context. private: else no
    one is clipped."""
    model, features = environment.model, environment.features
    assert model is not None and features is not None  # as `tight_form` has it
    question, rewards = TargetsQuestion.of(context.spec, features, private), _known_rewards(model)

    def context_of(design: Design) -> TargetContext:
        facts = (context.spec, context.users, context.failure, context.bonus_scale)
        asked = TARGETS_KIND.question_of(design)
        return TargetContext(*facts, question=asked, rewards=rewards, initial=model.initial)

    return question, context_of


def _known_rewards(model: Model) -> Array:
    """(H, S, A): the rewards of every step."""
    return np.repeat(model.rewards, model.spec.horizon // len(model.rewards), axis=0)


def supports(setting: Setting) -> bool:
    """Whether the compiled loop can serve: a learner of linear mixtures, under a trust model that it knows."""
    return learns_mixtures(setting.learner) and setting.design.trust in _NOISES


def mixture_problem(
    environment: Environment, learner: AnyLearner, context: Context
) -> tuple[MixtureForm, Callable[[Design], MixtureContext]]:
    """What is to be designed for a learner of mixtures, and a function from the design to the learner's context."""
    model = environment.model
    if model is None:
        raise InvalidInput(
            "mixture-needs-known-rewards",
            f"{learner.name} needs known rewards. {environment.address} has no model. Use another learner.",
        )
    features = environment.features or MixtureFeatures.one_hot(context.spec.states, context.spec.actions)
    rewards = _known_rewards(model)

    def context_of(design: Design) -> MixtureContext:
        facts = (context.spec, context.users, context.failure, context.bonus_scale)
        return MixtureContext(*facts, form=mixture.MIXTURE.question_of(design), rewards=rewards)

    return MixtureForm(context.spec, features, value_ranges(rewards)), context_of


class MixtureNoise(NamedTuple):
    """The noise that is added: sigma a report, or a counter's sigma with the weights and decays of its outer buffers."""

    sigma: float
    weights: Array
    decays: Array


@compiled
def draw_noise(noise: MixtureNoise, people: int, rng: np.random.Generator, buffers: Array, drawn: Array) -> None:
    """Turn the noise of all cells (flat) into that of the next release, in place."""
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
def walk_person(world: World, problem: PublicProblem, work: Work, rng: np.random.Generator, cells: Array) -> None:
    """Add one person's episode to the cells (L, blocks, c)."""
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
def add_group(
    world: World, problem: PublicProblem, work: Work, people: int, rng: np.random.Generator, cells: Array
) -> None:
    """Add the episodes of a group, whose moves are multinomial step by step. n people who moved from one pair have the same X: they
    add n X X' and X times the sum of their Y, which is what one person with sqrt(n) X and that sum over sqrt(n) adds.
    """
    horizon, states = work.actions.shape
    actions = problem.rewards.shape[1] // states
    layers = world.rewards.shape[0]
    here, after = np.zeros(states, dtype=np.int64), np.zeros(states, dtype=np.int64)
    moved = np.zeros(states, dtype=np.int64)
    split(people, world.initial, rng, here)
    for h in range(horizon - 1):
        layer = h if layers > 1 else 0
        where = h if cells.shape[0] > 1 else 0
        after[:] = 0
        for s in range(states):
            if here[s] == 0:
                continue
            a = work.actions[h, s]
            pair = s * actions + a
            split(here[s], world.transitions[layer, s, a], rng, moved)
            told = 0.0
            for t in range(states):
                after[t] += moved[t]
                told += moved[t] * work.scaled[h, t]
            root = np.sqrt(here[s])
            weigh(problem.features, pair, work.scaled[h], work.x, 0)
            for i in range(work.x.shape[0]):
                work.x[i, 0] *= root
            add_outer(work.x, 0, told / root, problem.diagonal, cells[where, problem.features.block[pair]])
        here, after = after, here


@compiled
def value_of(world: World, work: Work, policy: Array, flow: Array) -> float:
    """The values of the planned actions; writes them into policy (H, S, A)."""
    policy[:] = 0.0
    for h in range(policy.shape[0]):
        for s in range(policy.shape[1]):
            policy[h, s, work.actions[h, s]] = 1.0
    return world_value(world, policy, flow)


class MixtureLearning(NamedTuple):
    """What is learned, by which rule, and room for the plan and its policy (H, S, A)."""

    problem: PublicProblem
    rule: Rule
    work: Work
    policy: Array


class MixtureReleases(NamedTuple):
    """When there is a release, with which radii (M+1, 2) and noise; and room for every user's cells (L, blocks, c)."""

    ends: NDArray[np.int64]
    radii: Array
    noise: MixtureNoise
    cells: Array


@compiled
def loop(
    world: World, best: float, learning: MixtureLearning, releases: MixtureReleases, luck: Luck, curve: RegretCurve
) -> tuple[int, int, float]:
    """Plan, walk a group, answer, again: returns the failed block or -1, the people until then, and the last value."""
    problem, rule, work, policy = learning
    ends, radii, noise, cells = releases
    drawn = np.zeros(cells.size if noise.sigma > 0.0 else 0)
    buffers = np.zeros((noise.weights.size, drawn.size))
    flow = np.zeros((2, policy.shape[1]))
    released = np.zeros_like(cells)
    flat_cells, flat_released = cells.reshape(cells.size), released.reshape(cells.size)
    k, mark, total, value = 0, 0, 0.0, 0.0
    for release in range(ends.size + 1):
        failed = plan(problem, rule, released, radii[release, 0], radii[release, 1], float(k), work)
        if failed >= 0:
            return failed, k, value
        value = value_of(world, work, policy, flow)
        if release == ends.size:
            break
        people, end = ends[release] - k, ends[release]
        if people > WALKED:
            add_group(world, problem, work, people, luck.worlds, cells)
            while curve.checkpoints[mark] <= end:
                curve.regret[mark] = total + (curve.checkpoints[mark] - k) * (best - value)
                mark += 1
            total += people * (best - value)
            k = end
        while k < end:
            k += 1
            total += best - value
            if k == curve.checkpoints[mark]:
                curve.regret[mark] = total
                mark += 1
            walk_person(world, problem, work, luck.worlds, cells)
        draw_noise(noise, people, luck.noises, buffers, drawn)
        for i in range(flat_cells.size):
            flat_released[i] = flat_cells[i]
        for i in range(drawn.size):
            flat_released[i] += drawn[i]
    return -1, k, value


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed in the compiled loop."""
    model, learner, design = setting.model, setting.learner, setting.design
    if not learns_mixtures(learner):
        raise InvalidInput(
            "mixture-loop-learner", "This loop is for learners of linear mixtures. Use the batched engine."
        )
    form, spec, context = (
        mixture.MIXTURE.question_of(design),
        design.question.spec,
        cast(MixtureContext, setting.context),
    )
    policy = np.zeros((spec.horizon, spec.states, spec.actions))
    curve = curve_of(setting)
    ends = setting.schedule.ends
    radii = np.concatenate([np.zeros((1, 2)), design.radii(ends)])
    failed, people, value = loop(
        World(model.transitions, model.rewards, model.initial),
        setting.optimal_value,
        MixtureLearning(problem(form, context.rewards), learner.rule(context), workspace(form), policy),
        MixtureReleases(
            ends, radii, _noise_of(design), np.zeros((form.layers, form.features.blocks, form.block_cells))
        ),
        luck_of(streams(root)),
        curve,
    )
    if failed >= 0:
        radius = radii[np.searchsorted(ends, people) + 1 if people else 0, 0]
        raise explain(failed, form.features.blocks, people, learner.ridge, radius)
    return Outcome(curve.regret, float(value), policy)


def _noise_of(design: Design) -> MixtureNoise:
    return _NOISES[design.trust](design.mechanism)


def _none(mechanism: NoiseMechanism) -> MixtureNoise:
    return MixtureNoise(0.0, np.zeros(0), np.zeros(0))


def _own(mechanism: Gaussian) -> MixtureNoise:
    return MixtureNoise(mechanism.sigma, np.zeros(0), np.zeros(0))


def _correlated(mechanism: BufferedToeplitzCounter) -> MixtureNoise:
    _, outer = best_factors(mechanism.releases, mechanism.buffers)
    return MixtureNoise(mechanism.sigma, outer.weights, outer.decays)


_NOISES: dict[str, Callable[..., MixtureNoise]] = {NONE: _none, LOCAL: _own, JOINT: _correlated}
"""The noise that a mechanism adds, by trust model."""
