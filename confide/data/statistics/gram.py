"""Gram sums of logged episodes, exactly, in whole numbers, as `questions.gram` prices them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp.critic import Critic
from ...mdp.linear import LinearFeatures
from ...protocol.kinds.gram import FEATURE_BITS, TARGET_BITS, VALUE, GramForm, GramQuestion

Integers = NDArray[np.int64]

MOST_SUM = 1 << (62 - FEATURE_BITS - TARGET_BITS)
"""People times the largest target may not exceed it: then every sum stays below 2^62."""


class Logged(Protocol):
    """Sensitive: the steps of many people, in groups of a size. Answers questions exactly, in whole numbers."""

    @property
    def people(self) -> tuple[int, ...]:
        """(G,) how many people are in each group."""
        ...

    def sums(self, question: GramQuestion) -> tuple[Integers, Integers]:
        """The matrix (B, d, d) in units of 4^-FEATURE_BITS, vectors (m, B, d) in 2^-(FEATURE_BITS + TARGET_BITS)."""
        ...

    def values(self, form: GramForm, first: Critic) -> Integers:
        """(2,) in units of 2^-TARGET_BITS: the sum of people's returns, and that of V_1 at their first states."""
        ...


@dataclass(frozen=True, eq=False)
class LoggedSteps:
    """How many people went from (s, a) to t at each step, and what they were paid, for each group of people.

    moves: (G, H, S, A, T) counts, T the states that may follow. rewards: (G, H, S, A), sums of rewards in multiples of
    2^-TARGET_BITS. people: (G,). features: of the states, a public table.
    """

    features: LinearFeatures = field(repr=False)
    moves: Integers = field(repr=False)
    rewards: Integers = field(repr=False)
    people: tuple[int, ...]

    def __repr__(self) -> str:
        return f"LoggedSteps(people={sum(self.people)})"

    def sums(self, question: GramQuestion) -> tuple[Integers, Integers]:
        """The Gram matrix and vectors of a question, exactly: see `Logged`."""
        form, step = question.form, question.step
        group = form.half(question.kind)
        check_size(form, step, question.kind, self.people[group])
        moves, paid = self.moves[group, step], self.rewards[group, step]
        visits, phi = moves.sum(axis=-1), self.features.phi
        middles = [cut(middle, TARGET_BITS) for middle in form.middle(step, question.kind)]
        values = self._values(form, step + 1, question.values)
        if question.kind == VALUE:
            spread = 1.0 if question.variances is None else question.variances.at(self.features)[..., None]
            square, linear = cut(phi / np.sqrt(spread), FEATURE_BITS), cut(phi / spread, FEATURE_BITS)
            targets = [paid + moves @ cut(values, TARGET_BITS) - visits * middles[0]]
        else:
            square = linear = cut(phi, FEATURE_BITS)
            powers = cut(values**2, TARGET_BITS), cut(values, TARGET_BITS)
            targets = [moves @ power - visits * middle for power, middle in zip(powers, middles, strict=True)]
        matrix = np.einsum("sa,sai,saj->ij", visits, square, square, optimize=True)
        vectors = np.array([np.einsum("sa,sai->i", target, linear) for target in targets])
        return np.asarray(matrix)[None], vectors[:, None]

    def values(self, form: GramForm, first: Critic) -> Integers:
        """The sums of returns and of V_1, exactly: see `Logged`."""
        steps = int(self.moves.sum())
        after = int(cut(form.end_reward or 0.0, TARGET_BITS)) * (sum(self.people) * form.horizon - steps)
        starts = self.moves[:, 0].sum(axis=(0, 2, 3))
        return np.array([int(self.rewards.sum()) + after, int(starts @ cut(first.value(self.features), TARGET_BITS))])

    def _values(self, form: GramForm, step: int, critic: Critic | None) -> NDArray[np.float64]:
        """(T,) V of a step: of the states, and of the end if there is one."""
        states = np.zeros(self.features.states) if critic is None else critic.value(self.features)
        return states if form.end_reward is None else np.append(states, form.end_value(step))


def cut(value: NDArray[np.float64] | float, bits: int) -> Integers:
    """Whole multiples of 2^-bits, towards zero."""
    return np.trunc(np.asarray(value) * float(1 << bits)).astype(np.int64)


def check_size(form: GramForm, step: int, kind: str, people: int) -> None:
    """Refuse numbers of people for which a sum could overflow."""
    validation.integer("people", people, 0, int(MOST_SUM / max(1.0, *form.ranges(step, kind))))
