"""People's feature targets, clipped as `kinds.targets` prices them: of one person, or of simulated many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...protocol.kinds.targets import TargetsQuestion
from ..trajectories.trajectory import Trajectory

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def target_cells(question: TargetsQuestion, trajectory: Trajectory, grid: float) -> Integers:
    """The cells of one person's statistic, in whole multiples of the grid."""
    states, actions = _admitted(question, trajectory)
    cells = targets_of_each(question, states[None], actions[None])[0]
    return np.asarray(np.rint(cells / grid).astype(np.int64))


def targets_of_each(question: TargetsQuestion, states: Integers, actions: Integers) -> Array:
    """(n, cells) the clipped vectors of people: states (n, T+1), actions (n, T), before any rounding.

    Norms are taken of the very numbers that are sent.
    """
    vectors = question.vectors(states, actions)
    return np.asarray(vectors * question.factors(vectors)[:, None])


def _admitted(question: TargetsQuestion, trajectory: Trajectory) -> tuple[Integers, Integers]:
    """The states and actions of an episode that show something; one of other sizes is refused."""
    spec = question.spec
    if trajectory.steps > spec.horizon:
        raise validation.refusal(
            "episode-too-long", "episode", f"at most {spec.horizon} steps long", trajectory.steps, "Cut it."
        )
    steps = min(trajectory.steps, question.steps)
    if len(trajectory.states) <= steps:
        raise InvalidInput(
            "last-state-unknown", "The state after the last step is needed but unknown. Give every step its next state."
        )
    validation.indices("states", trajectory.states, spec.states)
    validation.indices("actions", trajectory.actions, spec.actions)
    return trajectory.states[: steps + 1], trajectory.actions[:steps]
