"""People's x x' and x y', clipped as `kinds.moments` prices them: of one person, or summed over simulated many."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...protocol.kinds.moments import MomentsQuestion
from ..trajectories.observed import ObservedEpisodes

Array = NDArray[np.float64]


def moment_cells(question: MomentsQuestion, episodes: ObservedEpisodes, grid: float) -> NDArray[np.int64]:
    """The cells of one person's answer, in whole multiples of the grid.

    Norms are taken once more of the very numbers that are sent: where a description is ill-conditioned, those of `clip_factors` may
    have lost their digits.
    """
    cells = summed_moments(question, episodes)
    gram, vector = question.unpack(cells)
    cells = cells * float(_within(question, float(np.linalg.norm(gram)), float(np.linalg.norm(vector))))
    return np.rint(cells / grid).astype(np.int64)


class _ClippedSteps(NamedTuple):
    """x (n, T, d) and y (n, T, 1 + q) of people's steps, the block of each (n, T), and by how much each person is clipped (n,)."""

    x: Array
    y: Array
    block: NDArray[np.int64]
    clip: Array


def _steps(question: MomentsQuestion, episodes: ObservedEpisodes) -> _ClippedSteps:
    features = question.features
    observations, actions, rewards = _admitted(question, episodes)
    people, steps = actions.shape
    width, size = len(features.inputs), features.dimension
    seen = observations[:, :steps].reshape(people * steps, width)
    x = features.x(seen, actions.reshape(-1)).reshape(people, steps, size)
    y = np.empty((people, steps, question.targets))
    y[..., 0] = question.reward_weight * (np.clip(rewards, 0.0, 1.0) - 0.5)
    if not question.single:
        following = observations[:, 1:].reshape(people * steps, width)
        change = features.psi(following) - (features.psi(seen) if question.increments else 0.0)
        y[..., 1:] = question.next_weight * change.reshape(people, steps, features.ahead)
    block = features.block(actions)
    return _ClippedSteps(x, y, block, clip_factors(question, x, y, block))


def moments_of_each(question: MomentsQuestion, episodes: ObservedEpisodes) -> Array:
    """(n, cells) the clipped cells of every person, before any rounding."""
    x, y, block, clip = _steps(question, episodes)
    people, steps, size = x.shape
    first, second = np.triu_indices(size)
    scale = np.where(first == second, 1 / math.sqrt(2), 1.0)
    cells = np.zeros((people, question.layers * question.features.blocks, question.block_cells))
    for step in range(steps):
        place = block[:, step] + (step * question.features.blocks if question.layers > 1 else 0)
        gram = scale * x[:, step, first] * x[:, step, second]
        vector = (x[:, step, :, None] * y[:, step, None]).reshape(people, -1)
        cells[np.arange(people), place] += clip[:, None] * np.concatenate([gram, vector], axis=1)
    return cells.reshape(people, -1)


def summed_moments(
    question: MomentsQuestion, episodes: ObservedEpisodes, times: NDArray[np.int64] | None = None
) -> Array:
    """(cells,) the sum over people of their clipped cells, before any rounding. times: (n,) how many people lived each; None for
    one."""
    x, y, block, clip = _steps(question, episodes)
    features, (_, steps, size) = question.features, x.shape
    weights = (clip if times is None else clip * times)[:, None] * np.ones((1, steps))
    gram = np.zeros((question.layers, features.blocks, size, size))
    vector = np.zeros((question.layers, features.blocks, size, question.targets))
    for layer in range(min(question.layers, steps)):
        at = slice(layer, layer + 1) if question.layers > 1 else slice(None)
        for number in range(features.blocks):
            here = block[:, at] == number
            rows, weighed = x[:, at][here], weights[:, at][here][:, None]
            gram[layer, number] = rows.T @ (weighed * rows)
            vector[layer, number] = rows.T @ (weighed * y[:, at][here])
    return question.pack(gram, vector)


def clip_factors(question: MomentsQuestion, x: Array, y: Array, block: NDArray[np.int64]) -> Array:
    """(n,) c = min(1, C_g/|G|_F, C_b/|B|_F) of every person.

    |G|_F^2 is the sum of <x_h, x_k>^2, and |B|_F^2 that of <x_h, x_k> <y_h, y_k>, over steps h, k that share cells.
    """
    inner, alike = x @ np.swapaxes(x, 1, 2), y @ np.swapaxes(y, 1, 2)
    shared = block[:, :, None] == block[:, None, :]
    if question.layers > 1:
        shared = shared & np.eye(x.shape[1], dtype=np.bool_)
    gram = np.sqrt((inner**2 * shared).sum(axis=(1, 2)))
    vector = np.sqrt(np.maximum(0.0, (inner * alike * shared).sum(axis=(1, 2))))
    return np.asarray(_within(question, gram, vector))


def _within(question: MomentsQuestion, gram: Array | float, vector: Array | float) -> Array:
    """min(1, C_g/gram, C_b/vector)."""
    bounds = question.gram_bound, question.vector_bound
    return np.asarray(np.minimum(bounds[0] / np.maximum(gram, bounds[0]), bounds[1] / np.maximum(vector, bounds[1])))


def _admitted(question: MomentsQuestion, episodes: ObservedEpisodes) -> tuple[Array, NDArray[np.int64], Array]:
    """Observations (n, T+1, k), actions (n, T) and rewards (n, T); what is of other sizes is refused."""
    features = question.features
    observations, actions, rewards = episodes.observations, episodes.actions, episodes.rewards
    people, steps = actions.shape
    if steps > question.horizon:
        raise validation.refusal(
            "episode-too-long", "episode", f"at most {question.horizon} steps long", steps, "Cut it."
        )
    if observations.shape[1] < steps + (steps > 0 and not question.single):
        raise InvalidInput(
            "last-state-unknown", "The state after the last step is needed but unknown. Give every step its next state."
        )
    wanted = (people, steps)
    if rewards.shape != wanted or observations.shape[::2] != (people, len(features.inputs)):
        raise validation.wrong_shape("an episode", f"({wanted}, {len(features.inputs)} inputs)", observations.shape)
    features.checked(observations.reshape(-1, len(features.inputs)))
    validation.indices("actions", actions.reshape(-1), features.actions)
    if not np.isfinite(rewards).all():
        raise InvalidInput("rewards-not-numbers", "Rewards must be numbers. One is not. Fill it in.")
    return observations, actions, rewards
