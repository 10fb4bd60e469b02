"""From an episode and a question to counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..releases.question import CENTRED, COUNTED, END, REWARDS, SQUARES, TRANSITIONS, VISITS, CountQuestion
from ..trajectories import Trajectory


def round_rewards(rewards: NDArray[np.float64], levels: int, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rewards in [0, 1] as whole multiples of 1/levels, rounded at random so that the mean is kept.

    The result stays in [0, 1] whatever the draw, so rounding changes no sensitivity.
    """
    scaled = rewards * levels
    low = np.floor(scaled)
    return (low + (uniforms < scaled - low)).astype(np.int64)


def count(question: CountQuestion, trajectory: Trajectory, reward_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cells of one person's answer, in units of 1/question.resolution.

    `reward_levels` are the rewards as multiples of 1/question.levels, from `round_rewards`.
    """
    spec, unit = question.spec, question.resolution
    steps = trajectory.steps
    if question.last == COUNTED and not trajectory.ended_known:
        raise InvalidInput(
            "The state after the last step is needed but unknown. Ask with last='end' or last='dropped'."
        )
    layer = np.arange(steps) if spec.layers > 1 else np.zeros(steps, dtype=np.int64)
    paid = question.levels - reward_levels if question.objective == "cost" else reward_levels
    cells = np.zeros(question.cells, dtype=np.int64)
    pair = np.ravel_multi_index((layer, trajectory.states[:steps], trajectory.actions), question.shape(VISITS))
    weights = {
        VISITS: np.full(steps, unit),
        REWARDS: paid * (unit // question.levels),
        SQUARES: paid * paid * (unit // question.levels**2),
        CENTRED: (2 * paid - question.levels) * (unit // (2 * question.levels)),
    }
    for part, where in question.slices.items():
        if part != TRANSITIONS:
            np.add.at(cells[where], pair, weights[part])
            continue
        moved = _moves(question, trajectory)
        index = np.ravel_multi_index((layer[: len(moved)], *moved.T), question.shape(part))
        np.add.at(cells[where], index, unit)
    return cells


def _moves(question: CountQuestion, trajectory: Trajectory) -> NDArray[np.int64]:
    """(T', 3) state, action and next state of every counted transition."""
    steps = trajectory.steps
    following = trajectory.states[1 : steps + 1]
    if question.last == END:
        # The transition out of the episode goes to "end" whether it was cut off by the horizon or ended early.
        following = np.append(trajectory.states[1:steps], question.spec.states)[:steps]
    elif question.last != COUNTED:
        following = trajectory.states[1:steps]
    rows = len(following)
    return np.stack([trajectory.states[:rows], trajectory.actions[:rows], following], axis=1)
