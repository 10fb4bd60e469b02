"""A partial adoption of a policy, and the score by which one episode judges it.

Follow the advice in a share alpha of the decisions, else go on as now: pi_alpha = (1 - alpha) b + alpha pi. With kept (H, S) the
chance that pi goes on as now, taken (H, S, A) the chance of its own actions, b the chance with which practice took the action
that it took (logged, or estimated),

    q_h = 1 - alpha + alpha (kept + taken(a)/b),        W_h = q_0 ... q_h,
    U_h = (1 - alpha + alpha kept) Q_h(s, a) + alpha sum_a' taken(a') Q_h(s, a'),

for any function Q, a person's score is

    D = U_0 + sum_h W_h (r_h + U_{h+1} - Q_h(s_h, a_h)) - sum_h r_h.

**It is unbiased for the gain of pi_alpha over practice, whatever states leave out**, if b is the chance with which actions were
chosen given all that came before and taken is 0 wherever b is. For any X that may depend on all that follows,
E_b[q_h X | past] = E_{pi_alpha}[X | past], because b q_h = pi_alpha; and E_b[U_h - q_h Q_h | past] = 0, by the same. So
v_h = U_h + q_h (r_h + v_{h+1} - Q_h) has E_b[v_h | past] = E_{pi_alpha}[r_h + v_{h+1} | past], and by induction from the last step
E_b[v_0] is the value of pi_alpha; D is v_0 minus the return. The tests check it exactly in a world in which history matters.
After an episode's end every step pays a public number, in v and in the return alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Array = NDArray[np.float64]


class Adoption(NamedTuple):
    """Public: alpha; kept (H, S) and taken (H, S, A) of the policy; practice (L, S, A), by which b is told where it is not logged;
    q (H, S, A), any function; after: what a step pays after the end.
    """

    alpha: float
    kept: Array
    taken: Array
    practice: Array
    q: Array
    after: float


class Episodes(NamedTuple):
    """Sensitive: episodes one after the other. starts: (n+1,), where each begins; states, actions, rewards in [0, 1]: (rows,);
    propensity: (rows,), or none where they are not logged.
    """

    starts: NDArray[np.int64]
    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    rewards: Array
    propensity: Array

    def __repr__(self) -> str:
        return "Episodes()"


def scores(adoption: Adoption, episodes: Episodes) -> tuple[Array, Array]:
    """(n,) the score of every episode, and (n,) its last weight."""
    people = len(episodes.starts) - 1
    found, weights = np.zeros(people), np.ones(people)
    kept, taken, practice, q = (np.ascontiguousarray(table, dtype=np.float64) for table in adoption[1:5])
    arrays = Adoption(float(adoption.alpha), kept, taken, practice, q, float(adoption.after))
    _score(arrays, episodes, found, weights)
    return found, weights


@compiled
def _score(adoption: Adoption, episodes: Episodes, found: Array, weights: Array) -> None:
    alpha, kept, taken, practice, q, after = adoption
    horizon, _, actions = taken.shape
    layers, logged = practice.shape[0], len(episodes.propensity) > 0
    for person in range(len(found)):
        first, last = episodes.starts[person], episodes.starts[person + 1]
        steps = min(last - first, horizon)
        value, earned, weight = after * (horizon - steps), after * (horizon - steps), 1.0
        for back in range(steps):
            h = steps - 1 - back
            row = first + h
            s, a, r = episodes.states[row], episodes.actions[row], episodes.rewards[row]
            b = episodes.propensity[row] if logged else practice[h if layers > 1 else 0, s, a]
            ratio = kept[h, s] + (taken[h, s, a] / b if taken[h, s, a] > 0 else 0.0)
            each = 1 - alpha + alpha * ratio
            adopted = (1 - alpha + alpha * kept[h, s]) * q[h, s, a]
            for other in range(actions):
                adopted += alpha * taken[h, s, other] * q[h, s, other]
            value = adopted + each * (r + value - q[h, s, a])
            earned += r
            weight *= each
        found[person], weights[person] = value - earned, weight
