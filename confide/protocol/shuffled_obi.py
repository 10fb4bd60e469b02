"""What SHUFFLED-OBI prints: Garcelon, Perchet, Pike-Burke, Pirotta (2021), *Bridging the Gap between Local and Joint
Differential Privacy in RL*, Lemma 4, Proposition 5, equations (7) and (8), for m reward bits; Theorem 6 has m = 1.

Used as it stands by `calibration="paper"`. The claim of Theorem 6, that shuffling the whole history anew before every
episode is jointly private, is false: two consecutive releases differ by exactly one report.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..mdp import Spec

Array = NDArray[np.float64]

PAPER_NAME = "shuffled-obi"


def bits_a_step(reward_bits: int = 1) -> int:
    """4 + 2m: how many bits of a step Lemma 4 charges."""
    return 4 + 2 * reward_bits


def claimed_epsilon(flip: float, people: int, horizon: int, delta: float, reward_bits: int = 1) -> float:
    """epsilon_c of Proposition 5 for p = 2 flip, k = people and m = reward_bits; infinite where it claims nothing.

    Its hypothesis is epsilon <= log(k/(7 log(4/delta)) - 1) for the epsilon of a bit, log((1-flip)/flip): that is
    p >= 14 log(4/delta)/k, the condition of Cheu et al. (2019) on which it rests.
    """
    p, count, m = 2 * flip, (people - 1) * horizon, reward_bits
    if count <= 0 or p * people < 14 * math.log(4 / delta):
        return math.inf

    def term(factor: float, log: float) -> float:
        slack = math.sqrt(2 * p * log / count)
        return factor * (1 - p + slack) / (math.sqrt(count) * (p - slack)) if p > slack else math.inf

    rewards = term(256 * math.log(8 * m / delta) * math.sqrt(m * math.log(2 / delta)), math.log(4 * m / delta))
    return rewards + term(64 * math.log(4 / delta), math.log(2 / delta))


def counter_epsilon(flip: float, people: int, horizon: int, delta: float) -> float:
    """epsilon_{k,c} of equation (113) of *Local Differential Privacy for Regret Minimization in RL*, for visits and transitions.

    p = 2 flip must be at least 14 log(4/delta)/((k-1)H); infinite where it is not.
    """
    p, count = 2 * flip, (people - 1) * horizon
    if count <= 0 or p < 14 * math.log(4 / delta) / count:
        return math.inf
    rest = p - math.sqrt(2 * p * math.log(2 / delta) / count)
    return 32 * math.log(4 / delta) / math.sqrt(count) / math.sqrt(rest) * (1 - rest)


def printed_bit_epsilon(spec: Spec, epsilon: float, delta: float, burn_in: int, reward_bits: int = 1) -> float:
    """The epsilon a bit for which Proposition 5 claims (epsilon, delta) after the burn-in; it does so for none below."""
    if delta <= 0:
        raise InvalidInput("proposition-needs-delta", "Proposition 5 needs delta above 0. Give a delta such as 1e-6.")

    def claims(flip: float, people: int) -> bool:
        return claimed_epsilon(flip, people, spec.horizon, delta, reward_bits) <= epsilon

    most_noise = 0.5 * (1 - 1e-9)
    if not claims(most_noise, burn_in):
        least = 2
        while not claims(most_noise, least):
            least *= 2
        raise InvalidInput(
            "proposition-burn-in",
            f"Proposition 5 claims ({epsilon:g}, {delta:g}) for no noise after a burn-in of {burn_in} people. "
            f"It needs about {least:.2g}. Raise burn_in, or give local_epsilon.",
        )
    low, high = 0.0, most_noise
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if claims(middle, burn_in) else (middle, high)
    return math.log1p(-high) - math.log(high)


def printed_radii(spec: Spec, noise: float, users: Array, episodes: int, failure: float, reward_bits: int = 1) -> Array:
    """Equations (7) and (8) for `noise` = epsilon a bit and m reward bits, at the failure 3 delta/(2 pi^2 k^2) of episode k.

    As printed each holds for one cell; nothing is set aside for there being many. (8) says k where (7) says k - 1.
    """
    p, k = 2 / (math.exp(noise) + 1), users + 1
    log = np.log(2 * np.pi**2 * k**2 / (3 * failure))
    bits = spec.horizon * p * (1 - p / 2) * log
    first = 2 * log / (3 * (1 - p))
    visits = first + np.sqrt(users * bits) / (1 - p)
    rounded = np.sqrt(2 * spec.horizon * k * (log + math.log(2))) / reward_bits
    rewards = rounded + np.sqrt(k * bits / reward_bits) / (1 - p) + first
    return np.stack(np.broadcast_arrays(visits, rewards, rewards, visits, spec.states * visits), axis=-1)
