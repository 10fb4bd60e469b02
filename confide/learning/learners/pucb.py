"""PUCB: Vietri, Balle, Krishnamurthy and Wu (2020), "Private Reinforcement Learning with PAC and Regret Guarantees".

After every release, with E the largest error radius of any count:

1. a pair with n >= 2 E, where n = N, has r = R / n, P(s') = N(s') / n and the bonus (H+1) phi + psi of `bonus.pucb`;
   any other pair is unknown: r = P = 0 and the bonus is H. (At radius 0 a pair is known from its first visit on.)
2. for h = H..1: Q_h = r + P V_{h+1} + b clipped to [0, H-h+1], pi_h = argmax Q_h, V_h = max Q_h;
3. the next users follow pi.

`bonus="tight"` puts our own plan (`learners.tight`) in place of 1 and 2: there UCB-VI, LDP-OBI and PUCB are one.
"""

from __future__ import annotations

import math
from functools import partial

from ... import validation
from ...protocol.kinds.counts import CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.bonus import pucb as confidence
from ..planning.estimate import ratios
from ..planning.induction import REWARD, VISITS, WIDTH, Workspace
from ..planning.inlined import inlined
from .learner import Context, TabularLearner
from .optimism import constants, memory, optimistic
from .tight import tight


@inlined
def _paper(estimates: Estimates, constants: Array, work: Workspace, horizon: int) -> None:
    """Own constant: ln(S A H / beta)."""
    counts, radius = estimates.counts, estimates.radius
    _, states, actions = counts.visits.shape
    error = max(radius.visits, radius.rewards, radius.transitions)
    known = max(1.0, 2.0 * error)
    ratios(counts, 0.0, 0.0, False, work)
    for layer in range(work.pairs.shape[1]):
        for i in range(work.pairs.shape[2]):
            width = float(horizon)
            if counts.visits[layer, i // actions, i % actions] >= known:
                width = confidence(work.pairs[VISITS, layer, i], states, horizon, constants[3], error)
            else:
                work.pairs[REWARD, layer, i] = 0.0
                for t in range(states):
                    work.transitions[layer, t, i] = 0.0
            work.pairs[WIDTH, layer, i] = constants[2] * width


PLAN = optimistic("pucb", _paper)


def pucb(bonus: str = "tight") -> TabularLearner:
    """Optimism that ignores pairs until they were seen twice the error radius, or our own plan."""
    if validation.choice("bonus", bonus, ("tight", "paper")) == "tight":
        return tight("pucb", CountQuestion)
    return TabularLearner("pucb", PLAN, CountQuestion, _constants, partial(memory, dispersed=False), draws=False)


def _constants(context: Context) -> Array:
    spec = context.spec
    return constants(context, math.log(spec.states * spec.actions * spec.horizon / context.failure))
