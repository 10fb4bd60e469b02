"""Targets made of a whole local privatizer: a person's episode in, the report that leaves the device out.

Outputs come from the privatizer's own `report`. To see many, the mechanism inside is asked for many messages at each
call and hands on the first. That is only as good as the privatizer's word that it sends what its mechanism said, so
each call is checked, and if a report carries anything else each output is a separate report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.noise import NoiseSource
from ..mechanisms.randomizer import Randomizer
from ..mechanisms.unary import SampledStep
from ..privacy import Loss
from ..privatizers import LocalPrivatizer
from ..privatizers.local import category
from ..releases.reading import trials
from ..statistics import round_rewards
from ..trajectories import Trajectory
from .auditing import Target
from .events import Array, Statistic
from .likelihood import Trials, category_log_likelihood, category_loss, exact_loss, log_likelihood_ratio
from .mechanisms import CELL_BY_CELL, messages
from .people import Pair, counts

# Among so many calls of the privatizer the outputs of one draw are shared.
CALLS = 64


def local_target(name: str, privatizer: LocalPrivatizer, people: Pair) -> Target:
    """The report of one device for either of two people; an output is its cells and the step it tells of."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        drawn = _many_a_call(privatizer, people[world], count, noise)
        return _one_a_call(privatizer, people[world], count, noise) if drawn is None else drawn

    describe = _of_a_step if isinstance(privatizer.mechanism, SampledStep) else _of_an_episode
    claimed, exact = describe(privatizer, people)
    grid = getattr(privatizer.mechanism, "grid", 1.0)
    asked = privatizer.asked
    return Target(name, privatizer.act.loss, sample, claimed, exact, asked.trust, privatizer.calibration, grid)


@dataclass(frozen=True)
class ManyMessages:
    """A randomizer that makes many messages at each call, keeps them all and hands on the first."""

    inner: Randomizer
    copies: int
    kept: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def randomize(self, cells: Array, trials: Trials, noise: NoiseSource) -> Array:
        """The first of many messages about the same counts."""
        self.kept.append(messages(self.inner, cells, trials, self.copies, noise))
        return np.asarray(self.kept[-1][0])


@dataclass(frozen=True)
class ManySteps(SampledStep):
    """The same for a category. The privatizer draws the step, so these messages all tell of the same one."""

    copies: int = 1
    kept: list[Array] = field(default_factory=list)

    def randomize(self, category: int, noise: NoiseSource) -> NDArray[np.int64]:
        """The first of many messages about the same category."""
        rows = np.stack([super(ManySteps, self).randomize(category, noise) for _ in range(self.copies)])
        self.kept.append(rows.astype(np.float64))
        return np.asarray(rows[0])


def _one_a_call(privatizer: LocalPrivatizer, person: Trajectory, count: int, noise: NoiseSource) -> Array:
    reports = (privatizer.report(person, noise, simulated=True) for _ in range(count))
    return np.stack([np.append(report.cells * report.grid, report.step) for report in reports])


def _many_a_call(privatizer: LocalPrivatizer, person: Trajectory, count: int, noise: NoiseSource) -> Array | None:
    """None if messages must not share a call, or if a report is not what the mechanism said."""
    mechanism, copies = privatizer.mechanism, math.ceil(count / CALLS)
    many: Any
    if type(mechanism) is SampledStep and privatizer.question.spec.horizon == 1:
        many = ManySteps(mechanism.epsilon, mechanism.categories, mechanism.encoding, copies)
    elif type(mechanism) in CELL_BY_CELL:
        many = ManyMessages(mechanism, copies)  # type: ignore[arg-type]
    else:
        return None
    sharing = replace(privatizer, act=replace(privatizer.act, mechanism=many))
    steps = []
    for call in range(math.ceil(count / copies)):
        report = sharing.report(person, noise, simulated=True)
        if len(many.kept) != call + 1 or not np.array_equal(report.cells * report.grid, many.kept[-1][0]):
            return None
        steps.append(np.full(copies, float(report.step)))
    return np.column_stack([np.concatenate(many.kept), np.concatenate(steps)])[:count]


def _of_an_episode(privatizer: LocalPrivatizer, people: Pair) -> tuple[Statistic | None, Loss | None]:
    """The loss of outputs, and of the two people, if a report covers the whole episode."""
    mechanism, most = privatizer.mechanism, trials(privatizer.question)
    inputs = (counts(privatizer.question, people[0]), counts(privatizer.question, people[1]))
    ratio = log_likelihood_ratio(mechanism, inputs, most)
    exact = exact_loss(mechanism, inputs, most)
    return (None if ratio is None else lambda outputs: ratio(outputs[:, :-1])), exact


def _of_a_step(privatizer: LocalPrivatizer, people: Pair) -> tuple[Statistic, Loss | None]:
    """The same if it tells of one sampled step: which one is known per step, and one of H if steps are pooled."""
    question, mechanism = privatizer.question, privatizer.mechanism
    horizon, told = question.spec.horizon, question.spec.layers > 1
    if not isinstance(mechanism, SampledStep):
        raise TypeError(f"{mechanism.name} does not sample a step")
    ordered = []
    for person in people:
        levels = round_rewards(person.rewards, question.levels, np.ones(person.steps))
        ordered.append([category(question, person, levels, step) for step in range(horizon)])

    def likelihood(outputs: Array, categories: list[int]) -> Array:
        each = np.stack([category_log_likelihood(mechanism, outputs[:, :-1], found) for found in categories])
        if told:
            return np.asarray(each[outputs[:, -1].astype(np.int64), np.arange(len(outputs))])
        return np.asarray(np.logaddexp.reduce(each, axis=0))

    exact = category_loss(mechanism, ordered[0] != ordered[1]) if horizon == 1 else None
    return lambda outputs: likelihood(outputs, ordered[0]) - likelihood(outputs, ordered[1]), exact
