"""LDP-UCRL-VTR line by line as its paper prints it, in plain Python: what the compiled loop is compared with.

Noise matrices, inverses and pairs are worked out one after the other. Randomness is drawn in the same order
as by confide, so that both runs must have the same regret.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np


def pick(weights: Any, rng: np.random.Generator) -> int:
    """An index with the given probabilities."""
    u, chosen = rng.random(), 0
    for i, weight in enumerate(weights):
        if weight > 0:
            chosen = i
            u -= weight
            if u < 0:
                break
    return chosen


def value(model: Any, actions: Any) -> float:
    """The values of the chosen actions (H, S)."""
    worth = np.zeros(model.spec.states)
    for h in reversed(range(model.horizon)):
        layer = min(h, len(model.transitions) - 1)
        after = worth
        worth = np.array(
            [
                model.rewards[layer, s, actions[h][s]] + model.transitions[layer, s, actions[h][s]] @ after
                for s in range(model.spec.states)
            ]
        )
    return float(model.initial @ worth)


def learn(
    model: Any,
    phi: Any,
    episodes: int,
    sigma: float,
    c: float,
    alpha: float,
    worlds: np.random.Generator,
    noises: np.random.Generator,
) -> list[float]:
    """Algorithm 1 with beta = c d^(3/4) (H-h+1)^(3/2) k^(1/4), lambda = 1; returns the value of every policy used."""
    horizon, states, count, d = model.horizon, model.spec.states, model.spec.actions, phi.shape[-1]
    layer = [min(h, len(model.transitions) - 1) for h in range(horizon)]
    top = [sum(model.rewards[layer[i]].max() for i in range(h, horizon)) for h in range(horizon)]
    gram = [np.eye(d) for _ in range(horizon)]
    vector = [np.zeros(d) for _ in range(horizon)]
    values: list[float] = []
    for k in range(1, episodes + 1):
        gamma = math.sqrt(k - 1) * sigma * (math.sqrt(4 * d) + 2 * math.log(6 * horizon / alpha))
        v = [np.zeros(states) for _ in range(horizon + 1)]
        actions = [[0] * states for _ in range(horizon)]
        for h in reversed(range(horizon)):
            inverse = np.linalg.inv(gram[h] + 2 * gamma * np.eye(d))
            theta = inverse @ vector[h]
            beta = c * d**0.75 * (horizon - h) ** 1.5 * k**0.25
            for s in range(states):
                best = -math.inf
                for a in range(count):
                    x = sum(phi[s, a, t] * v[h + 1][t] for t in range(states))
                    q = model.rewards[layer[h], s, a] + theta @ x + beta * math.sqrt(max(x @ inverse @ x, 0.0))
                    if q > best:
                        best, actions[h][s] = q, a
                v[h][s] = min(max(best, 0.0), top[h])
        values.append(value(model, actions))
        s = pick(model.initial, worlds)
        for h in range(horizon):
            a = actions[h][s]
            t = pick(model.transitions[layer[h], s, a], worlds)
            if h + 1 < horizon:
                x = sum(phi[s, a, i] * v[h + 1][i] for i in range(states))
                gram[h] = gram[h] + np.outer(x, x)
                vector[h] = vector[h] + x * v[h + 1][t]
            s = t
        for h in range(horizon - 1):
            if sigma > 0:
                noise = np.zeros((d, d))
                for i in range(d):
                    for j in range(i, d):
                        noise[i, j] = noise[j, i] = sigma * noises.standard_normal()
                gram[h] = gram[h] + noise
                vector[h] = vector[h] + sigma * noises.standard_normal(d)
    return values


def episodes_per_second(environment: Any, sigma: float, episodes: int) -> float:
    """How fast the plain loop is."""
    started = time.perf_counter()
    phi = environment.features.dense().maps.reshape(
        environment.spec.states, environment.spec.actions, environment.spec.states, -1
    )
    learn(environment.model, phi, episodes, sigma, 1.0, 0.1, np.random.default_rng(0), np.random.default_rng(1))
    return episodes / (time.perf_counter() - started)
