"""Sums of people's moments over a log, each person's clipped as a whole and rounded to the grid of the noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...mdp.adoption import Episodes
from ...protocol.kinds.moments import MomentsQuestion
from ..trajectories.observed import ObservedEpisodes
from .moments import moments_of_each

TOGETHER = 1 << 21
"""Numbers that are held at once."""


def logged_cells(question: MomentsQuestion, episodes: Episodes, grid: float, ends: bool) -> NDArray[np.int64]:
    """(cells,) the sum over people, in whole multiples of the grid. ends: whether an episode that is shorter than the horizon came
    to its end, which is then observed after its last step; else none is shorter.

    What follows the last step of a whole episode is in no log, so that step is left out (but of a problem of one step, in which
    nothing follows).
    """
    total = np.zeros(question.cells, dtype=np.int64)
    lengths = np.minimum(np.diff(episodes.starts), question.horizon)
    many = max(1, TOGETHER // (question.cells + 1))
    for length in np.unique(lengths):
        mine = np.flatnonzero(lengths == length)
        for at in range(0, len(mine), many):
            lived = _lived(question, episodes, episodes.starts[mine[at : at + many]], int(length), ends)
            total += _within(question, moments_of_each(question, lived), grid)
    return total


def _lived(
    question: MomentsQuestion, episodes: Episodes, starts: NDArray[np.int64], length: int, ends: bool
) -> ObservedEpisodes:
    """The episodes of one length that begin at these rows, as far as is known what follows a step."""
    whole = length == question.horizon
    steps = length - (whole and not question.single)
    rows = starts[:, None] + np.arange(steps)
    seen = np.minimum(starts[:, None] + np.arange(steps + 1), starts[:, None] + length - 1)
    observations = episodes.observed[seen]
    if ends and not question.single:
        over = np.zeros((*seen.shape, 1))
        over[:, -1] = float(not whole)
        observations = np.concatenate([observations, over], axis=2)
    return ObservedEpisodes(observations, episodes.actions[rows], episodes.rewards[rows])


def _within(question: MomentsQuestion, cells: NDArray[np.float64], grid: float) -> NDArray[np.int64]:
    """(cells,) the sum of people's cells (n, cells), rounded one by one. Norms are taken once more of the very numbers that are
    summed, as `moments.moment_cells` does; |G|_F^2 is twice the sum of its cells' squares."""
    size = question.features.dimension
    parts = cells.reshape(len(cells), -1, question.block_cells)
    of_gram = size * (size + 1) // 2
    gram = math.sqrt(2) * np.sqrt((parts[..., :of_gram] ** 2).sum(axis=(1, 2)))
    vector = np.sqrt((parts[..., of_gram:] ** 2).sum(axis=(1, 2)))
    bounds = question.gram_bound, question.vector_bound
    kept = np.minimum(bounds[0] / np.maximum(gram, bounds[0]), bounds[1] / np.maximum(vector, bounds[1]))
    rounded = np.rint(cells * kept[:, None] / grid)
    return np.asarray(rounded.astype(np.int64).sum(axis=0))
