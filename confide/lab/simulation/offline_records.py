"""Records of simulated people, row by row, as a curator would hold them: for demonstrations, examples and tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp import Model, Policy


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
    horizon, layers = model.horizon, len(model.transitions)
    moves = [_Distributions.of(layer) for layer in model.transitions]
    here = rng.choice(model.spec.states, size=people, p=model.initial)
    columns = np.empty((5, people, horizon), dtype=np.int64)
    for h in range(horizon):
        layer = h % layers
        chosen = _Distributions.of(behaviour.probabilities[h]).draw(here, rng)
        paid = rng.random(people) < model.rewards[layer, here, chosen]
        after = moves[layer].draw(here * model.spec.actions + chosen, rng)
        columns[:, :, h] = np.full(people, h), here, chosen, paid, after
        here = after
    step, state, action, reward, following = columns.reshape(5, -1)
    labels = np.asarray(states or np.arange(model.spec.states)), np.asarray(actions or np.arange(model.spec.actions))
    return {
        "user": np.repeat(np.arange(people), horizon),
        "step": step,
        "state": labels[0][state],
        "action": labels[1][action],
        "reward": reward.astype(np.float64),
        "next_state": labels[0][following],
    }


class _Distributions(NamedTuple):
    """Distributions over numbers, ready to be drawn from: cumulative probabilities, row i climbing from i to i + 1."""

    cumulative: NDArray[np.float64]
    last: NDArray[np.int64]
    """The largest number that each distribution allows, for draws that rounding took to the end of their row."""

    @classmethod
    def of(cls, probabilities: NDArray[np.float64]) -> _Distributions:
        """One distribution for each row of the last axis."""
        rows = probabilities.reshape(-1, probabilities.shape[-1])
        steps = np.cumsum(rows, axis=1)
        steps /= steps[:, -1:]
        last = (steps < 1.0).sum(axis=1)
        return cls((steps + np.arange(len(rows))[:, None]).ravel(), np.asarray(last))

    def draw(self, row: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """One number for each of these rows."""
        width = len(self.cumulative) // len(self.last)
        below = np.searchsorted(self.cumulative, row + rng.random(len(row)), side="right")
        return np.asarray(np.minimum(below - row * width, self.last[row]))
