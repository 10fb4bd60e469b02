"""The engine for learners of features: groups of people walk at once, as arrays; their clipped moments are summed and released.

A person's answer is the same function of an episode as on a device (`data.statistics.moments`); only its rounding to the
grid is done once
for the sum of a group. Regret is that of the policies in use, as far as the world can compute it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...data.privatizers import drawn, open_aggregate
from ...data.privatizers.simulated import drawn_from
from ...data.statistics.moments import moments_of_each, summed_moments
from ...data.trajectories.observed import ObservedEpisodes
from ...errors import InvalidInput
from ...learning.learners import Context
from ...learning.learners.linear import FeatureContext, FeatureState
from ...mdp.feature_policy import FeaturePolicy
from ...protocol.design import Design
from ...protocol.kinds.moments import MOMENTS, MomentsQuestion
from ..environments import Environment
from ..environments.observed_world import ListedWorld, ObservedWorld, in_states
from .batched import curve
from .setting import Outcome, Setting
from .streams import streams

Array = NDArray[np.float64]

TOGETHER = 1 << 15
"""Steps that are walked at once."""


def world_of(environment: Environment) -> ObservedWorld:
    """The environment as it is observed: by its own description, or as a table of its known model."""
    if environment.world is not None:
        return environment.world
    if environment.model is None:
        raise InvalidInput(
            "features-need-world",
            f"{environment.name} has neither described features nor a known model. Use a learner of tables, such as ucbvi.",
        )
    return ListedWorld(environment.model, in_states(environment.spec.states, environment.spec.actions))


def feature_problem(
    environment: Environment, context: Context
) -> tuple[MomentsQuestion, Callable[[Design], FeatureContext]]:
    """The question of a learner of features, and a function from its design to the learner's context."""
    spec = context.spec
    question = MomentsQuestion.of(world_of(environment).features, spec.horizon, spec.dynamics)

    def context_of(design: Design) -> FeatureContext:
        facts = (context.spec, context.users, context.failure, context.bonus_scale)
        return FeatureContext(*facts, question=MOMENTS.question_of(design))

    return question, context_of


def walk(world: ObservedWorld, policy: FeaturePolicy, people: int, rng: np.random.Generator) -> ObservedEpisodes:
    """The episodes of this many people who follow a policy."""
    horizon, size = world.horizon, len(world.features.inputs)
    observations = np.empty((people, horizon + 1, size))
    actions, rewards = np.empty((people, horizon), dtype=np.int64), np.empty((people, horizon))
    observations[:, 0] = world.start(people, rng)
    listed = policy.table().argmax(axis=-1) if world.features.states > 1 else None
    for step in range(horizon):
        seen = observations[:, step]
        if listed is not None:
            actions[:, step] = listed[step, seen[:, 0].astype(np.int64)]
        else:
            actions[:, step] = policy.chosen(step, world.features.all_x(seen))
        rewards[:, step] = rng.random(people) < world.paid(step, seen, actions[:, step])
        observations[:, step + 1] = world.move(step, seen, actions[:, step], rng)
    return ObservedEpisodes(observations, actions, rewards)


def summed_by_law(
    question: MomentsQuestion, world: ObservedWorld, policy: FeaturePolicy, people: int, rng: np.random.Generator
) -> Array:
    """(cells,) the sum of the moments of `people` people in a world of one step whose observations are listed: how many see each of
    these and are paid is drawn at once, which has the law of `walk`."""
    contexts = world.listed
    assert contexts is not None
    many = rng.multinomial(people, np.full(len(contexts), 1 / len(contexts)))
    contexts, many = contexts[many > 0], many[many > 0]
    actions = policy.chosen(0, world.features.all_x(contexts))
    paid = rng.binomial(many, world.paid(0, contexts, actions))
    rewards = np.repeat([1.0, 0.0], len(contexts))[:, None]
    episodes = ObservedEpisodes(np.tile(contexts, (2, 1))[:, None], np.tile(actions, 2)[:, None], rewards)
    return summed_moments(question, episodes, np.concatenate([paid, many - paid]))


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed: the learner plans, a group follows its plans, moments are released, the learner learns."""
    rng, learner, design = streams(root), setting.learner, setting.design
    world = world_of(setting.environment)
    question = MOMENTS.question_of(design)
    aggregate = open_aggregate(design, rng.replayable, simulated=True)
    state: FeatureState = learner.begin(setting.context, rng.policy)
    ends = setting.schedule.ends
    gaps = np.empty(len(ends))
    most = max(1, TOGETHER // world.horizon)
    for group, people in enumerate(np.diff(ends, prepend=0)):
        policies = state.policies
        gaps[group] = (world.best_value - _mean_value(world, policies)) * people
        sizes = rng.world.multinomial(people, np.full(len(policies), 1 / len(policies)))
        groups = list(zip(policies, sizes.tolist(), strict=True))
        walked = (
            walk(world, policy, min(most, size - at), rng.world)
            for policy, size in groups
            for at in range(0, size, most)
        )
        if design.mechanism.vector:  # it matters who has which vector, not only what they add up to
            aggregate.take_sum(drawn_from(design, (moments_of_each(question, each) for each in walked), rng.noise))
        else:
            if world.listed is not None:
                summed = (summed_by_law(question, world, policy, size, rng.world) for policy, size in groups)
            else:
                summed = (summed_moments(question, each) for each in walked)
            totals = sum(summed, np.zeros(question.cells))
            for total in drawn(design, totals[None], np.array([people]), rng.noise, batch=group):
                aggregate.take_sum(total)
        state = learner.learn(state, aggregate.close(learner.ask(state)))
    last = state.policies
    return Outcome(curve(ends, gaps, setting.checkpoints), _mean_value(world, last), last[0])


def _mean_value(world: ObservedWorld, policies: tuple[FeaturePolicy, ...]) -> float:
    return sum(world.value(policy) for policy in policies) / len(policies)
