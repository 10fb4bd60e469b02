"""One step of mirror descent with the Kullback-Leibler divergence, in logarithms."""

from __future__ import annotations

import math

from ..releases.release import Array
from .inlined import inlined


@inlined
def mirror_step(logits: Array, q: Array, rate: float, policy: Array) -> None:
    """policy'(a) = policy(a) exp(rate q(a)) / sum_b policy(b) exp(rate q(b)), for every step and state.

    logits: (H, S A), the logarithm of the policy, kept normalised so that no number of steps overflows or drifts; it is
    updated and its exponential written to policy (H, S, A). q: (H, S A).
    """
    horizon, states, actions = policy.shape
    for h in range(horizon):
        for s in range(states):
            first = s * actions
            top = -math.inf
            for a in range(actions):
                logits[h, first + a] += rate * q[h, first + a]
                top = max(top, logits[h, first + a])
            total = 0.0
            for a in range(actions):
                policy[h, s, a] = math.exp(logits[h, first + a] - top)
                total += policy[h, s, a]
            shift = top + math.log(total)
            for a in range(actions):
                policy[h, s, a] /= total
                logits[h, first + a] -= shift
