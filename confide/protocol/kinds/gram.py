"""Questions about a linear decision process: Gram sums of features, and the sensitivity of all of them together.

Going backwards from the last step, two questions a step, about V = V_{h+1}, the public value function of the next step:

* `variance`: sum phi phi', sum phi V(s')^2 and sum phi V(s'), from which the conditional variance of V is estimated;
* `value`: sum phi phi' / v, sum phi (r + V(s')) / v, where v(s, a) >= 1 is that estimate, public by then.

The form of all questions is fixed, and everything priced, before the first is answered: V lies in [0, H-h] whatever the
answers. Targets may be centred at the middle of their range, where the constant is a combination of features. V and v
are functions of features (`mdp.critic`) that keep to their ranges wherever they are evaluated, whoever made them up.

**Numbers.** Features are cut off (towards zero) to multiples of 2^-FEATURE_BITS and targets to multiples of 2^-TARGET_BITS.
Every sum is then a sum of integers, the same in any order, and no norm and no target has grown.

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

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgpack

from ... import validation
from ...errors import ConfideError, FormatError, PrivacyError
from ...mdp.critic import Critic, ValueVariance
from ...mdp.linear import Features, read_features
from ...privacy import Sensitivity
from .question import DIGEST_BYTES, register

KIND = "gram"
FORMAT = "confide.gram-form/1"

VARIANCE, VALUE = "variance", "value"

FEATURE_BITS, TARGET_BITS = 16, 10


@dataclass(frozen=True, eq=False)
class GramForm:
    """The family of Gram questions of a fit. split: variances from one half of the people, values from the other.

    end_reward: episodes may end early, in a state beyond those with features, where every step pays that; None if none
    ends early.
    """

    features: Features
    horizon: int
    weighted: bool = True
    centred: bool = False
    split: bool = False
    end_reward: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", validation.integer("horizon", self.horizon, 1))
        if self.centred and not self.features.constant:
            raise validation.refusal(
                "gram-centred", "centred", "false, as no combination of the features is constant", True
            )
        if self.split and not self.weighted:
            raise validation.refusal("gram-split", "split", "false where no variances are estimated", True)

    @property
    def kind(self) -> str:
        """`gram`."""
        return KIND

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions under which a promise about answers to it holds."""
        return ("one episode a person, of exactly the horizon's length; rewards in [0, 1]", self.features.assumption)

    def member_for(self, question: Any) -> GramQuestion:
        """The question itself, if the family holds it; else it is refused."""
        return self.member(question)

    def member(self, question: Any) -> GramQuestion:
        """A question of this form, with functions for which its noise was made."""
        if not isinstance(question, GramQuestion) or question.form.digest != self.digest:
            raise PrivacyError(
                "question-not-priced",
                "This question is of another form than the one that was priced. It was not answered.",
            )
        return question.checked()

    def price(self, grid: float = 0.0) -> Sensitivity:
        """The sensitivity of one Gram matrix, for certificates: what all questions cost depends on their noise (`cost`)."""
        size, root = self.features.dimension, math.sqrt(2.0)
        return Sensitivity(2.0 * size, root, ((root, 1),), size * size * min(self.features.blocks, 2))

    def to_bytes(self) -> bytes:
        """Versioned bytes, with the features; equal forms have equal bytes."""
        numbers = [self.horizon, self.weighted, self.centred, self.split, self.end_reward]
        return bytes(msgpack.packb([FORMAT, self.features.plain(), *numbers]))

    @classmethod
    def from_bytes(cls, data: bytes) -> GramForm:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, features, horizon, weighted, centred, split, reward = msgpack.unpackb(data, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            if not all(isinstance(flag, bool) for flag in (weighted, centred, split)):
                raise ValueError("a truth value is none")
            end = None if reward is None else validation.between("end reward", reward, 0.0, 1.0)
            return cls(read_features(features), horizon, weighted, centred, split, end)
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "gram-form-unreadable", f"These bytes are not a form of Gram questions this version knows: {error}"
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint: questions of another form are not answered."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]

    def end_value(self, step: int) -> float:
        """The sum of rewards from a step on of somebody whose episode has ended."""
        return (self.end_reward or 0.0) * (self.horizon - step)

    @property
    def questions(self) -> list[tuple[int, str]]:
        """(step, kind) in the order in which they are asked; after the last step V is zero and has no variance."""
        last = self.horizon - 1
        kinds = [(h, kind) for h in range(last, -1, -1) for kind in (VARIANCE, VALUE)]
        return [(h, kind) for h, kind in kinds if kind == VALUE or (self.weighted and h < last)]

    def ranges(self, step: int, kind: str) -> tuple[float, ...]:
        """The largest value of each target: V^2 and V, or r + V."""
        after = float(self.horizon - 1 - step)
        return (after**2, after) if kind == VARIANCE else (after + 1,)

    def middle(self, step: int, kind: str) -> tuple[float, ...]:
        """What is subtracted from each target to centre it: half its range, or nothing."""
        return tuple(self.centred * most / 2 for most in self.ranges(step, kind))

    def half(self, kind: str) -> int:
        """Which half of the people is asked: 1 for values if people are split, else 0."""
        return int(self.split and kind == VALUE)


@dataclass(frozen=True, eq=False)
class GramQuestion:
    """One question: `values` is V_{h+1}, None after the last step, where it is 0; `variances` is v, None where it is 1."""

    form: GramForm
    step: int
    kind: str
    values: Critic | None = None
    variances: ValueVariance | None = None

    def checked(self) -> GramQuestion:
        """Refuse functions for which the noise was not made: whoever asks may be an adversary."""
        top, sizes = self.form.horizon - 1 - self.step, (self.form.features.blocks, self.form.features.dimension)
        values = None if self.values is None else self.values.checked(*sizes)
        variances = None if self.variances is None else self.variances.checked(*sizes)
        if values is not None and not 0 <= values.top <= top:
            raise PrivacyError(
                "gram-values-out-of-range",
                f"The values of step {self.step + 1} must lie in [0, {top}]. They need not, so nothing was answered.",
            )
        return replace(self, values=values, variances=variances)


def cost(form: GramForm, step: int, kind: str, matrix_noise: float, vector_noise: tuple[float, ...]) -> float:
    """mu^2 of one question, by the module's g, where noise is that of continuous normals."""
    spread = 1.0 if form.centred else 2.0
    cut = 1 + 4 * math.sqrt(form.features.dimension) * 2.0**-FEATURE_BITS if kind == VALUE else 1.0
    pairs = zip(form.ranges(step, kind), vector_noise, strict=True)
    together = sum((spread * most * cut / noise) ** 2 for most, noise in pairs if most > 0)
    alone = 1 / matrix_noise**2
    return alone * (1 + together / (4 * alone)) ** 2 if together <= 4 * alone else together


register(KIND, GramForm.from_bytes)
