"""How far one person can move the counts of a question: l1, l2 and equivalent shifts; the tests use brute force.

Write T for the number of transitions counted in a full episode: H, or H-1 if the last is dropped. Shorter episodes move
the counts less.

**Add or remove one person.** Each step adds at most 1 to one cell of visits, rewards and squares, 1/2 in size to one
cell of centred rewards, and each of T steps adds 1 to one cell of transitions. Per step all these cells are different,
so l2^2 is a sum over steps; pooled over steps they may coincide, so a part's l2 is its l1. All maxima are reached by
one episode that never moves and always earns 1. (Pooled transitions with `end` are two blocks: H-1 inside the episode,
1 out of it.)

**Replace one person.** Without centred rewards: two episodes that share no pair (s, a) reach twice the l1 and twice the
l2^2 of every part at once, and no pair can do more.

With centred rewards the l1 distance of a step is at most 1 (1/2 and 1/2 in two cells, or 1 in one cell), reached
together with all other maxima. For l2, a step with different (s, a) gives 2 x 1/4 for centred rewards, and one with
the same (s, a) up to 1, but then visits do not differ, and rewards and squares by 1 instead of 2:

* per step, with visits, rewards or squares: a step of different pairs gives 1/2 and 2 for each of them beyond
  transitions, one of equal pairs 1 and at most 1, so different pairs are best everywhere: H/2 is added.
* per step, (P,Rc) alone: different pairs give 1/2 + 2 [transition counted], equal pairs 1 + 2 [next states differ].
  Equal pairs followed by different next states gain 1/2, and force different pairs at the next step; a last step whose
  transition is not distinguished gains only if its states agree. So gains of 1/2 are taken at every other step:
  ceil(H/2) times if the last transition is counted or dropped, floor(H/2) times if it goes to `end` (where equal pairs
  at the last step lose 2 and gain 1/2).
* pooled, with visits, rewards or squares: H^2/2 is added, by different pairs throughout.
* pooled, (P,Rc) alone: H^2/2 + 2T^2 by two episodes that each stay in a place of their own. One step can sometimes be
  spent better, by an equal pair, for 1/2 more: at H = 1 if the transition is counted, at H = 2 with `end`, always if
  the last transition is dropped (so that its pair is distinguished by its reward only).

**Rewards centred at c instead of 1/2.** With w = max(c, 1-c), a step with different (s, a) gives up to 2 w^2 and one with the same
(s, a) still up to 1, since c cancels; in l1 that is 2w and 1, so 2w. With visits, rewards or squares beside it, 2 w^2 a step is
added, different pairs being best as before. For (P,Rc) alone:

* per step: as above, but that equal pairs gain 1 - 2 w^2 instead of 1/2, and are never better once that is below 0.
* pooled, c other than 1/2: P is at most 2T^2, and Rc at most max(1, 2 w^2) H^2: (Rc - Rc')^2 is convex in two people's steps, so it
  is largest where each of them stays in one pair and is always, or never, paid: in two pairs w^2 H^2 each, in one pair H^2.

**Half visits beside centred rewards** (P, Rc, N/2), replacing one person with visits n by one with n'. In a pair,

    (n - n')^2/4 + (Rc - Rc')^2 <= (n - n')^2/4 + (n + n')^2/4 = (n^2 + n'^2)/2,

since |Rc| <= n/2. Summed over pairs that is at most H^2 pooled, and H per step, where each n is 0 or 1: as much as two people
who share no pair add, and as much as two who share all of them and are paid differently. So N/2 is free where that worst case
of Rc is in the price anyway: with transitions that is 2 T^2 + H^2 pooled, 2 T + H per step. In l1 a step moves N/2 by 1/2 in two
cells, and Rc then by as much: 2H in all. With rewards centred at c, a = w and b = 1 - w, or the other way round,

    (n - n')^2/4 + (a n + b n')^2 <= (1/4 + w^2) (n^2 + n'^2),

because 2 n n' (a b - 1/4) <= 0. Two people who share no pair reach it: (1/2 + 2 w^2) H^2 pooled, (1/2 + 2 w^2) H per step.

**Weighted parts.** Where an encoding writes a part down as w times its counts (`bits`: a reward in m bits), every size above is w
times as large: l1 and shifts by w, squares by w^2. For visits, rewards and transitions, which are never negative,
|n - n'|^2 <= |n|^2 + |n'|^2 and |n|_2 <= |n|_1, so the two people who share no pair are still the worst.

These are the least bounds where there are two states and two actions or more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...errors import InvalidInput
from ...privacy import REPLACE, Sensitivity
from .counts import CENTRED, COUNTED, DROPPED, END, HALVES, MIDDLE, TRANSITIONS, CountQuestion


def sensitivity(
    question: CountQuestion, neighbours: str = REPLACE, weights: Mapping[str, int] | None = None
) -> Sensitivity:
    """The largest change one person makes to the cells of a question, in counts. weights: of parts that are written down as a
    multiple of their counts; of visits, rewards, squares and transitions only.
    """
    pooled = question.spec.layers == 1
    horizon = question.spec.horizon
    if CENTRED in question.parts and TRANSITIONS not in question.parts:
        raise InvalidInput(
            "centred-rewards-alone",
            "Centred rewards are only released together with transitions. Request rewards instead.",
        )
    people = 2 if neighbours == REPLACE else 1
    blocks = [
        ((weights or {}).get(part, 1), block)
        for part in question.parts
        if part not in (CENTRED, HALVES)
        for block in _blocks(question, part)
    ]
    l1 = float(people * sum(weight * block for weight, block in blocks))
    square = float(people * sum(weight**2 * (block**2 if pooled else block) for weight, block in blocks))
    shifts = [
        (float(weight * block), people) if pooled else (float(weight), people * block) for weight, block in blocks
    ]
    cells = people * sum(block for _, block in blocks)
    if CENTRED in question.parts:
        furthest = people * farthest(question.centre)
        l1 += furthest * horizon
        square += _centred_square(question, pooled, people)
        # Merged into one cell all changes of centred rewards make one shift; per step they stay apart.
        shifts.append((furthest * horizon, 1) if pooled else (furthest, horizon))
        cells += people * horizon
    if HALVES in question.parts:
        l1 += people * horizon / 2
        shifts += [(horizon / 2, people) if pooled else (0.5, people * horizon)]
        cells += people * horizon
    return Sensitivity(l1, math.sqrt(square), tuple((size, count) for size, count in shifts if size * count > 0), cells)


def _blocks(question: CountQuestion, part: str) -> list[int]:
    """How often one episode can hit the same cell of a part: at every step, but `end` is reached once and apart."""
    if part != TRANSITIONS:
        return [question.spec.horizon]
    if question.last == END:
        return [question.spec.horizon - 1, 1]
    return [question.transition_steps]


def _centred_square(question: CountQuestion, pooled: bool, people: int) -> float:
    """The squared l2 sensitivity that centred rewards add to the other parts."""
    horizon = question.spec.horizon
    steps, apart = (horizon**2 if pooled else horizon), people * farthest(question.centre) ** 2
    if HALVES in question.parts:
        return steps * (apart + people / 4)
    if people == 1 or question.parts != (CENTRED, TRANSITIONS):
        return steps * apart
    gain = max(0.0, 1 - apart)  # of a step in the same pair
    if not pooled:
        gains = horizon // 2 if question.last == END else math.ceil(horizon / 2)
        return steps * apart + gains * gain
    if question.centre != MIDDLE:
        return steps * (apart + gain)
    once = {COUNTED: horizon == 1, DROPPED: True, END: horizon == 2}[question.last]
    return steps * apart + once * gain


def farthest(centre: float) -> float:
    """How far from its centre a reward in [0, 1] can be."""
    return max(centre, 1 - centre)
