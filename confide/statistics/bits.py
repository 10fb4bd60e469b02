"""How many bits of a report one person can change.

A report of a whole episode is one bit for each step and each pair (s, a), one bit for each step and each (s, a, s') whose
transition is counted, and m bits for each step and each (s, a), of which as many are one as the reward, rounded at random to a
multiple of 1/m, has such parts (m = levels). Write T for the number of steps whose transition is counted.

**Claim.** Two episodes differ in at most 2H + 2mH + 2T bits: (4+2m)H - 2 where the last transition is dropped.
**Proof.** At each step an episode sets one visit bit, at most m reward bits, all at its own (s, a), and at most one
transition bit. So two episodes differ at that step in at most 2 visit bits, 2m reward bits and 2 transition bits, whatever the
rounding draws (draws do not depend on the data, so they may be the same for both). Two episodes that share no pair (s, a) and
always earn 1 differ in all of them. An episode that ended early sets fewer bits.

Counters pooled over steps, or over the m bits of a reward, are sums of these bits: one person changes no more of them.

**One sampled step.** The step is drawn whatever the episode, so it may be the same for both. Its category is one bit of k that is
one: two categories differ in 2 bits.
"""

from __future__ import annotations

import math

from ..errors import InvalidInput
from ..privacy import Sensitivity
from ..releases.bits import require_bits
from ..releases.question import REWARDS, TRANSITIONS, VISITS, CountQuestion

SAMPLED_BITS = 2


def bit_sensitivity(question: CountQuestion, sampled: bool = False) -> Sensitivity:
    """The most bits that replacing one person can change, as a sensitivity in bits."""
    if sampled:
        if question.levels > 1:
            raise InvalidInput("A sampled step tells its reward in one bit. Use one reward bit, or whole episodes.")
        return _of(SAMPLED_BITS)
    require_bits(question)
    horizon, moves = question.spec.horizon, question.transition_steps
    a_step = {VISITS: horizon, REWARDS: question.levels * horizon, TRANSITIONS: moves}
    return _of(2 * sum(a_step[part] for part in question.parts))


def _of(changed: int) -> Sensitivity:
    return Sensitivity(float(changed), math.sqrt(changed), ((1.0, changed),), changed)
