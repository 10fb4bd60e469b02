"""Simulated logs: what a curator would have counted of people who follow a behaviour in a known world.

People are walked one by one where a fit asks for more than sums of counts: for visits within a budget, and for returns. Where it
asks for counts alone they are drawn exactly for any number of people (`draws`). Beyond `MOST_WALKED` people counts are drawn so
too: the sum of returns then follows from them, and how widely returns spread, and what clipping takes off them, is that of
`WALKED_FOR_SPREAD` people who are walked.

Records of simulated people, row by row, as a curator would hold them: for demonstrations, examples and tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...compiled import compiled
from ...data.statistics.counting import DatasetCounts
from ...data.statistics.tabular import summed_returns
from ...data.trajectories.columns import Columns
from ...data.trajectories.dataset import Dataset
from ...data.trajectories.labels import Numbered
from ...learning.planning.counted import drawn
from ...mdp import Model, Policy
from ...mdp.knowledge import Knowledge
from ...mdp.possible_cells import Indices, PossibleCells
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.bandit import Counted
from ...protocol.kinds.counts import CENTRED, HALVES, TRANSITIONS, VISITS
from ...protocol.kinds.returns import ReturnsQuestion
from ...protocol.kinds.spending import begin_spending, spend, unspent
from ...protocol.trusts.budgets import MOST_WALKED
from .draws import Layout, World, add_step, draw_counts, layout_of


def draw_records(
    model: Model,
    behaviour: Policy,
    people: int,
    rng: np.random.Generator,
    states: Sequence[str] = (),
    actions: Sequence[str] = (),
) -> dict[str, NDArray[np.generic]]:
    """Columns user, step, state, action, reward (0 or 1) and next_state of people who follow the behaviour.

    states, actions: labels, by default numbers.
    """
    validation.integer("people", people, 1)
    horizon, layers = model.horizon, len(model.transitions)
    moves = [_Distributions.of(layer) for layer in model.transitions]
    here = rng.choice(model.spec.states, size=people, p=model.initial)
    columns = np.empty((5, people, horizon), dtype=np.int64)
    for h in range(horizon):
        layer = h % layers
        chosen = _Distributions.of(behaviour.probabilities[h]).draw(here, rng)
        paid = rng.random(people) < model.rewards[layer, here, chosen]
        after = moves[layer].draw(here * model.spec.actions + chosen, rng)
        columns[:, :, h] = np.full(people, h), here, chosen, paid, after
        here = after
    step, state, action, reward, following = columns.reshape(5, -1)
    labels = np.asarray(states or np.arange(model.spec.states)), np.asarray(actions or np.arange(model.spec.actions))
    return {
        "user": np.repeat(np.arange(people), horizon),
        "step": step,
        "state": labels[0][state],
        "action": labels[1][action],
        "reward": reward.astype(np.float64),
        "next_state": labels[0][following],
    }


class _Distributions(NamedTuple):
    """Distributions over numbers, ready to be drawn from: cumulative probabilities, row i climbing from i to i + 1."""

    cumulative: NDArray[np.float64]
    last: NDArray[np.int64]
    """The largest number that each distribution allows, for draws that rounding took to the end of their row."""

    @classmethod
    def of(cls, probabilities: NDArray[np.float64]) -> _Distributions:
        """One distribution for each row of the last axis."""
        rows = probabilities.reshape(-1, probabilities.shape[-1])
        steps = np.cumsum(rows, axis=1)
        steps /= steps[:, -1:]
        last = (steps < 1.0).sum(axis=1)
        return cls((steps + np.arange(len(rows))[:, None]).ravel(), np.asarray(last))

    def draw(self, row: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """One number for each of these rows."""
        width = len(self.cumulative) // len(self.last)
        below = np.searchsorted(self.cumulative, row + rng.random(len(row)), side="right")
        return np.asarray(np.minimum(below - row * width, self.last[row]))


WALKED_FOR_SPREAD = 10**6
"""How many people tell how widely returns spread, where there are too many to walk all of them."""


def simulated_data(knowledge: Knowledge, return_range: tuple[float, float] | None = None) -> Dataset:
    """The declaration of a log of simulated people, which has no parts to read: episodes of full length, next states given."""
    rewards = None if knowledge.rewards is not None else "reward"
    columns = Columns("user", None, "step", ("state",), ("action",), rewards, ("next_state",))
    coded = Numbered(knowledge.states), Numbered(knowledge.spec.actions)
    return Dataset((), knowledge, columns, *coded, return_range=return_range)


def draw_log(
    model: Model, behaviour: Policy, users: int, question: CountQuestion, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The cells of a question about `users` people who follow the behaviour, in counts: exact for any number."""
    cells = np.zeros(question.cells)
    world = World(model.transitions, model.rewards, model.initial)
    table = np.ascontiguousarray(behaviour.probabilities)
    draw_counts(world, table, users, layout_of(question), rng, cells)
    return cells


@dataclass(frozen=True, eq=False)
class SimulatedLog:
    """People who follow a behaviour in a known world. rewards_known: a return adds up mean rewards, and not what was paid."""

    model: Model
    behaviour: Policy
    rewards_known: bool

    def counted(
        self,
        question: Counted,
        returns: ReturnsQuestion | None,
        users: int,
        rng: np.random.Generator,
        split: bool = False,
    ) -> DatasetCounts:
        """What counting these people would give. returns: how returns are asked for, if they are. split: in two halves."""
        if split:
            halves = [self.counted(question, None, many, rng) for many in (users - users // 2, users // 2)]
            both = tuple(half.cells for half in halves)
            return self._total(question, both[0] + both[1], np.zeros(3, np.int64), users, both)
        sums = np.zeros(3, np.int64)
        if question.budget or (returns is not None and users <= MOST_WALKED):
            cells, earned = self.drawn(question, users, rng)
            if returns is not None:
                sums = summed_returns(returns, earned, rng.random(users))
        else:
            cells = draw_log(self.model, self.behaviour, users, question.counts, rng)
            if returns is not None:
                sums = self._many_returns(question.counts, returns, cells, users, rng)
        return self._total(question, np.rint(cells * question.counts.resolution).astype(np.int64), sums, users)

    def _total(
        self,
        question: Counted,
        cells: NDArray[np.int64],
        returns: NDArray[np.int64],
        users: int,
        halves: tuple[NDArray[np.int64], ...] = (),
    ) -> DatasetCounts:
        starts = np.zeros(question.spec.states, dtype=np.int64)  # the law of first states is public in a simulation
        return DatasetCounts(cells, starts, returns, users, users * question.spec.horizon, 0, (), halves=halves)

    def drawn(
        self, question: Counted, users: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The exact cells of the question, and the return of each person: every user is walked."""
        model, policy = self.model, np.cumsum(self.behaviour.probabilities, axis=-1)
        ways = PossibleCells.of(np.asarray((model.transitions > 0).any(axis=0)))
        picked = np.cumsum(ways.picked(model.transitions), axis=1)
        before = np.concatenate([np.zeros((len(picked), 1)), picked], axis=1)[:, ways.starts[:-1]]
        chain = Chain(np.cumsum(model.initial), picked - before[:, ways.rows], ways.starts, ways.following)
        pay = PayRule(model.rewards.reshape(len(model.rewards), -1), self.rewards_known)
        cells, earned = np.zeros(question.cells), np.zeros(users)
        people = LoggedPeople(chain, policy, pay, users, question.budget)
        _walk(people, layout_of(question.counts), rng, cells, earned)
        return cells, earned

    def _many_returns(
        self,
        question: CountQuestion,
        returns: ReturnsQuestion,
        cells: NDArray[np.float64],
        users: int,
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """(3,) the sums of u, u^2 and 1 of people whose counts were drawn at once."""
        _, earned = self.drawn(question, WALKED_FOR_SPREAD, rng)
        cut = np.clip(earned, returns.low, returns.high)
        mean = self._earned(question, cells) / users + float((cut - earned).mean())
        width = returns.high - returns.low
        u, spread = returns.points * ((mean - returns.low) / width - 0.5), returns.points / width * float(cut.std())
        return np.array([round(users * u), round(users * (u**2 + spread**2)), users], dtype=np.int64)

    def _earned(self, question: CountQuestion, cells: NDArray[np.float64]) -> float:
        """The sum of people's returns, from their counts."""
        parts = {part: cells[where].reshape(question.shape(part)) for part, where in question.slices.items()}
        if VISITS in parts:
            visits = parts[VISITS]
        else:
            visits = parts[TRANSITIONS].sum(axis=-1) if TRANSITIONS in parts else 2 * parts[HALVES]
        if self.rewards_known:
            return float((visits * self.model.rewards).sum())
        return float(parts[CENTRED].sum() + question.centre * visits.sum())


class Chain(NamedTuple):
    """Cumulative laws of the first state (S,) and, row by row of possible cells, of next states (L, cells)."""

    first: NDArray[np.float64]
    following: NDArray[np.float64]
    starts: Indices
    states: Indices


class PayRule(NamedTuple):
    """What pairs (L, S A) pay on average; whether a return adds up means, or what was paid."""

    means: NDArray[np.float64]
    known: bool


class LoggedPeople(NamedTuple):
    """This many people who walk by a policy (H, S, A), cumulative over actions, with the budget of each, 0 for none."""

    chain: Chain
    policy: NDArray[np.float64]
    pay: PayRule
    users: int
    budget: int


@compiled
def _walk(
    people: LoggedPeople,
    layout: Layout,
    rng: np.random.Generator,
    cells: NDArray[np.float64],
    earned: NDArray[np.float64],
) -> None:
    """Walk people, add up the cells of their counts, and write down the return of each."""
    chain, policy, pay, users, budget = people
    horizon, states, actions = policy.shape
    moving, paying = chain.following.shape[0], pay.means.shape[0]
    spending = unspent(states * actions, horizon)
    for person in range(users):
        s = drawn(chain.first, 0, states, rng)
        begin_spending(spending)
        for h in range(horizon):
            a = drawn(policy[h, s], 0, actions, rng)
            pair = s * actions + a
            mean = pay.means[h if paying > 1 else 0, pair]
            paid = 1 if rng.random() < mean else 0
            row = chain.following[h if moving > 1 else 0]
            t = chain.states[drawn(row, chain.starts[pair], chain.starts[pair + 1], rng)]
            earned[person] += mean if pay.known else paid
            if budget == 0 or spend(spending, pair, horizon - h - 1, budget):
                add_step(layout, (h, s, a, t), policy.shape, 1, paid, cells)
            s = t
