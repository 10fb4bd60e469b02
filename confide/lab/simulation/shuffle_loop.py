"""The engine for shufflers and compiled learners: one compiled loop over batches, made from a `plan` and an `add_batch`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...compiled import specialise
from ...errors import InvalidInput
from ...learning.learners.learner import plan
from ...learning.planning.evaluation import flow_value
from ...privacy.guarantee import SHUFFLE
from ...protocol.releases.release import Counts, Noise
from .batched import curve
from .bundles import LearnerArrays, Luck, error_tables, learning_of, luck_of
from .draws import Array, ErrorTables, World, derive, estimates_of, noise_at, zero_counts
from .setting import Outcome, Setting
from .shuffled import Mixer, batch_adder, mixer_of
from .streams import streams


def add_batch(batches: int, mixer: Mixer, world: World, policies: Any, luck: Luck, cells: Any) -> None:
    """The place of the function that adds a batch to the estimated cells; see `shuffled.batch_adder`."""
    raise NotImplementedError


def loop(
    world: World,
    mixer: Mixer,
    errors: ErrorTables,
    learning: LearnerArrays,
    luck: Luck,
    estimated: tuple[Array, Counts],
    policy_values: Array,
) -> None:
    """Run full batches. estimated: cells and counts, which are views of them. policy_values: (batches + 1, M), the values of the M
    policies before each batch and after the last, of which everybody follows one.
    """
    cells, counts = estimated
    policies = np.zeros((policy_values.shape[1], *learning.policy.shape))
    point = 0
    for t in range(len(policy_values)):  # a plan that stands here once is compiled in half the time
        if t > 0:
            add_batch(t, mixer, world, policies, luck, cells)
        people = mixer.ends[t - 1] if t > 0 else 0
        while errors.points[point] < people:
            point += 1
        derive(mixer.layout, cells, counts)
        estimates = estimates_of(counts, errors.radii[point], noise_at(errors, point, people), float(people))
        for m in range(len(policies)):
            plan(estimates, learning.constants, learning.memory, luck.choices, policies[m], learning.values)
            policy_values[t, m] = flow_value(
                world.transitions, world.rewards, world.initial, policies[m], learning.flow
            )
    learning.policy[:] = policies[0]


@cache
def _loop(name: str, the_plan: Callable[..., Any], adder: Callable[..., Any]) -> Callable[..., None]:
    return specialise(loop, name, plan=the_plan, add_batch=adder)


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: shufflers, and a learner with a compiled plan."""
    return setting.design.trust == SHUFFLE and setting.compiled


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed, batch by batch."""
    design, model = setting.design, setting.model
    if design.mixing is None:
        raise InvalidInput(
            "shuffle-loop-learner",
            "This loop is for shufflers and learners with a compiled plan. Use the batched engine.",
        )
    adder, errors, learning = batch_adder(design), error_tables(design), learning_of(setting)
    mixer, estimated = mixer_of(design), zero_counts(setting.question)
    noise, (_, counts) = Noise(*errors.noise[-1]), estimated
    policy_values = np.empty((len(mixer.ends) + 1, setting.learner.models_for(noise, counts.transitions.size)))
    planning = setting.learner.plan_for(noise, setting.context.spec)
    _loop(f"{planning.__name__}_{adder.__name__}", planning, adder)(
        World(model.transitions, model.rewards, model.initial),
        mixer,
        errors,
        learning,
        luck_of(streams(root)),
        estimated,
        policy_values,
    )
    ends = setting.schedule.ends
    values = policy_values.mean(axis=1)
    gaps = (setting.optimal_value - values[: len(ends)]) * np.diff(ends, prepend=0)
    return Outcome(curve(ends, gaps, setting.checkpoints), float(values[-1]), learning.policy)
