"""Gram sums of logged episodes, exactly, in whole numbers, and how far one person can move them.

Features are cut off (towards zero) to multiples of 2^-FEATURE_BITS and targets to multiples of 2^-TARGET_BITS. Every
sum is then a sum of integers, the same in any order, and no norm and no target has grown.

**Sensitivity.** Replace one person. With x, z her features before and after, of length at most 1, and targets y, y' of
size at most Y, the matrix changes by M = xx' - zz' and a vector by u = xy - zy'. Symmetric noise s on the matrix and
noise t on the vector hide this as well as mu^2 = |M|_F^2/(2 s^2) + |u|^2/t^2 says. Let p = |x|^2, q = |z|^2, and let -c be
the cosine of their angle. Then |M|_F^2 = p^2 + q^2 - 2 p q c^2 and, as |u|^2 is convex in (y, y'), at worst
|u|^2 = Y^2 (p + q + 2 |c| sqrt(p q)). With several vectors, a = 1/s^2 and K = sum of (2Y)^2/t^2:

    mu^2 = a (p^2 + q^2 - 2 p q c^2)/2 + K (p + q + 2 c sqrt(p q))/4.

The worst c is K/(4 a sqrt(p q)), if that is at most 1, and leaves a (p^2 + q^2)/2 + K (p + q)/4 + K^2/(16 a), which grows
with p and q; else it is 1, where p = q = 1 is worst as well. So

    mu^2 <= g(a, K) = a (1 + K/(4a))^2 if K <= 4a, else K,

and both are reached; the tests search for more. A value question multiplies the matrix's features by 1/sqrt(v) and the
vector's by 1/v, v >= 1: the target y/sqrt(v) is no larger, and cutting the two separately moves the vector by at most
2 sqrt(d) 2^-FEATURE_BITS Y a person, which is charged. Where features come in blocks nothing outside them ever changes, so
noise is drawn inside them only; the bound is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..mdp.critic import Critic
from ..mdp.linear import LinearFeatures
from ..releases.gram import VALUE, GramForm, GramQuestion

Whole = NDArray[np.int64]

FEATURE_BITS, TARGET_BITS = 16, 10
MOST_SUM = 1 << (62 - FEATURE_BITS - TARGET_BITS)
"""People times the largest target may not exceed it: then every sum stays below 2^62."""


class Logged(Protocol):
    """Sensitive: the steps of many people, in groups of so many. Answers questions exactly, in whole numbers."""

    @property
    def people(self) -> tuple[int, ...]:
        """(G,)."""
        ...

    def sums(self, question: GramQuestion) -> tuple[Whole, Whole]:
        """The matrix (B, d, d) in units of 4^-FEATURE_BITS, vectors (m, B, d) in 2^-(FEATURE_BITS + TARGET_BITS)."""
        ...

    def worth(self, form: GramForm, first: Critic) -> Whole:
        """(2,) in units of 2^-TARGET_BITS: what all people earned, and the sum of V_1 at their first states."""
        ...


@dataclass(frozen=True, eq=False)
class LoggedSteps:
    """How many people went from (s, a) to t at each step, and what they were paid, for each group of people.

    moves: (G, H, S, A, T) counts, T the states that may follow. rewards: (G, H, S, A), sums of rewards in multiples of
    2^-TARGET_BITS. people: (G,). features: of the states, a public table.
    """

    features: LinearFeatures = field(repr=False)
    moves: Whole = field(repr=False)
    rewards: Whole = field(repr=False)
    people: tuple[int, ...]

    def __repr__(self) -> str:
        return f"LoggedSteps(people={sum(self.people)})"

    def sums(self, question: GramQuestion) -> tuple[Whole, Whole]:
        """See `Logged`."""
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
            targets = [moves @ one - visits * middle for one, middle in zip(powers, middles, strict=True)]
        matrix = np.einsum("sa,sai,saj->ij", visits, square, square, optimize=True)
        vectors = np.array([np.einsum("sa,sai->i", target, linear) for target in targets])
        return np.asarray(matrix)[None], vectors[:, None]

    def worth(self, form: GramForm, first: Critic) -> Whole:
        """See `Logged`."""
        steps = int(self.moves.sum())
        after = int(cut(form.end_reward or 0.0, TARGET_BITS)) * (sum(self.people) * form.horizon - steps)
        starts = self.moves[:, 0].sum(axis=(0, 2, 3))
        return np.array([int(self.rewards.sum()) + after, int(starts @ cut(first.value(self.features), TARGET_BITS))])

    def _values(self, form: GramForm, step: int, critic: Critic | None) -> NDArray[np.float64]:
        """(T,) V of a step: of the states, and of the end if there is one."""
        states = np.zeros(self.features.states) if critic is None else critic.value(self.features)
        return states if form.end_reward is None else np.append(states, form.end_value(step))


def cut(value: NDArray[np.float64] | float, bits: int) -> Whole:
    """Whole multiples of 2^-bits, towards zero."""
    return np.trunc(np.asarray(value) * float(1 << bits)).astype(np.int64)


def check_size(form: GramForm, step: int, kind: str, people: int) -> None:
    """Refuse so many people that a sum could overflow."""
    validation.integer("people", people, 0, int(MOST_SUM / max(1.0, *form.ranges(step, kind))))


def price(form: GramForm, step: int, kind: str, matrix_noise: float, vector_noise: tuple[float, ...]) -> float:
    """mu^2 of one question, by the module's g, where noise is that of continuous normals."""
    spread = 1.0 if form.centred else 2.0
    cut = 1 + 4 * math.sqrt(form.features.dimension) * 2.0**-FEATURE_BITS if kind == VALUE else 1.0
    pairs = zip(form.ranges(step, kind), vector_noise, strict=True)
    together = sum((spread * most * cut / noise) ** 2 for most, noise in pairs if most > 0)
    alone = 1 / matrix_noise**2
    return alone * (1 + together / (4 * alone)) ** 2 if together <= 4 * alone else together
