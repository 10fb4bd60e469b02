"""Records of simulated people, row by row, as a curator would hold them: for demonstrations, examples and tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..mdp import Model, Policy


def draw_records(
    model: Model,
    behaviour: Policy,
    people: int,
    rng: np.random.Generator,
    states: Sequence[str] = (),
    actions: Sequence[str] = (),
) -> dict[str, NDArray[Any]]:
    """Columns user, step, state, action, reward (0 or 1) and next_state of people who follow the behaviour.

    states, actions: labels, by default numbers.
    """
    validation.integer("people", people, 1)
    horizon, stepwise = model.horizon, model.per_step()
    here = rng.choice(model.spec.states, size=people, p=model.initial)
    columns = np.empty((5, people, horizon), dtype=np.int64)
    for h in range(horizon):
        taken = _drawn(behaviour.probabilities[h, here], rng)
        paid = rng.random(people) < stepwise.rewards[h, here, taken]
        after = _drawn(stepwise.transitions[h, here, taken], rng)
        columns[:, :, h] = np.full(people, h), here, taken, paid, after
        here = after
    step, state, action, reward, following = columns.reshape(5, -1)
    book = np.asarray(states or np.arange(model.spec.states)), np.asarray(actions or np.arange(model.spec.actions))
    return {
        "user": np.repeat(np.arange(people), horizon),
        "step": step,
        "state": book[0][state],
        "action": book[1][action],
        "reward": reward.astype(np.float64),
        "next_state": book[0][following],
    }


def _drawn(rows: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """One number for each row of probabilities."""
    steps = np.cumsum(rows, axis=1)
    return np.asarray((rng.random((len(rows), 1)) * steps[:, -1:] >= steps).sum(axis=1))
