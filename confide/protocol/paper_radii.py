"""The error radii that the papers derive for the noise they print, and true ones where those are too small.

Every function gives (..., 5) radii in the order of `Radius`, for a noise after `users` people, out of `episodes` in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..mdp import Spec

Array = NDArray[np.float64]
Radii = Callable[[Spec, float, Array, int, float], Array]


def _same(first: Array, second: Array, rows: Array) -> Array:
    """Radii in order: visits, rewards, squares all `first`, transitions `second`, rows."""
    return np.stack(np.broadcast_arrays(first, first, first, second, rows), axis=-1)


def _logs(spec: Spec, statements: float, failure: float | Array) -> tuple[Array, Array]:
    """log(statements S A/failure) and log(statements S^2 A/failure)."""
    pairs = np.asarray(statements * spec.states * spec.actions / failure)
    return np.log(pairs), np.log(pairs * spec.states)


def _at(users: Array, failure: float) -> Array:
    """The failure probability that the paper gives to episode k = users + 1: 3 delta/(2 pi^2 k^2)."""
    return np.asarray(3 * failure / (2 * np.pi**2 * (users + 1) ** 2))


def private_ucb(growth: Callable[[int], float]) -> Radii:
    """E_1, E_2 = scale sqrt(8 growth(K) log(6 S A T/delta)): true for all episodes at once, so K, not k, enters."""

    def radii(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
        first, second = _logs(spec, 6 * episodes * spec.horizon, failure)
        visits, transitions = (noise * np.sqrt(8 * growth(episodes) * log) for log in (first, second))
        return _same(
            np.full_like(users, visits),
            np.full_like(users, transitions),
            np.full_like(users, transitions * spec.states),
        )

    return radii


def pucb(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """E = (3H/epsilon) log((2 S A H + H A S^2)/beta) log2(K)^(5/2), for every count; in terms of the scale, which has
    one log2(K) of them.
    """
    statements = spec.horizon * spec.states * spec.actions * (2 + spec.states)
    error = noise * math.log(statements / failure) * max(math.log2(episodes), 1.0) ** 1.5
    return _same(np.full_like(users, error), np.full_like(users, error), np.full_like(users, error * spec.states))


def offline_laplace(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """E_epsilon/2 = b log(4 H S^2 A/delta): the paper gives its order, H/epsilon; this is the tail of Laplace noise."""
    _, second = _logs(spec, 4 * spec.horizon, failure)
    half = np.full_like(users, noise * second)
    return _same(half, half, 2 * half)


def offline_gaussian(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """E_rho/2 for E_rho = 4 sqrt(H log(4 H S^2 A/delta)/rho): by equation (4) no count is off by more than that.

    In terms of sigma it is sigma sqrt(2 log(4 H S^2 A/delta)). A row of the program (3) is off by E_rho, not by S counts.
    """
    _, second = _logs(spec, 4 * spec.horizon, failure)
    half = np.full_like(users, noise * np.sqrt(2 * second))
    return _same(half, half, 2 * half)


def ldp_laplace(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """The radii of Proposition 8, for Laplace noise."""
    first, second = _logs(spec, 6, _at(users, failure))
    visits = np.maximum(np.sqrt(users + 1), first) * np.sqrt(8 * first) * noise
    rows = np.maximum(np.sqrt((users + 1) * spec.states), second) * np.sqrt(8 * second) * noise
    return _same(visits, rows / math.sqrt(spec.states), rows)


def ldp_psrl(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """The radii in the priors (103)-(107): with K, not k, and delta as it is. (103) has the width of a whole row."""
    first, second = _logs(spec, 6, failure)
    visits = np.maximum(math.sqrt(episodes), first) * np.sqrt(8 * first) * noise
    rows = np.maximum(math.sqrt(episodes * spec.states), second) * np.sqrt(8 * second) * noise
    return _same(
        np.full_like(users, visits), np.full_like(users, rows / math.sqrt(spec.states)), np.full_like(users, rows)
    )


def ldp_gaussian(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """Proposition 11 as printed: one logarithm, ln(6 S A/delta), for all four."""
    first, _ = _logs(spec, 6, _at(users, failure))
    visits = noise * np.sqrt(users * first)
    return _same(np.maximum(visits, 1.0), np.maximum(visits, 1.0), np.maximum(visits * math.sqrt(spec.states), 1.0))


def true_gaussian(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
    """Proposition 11 made true for the Gaussian tail: a factor 2 inside the root, and S^2 A statements about transitions."""
    first, second = _logs(spec, 6, _at(users, failure))
    visits, transitions = (np.maximum(noise * np.sqrt(2 * users * log), 1.0) for log in (first, second))
    return _same(visits, transitions, transitions * math.sqrt(spec.states))


def ldp_bounded(widened: Callable[[Spec], float]) -> Radii:
    """Proposition 15 for noise of radius R, `widened` times as large in transitions."""

    def radii(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
        first, second = _logs(spec, 6, _at(users, failure))
        visits, transitions = noise * np.sqrt(2 * users * first), widened(spec) * noise * np.sqrt(2 * users * second)
        return _same(visits, transitions, transitions * math.sqrt(spec.states))

    return radii


def transitions_widened(spec: Spec) -> float:
    """R_2/R_1 of Algorithm 6: sqrt(S)."""
    return math.sqrt(spec.states)


def ldp_response(length: Callable[[float], float], sides: int) -> Radii:
    """Proposition 13; `length` is the width of the interval a de-biased bit lies in, for Hoeffding's inequality."""

    def radii(spec: Spec, noise: float, users: Array, episodes: int, failure: float) -> Array:
        first, second = _logs(spec, 4 * sides, _at(users, failure))
        root = length(noise) * np.sqrt(users * spec.horizon / 2)
        visits, transitions = root * np.sqrt(first), root * np.sqrt(second)
        return np.maximum(_same(visits, transitions, spec.states * visits), 1.0)

    return radii
