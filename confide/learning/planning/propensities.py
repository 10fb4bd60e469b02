"""The value of a policy by inverse propensity weighting, from sums of weighed rewards: for one step.

The sum W(s, a) of a release holds f/p of the reward of every row in (s, a), p the row's logged propensity, f a public floor. So
sum_(s,a) pi(a|s) W(s, a) / (n f) has the mean of the rewards of pi, if propensities are those by which actions
were chosen; it does not matter what else they depended on, and nothing is assumed of states. Three things are certain:

* One person's part X = pi(a|s) Y / f has Y in [0, 1] (rounding included), so E X^2 <= E[pi Y] / f^2 = v / f, v the value.
* The noise in W is known, and adds sigma^2 sum pi^2 / (n f)^2.
* So |v' - v| <= z sqrt(v / (n f) + noise) but for the stated failures, as far as sums are normal. Solved for v this is the
  interval; it is wide where the floor is low, and does not close up where nothing was seen.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .estimates import SPENT, Estimate

Array = NDArray[np.float64]


def weighed_worth(
    weighed: Array, policy: Array, people: int, floor: float, variance: float, confidence: float
) -> Estimate:
    """weighed: (S, A), with noise of that variance in every cell; policy: (S, A) probabilities; rewards lie in [0, 1]."""
    from scipy.special import ndtri

    mass = max(people, 1) * floor
    estimate = float((policy * weighed).sum()) / mass
    noise = variance * float((policy**2).sum()) / mass**2
    z = float(ndtri(1 - (1 - confidence) * SPENT / 2))
    middle = estimate + z**2 / (2 * mass)
    width = math.sqrt(max(middle**2 - estimate**2 + z**2 * noise, 0.0))
    value, low, high = (min(max(bound, 0.0), 1.0) for bound in (estimate, middle - width, middle + width))
    return Estimate(value, min(low, value), max(high, value), math.sqrt(max(estimate, 0.0) / mass + noise), confidence)
