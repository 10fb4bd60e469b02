"""Every learner once more, in plain Python from its paper's formulas, sharing no code with the package.

Counts are nested: visits[l][s][a], transitions[l][s][a][t]. A reference returns a policy (H, S, A) and values (H+1, S).
`sense` is +1 for rewards and -1 for costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

Row = list[float]


@dataclass
class ReferenceProblem:
    """A release and its public context, as a reference wants them."""

    counts: Any
    radius: Any
    horizon: int
    users: int
    total: int
    failure: float = 0.1
    scale: float = 1.0
    sense: int = 1

    @property
    def layers(self) -> int:
        return len(self.counts.visits)

    @property
    def states(self) -> int:
        return len(self.counts.visits[0])

    @property
    def actions(self) -> int:
        return len(self.counts.visits[0][0])

    @property
    def steps(self) -> int:
        return self.total * self.horizon

    def layer(self, h: int) -> int:
        return h if self.layers > 1 else 0

    def n(self, h: int, s: int, a: int) -> float:
        return float(self.counts.visits[self.layer(h)][s][a])

    def r(self, h: int, s: int, a: int) -> float:
        return float(self.counts.rewards[self.layer(h)][s][a])

    def r2(self, h: int, s: int, a: int) -> float:
        return float(self.counts.squares[self.layer(h)][s][a])

    def p(self, h: int, s: int, a: int) -> Row:
        return [float(x) for x in self.counts.transitions[self.layer(h)][s][a]]


EstimatedRow = Callable[[int, int, int], tuple[float, Row]]
Bonus = Callable[[int, int, int, Row], float]


def solve(
    problem: ReferenceProblem, estimate: EstimatedRow, bonus: Bonus, low: float = 0.0, clip: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Optimistic value iteration; h counts from 0, so H - h steps are left."""
    H, S, A, sense = problem.horizon, problem.states, problem.actions, problem.sense
    policy, values = np.zeros((H, S, A)), np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        later = [float(v) for v in values[h + 1]]
        for s in range(S):
            q = []
            for a in range(A):
                r, row = estimate(h, s, a)
                q.append(r + dot(row, later) + sense * problem.scale * bonus(h, s, a, later))
            best = max(range(A), key=lambda a: sense * q[a])
            policy[h, s, best] = 1
            values[h, s] = min(max(q[best], low), H - h) if clip else q[best]
    return policy, values


def dot(row: Row, other: Row) -> float:
    return sum(x * y for x, y in zip(row, other, strict=True))


def variance(row: Row, later: Row) -> float:
    mean = dot(row, later)
    return max(0.0, dot(row, [v * v for v in later]) - mean**2)


def private_estimate(problem: ReferenceProblem) -> EstimatedRow:
    """Chowdhury and Zhou, eq. (1)."""
    error = max(problem.radius.visits, problem.radius.rewards)

    def estimate(h: int, s: int, a: int) -> tuple[float, Row]:
        n = max(1.0, problem.n(h, s, a) + error)
        return problem.r(h, s, a) / n, [x / n for x in problem.p(h, s, a)]

    return estimate


def private_ucbvi(problem: ReferenceProblem) -> tuple[np.ndarray, np.ndarray]:
    """Chowdhury and Zhou, Algorithm 2 with Lemma 2."""
    H, S, A = problem.horizon, problem.states, problem.actions
    e1, e2 = max(problem.radius.visits, problem.radius.rewards), problem.radius.transitions
    lc = math.sqrt(2 * math.log(4 * S * A * problem.steps / problem.failure))

    def bonus(h: int, s: int, a: int, later: Row) -> float:
        n = max(1.0, problem.n(h, s, a) + e1)
        beta_c = lc / math.sqrt(n) + 3 * e1 / n
        beta_pv = H * lc / math.sqrt(n) + H * (S * e2 + 2 * e1) / n
        return beta_c + beta_pv

    return solve(problem, private_estimate(problem), bonus)


def empirical(problem: ReferenceProblem) -> EstimatedRow:
    def estimate(h: int, s: int, a: int) -> tuple[float, Row]:
        n = max(1.0, problem.n(h, s, a))
        return problem.r(h, s, a) / n, [x / n for x in problem.p(h, s, a)]

    return estimate


def hoeffding_ucbvi(problem: ReferenceProblem) -> tuple[np.ndarray, np.ndarray]:
    """Azar et al.: 7 H L / sqrt(N)."""
    log = math.log(5 * problem.states * problem.actions * problem.steps / problem.failure)

    def bonus(h: int, s: int, a: int, later: Row) -> float:
        return 7 * problem.horizon * log / math.sqrt(max(1.0, problem.n(h, s, a)))

    return solve(problem, empirical(problem), bonus)


def arriving(problem: ReferenceProblem, h: int, t: int) -> float:
    pairs = [(s, a) for s in range(problem.states) for a in range(problem.actions)]
    return sum(problem.p(h, s, a)[t] for s, a in pairs)


def bernstein_ucbvi(problem: ReferenceProblem) -> tuple[np.ndarray, np.ndarray]:
    """Azar et al.: sqrt(8 L Var / N) + 14 H L / (3 N) + sqrt(8 sum P min(100^2 H^3 S^2 A L^2 / N', H^2) / N)."""
    H, S, A = problem.horizon, problem.states, problem.actions
    log = math.log(5 * S * A * problem.steps / problem.failure)
    estimate = empirical(problem)

    def bonus(h: int, s: int, a: int, later: Row) -> float:
        n = max(1.0, problem.n(h, s, a))
        row = estimate(h, s, a)[1]
        future = [min(100**2 * H**3 * S**2 * A * log**2 / max(1.0, arriving(problem, h, t)), H**2) for t in range(S)]
        first = math.sqrt(8 * log * variance(row, later) / n)
        return first + 14 * H * log / (3 * n) + math.sqrt(8 * max(0.0, dot(row, future)) / n)

    return solve(problem, estimate, bonus)


def project(row: Row, total: float) -> Row:
    """Clip at 0, shift, clip, to the given sum, by bisection."""
    cells = [max(0.0, x) for x in row]
    low, high = -total - 1, max(cells) + 1
    for _ in range(80):
        tau = (low + high) / 2
        if sum(max(0.0, x - tau) for x in cells) > total:
            low = tau
        else:
            high = tau
    return [max(0.0, x - high) for x in cells]


def dp_ucbvi(problem: ReferenceProblem) -> tuple[np.ndarray, np.ndarray]:
    """Qiao and Wang: counts within E/4 of N, E/(2S) more a cell; the Bernstein bonus of their Algorithm 1."""
    H, S, A = problem.horizon, problem.states, problem.actions
    E = 4 * max(problem.radius.visits, problem.radius.rewards, problem.radius.transitions)
    iota = math.log(30 * H * S * A * problem.steps / problem.failure)
    cells: dict[tuple[int, int, int], Row] = {}
    for h in range(problem.layers):
        for s in range(S):
            for a in range(A):
                row, n = problem.p(h, s, a), problem.n(h, s, a)
                clipped = sum(max(0.0, x) for x in row)
                total = max(0.0, min(max(clipped, n - E / 4), n + E / 4))
                cells[h, s, a] = [x + E / (2 * S) for x in project(row, total)]

    def row_of(h: int, s: int, a: int) -> tuple[float, Row]:
        row = cells[problem.layer(h), s, a]
        n = sum(row)
        return max(1.0, n), [x / n for x in row] if n > 0 else [1 / S] * S

    def estimate(h: int, s: int, a: int) -> tuple[float, Row]:
        n, row = row_of(h, s, a)
        return problem.r(h, s, a) / n, row

    @cache
    def future(h: int, t: int) -> float:
        m = 0.0
        for s in range(S):
            for a in range(A):
                n, row = row_of(h, s, a)
                m += n * row[t]
        m = max(1.0, m)
        first = 1000**2 * H**3 * S * A * iota**2 / m
        second = 1000**2 * H**4 * S**4 * A**2 * E**2 * iota**4 / m**2
        third = 1000**2 * H**6 * S**4 * A**2 * iota**4 / m**2
        return min(first + second + third, H**2)

    def bonus(h: int, s: int, a: int, later: Row) -> float:
        n, row = row_of(h, s, a)
        first = 2 * math.sqrt(variance(row, later) * iota / n) + math.sqrt(2 * iota / n) + 20 * H * S * E * iota / n
        return first + 4 * math.sqrt(iota) * math.sqrt(dot(row, [future(h, t) for t in range(S)]) / n)

    return solve(problem, estimate, bonus)


def ldp_obi(problem: ReferenceProblem, alpha: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Garcelon et al., eq. (4) and (5) with Proposition 4."""
    H, S, A, k = problem.horizon, problem.states, problem.actions, problem.users + 1
    c1, c2, c3, c4 = (
        problem.radius.rewards,
        problem.radius.visits,
        problem.radius.rows,
        problem.radius.transitions,
    )
    log = math.log(4 * math.pi**2 * S * A * H * k**3 / (3 * problem.failure))

    def denominators(h: int, s: int, a: int) -> tuple[float, float]:
        return max(1.0, problem.n(h, s, a) + alpha * c2), max(1.0, sum(problem.p(h, s, a)) + alpha * c3)

    def estimate(h: int, s: int, a: int) -> tuple[float, Row]:
        n, m = denominators(h, s, a)
        return problem.r(h, s, a) / n, [x / m for x in problem.p(h, s, a)]

    def bonus(h: int, s: int, a: int, later: Row) -> float:
        n, m = denominators(h, s, a)
        beta_r = math.sqrt(2 * log / n) + ((alpha + 1) * c2 + c1) / n
        beta_p = math.sqrt(14 * S * log / m) + S * c4 / m + (alpha + 1) * c3 / m
        return (H - h) * beta_p + beta_r

    return solve(problem, estimate, bonus, low=-math.inf)


def vietri_pucb(problem: ReferenceProblem) -> tuple[np.ndarray, np.ndarray]:
    """Vietri et al.: optimistic at once where n < 2 E."""
    H, S, A = problem.horizon, problem.states, problem.actions
    E = max(problem.radius.visits, problem.radius.rewards, problem.radius.transitions)

    def known(h: int, s: int, a: int) -> bool:
        return problem.n(h, s, a) >= max(1.0, 2 * E)

    def estimate(h: int, s: int, a: int) -> tuple[float, Row]:
        if not known(h, s, a):
            return 0.0, [0.0] * S
        n = problem.n(h, s, a)
        return problem.r(h, s, a) / n, [x / n for x in problem.p(h, s, a)]

    def bonus(h: int, s: int, a: int, later: Row) -> float:
        if not known(h, s, a):
            return H
        n = problem.n(h, s, a)
        phi = math.sqrt((2 * math.log(n + E) + 2 * math.log(S * A * H / problem.failure)) / max(n - E, 1.0))
        psi = (1 + S * H) * (3 * E / n + 2 * E**2 / n**2)
        return (H + 1) * phi + psi

    return solve(problem, estimate, bonus)


def private_po(problems: list[ReferenceProblem]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Chowdhury and Zhou, Algorithm 1, on a sequence of releases: the policy before each and its optimistic values."""
    first = problems[0]
    H, S, A, sense = first.horizon, first.states, first.actions, first.sense
    eta = math.sqrt(2 * math.log(A) / (H**2 * first.total))
    lc = math.sqrt(2 * math.log(4 * S * A * first.steps / first.failure))
    lp = math.sqrt(4 * S * math.log(6 * S * A * first.steps / first.failure))
    policy, results = np.full((H, S, A), 1 / A), []
    for number, problem in enumerate(problems):
        e1, e2 = max(problem.radius.visits, problem.radius.rewards), problem.radius.transitions
        estimate = private_estimate(problem)
        q, values = np.zeros((H, S, A)), np.zeros((H + 1, S))
        for h in range(H - 1, -1, -1):
            for s in range(S):
                for a in range(A):
                    n = max(1.0, problem.n(h, s, a) + e1)
                    beta_c, beta_p = lc / math.sqrt(n) + 3 * e1 / n, lp / math.sqrt(n) + (S * e2 + 2 * e1) / n
                    r, row = estimate(h, s, a)
                    raw = r + dot(row, list(values[h + 1])) + sense * problem.scale * (beta_c + H * beta_p)
                    q[h, s, a] = min(H - h, max(0.0, raw))
                values[h, s] = sum(policy[h, s, a] * q[h, s, a] for a in range(A))
        results.append((policy, values))
        if number + 1 < len(problems):
            followed = problems[number + 1].users - problem.users
            policy = policy * np.exp(sense * eta * followed * q)
            policy = policy / policy.sum(axis=2, keepdims=True)
    return results


def psrl(
    problem: ReferenceProblem, rng: np.random.Generator, priors: dict[str, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Garcelon et al., Algorithm 7 with eq. (97)-(107), the beta of conjugate updating."""
    given = priors or {}
    S, A, radius = problem.states, problem.actions, problem.radius
    drawn: dict[tuple[int, int, int], tuple[float, Row]] = {}
    for h in range(problem.layers):
        for s in range(S):
            for a in range(A):
                n, r, r2, cells = problem.n(h, s, a), problem.r(h, s, a), problem.r2(h, s, a), problem.p(h, s, a)
                cell_prior = given.get("alpha0", max(1.0, radius.rows))
                mu, prior = given.get("mu0", 0.0), given.get("lambda0", max(1.0, radius.visits))
                shape_prior = given.get("nu0", max(1.0, radius.visits))
                rate_prior = given.get("beta0", max(1.0, 5 * radius.visits))
                gammas = [rng.standard_gamma(max(1e-3, cell_prior + x)) for x in cells]
                total = sum(gammas)
                count = max(1e-3, prior + n)
                # sum (r_i - mean)^2 + prior n (mean - mu)^2/(prior + n), written by sums
                rate = max(1e-3, rate_prior + (r2 + prior * mu**2 - (prior * mu + r) ** 2 / count) / 2)
                tau = max(rng.standard_gamma(max(1e-3, shape_prior + n / 2)) / rate, 1e-300)
                reward = (prior * mu + r) / count + rng.standard_normal() / math.sqrt(count * tau)
                drawn[h, s, a] = reward, [g / total for g in gammas] if total > 0 else [1 / S] * S
    return solve(problem, lambda h, s, a: drawn[problem.layer(h), s, a], lambda *_: 0.0, clip=False)
