"""The engine for shufflers and compiled learners: one compiled loop over batches, made from a `plan` and an `add_batch`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..compiled import specialise
from ..errors import InvalidInput
from ..learners.learner import plan
from ..planning.evaluation import flow_value
from ..privacy.guarantee import SHUFFLE
from ..releases.release import Counts, Noise
from .batched import curve
from .bundles import ErrorTables, LearnerArrays, Luck, error_tables, learning_of, luck_of
from .draws import Array, World, derive, estimates_of, zero_counts
from .setting import Outcome, Setting
from .shuffled import Mixer, batch_adder, mixer_of
from .streams import streams


def add_batch(batches: int, mixer: Mixer, world: World, policy: Any, luck: Luck, cells: Any) -> None:
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
    """Run full batches. estimated: cells and counts, which are views of them. policy_values: (batches + 1,), the value of the
    policy before each batch and after the last.
    """
    policy, (cells, counts) = learning.policy, estimated
    point = 0
    for t in range(policy_values.size):  # a plan that stands here once is compiled in half the time
        if t > 0:
            add_batch(t, mixer, world, policy, luck, cells)
        people = mixer.ends[t - 1] if t > 0 else 0
        while errors.points[point] < people:
            point += 1
        derive(mixer.layout, cells, counts)
        estimates = estimates_of(counts, errors, point, float(people))
        plan(estimates, learning.constants, learning.memory, luck.choices, policy, learning.values)
        policy_values[t] = flow_value(world.transitions, world.rewards, world.initial, policy, learning.flow)


@cache
def _loop(name: str, the_plan: Callable[..., Any], adder: Callable[..., Any]) -> Callable[..., None]:
    return specialise(loop, name, plan=the_plan, add_batch=adder)


def supports(setting: Setting) -> bool:
    """Whether a compiled loop exists: shufflers, and a learner with a compiled plan that everybody in a batch follows."""
    if setting.design.trust != SHUFFLE or not setting.compiled:
        return False
    _, noise = setting.design.errors_at(setting.schedule.users)
    return bool(setting.learner.models_for(noise) == 1)


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed, batch by batch."""
    design, model = setting.design, setting.model
    if design.mixing is None:
        raise InvalidInput("This loop is for shufflers and learners with a compiled plan. Use the batched engine.")
    adder, errors, learning = batch_adder(design), error_tables(design), learning_of(setting)
    mixer = mixer_of(design)
    policy_values = np.empty(len(mixer.ends) + 1)
    planning = setting.learner.plan_for(Noise(*errors.noise[-1]))
    _loop(f"{planning.__name__}_{adder.__name__}", planning, adder)(
        World(model.transitions, model.rewards, model.initial),
        mixer,
        errors,
        learning,
        luck_of(streams(root)),
        zero_counts(setting.question),
        policy_values,
    )
    ends = setting.schedule.ends
    gaps = (setting.optimal_value - policy_values[: len(ends)]) * np.diff(ends, prepend=0)
    return Outcome(curve(ends, gaps, setting.checkpoints), float(policy_values[-1]), learning.policy)
