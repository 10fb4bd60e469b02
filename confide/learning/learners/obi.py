"""LDP-OBI: optimistic backward induction on private counts, Algorithm 2 of Garcelon, Perchet, Pike-Burke and Pirotta
(2021), "Local Differentially Private Regret Minimization in Reinforcement Learning".

After every release, before user k:

1. r = R / (N + alpha c_2), P(s') = N(s') / (sum N(s') + alpha c_3), eq. (4), where c_1..c_4 are the error radii of
   rewards, visits, rows and single transitions; denominators are at least 1, which defines it at radius 0;
2. beta_r, beta_p of Proposition 4 with L = ln(4 pi^2 S A H k^3 / (3 delta)), the confidence level of user k;
3. for h = H..1: Q_h = r + P V_{h+1} + beta_r + (H-h+1) beta_p, pi_h = argmax Q_h, V_h = min(H-h+1, max Q_h), eq. (5);
4. user k follows pi.

The last step's transition is not counted. `bonus="tight"` puts our own estimate and bonus in place of 1 and 2.
"""

from __future__ import annotations

import math
from functools import partial

from ... import validation
from ...mdp import Spec
from ...protocol.kinds.counts import DROPPED, CountQuestion
from ...protocol.releases.release import Array, Estimates
from ..planning.bonus import local_reward, local_rows
from ..planning.estimate import ratios
from ..planning.induction import ROWS, SLOPE, VISITS, WIDTH, Workspace
from ..planning.inlined import inlined
from .learner import Context, TabularLearner
from .optimism import constants, memory, optimistic
from .tight import tight


@inlined
def _paper(estimates: Estimates, constants: Array, work: Workspace, horizon: int) -> None:
    """Eq. (4) and Proposition 4; own constants: alpha, ln(4 pi^2 S A H / (3 delta))."""
    counts, radius = estimates.counts, estimates.radius
    states, scale, alpha = counts.visits.shape[1], constants[2], constants[3]
    log = constants[4] + 3.0 * math.log(estimates.users + 1.0)
    ratios(counts, alpha * radius.visits, alpha * radius.rows, True, work)
    for layer in range(work.pairs.shape[1]):
        for i in range(work.pairs.shape[2]):
            reward = local_reward(work.pairs[VISITS, layer, i], log, alpha, radius.rewards, radius.visits)
            rows = local_rows(work.pairs[ROWS, layer, i], states, log, alpha, radius.transitions, radius.rows)
            work.pairs[WIDTH, layer, i] = scale * reward
            work.pairs[SLOPE, layer, i] = scale * rows


PLAN = optimistic("obi", _paper)


def obi(bonus: str = "tight", alpha: float = 2.0) -> TabularLearner:
    """LDP-OBI with the paper's bonus, or ours; alpha > 1 is how many error radii are added to counts that divide."""
    validation.choice("bonus", bonus, ("tight", "paper"))
    alpha = validation.number("alpha", alpha)
    if alpha <= 1:
        raise validation.refusal(
            "alpha-not-above-one", "alpha", "above 1", alpha, "The paper's bounds need it; 2 is the default."
        )
    if bonus == "tight":
        return tight("obi", _question)
    return TabularLearner(
        name="obi",
        plan=PLAN,
        question=_question,
        constants=partial(_constants, alpha=alpha),
        memory=partial(memory, dispersed=False),
        draws=False,
    )


def _question(spec: Spec) -> CountQuestion:
    return CountQuestion(spec, last=DROPPED)


def _constants(context: Context, alpha: float) -> Array:
    spec = context.spec
    log = math.log(4.0 * math.pi**2 * spec.states * spec.actions * spec.horizon / (3.0 * context.failure))
    return constants(context, alpha, log, low=-math.inf)
