"""Simulated logs of which first visits are counted, and repeats within a budget: people are walked one by one, as budgets ask.

Beside the counts of a fit two more questions are asked then, as in a fit: how often each pair was counted, and what people earned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...data.privatizers import Total, open_book
from ...data.statistics.returns import summed_returns
from ...learning.planning.counted import PracticeChain, drawn
from ...mdp import Model, Policy
from ...mdp.knowledge import Knowledge
from ...mdp.ways import PossibleCells
from ...mechanisms.noise import NoiseSource
from ...privacy import Certificate, Guarantee, Schedule
from ...protocol.design import Design, Request
from ...protocol.kinds.bandit import Counted
from ...protocol.kinds.budgeted import BudgetedQuestion
from ...protocol.kinds.counts import TRANSITIONS
from ...protocol.kinds.returns import ReturnsQuestion
from ...protocol.kinds.spending import begin_spending, spend, unspent
from ...protocol.releases import CountRelease
from ...protocol.releases.returns import ReturnsRelease
from ...protocol.trusts.budgets import VISITED_SHARE, visits_question
from ...protocol.trusts.central import RETURNS_SHARE, possible_cells, together
from .draws import Layout, add_step, layout_of

SHAVED = 1e-9
"""The share by which counts ask for less than is left, so that floats do not round the sum above the promise."""

ABOUT = ("counts", "how often each pair was counted", "what people earned")
"""What the three releases are about, in words."""


@dataclass(frozen=True, eq=False)
class BudgetedLog:
    """The three questions about a log, priced together: counts under a budget, visits, and returns."""

    counts: Design
    visits: Design
    returns: Design

    @classmethod
    def of(cls, question: Counted, promise: Guarantee, knowledge: Knowledge, failure: float) -> BudgetedLog:
        """The designs that keep the promise together, of a question that has a budget."""
        asked = (
            (question, 1 - VISITED_SHARE - RETURNS_SHARE - SHAVED, possible_cells(question.counts, knowledge)),
            (visits_question(question), VISITED_SHARE, knowledge.acting.ravel()),
            (ReturnsQuestion.of(question.spec.horizon, within=knowledge.returns), RETURNS_SHARE, None),
        )
        return cls(
            *together(
                [
                    Request(each, promise, Schedule.every(1), failure=failure / 2, share=share, possible=possible)
                    for each, share, possible in asked
                ]
            )
        )

    def certificate(self) -> Certificate:
        """The certificate of all three, for replayable noise."""
        return certified_together([self.counts, self.visits, self.returns], self.counts.certificate("replayable"))

    def release(
        self, log: SimulatedLog, users: int, rng: np.random.Generator, noise: NoiseSource
    ) -> tuple[CountRelease, ReturnsRelease]:
        """What is released of so many people: counts, which know of the visits, and returns."""
        question: BudgetedQuestion = self.counts.question
        cells, earned = log.drawn(question, users, rng)
        sums = summed_returns(self.returns.question, earned, rng.random(users))
        rows = cells[question.counts.slices[TRANSITIONS]].reshape(-1, question.spec.states).sum(axis=1)
        totals = np.rint(cells * question.resolution).astype(np.int64), rows.astype(np.int64), sums
        answers = []
        for design, total in zip((self.counts, self.visits, self.returns), totals, strict=True):
            book = open_book(design, noise, simulated=True)
            book.take_sum(Total(total, users))
            answers.append(book.close())
        counts, visits, returns = answers
        return counts.with_visits(visits), returns


def certified_together(designs: Sequence[Design], alone: Certificate) -> Certificate:
    """The certificate of counts, visits and returns, as many as there are. alone: that of counts."""
    acts = [design.act for design in designs]
    whole = Certificate.of(acts, designs[0].requested, "tight", "replayable", alone.assumptions)
    return whole.about(list(ABOUT[: len(designs)]))


@dataclass(frozen=True, eq=False)
class SimulatedLog:
    """People who follow a behaviour in a known world that does not change from step to step."""

    model: Model
    behaviour: Policy
    rewards_known: bool

    def drawn(
        self, question: BudgetedQuestion, users: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The exact cells of the question, and what each person earned."""
        model, policy = self.model, np.cumsum(self.behaviour.probabilities, axis=-1)
        ways = PossibleCells.of(model.transitions[0] > 0)
        chances = np.cumsum(ways.picked(model.transitions)[0])
        before = np.append(0.0, chances)[ways.starts[:-1]]
        first = np.cumsum(model.initial)
        chain = PracticeChain(first, policy[0], chances - before[ways.rows], ways.starts, ways.following)
        pay = PayRule(model.rewards[0].ravel(), self.rewards_known)
        cells, earned = np.zeros(question.cells), np.zeros(users)
        people = LoggedPeople(chain, policy, pay, users, question.budget)
        _walk(people, layout_of(question.counts), rng, cells, earned)
        return cells, earned


class PayRule(NamedTuple):
    """What pairs (S A,) pay on average; whether a return adds up means, or what was paid."""

    means: NDArray[np.float64]
    known: bool


class LoggedPeople(NamedTuple):
    """So many people who walk by a policy (H, S, A), cumulative over actions, with the budget of each."""

    chain: PracticeChain
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
    """Walk people, add up the cells of their counts, and write down what each earned."""
    chain, policy, pay, users, budget = people
    horizon, states, actions = policy.shape
    spending = unspent(states * actions, horizon)
    for person in range(users):
        s = drawn(chain.first, 0, states, rng)
        begin_spending(spending)
        for h in range(horizon):
            a = drawn(policy[h, s], 0, actions, rng)
            pair = s * actions + a
            paid = 1 if rng.random() < pay.means[pair] else 0
            t = chain.states[drawn(chain.following, chain.starts[pair], chain.starts[pair + 1], rng)]
            earned[person] += pay.means[pair] if pay.known else paid
            if spend(spending, pair, horizon - h - 1, budget):
                add_step(layout, (h, s, a, t), policy.shape, 1, paid, cells)
            s = t
