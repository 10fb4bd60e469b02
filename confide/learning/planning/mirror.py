"""One step of mirror descent with the Kullback-Leibler divergence, in logarithms: at one rate, or at a rate for each state."""

from __future__ import annotations

import math

from ...protocol.releases.release import Array
from .inlined import inlined


@inlined
def state_rates(sense: float, people: float, q: Array, policy: Array, sums: Array, steps: Array) -> None:
    """Write steps (H, S A), what m people are worth under a rate for each state that needs neither K nor H.

    G(h, s) += m^2 Var_{a~policy} q_h(s, a), kept in sums (H, S); a step is m sqrt(ln A / G) (q - E_policy q). So the rate is as
    large as what was seen of the state allows, and steps of a state that people never differ in are none.
    """
    horizon, states, actions = policy.shape
    for h in range(horizon):
        for s in range(states):
            mean, square = 0.0, 0.0
            for a in range(actions):
                value = q[h, s * actions + a]
                mean += policy[h, s, a] * value
                square += policy[h, s, a] * value * value
            sums[h, s] += people * people * max(0.0, square - mean * mean)
            rate = people * math.sqrt(math.log(float(actions)) / sums[h, s]) if sums[h, s] > 0.0 else 0.0
            for a in range(actions):
                steps[h, s * actions + a] = sense * rate * (q[h, s * actions + a] - mean)


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
