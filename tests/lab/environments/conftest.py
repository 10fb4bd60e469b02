"""Exact values, written for these tests alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from confide.mdp import Model, Policy


def backward(model: Model, policy: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """The value of a policy (H, S, A), or of the best one, for people as they arrive; and the best actions (H, S)."""
    values, best = np.zeros(model.spec.states), []
    for step in reversed(range(model.horizon)):
        layer = min(step, model.transitions.shape[0] - 1)
        quality = model.rewards[layer] + model.transitions[layer] @ values
        best.append(quality.argmax(axis=1))
        values = quality.max(axis=1) if policy is None else (policy[step] * quality).sum(axis=1)
    return float(model.initial @ values), np.array(best[::-1])


@pytest.fixture
def optimal() -> Callable[[Model], float]:
    return lambda model: backward(model)[0]


@pytest.fixture
def value() -> Callable[[Model, Policy], float]:
    return lambda model, policy: backward(model, policy.probabilities)[0]


@pytest.fixture
def best_actions() -> Callable[[Model], np.ndarray]:
    return lambda model: backward(model)[1]
