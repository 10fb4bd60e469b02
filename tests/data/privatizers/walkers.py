"""Simulated people for the tests of this room."""

from __future__ import annotations

import numpy as np

from confide.data.statistics import count
from confide.data.statistics.tabular import counted_steps
from confide.data.trajectories import Trajectory
from confide.mdp import Spec
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.budgeted import BudgetedQuestion
from confide.protocol.kinds.counts import unpack
from confide.protocol.releases import Counts


def walk(spec: Spec, rng: np.random.Generator, short: float = 0.0) -> Trajectory:
    """One person who wanders at random, earns 0 or 1, and with probability `short` leaves early."""
    steps = int(rng.integers(0, spec.horizon)) if rng.random() < short else spec.horizon
    return Trajectory(
        rng.integers(0, spec.states, steps + 1),
        rng.integers(0, spec.actions, steps),
        rng.integers(0, 2, steps).astype(np.float64),
    )


def exact(question: CountQuestion | BudgetedQuestion, people: list[Trajectory]) -> Counts:
    """What a release would be without any noise; under a budget, of the steps that it lets through."""
    asked, total = question.counts, 0
    for one in people:
        counted = counted_steps(question, one) if isinstance(question, BudgetedQuestion) else None
        total = total + count(asked, one, one.rewards.astype(np.int64) * asked.levels, counted)
    return unpack(asked, np.asarray(total) / asked.resolution)


def worst_errors(found: Counts, truth: Counts) -> tuple[float, ...]:
    """The largest error of each kind, in the order of `Radius`."""
    rows = np.abs((found.transitions - truth.transitions).sum(axis=-1)).max()
    return (*(float(np.abs(a - b).max()) for a, b in zip(found[:4], truth[:4], strict=True)), float(rows))
