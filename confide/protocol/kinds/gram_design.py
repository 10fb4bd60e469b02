"""Gram sums of a linear decision process: questions in turn, all priced before the first is answered.

The noise of every question is fixed beforehand, so the answers together are as private as one normal with

    mu^2 = sum over questions of g(1/s^2, K)        (questions.gram),

or, if variances come from one half of the people and values from the other, the larger of the two sums: nobody is in
both. (Who is in which half is drawn without a look at the data, and the same whoever else is there; a mixture over such
draws keeps what each draw keeps.) Questions may depend on earlier answers (adaptive composition).

`paper`: Qiao and Wang (2023), Algorithm 2: rho_0 = rho/(5H); matrices with s^2 = 1/(4 rho_0), vectors with variance
2 H^4/rho_0, 2 H^2/rho_0, 2 H^2/rho_0, for each of the 5H. (One copy in circulation prints H^2 for the first; with it the
promise would be far off.) `sound`: all of that noise times the one factor that makes the promise true. `tight`: noise in
proportion to what can change at each step, centred targets where the features allow it, and the sum, or each half's, made
exactly the promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ... import validation
from ...errors import InvalidInput
from ...mechanisms.gaussian import effective_sigma
from ...privacy import Act, GaussianLoss, Guarantee, Loss, Sensitivity, settled
from ...privacy.guarantee import CENTRAL, NONE
from ..design import AUTO, SOUND, TIGHT, Design, Request, register_maker
from .gram import FEATURE_BITS, KIND, TARGET_BITS, VALUE, VARIANCE, GramForm, cost

MATRIX_GRID = 4.0**-FEATURE_BITS
VECTOR_GRID = 2.0 ** -(FEATURE_BITS + TARGET_BITS)

VARIANCE_SHARE = 1.5
"""In `tight`, noise in the variance questions over that in the value questions: variances only weigh."""

SHAVED = 1e-9
"""The share by which other questions ask for less than is left, so that floats do not round the sum above the promise."""


@dataclass(frozen=True)
class GramNoise:
    """The noise of all questions of a form: matrix and vectors, by (step, kind)."""

    form: GramForm = field(repr=False)
    sizes: tuple[tuple[float, tuple[float, ...]], ...]
    calibration: str

    @property
    def name(self) -> str:
        """`gram-gaussian`."""
        return "gram-gaussian"

    @property
    def mu(self) -> float:
        """The mu of all answers together: telling two people apart is telling N(0, 1) from N(mu, 1)."""
        total = {VARIANCE: 0.0, VALUE: 0.0}
        for (step, kind), (matrix, vectors) in zip(self.form.questions, self.sizes, strict=True):
            fine = _effective(matrix, MATRIX_GRID), tuple(_effective(size, VECTOR_GRID) for size in vectors)
            total[kind] += cost(self.form, step, kind, *fine)
        return math.sqrt(max(total.values()) if self.form.split else sum(total.values()))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The Gaussian loss of all answers together, whatever the sensitivity says: the form knows its own."""
        return GaussianLoss(self.mu)

    def describe(self) -> dict[str, Any]:
        """Name, calibration and the range of noise."""
        matrices = [matrix for matrix, _ in self.sizes]
        return {
            "name": self.name,
            "questions": len(self.sizes),
            "statistics": sum(1 + len(vectors) for _, vectors in self.sizes),
            "matrix_sigma": max(matrices),
            "vector_sigma": max(size for _, vectors in self.sizes for size in vectors),
            "split": self.form.split,
            "centred": self.form.centred,
        }

    def scaled(self, factor: float) -> GramNoise:
        """The same noise times a factor."""
        sizes = tuple((matrix * factor, tuple(size * factor for size in vectors)) for matrix, vectors in self.sizes)
        return GramNoise(self.form, sizes, self.calibration)


def design_gram(request: Request) -> Design:
    """Price every question of a form so that all together keep the promise, or a share of it (`tight`)."""
    form, promise, calibration = request.question, request.promise, request.calibration
    if request.mechanism not in (AUTO, "gaussian"):
        raise InvalidInput("gram-mechanism", "Gram sums take Gaussian noise. Leave --mechanism out.")
    if promise.pure:
        raise InvalidInput(
            "gaussian-needs-delta",
            "Gram sums take Gaussian noise, which needs delta above 0. Give a delta such as 1e-6, or rho.",
        )
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
    sizes = tuple((0.0, (0.0,) * len(request.question.ranges(*question))) for question in request.question.questions)
    act = Act(GramNoise(request.question, sizes, "none"), request.question.price())
    return request.design(request.question, act, calibration="none")


def _printed(form: GramForm, rho: float, calibration: str) -> GramNoise:
    share = rho / (5 * form.horizon)
    matrix, vector = math.sqrt(1 / (4 * share)), math.sqrt(2 * form.horizon**2 / share)
    sizes = tuple(
        (matrix, (vector * form.horizon, vector) if kind == VARIANCE else (vector,)) for _, kind in form.questions
    )
    return GramNoise(form, sizes, calibration)


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
        # Each half keeps the whole promise, so neither need be noisier than that.
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
    """The same noise times the least factor that keeps a share of the promise; mu falls as the factor grows."""
    wanted = promise.mu(share)
    factor = settled(noise.mu / wanted, lambda size: noise.scaled(size).mu <= wanted, math.inf)
    return noise.scaled(factor * (1 + 1e-12))


def noise_to_plain(noise: GramNoise) -> dict[str, Any]:
    """The noise as plain values, for the bytes of a design."""
    return {"mechanism": noise.name, "sizes": [[matrix, list(vectors)] for matrix, vectors in noise.sizes]}


def noise_from_plain(form: GramForm, plain: dict[str, Any], calibration: str) -> GramNoise:
    """The noise that `noise_to_plain` wrote down; anything else is refused."""
    if sorted(plain) != ["mechanism", "sizes"] or len(plain["sizes"]) != len(form.questions):
        raise ValueError("its noise is not that of its questions")
    sizes = []
    for question, (matrix, vectors) in zip(form.questions, plain["sizes"], strict=True):
        if len(vectors) != len(form.ranges(*question)):
            raise ValueError("its noise is not that of its questions")
        amounts = [validation.between("noise", amount, 0.0, math.inf) for amount in (matrix, *vectors)]
        sizes.append((amounts[0], tuple(amounts[1:])))
    noise = GramNoise(form, tuple(sizes), calibration)
    if noise_to_plain(noise) != plain:
        raise ValueError("its noise is of a kind that is not known")
    return noise


def _effective(sigma: float, grid: float) -> float:
    effective = effective_sigma(sigma, grid)
    if effective is None:
        raise InvalidInput(
            "gram-noise-small", f"Noise of {sigma:g} is too small for sums cut at {grid:g}. Ask for a stronger promise."
        )
    return effective


register_maker(KIND, CENTRAL, design_gram)
register_maker(KIND, NONE, design_open)
