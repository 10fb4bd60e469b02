"""Rewards of one-step rows, weighed by the logged propensity of their action.

A row with propensity p >= f counts f/p of its reward r in [0, 1], in the cell of its state and action. That lies in [0, 1], so
the row's answer is one that a row with reward r f/p would have given to the question about sums of rewards. Hence the price of that
question is the price of this one: a replaced person moves two cells by at most 1 each, or one cell by at most 1 (l1 2, l2 sqrt 2),
whatever propensities say. They may depend on anything, and need not be true: that is a matter of what the sums mean, not of
who is seen in them.

Rounding to multiples of 1/levels is at random and without bias, with the operating system's randomness.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ..trajectories.dataset import Dataset, Rows
from .tally import EpisodeTable


def improper(data: Dataset, rows: Rows) -> NDArray[np.int64]:
    """Positions of rows whose propensity is no number between the floor and 1."""
    if data.floor is None:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(~((rows.propensity >= data.floor) & (rows.propensity <= 1.0)))


def overweight(data: Dataset, rows: Rows) -> NDArray[np.int64]:
    """Positions of rows whose sampling weight is no number between 0 and the bound."""
    if data.weights is None:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(~((rows.weight >= 0) & (rows.weight <= data.weights.bound)))


def weigh(data: Dataset, rows: Rows, episodes: EpisodeTable, base: int, levels: int, cells: NDArray[np.int64]) -> None:
    """Add the weighed rewards of a batch to cells (S A,), in units of 1/levels. episodes: those that begin in it, at rows
    counted from `base`; every row is one.
    """
    if data.floor is None or data.knowledge.spec.horizon > 1:
        return
    low, high = data.reward_range
    mine = episodes.begun[episodes.drawn] - base
    paid = (np.clip(rows.reward[mine], *data.declared) - low) / (high - low)
    scaled = np.clip(paid * data.floor / rows.propensity[mine], 0.0, 1.0) * levels
    floors = np.floor(scaled)
    random_words = np.frombuffer(os.urandom(8 * len(mine)), dtype=np.uint64)
    up = (random_words >> np.uint64(11)) * 2.0**-53 < scaled - floors
    pairs = rows.state[mine] * data.knowledge.spec.actions + rows.action[mine]
    np.add.at(cells, pairs, floors.astype(np.int64) + up)
