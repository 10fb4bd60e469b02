"""A partial adoption of a policy, the score by which one episode judges it, and a test of the table behind it.

Follow the advice in a share alpha of the decisions, else follow current practice: pi_alpha = (1 - alpha) b + alpha pi. With
kept (H, S) the chance that pi follows current practice, taken (H, S, A) the chance of its own actions, b the chance with which
practice took the action that it took (logged, or estimated),

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

**A hidden cause** makes b another chance b*, at most Gamma times as large or as small: 1/Gamma <= b/b* <= Gamma at every decision.
With q* = 1 - alpha + alpha (kept + taken/b*), v*_h - v_h = q*_h (v*_{h+1} - v_{h+1}) + (q*_h - q_h) (r_h + v_{h+1} - Q_h), where
|q*_h - q_h| <= alpha taken/b (Gamma - 1) and q*_h <= 1 - alpha + alpha (kept + Gamma taken/b) = m_h. So a person's score moves by

    sum_h m_0 ... m_{h-1} alpha taken/b (Gamma - 1) |r_h + v_{h+1} - Q_h|    at most (`moved_by`).

**Loss to follow-up.** Where people are lost after a decision that is not the last, with a chance lost (S, A) that depends
on nothing
but its state and action, everything after it is weighed by w_h = 1[not lost]/(1 - lost(s_h, a_h)), which is 1 on average given all
that came before:

    v_h = U_h + q_h w_h (r_h + v_{h+1} - Q_h)     and, for practice,     u_h = usual_h + w_h (r_h + u_{h+1} - usual_h),

both with the expectation that they have if no user is lost, for any Q and any usual (H, S, A), by the same induction; D is
v_0 - u_0.
An error in lost alone moves neither where Q and usual are what follows.

**The test** looks at five signs g of what came before a decision: it repeats the action before; by how much more than the table
says earlier steps brought, all together; the state before had a lower value; it is in the later half; and how much more often than
b says earlier decisions (two and more steps ago) were the policy's. What is hidden and lasts shows in the second and the last. If
the table is the world, then E[r + V(s') - Q(s, a) | past, s, a] = 0 for Q = r + P V, and so

    sum_h (r + V(s') - Q(s, a))/H (g - E[g | s, a]),    the same with taken(a) as a further factor,
    sum_h (taken(a) - E_b[taken]) (g - E[g | .])

have mean zero: what the table leaves out of what follows shows in the first ten numbers, of what practice did in the last five
(where the first sign says that the policy would repeat, and a dot stands for what b depends on). An error in Q, or in E[g | .],
alone moves none of them. Of a step after which a person was lost the residual is not known, and left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Array = NDArray[np.float64]

BY_STATE, BY_STEP, BY_PREVIOUS = 0, 1, 2
"""What chances of actions depend on beside the state: nothing, the step, or the action before (the last row: there is none)."""

SIGNS = 5


class Adoption(NamedTuple):
    """Public: alpha; kept (H, S) and taken (H, S, A) of the policy; practice (C, S, A), from which b comes where it is not logged,
    and what its rows C stand for; q (H, S, A), any function; after: what a step pays after the end. lost (S, A): the chance to be
    lost to follow-up after a decision, and usual (H, S, A), any function; both none where no user is.
    """

    alpha: float
    kept: Array
    taken: Array
    practice: Array
    by: int
    q: Array
    after: float
    lost: Array = np.empty((0, 0))
    usual: Array = np.empty((0, 0, 0))


class Specification(NamedTuple):
    """Public: what the test of residuals compares. values (H+1, S) and q (H, S, A) of the table; taken, practice, by: as in
    `Adoption`; after: what a step pays after the end; signs (SIGNS, L, S, A) and before (SIGNS, C, S): what is expected of
    them at a pair, and where b is given; known (L, S, A) and clear (C, S): 0 where residuals, or what practice did, are not
    looked at;
    none looks everywhere.
    """

    values: Array
    q: Array
    taken: Array
    practice: Array
    by: int
    after: float
    signs: Array
    before: Array
    known: Array = np.empty((0, 0, 0))
    clear: Array = np.empty((0, 0))


class Episodes(NamedTuple):
    """Sensitive: episodes one after the other. starts: (n+1,), where each begins; states, actions, rewards in [0, 1]: (rows,);
        propensity: (rows,), or none where they are not logged. group: (n,), the public group of each, or none where there are none.
    lost: (n,), 1 where a person was lost to follow-up after the last row that is known, or none where no user can be. observed:
    (rows, k) what was observed before every decision, where states are made of that, else nothing.
    """

    starts: NDArray[np.int64]
    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    rewards: Array
    propensity: Array
    group: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    lost: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    observed: Array = np.empty((0, 0))

    def __repr__(self) -> str:
        return "Episodes()"

    @property
    def people(self) -> int:
        """How many there are."""
        return len(self.starts) - 1


def scores(adoption: Adoption, episodes: Episodes) -> tuple[Array, Array]:
    """(n,) the score of every episode, and (n,) its last weight."""
    found, weights, _ = _scored(adoption, episodes, 1.0)
    return found, weights


def moved_by(adoption: Adoption, episodes: Episodes, gamma: float) -> Array:
    """(n,) by how much the score of every episode moves at most, if a hidden cause changes chances of actions by that factor."""
    return _scored(adoption, episodes, float(gamma))[2]


def _scored(adoption: Adoption, episodes: Episodes, gamma: float) -> tuple[Array, Array, Array]:
    found, weights, moved = np.zeros(episodes.people), np.ones(episodes.people), np.zeros(episodes.people)
    kept, taken, practice = (np.ascontiguousarray(table, dtype=np.float64) for table in adoption[1:4])
    q = np.ascontiguousarray(adoption.q, dtype=np.float64)
    lost, usual = (np.ascontiguousarray(table, dtype=np.float64) for table in (adoption.lost, adoption.usual))
    arrays = Adoption(float(adoption.alpha), kept, taken, practice, adoption.by, q, float(adoption.after), lost, usual)
    _score(arrays, episodes, gamma, found, weights, moved)
    return found, weights, moved


def contrasts(specification: Specification, episodes: Episodes) -> Array:
    """(n, 3 SIGNS) the numbers of the test of every episode."""
    found = np.zeros((episodes.people, 3 * SIGNS))
    nothing = np.zeros((0, 0, 0, 0)), np.zeros((0, 0, 0))
    _test(specification, episodes, found, *nothing)
    return found


def expecting(specification: Specification, episodes: Episodes) -> Specification:
    """The same with signs as they are on average in these episodes; 0 where none came by."""
    _, states, actions = specification.taken.shape
    layers, rows = specification.signs.shape[1], len(specification.practice)
    sums, before = np.zeros((SIGNS + 1, layers, states, actions)), np.zeros((SIGNS + 1, rows, states))
    _test(specification, episodes, np.zeros((0, 3 * SIGNS)), sums, before)
    signs, earlier = sums[:-1] / np.maximum(sums[-1], 1.0), before[:-1] / np.maximum(before[-1], 1.0)
    return specification._replace(signs=np.ascontiguousarray(signs), before=np.ascontiguousarray(earlier))


@compiled
def told_by(by: int, h: int, previous: int, actions: int) -> int:
    """The row of a table of chances that stands for a decision. previous: the action before it."""
    if by == 2:
        return previous if h > 0 else actions
    return h if by == 1 else 0


@compiled
def _score(adoption: Adoption, episodes: Episodes, gamma: float, found: Array, weights: Array, moved: Array) -> None:
    alpha, kept, taken, practice, by, q, after, lost, usual = adoption
    horizon, _, actions = taken.shape
    logged, losing = len(episodes.propensity) > 0, lost.size > 0
    for person in range(len(found)):
        first, last = episodes.starts[person], episodes.starts[person + 1]
        steps = min(last - first, horizon)
        value, earned, weight, further = after * (horizon - steps), after * (horizon - steps), 1.0, 0.0
        for back in range(steps):
            h = steps - 1 - back
            row = first + h
            s, a, r = episodes.states[row], episodes.actions[row], episodes.rewards[row]
            if logged:
                b = episodes.propensity[row]
            else:
                b = practice[told_by(by, h, episodes.actions[row - 1] if h > 0 else 0, actions), s, a]
            goes_on = 1 - alpha + alpha * kept[h, s]
            own = alpha * taken[h, s, a] / b if taken[h, s, a] > 0 else 0.0
            adopted = goes_on * q[h, s, a]
            for other in range(actions):
                adopted += alpha * taken[h, s, other] * q[h, s, other]
            w = 1.0
            if losing and h + 1 < horizon:
                away = back == 0 and len(episodes.lost) > 0 and episodes.lost[person] != 0
                w = 0.0 if away else 1 / (1 - lost[s, a])
            residual = w * (r + value - q[h, s, a])
            further = (goes_on + gamma * own) * w * further + (gamma - 1) * own * abs(residual)
            value = adopted + (goes_on + own) * residual
            earned = usual[h, s, a] + w * (r + earned - usual[h, s, a]) if losing else earned + r
            weight *= goes_on + own
        found[person], weights[person], moved[person] = value - earned, weight, further


@compiled
def _test(specification: Specification, episodes: Episodes, found: Array, sums: Array, before: Array) -> None:
    """Write the numbers of every episode to `found`; or, where that is empty, add up signs, and visits last, to the others."""
    values, q, taken, practice, by, after, signs, usual, known, clear = specification
    horizon, _, actions = taken.shape
    layers, gathering = signs.shape[1], len(found) == 0
    g, p = np.zeros(5), np.zeros(5)
    for person in range(len(episodes.starts) - 1):
        first, last = episodes.starts[person], episodes.starts[person + 1]
        steps = min(last - first, horizon)
        brought, followed, waiting = 0.0, 0.0, 0.0
        for h in range(steps):
            row = first + h
            s, a, r = episodes.states[row], episodes.actions[row], episodes.rewards[row]
            previous = episodes.actions[row - 1] if h > 0 else 0
            g[0] = 1.0 if h > 0 and previous == a else 0.0
            g[1] = brought
            g[2] = 1.0 if h > 0 and values[h - 1, episodes.states[row - 1]] < values[h, s] else 0.0
            g[3] = 1.0 if 2 * h >= horizon else 0.0
            g[4] = followed
            p[:] = g
            p[0] = taken[h, s, previous] if h > 0 else 0.0
            layer, told = h if layers > 1 else 0, told_by(by, h, previous, actions)
            following = values[h + 1, episodes.states[row + 1]] if h + 1 < steps else after * (horizon - steps)
            residual = (r + following - q[h, s, a]) / horizon
            surprise = taken[h, s, a]
            for other in range(actions):
                surprise -= taken[h, s, other] * practice[told, s, other]
            away = h + 1 == steps and steps < horizon and len(episodes.lost) > 0 and episodes.lost[person] != 0
            if away or (known.size > 0 and known[layer, s, a] == 0):
                residual = 0.0
            if clear.size > 0 and clear[told, s] == 0:
                surprise = 0.0
            brought += residual
            followed, waiting = followed + waiting, surprise
            if gathering:
                if not away:
                    sums[:5, layer, s, a] += g
                    sums[5, layer, s, a] += 1.0
                before[:5, told, s] += p
                before[5, told, s] += 1.0
                continue
            for k in range(5):
                apart = g[k] - signs[k, layer, s, a]
                found[person, k] += residual * apart
                found[person, 5 + k] += taken[h, s, a] * residual * apart
                found[person, 10 + k] += surprise * (p[k] - usual[k, told, s])
