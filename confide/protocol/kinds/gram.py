"""Questions about a linear decision process: Gram sums of features, and the sensitivity of all of them together.

Going backwards from the last step, two questions a step, about V = V_{h+1}, the public value function of the next step:

* `variance`: sum phi phi', sum phi V(s')^2 and sum phi V(s'), from which the conditional variance of V is estimated;
* `value`: sum phi phi' / v, sum phi (r + V(s')) / v, where v(s, a) >= 1 is that estimate, public by then.

The form of all questions is fixed, and everything priced, before the first is answered: V lies in [0, H-h] whatever the
answers. Targets may be centred at the middle of their range, where the constant is a combination of features. V and v
are functions of features (`mdp.critic`) that keep to their ranges wherever they are evaluated, whatever their source.

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

**Noise.** Questions come in turn, and all are priced before the first is answered. The noise of every question is fixed
beforehand, so the answers together are as private as one normal with

    mu^2 = sum over questions of g(1/s^2, K)        (as above),

or, if variances come from one half of the people and values from the other, the larger of the two sums: no user is in
both. (Who is in which half is drawn without a look at the data, and the same whichever other users there are; a mixture over such
draws keeps what each draw keeps.) Questions may depend on earlier answers (adaptive composition).

`paper`: Qiao and Wang (2023), Algorithm 2: rho_0 = rho/(5H); matrices with s^2 = 1/(4 rho_0), vectors with variance
2 H^4/rho_0, 2 H^2/rho_0, 2 H^2/rho_0, for each of the 5H. (One copy in circulation prints H^2 for the first; with it the
guarantee would be far off.) `sound`: all of that noise times the one factor that makes the guarantee true. For pure epsilon the
paper claims the same algorithm with the Laplace mechanism (Section 1, Lemma E.20) and states no sensitivities, which are

    l1: the triangle of a matrix changes by at most d + 1, a vector by at most 2 Y sqrt(d), Y the largest target:

sum_{i<=j} |x_i x_j| = (|x|_1^2 + |x|_2^2)/2 <= (d + 1)/2 for |x|_2 <= 1, as |x|_1 <= sqrt(d), and |x y|_1 <= Y sqrt(d); what two
people add to it adds up at worst, and to half of the second where targets are centred. Cutting towards zero makes no |x_i| and no
|y| larger, so nothing is added for it. With epsilon_0 = epsilon/(5H) for each of the 5H, matrices have scale (d + 1)/epsilon_0,
vectors 2 H^2 sqrt(d)/epsilon_0 and 2 H sqrt(d)/epsilon_0: `paper` and `sound`, as the claim is true. `tight`: noise in
proportion to what can change at each step, centred targets where the features allow it, and the sum, or each half's, made
exactly the guarantee.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgpack
import numpy as np

from ... import validation
from ...errors import ConfideError, FormatError, InvalidInput, PrivacyError
from ...mdp import Spec
from ...mdp.critic import Critic, ValueVariance
from ...mdp.linear import Features, read_features
from ...mechanisms.gaussian import effective_sigma
from ...mechanisms.mechanism import NoiseMechanism
from ...privacy import Act, GaussianLoss, Guarantee, Loss, Pure, Sensitivity, settled
from ...privacy.guarantee import CENTRAL, NONE
from ...validation import Json
from ..design import AUTO, SOUND, TIGHT, Design, Request
from .kind import Array, DesignMaker, Kind, by_trust, register
from .question import DIGEST_BYTES, Family, Member, Range, Rounded, only, spread

KIND = "gram"
FORMAT = "confide.gram-form/1"
RELEASE_FORMAT = "confide.gram/2"

VARIANCE, VALUE = "variance", "value"
GAUSSIAN, LAPLACE = "gaussian", "laplace"

FEATURE_BITS, TARGET_BITS = 16, 10
MATRIX_GRID = 4.0**-FEATURE_BITS
VECTOR_GRID = 2.0 ** -(FEATURE_BITS + TARGET_BITS)

VARIANCE_SHARE = 1.5
"""In `tight`, noise in the variance questions over that in the value questions: variances only weigh."""

SHAVED = 1e-9
"""The share by which other questions ask for less than is left, so that floats do not round the sum above the guarantee."""


@dataclass(frozen=True, eq=False)
class GramForm(Family, Rounded):
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
    def cells(self) -> int:
        """The numbers of one Gram matrix."""
        return self.features.blocks * self.features.dimension**2

    @property
    def spec(self) -> Spec:
        """One state and one action: what is distinguished lies in the features."""
        return Spec(1, 1, self.horizon)

    @property
    def range(self) -> Range:
        """What one step puts into such a matrix: features are at most 1 long."""
        return spread(-1.0, 1.0, self.cells)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions under which a guarantee about answers to it holds."""
        return ("one episode a person, of exactly the horizon's length; rewards in [0, 1]", self.features.assumption)

    def member(self, question: Member) -> GramForm:
        """The form itself; each of its questions is put to a curator, with what is asked about."""
        return only(self, question)

    def member_for(self, question: Member) -> GramForm:
        """The form itself; any other is refused."""
        return only(self, question)

    def priced(self, question: GramQuestion) -> GramQuestion:
        """A question of this form, with functions for which its noise was made."""
        if question.form.digest != self.digest:
            raise PrivacyError(
                "gram-form-not-priced",
                "This statistic is of another form than the one that was priced. Nothing was released.",
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
                "gram-form-unreadable", f"These bytes are not a form of Gram statistics this version knows: {error}"
            ) from error

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint: questions of another form are not answered."""
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]

    def end_value(self, step: int) -> float:
        """The sum of rewards from a step on of a user whose episode has ended."""
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
        """Refuse functions for which the noise was not made: the server may be an adversary."""
        top, sizes = self.form.horizon - 1 - self.step, (self.form.features.blocks, self.form.features.dimension)
        values = None if self.values is None else self.values.checked(*sizes)
        variances = None if self.variances is None else self.variances.checked(*sizes)
        if values is not None and not 0 <= values.top <= top:
            raise PrivacyError(
                "gram-values-out-of-range",
                f"The values of step {self.step + 1} must lie in [0, {top}]. They need not, so nothing was released.",
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


def pure_cost(form: GramForm, step: int, kind: str, matrix_scale: float, vector_scales: tuple[float, ...]) -> float:
    """The epsilon of one question, by the module's l1 sensitivities, where noise is Laplace's of these scales."""
    spread, dimension = 1.0 if form.centred else 2.0, form.features.dimension
    pairs = zip(form.ranges(step, kind), vector_scales, strict=True)
    return (dimension + 1) / matrix_scale + sum(spread * most * math.sqrt(dimension) / scale for most, scale in pairs)


@dataclass(frozen=True, eq=False)
class GramRelease:
    """matrix: (B, d, d); vectors: (2, B, d) or (1, B, d), by blocks of features; both with noise, of standard deviation
    matrix_noise (of normal noise sqrt 2 times on the diagonal) and vector_noise (2,) or (1,). users: whom they are about."""

    question: GramQuestion
    users: int
    matrix: Array
    vectors: Array
    matrix_noise: float
    vector_noise: Array

    def to_bytes(self) -> bytes:
        """Versioned bytes, with the question that it answers but for the form."""
        question = self.question
        functions = [
            None if function is None else _packed(*function.arrays())
            for function in (question.values, question.variances)
        ]
        arrays = _packed(self.matrix, self.vectors, self.vector_noise)
        head = [RELEASE_FORMAT, question.step, question.kind, self.users, self.matrix_noise]
        return bytes(msgpack.packb([*head, *functions, arrays]))


def release_from_bytes(data: bytes, form: GramForm) -> GramRelease:
    """Read what `to_bytes` wrote about a question of this form; refuse anything else."""
    try:
        name, step, kind, users, noise, values, variances, arrays = unpacked(data)
        if name != RELEASE_FORMAT or (step, kind) not in form.questions:
            raise ValueError(f"it is {name!r} about {(step, kind)}")
        shape = (form.features.blocks, form.features.dimension)
        people = len(form.ranges(step, kind))
        value_function = None if values is None else Critic.of(*_arrays(values))
        variance_function = None if variances is None else ValueVariance.of(*_arrays(variances))
        matrix, vectors, sizes = _arrays(arrays)
        return GramRelease(
            GramQuestion(form, step, kind, value_function, variance_function).checked(),
            validation.integer("users", users, 0),
            validation.array("matrix", matrix, (*shape, shape[1])),
            validation.array("vectors", vectors, (people, *shape)),
            validation.number("noise", noise),
            validation.array("noise", sizes, (people,)),
        )
    except (ConfideError, ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise FormatError(
            "response-unreadable", f"These bytes are not a release this version can read: {error}"
        ) from error


def _packed(*arrays: Array) -> list[tuple[list[int], bytes]]:
    return [(list(array.shape), np.ascontiguousarray(array, dtype="<f8").tobytes()) for array in arrays]


def _arrays(packed: Iterable[tuple[list[int], bytes]]) -> list[Array]:
    return [np.frombuffer(raw, "<f8").reshape(shape) for shape, raw in packed]


def unpacked(data: bytes) -> list[Any]:
    """The values of an answer's bytes."""
    values = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
    if not isinstance(values, list):
        raise ValueError("it is no list")
    return values


@dataclass(frozen=True)
class GramNoise(NoiseMechanism):
    """The noise of all questions of a form: sigmas or Laplace scales of matrix and vectors, by (step, kind)."""

    form: GramForm = field(repr=False)
    sizes: tuple[tuple[float, tuple[float, ...]], ...]
    calibration: str
    law: str = GAUSSIAN

    @property
    def name(self) -> str:
        """`gram-gaussian` or `gram-laplace`."""
        return f"{KIND}-{self.law}"

    @property
    def normal(self) -> bool:
        """Whether the noise is Gaussian; else it is Laplace's."""
        return self.law == GAUSSIAN

    @property
    def deviations(self) -> tuple[tuple[float, tuple[float, ...]], ...]:
        """The standard deviations of the noise: sqrt 2 times a Laplace scale."""
        return self.sizes if self.normal else self.scaled(math.sqrt(2)).sizes

    @property
    def grid(self) -> float:
        """That of sums: matrices have a finer one."""
        return VECTOR_GRID

    @property
    def mu(self) -> float:
        """The mu of all answers together: telling two people apart is telling N(0, 1) from N(mu, 1)."""
        total = {VARIANCE: 0.0, VALUE: 0.0}
        for (step, kind), (matrix, vectors) in zip(self.form.questions, self.sizes, strict=True):
            fine = _effective(matrix, MATRIX_GRID), tuple(_effective(size, VECTOR_GRID) for size in vectors)
            total[kind] += cost(self.form, step, kind, *fine)
        return math.sqrt(max(total.values()) if self.form.split else sum(total.values()))

    @property
    def epsilon(self) -> float:
        """The epsilon of all answers together, of Laplace noise: a grid does not change it."""
        spent: dict[str, list[float]] = {VARIANCE: [], VALUE: []}
        for (step, kind), (matrix, vectors) in zip(self.form.questions, self.sizes, strict=True):
            spent[kind].append(pure_cost(self.form, step, kind, matrix, vectors))
        totals = [math.fsum(costs) for costs in spent.values()]
        return max(totals) if self.form.split else sum(totals)

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The loss of all answers together, whatever the sensitivity says: the form knows its own."""
        return GaussianLoss(self.mu) if self.normal else Pure(self.epsilon)

    def describe(self) -> dict[str, Json]:
        """Name, calibration and the range of noise."""
        matrices, word = [matrix for matrix, _ in self.sizes], "sigma" if self.normal else "scale"
        return {
            "name": self.name,
            "questions": len(self.sizes),
            "statistics": sum(1 + len(vectors) for _, vectors in self.sizes),
            f"matrix_{word}": max(matrices),
            f"vector_{word}": max(size for _, vectors in self.sizes for size in vectors),
            "split": self.form.split,
            "centred": self.form.centred,
        }

    def scaled(self, factor: float) -> GramNoise:
        """The same noise times a factor."""
        sizes = tuple((matrix * factor, tuple(size * factor for size in vectors)) for matrix, vectors in self.sizes)
        return replace(self, sizes=sizes)


def design_gram(request: Request) -> Design:
    """Price every question of a form so that all together keep the guarantee, or a share of it (`tight`)."""
    form, promise, calibration = GRAM.question_of(request), request.promise, request.calibration
    if request.mechanism not in (AUTO, LAPLACE if promise.pure else GAUSSIAN):
        raise InvalidInput(
            "gram-noise-law",
            "Gram sums take Gaussian noise, and Laplace noise where delta is 0. Leave --mechanism out.",
        )
    if promise.pure and calibration == TIGHT:
        raise InvalidInput(
            "gram-needs-delta",
            "Gram sums take Gaussian noise, which needs delta above 0. Give a delta such as 1e-6, or rho, or --calibration sound.",
        )
    if promise.pure:
        return request.design(form, Act(_printed_pure(form, promise.pure_epsilon(), calibration), form.price()))
    if calibration != TIGHT and promise.rho is None:
        raise InvalidInput("paper-needs-rho", "The paper states its noise for rho. Give rho, or use tight.")
    if calibration == TIGHT:
        noise = _keeping(_proportional(form), promise, request.share)
    else:
        noise = _printed(form, promise.rho or 0.0, calibration)
    if calibration == SOUND:
        needed = _keeping(noise, promise)
        # One factor, never below the paper's own noise.
        noise = needed if needed.sizes[0][0] > noise.sizes[0][0] else noise
    return request.design(form, Act(noise, form.price()))


def design_open(request: Request) -> Design:
    """The design without privacy: exact sums."""
    form = GRAM.question_of(request)
    sizes = tuple((0.0, (0.0,) * len(form.ranges(*question))) for question in form.questions)
    return request.design(form, Act(GramNoise(form, sizes, "none"), form.price()), calibration="none")


def _printed(form: GramForm, rho: float, calibration: str) -> GramNoise:
    share = rho / (5 * form.horizon)
    matrix, vector = math.sqrt(1 / (4 * share)), math.sqrt(2 * form.horizon**2 / share)
    sizes = tuple(
        (matrix, (vector * form.horizon, vector) if kind == VARIANCE else (vector,)) for _, kind in form.questions
    )
    return GramNoise(form, sizes, calibration)


def _printed_pure(form: GramForm, epsilon: float, calibration: str) -> GramNoise:
    share, root = epsilon / (5 * form.horizon), math.sqrt(form.features.dimension)
    matrix, vector = (form.features.dimension + 1) / share, 2 * form.horizon * root / share
    sizes = tuple(
        (matrix, (vector * form.horizon, vector) if kind == VARIANCE else (vector,)) for _, kind in form.questions
    )
    return GramNoise(form, sizes, calibration, LAPLACE)


def _proportional(form: GramForm) -> GramNoise:
    """Noise as large as what can change: 1 on matrices, the range on vectors, V^2 at sqrt 2 of it."""
    spread = 1.0 if form.centred else 2.0
    sizes = []
    for step, kind in form.questions:
        more = VARIANCE_SHARE if kind == VARIANCE else 1.0
        weights = (math.sqrt(2), 1.0) if kind == VARIANCE else (1.0,)
        ranges = zip(form.ranges(step, kind), weights, strict=True)
        sizes.append((more, tuple(more * spread * most * weight for most, weight in ranges)))
    if form.split:
        # Each half keeps the whole guarantee, so neither need be noisier than that.
        costs = {VARIANCE: 0.0, VALUE: 0.0}
        for (step, kind), size in zip(form.questions, sizes, strict=True):
            costs[kind] += cost(form, step, kind, *size)
        factor = {VARIANCE: math.sqrt(costs[VARIANCE] / costs[VALUE]), VALUE: 1.0}
        sizes = [
            (factor[kind] * matrix, tuple(factor[kind] * size for size in vectors))
            for (_, kind), (matrix, vectors) in zip(form.questions, sizes, strict=True)
        ]
    return GramNoise(form, tuple(sizes), TIGHT)


def _keeping(noise: GramNoise, promise: Guarantee, share: float = 1.0) -> GramNoise:
    """The same noise times the least factor that keeps a share of the guarantee; mu falls as the factor grows."""
    wanted = promise.mu(share)
    factor = settled(noise.mu / wanted, lambda size: noise.scaled(size).mu <= wanted, math.inf)
    return noise.scaled(factor * (1 + 1e-12))


def _effective(sigma: float, grid: float) -> float:
    effective = effective_sigma(sigma, grid)
    if effective is None:
        raise InvalidInput(
            "gram-noise-small",
            f"Noise of {sigma:g} is too small for sums cut at {grid:g}. Request a stronger guarantee.",
        )
    return effective


class GramKind(Kind[GramForm, GramRelease]):
    """Gram sums, asked of a whole log at a curator; their noise is made with them."""

    name = KIND
    answered = by_trust(central=("gram-gaussian", "gram-laplace"), none=("gram-gaussian",))
    own_noise = True

    def read(self, data: bytes) -> GramForm:
        """The form that wrote these bytes."""
        return GramForm.from_bytes(data)

    def designers(self) -> Mapping[str, DesignMaker]:
        """Noise on every sum, or exact sums."""
        return {CENTRAL: design_gram, NONE: design_open}

    def noise_to_plain(self, mechanism: NoiseMechanism) -> dict[str, Json]:
        """The noise as plain values, for the bytes of a design."""
        return _plain(_of_grams(mechanism))

    def noise_from_plain(
        self, question: GramForm, values: dict[str, Any], promise: Guarantee, calibration: str
    ) -> GramNoise:
        """The noise that `noise_to_plain` wrote down; anything else is refused."""
        if sorted(values) != ["mechanism", "sizes"] or len(values["sizes"]) != len(question.questions):
            raise ValueError("its noise is not that of its statistics")
        sizes = []
        for one, (matrix, vectors) in zip(question.questions, values["sizes"], strict=True):
            if len(vectors) != len(question.ranges(*one)):
                raise ValueError("its noise is not that of its statistics")
            amounts = [validation.between("noise", amount, 0.0, math.inf) for amount in (matrix, *vectors)]
            sizes.append((amounts[0], tuple(amounts[1:])))
        law = str(values["mechanism"]).removeprefix(f"{KIND}-")
        noise = GramNoise(question, tuple(sizes), calibration, law)
        if law not in (GAUSSIAN, LAPLACE) or _plain(noise) != values:
            raise ValueError("its noise is of a kind that is not known")
        return noise

    def noise_of(self, design: Design) -> GramNoise:
        """The noise of a design of this kind."""
        return _of_grams(design.mechanism)

    def read_release(self, data: bytes, design: Design) -> GramRelease:
        """Read what `to_bytes` wrote about a question of this form; refuse anything else."""
        return release_from_bytes(data, self.question_of(design))


GRAM = register(GramKind())


def _of_grams(noise: NoiseMechanism) -> GramNoise:
    """The noise of Gram sums; any other is refused."""
    if not isinstance(noise, GramNoise):
        raise InvalidInput(
            "gram-noise-of-others", f"Gram sums have noise of their own, not {noise.name}. Make the design again."
        )
    return noise


def _plain(noise: GramNoise) -> dict[str, Json]:
    return {"mechanism": noise.name, "sizes": [[matrix, list(vectors)] for matrix, vectors in noise.sizes]}
