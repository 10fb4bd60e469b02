"""How far an estimate may be off: each paper's bonus for one pair, as a function of numbers.

n is what the estimate was divided by; logarithms of confidence levels are arguments, made once by a learner. What a
bonus adds through the value function is given as `spread`, the factor of its variance (see `induction.Workspace`).
"""

from __future__ import annotations

import math

from .inlined import inlined


@inlined
def private_reward(n: float, log: float, error: float) -> float:
    """Chowdhury and Zhou (2022), Lemma 1: L_c / sqrt(n) + 3 E_1 / n with L_c = sqrt(2 log)."""
    return math.sqrt(2.0 * log / n) + 3.0 * error / n


@inlined
def private_rows(n: float, states: float, log: float, error: float, cell_error: float) -> float:
    """Chowdhury and Zhou (2022), Lemma 1, l1 norm: L_p / sqrt(n) + (S E_2 + 2 E_1) / n with L_p = sqrt(4 S log)."""
    return math.sqrt(4.0 * states * log / n) + (states * cell_error + 2.0 * error) / n


@inlined
def private_value(n: float, states: float, horizon: float, log: float, error: float, cell_error: float) -> float:
    """Chowdhury and Zhou (2022), Lemma 2: H L_c / sqrt(n) + H (S E_2 + 2 E_1) / n with L_c = sqrt(2 log)."""
    return horizon * (math.sqrt(2.0 * log / n) + (states * cell_error + 2.0 * error) / n)


@inlined
def local_reward(n: float, log: float, alpha: float, error: float, visits_error: float) -> float:
    """Garcelon et al. (2021), Proposition 4: sqrt(2 log / n) + ((alpha + 1) c_2 + c_1) / n."""
    return math.sqrt(2.0 * log / n) + ((alpha + 1.0) * visits_error + error) / n


@inlined
def local_rows(n: float, states: float, log: float, alpha: float, cell_error: float, row_error: float) -> float:
    """Garcelon et al. (2021), Proposition 4, in the l1 norm: sqrt(14 S log / n) + (S c_4 + (alpha + 1) c_3) / n."""
    return math.sqrt(14.0 * states * log / n) + (states * cell_error + (alpha + 1.0) * row_error) / n


@inlined
def hoeffding(n: float, horizon: float, log: float) -> float:
    """Azar, Osband and Munos (2017): 7 H L / sqrt(n)."""
    return 7.0 * horizon * log / math.sqrt(n)


@inlined
def bernstein(n: float, horizon: float, log: float, future: float) -> float:
    """Azar, Osband and Munos (2017), beside a spread of 8 L / n: 14 H L / (3 n) + sqrt(8 F / n).

    F = sum_s' P(s') `bernstein_future`(N'(s')) is how uncertain the states are that follow.
    """
    return 14.0 * horizon * log / (3.0 * n) + math.sqrt(8.0 * max(0.0, future) / n)


@inlined
def bernstein_future(arrivals: float, states: float, actions: float, horizon: float, log: float) -> float:
    """Azar, Osband and Munos (2017): min(100^2 H^3 S^2 A L^2 / N', H^2)."""
    return min(1e4 * horizon**3 * states**2 * actions * log**2 / max(1.0, arrivals), horizon**2)


@inlined
def private_bernstein(n: float, states: float, horizon: float, log: float, error: float, future: float) -> float:
    """Qiao and Wang (2023), beside a spread of 4 iota / n: sqrt(2 iota / n) + 20 H S E iota / n + 4 sqrt(iota F / n).

    F = sum_s' P(s') `private_future`(N'(s')).
    """
    leading = math.sqrt(2.0 * log / n) + 4.0 * math.sqrt(log * max(0.0, future) / n)
    return leading + 20.0 * horizon * states * error * log / n


@inlined
def private_future(arrivals: float, states: float, actions: float, horizon: float, log: float, error: float) -> float:
    """Qiao and Wang (2023): min(1000^2 (H^3 S A iota^2 / N' + (H^4 E^2 + H^6) S^4 A^2 iota^4 / N'^2), H^2)."""
    m = max(1.0, arrivals)
    first = horizon**3 * states * actions * log**2 / m
    second = (horizon**4 * error**2 + horizon**6) * states**4 * actions**2 * log**4 / (m * m)
    return min(1e6 * (first + second), horizon**2)


@inlined
def pucb(n: float, states: float, horizon: float, log: float, error: float) -> float:
    """Vietri et al. (2020): (H + 1) phi + psi if n >= 2 E, else H; log = ln(S A H / beta).

    phi = sqrt((2 ln(n + E) + 2 log) / max(n - E, 1)), psi = (1 + S H)(3 E / n + 2 E^2 / n^2).
    """
    if n < 2.0 * error:
        return horizon
    phi = math.sqrt((2.0 * math.log(n + error) + 2.0 * log) / max(n - error, 1.0))
    ratio = error / n
    return (horizon + 1.0) * phi + (1.0 + states * horizon) * (3.0 * ratio + 2.0 * ratio * ratio)
