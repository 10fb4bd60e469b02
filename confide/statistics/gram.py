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
2 sqrt(d) 2^-FEATURE_BITS Y a person, which is charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..releases.gram import VALUE, GramForm, GramQuestion

Whole = NDArray[np.int64]

FEATURE_BITS, TARGET_BITS = 16, 10
MOST_PEOPLE = 1 << 30
"""So many people, with targets up to 64, keep every sum below 2^62."""


@dataclass(frozen=True, eq=False)
class LoggedSteps:
    """Sensitive: how many people went from (s, a) to t at each step, and what they were paid, for each group of people.

    moves: (G, H, S, A, T) counts, T the states that may follow. rewards: (G, H, S, A), sums of rewards in multiples of
    2^-TARGET_BITS. people: (G,).
    """

    moves: Whole = field(repr=False)
    rewards: Whole = field(repr=False)
    people: tuple[int, ...]

    def __post_init__(self) -> None:
        for many in self.people:
            validation.integer("people", many, 0, MOST_PEOPLE)

    def __repr__(self) -> str:
        return f"LoggedSteps(people={sum(self.people)})"


def gram_sums(question: GramQuestion, logged: LoggedSteps) -> tuple[Whole, Whole]:
    """The matrix (d, d) in units of 4^-FEATURE_BITS, and vectors (m, d) in units of 2^-(FEATURE_BITS + TARGET_BITS)."""
    form, step = question.form, question.step
    group = form.half(question.kind)
    moves, paid = logged.moves[group, step], logged.rewards[group, step]
    visits = moves.sum(axis=-1)
    phi, variances = form.features.phi, question.variances
    middles = [_cut(middle, TARGET_BITS) for middle in form.middle(step, question.kind)]
    value = _cut(question.values, TARGET_BITS)
    if question.kind == VALUE:
        square = _cut(phi / np.sqrt(variances)[..., None], FEATURE_BITS)
        linear = _cut(phi / variances[..., None], FEATURE_BITS)
        targets = [paid + moves @ value - visits * middles[0]]
    else:
        square = linear = _cut(phi, FEATURE_BITS)
        squares = _cut(question.values**2, TARGET_BITS)
        targets = [moves @ squares - visits * middles[0], moves @ value - visits * middles[1]]
    matrix = np.einsum("sa,sai,saj->ij", visits, square, square, optimize=True)
    return np.asarray(matrix), np.array([np.einsum("sa,sai->i", target, linear) for target in targets])


def _cut(value: NDArray[np.float64] | float, bits: int) -> Whole:
    return np.trunc(np.asarray(value) * float(1 << bits)).astype(np.int64)


def price(form: GramForm, step: int, kind: str, matrix_noise: float, vector_noise: tuple[float, ...]) -> float:
    """mu^2 of one question, by the module's g, where noise is that of continuous normals."""
    spread = 1.0 if form.centred else 2.0
    cut = 1 + 4 * math.sqrt(form.features.dimension) * 2.0**-FEATURE_BITS if kind == VALUE else 1.0
    pairs = zip(form.ranges(step, kind), vector_noise, strict=True)
    together = sum((spread * most * cut / noise) ** 2 for most, noise in pairs if most > 0)
    alone = 1 / matrix_noise**2
    return alone * (1 + together / (4 * alone)) ** 2 if together <= 4 * alone else together
