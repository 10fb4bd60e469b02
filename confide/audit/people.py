"""Two people who differ as much as two people can: the neighbouring inputs of a privatizer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..designs import Design
from ..mdp import Spec
from ..statistics.answers import answer
from ..trajectories import Trajectory
from .events import Array

Pair = tuple[Trajectory, Trajectory]

RANDOM_SEED = 1


def pairs(spec: Spec) -> list[Pair]:
    """Two episodes without a common state or action; two that differ as much in as few cells as can be; two at random.

    Rewards are 0 or 1, so that rounding them takes no luck.
    """
    steps = np.arange(spec.horizon + 1)
    here, there = np.zeros_like(steps), np.full_like(steps, spec.states - 1)
    # At even steps the same pair with another reward and another next state, at odd steps another pair.
    turning = np.where(steps % 2, there, here)
    stay, move = here[1:], np.full_like(here[1:], spec.actions - 1)
    paid, unpaid = np.ones(spec.horizon), np.zeros(spec.horizon)
    rng = np.random.default_rng(RANDOM_SEED)
    return [
        (Trajectory(here, stay, paid), Trajectory(there, move, paid)),
        (Trajectory(here, stay, paid), Trajectory(turning, stay, unpaid)),
        (_anybody(spec, rng), _anybody(spec, rng)),
    ]


def told(design: Design, person: Trajectory, grid: float) -> Array:
    """(width,) what a person's message tells before noise, whatever is asked; exact for rewards of 0 and 1."""
    cells = answer(design.question.kind, design.question, person, grid, _no_luck)[1]
    return np.asarray(cells * grid)


def _no_luck(high: int, many: int) -> NDArray[np.int64]:
    return np.zeros(many, dtype=np.int64)


def _anybody(spec: Spec, rng: np.random.Generator) -> Trajectory:
    states = rng.integers(spec.states, size=spec.horizon + 1)
    actions = rng.integers(spec.actions, size=spec.horizon)
    return Trajectory(states, actions, rng.integers(2, size=spec.horizon).astype(np.float64))
