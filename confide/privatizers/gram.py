"""The wall at a curator, for linear decision processes: questions about Gram sums in turn, all priced before the first.

The noise of every question is fixed beforehand, so the answers together are as private as one normal with

    mu^2 = sum over questions of g(1/s^2, K)        (statistics.gram),

or, if variances come from one half of the people and values from the other, the larger of the two sums: nobody is in
both. (Who is in which half is drawn without a look at the data, and the same whoever else is there; a mixture over such
draws keeps what each draw keeps.) Questions may depend on earlier answers (adaptive composition).

`paper`: Qiao and Wang (2023), Algorithm 2: rho_0 = rho/(5H); matrices with s^2 = 1/(4 rho_0), vectors with variance
2 H^4/rho_0, 2 H^2/rho_0, 2 H^2/rho_0, for each of the 5H. (One copy in circulation prints H^2 for the first; with it the
promise would be far off.) `sound`: all of that noise times the one factor that makes the promise true. `tight`: noise in
proportion to what can change at each step, centred targets where the features allow it, and the sum, or each half's, made
exactly the promise.

A last question may follow, priced by a share of its own: what people earned in all, and what V_1 promises them. Both lie
in [0, H], so a replaced person moves the pair by at most sqrt(2) H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import validation
from ..errors import InvalidInput, PrivacyError
from ..mdp.critic import Critic
from ..mechanisms.gaussian import effective_sigma
from ..mechanisms.noise import NoiseSource, require_secure
from ..mechanisms.symmetric import SymmetricGaussian
from ..privacy import Act, Certificate, Gaussian, Guarantee, Loss, Sensitivity, settled, true_guarantee
from ..privacy.conversion import gaussian_mu
from ..privacy.guarantee import CENTRAL
from ..releases.gram import VALUE, VARIANCE, GramForm, GramQuestion, GramRelease, WorthRelease
from ..statistics.gram import FEATURE_BITS, TARGET_BITS, Logged, price
from .once import shared_gaussian

PAPER, SOUND, TIGHT = "paper", "sound", "tight"
MATRIX_GRID = 4.0**-FEATURE_BITS
VECTOR_GRID = 2.0 ** -(FEATURE_BITS + TARGET_BITS)
WORTH_GRID = 2.0**-TARGET_BITS

VARIANCE_SHARE = 1.5
"""In `tight`, noise in the variance questions over that in the value questions: variances only weigh."""

WORTH_SHARE = 0.05
"""Of the promise, spent on what people earned and what V_1 promises them, where a fit asks for it."""

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
        """How private all answers are together: two normals so many standard deviations apart."""
        total = {VARIANCE: 0.0, VALUE: 0.0}
        for (step, kind), (matrix, vectors) in zip(self.form.questions, self.sizes, strict=True):
            fine = _effective(matrix, MATRIX_GRID), tuple(_effective(size, VECTOR_GRID) for size in vectors)
            total[kind] += price(self.form, step, kind, *fine)
        return math.sqrt(max(total.values()) if self.form.split else sum(total.values()))

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """Gaussian, whatever the sensitivity says: the form knows its own."""
        return Gaussian(self.mu)

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
        """All of it times a factor."""
        sizes = tuple((matrix * factor, tuple(size * factor for size in vectors)) for matrix, vectors in self.sizes)
        return GramNoise(self.form, sizes, self.calibration)


@dataclass(frozen=True)
class GramPrivatizer:
    """Answers the questions of one form about one log, in order, once each."""

    noise: GramNoise
    asked: Guarantee

    @property
    def act(self) -> Act:
        """All answers, as one act."""
        # That of one Gram matrix, for the certificate; the noise knows what all questions together give away.
        features, root = self.noise.form.features, math.sqrt(2.0)
        size = features.dimension
        return Act(self.noise, Sensitivity(2.0 * size, root, ((root, 1),), size * size * min(features.blocks, 2)))

    @property
    def guarantee(self) -> Guarantee:
        """What is truly promised."""
        return true_guarantee(self.act.loss, self.asked)

    def certificate(self, drawn_by: str) -> Certificate:
        """What is promised to every person."""
        assumptions = (
            "one episode a person, of exactly the horizon's length; rewards in [0, 1]",
            self.noise.form.features.assumption,
            "the curator keeps the episodes to itself; questions are answered once each, in order",
        )
        return Certificate.of([self.act], self.asked, self.noise.calibration, drawn_by, assumptions)

    def answer(
        self, question: GramQuestion, number: int, logged: Logged, noise: NoiseSource, *, simulated: bool = False
    ) -> GramRelease:
        """The answer to question `number` of the form. Replayable noise is refused unless the people are simulated."""
        if not simulated:
            require_secure(noise, "a release about real people")
        form = self.noise.form
        due = form.questions[number] if 0 <= number < len(form.questions) else None
        if question.form is not form or (question.step, question.kind) != due:
            raise PrivacyError(f"Question {number + 1} was priced as {due}. Got another one, so it was not answered.")
        matrix, vectors = logged.sums(question.checked())
        size, sizes = self.noise.sizes[number]
        told = SymmetricGaussian(size, MATRIX_GRID).add(matrix, noise)
        drawn = [noise.discrete_gaussian(one / VECTOR_GRID, vectors.shape[1:]) for one in sizes]
        return GramRelease(
            question,
            logged.people[form.half(question.kind)],
            told,
            np.asarray((vectors + np.array(drawn)) * VECTOR_GRID, dtype=np.float64),
            size,
            np.array(sizes),
        )


@dataclass(frozen=True)
class WorthPrivatizer:
    """Answers, once, what people earned and what V_1 promises them."""

    form: GramForm = field(repr=False)
    act: Act

    @classmethod
    def of(cls, form: GramForm, promise: Guarantee, share: float = WORTH_SHARE) -> WorthPrivatizer:
        """With noise for a share of the promise."""
        size = Sensitivity(2.0 * form.horizon, math.sqrt(2.0) * form.horizon, ((float(form.horizon), 2),), 2)
        return cls(form, Act(shared_gaussian(size.l2, share, promise, WORTH_GRID), size))

    def answer(self, first: Critic, logged: Logged, noise: NoiseSource) -> WorthRelease:
        """first: V_1, public by now. Replayable noise is refused: the people are real."""
        require_secure(noise, "a release about real people")
        dimension = self.form.features.blocks, self.form.features.dimension
        told = logged.worth(self.form, replace(first.checked(*dimension), top=float(self.form.horizon)))
        mechanism: Any = self.act.mechanism
        returned, promised = mechanism.randomize(told * WORTH_GRID, np.zeros(0, dtype=np.int64), noise).tolist()
        return WorthRelease(sum(logged.people), returned, promised, mechanism.sigma)


def design_gram(form: GramForm, promise: Guarantee, calibration: str = TIGHT, share: float = 1.0) -> GramPrivatizer:
    """Price every question of a form so that all together keep the promise, or that share of it (`tight`)."""
    validation.choice("calibration", calibration, (PAPER, SOUND, TIGHT))
    if promise.trust != CENTRAL:
        raise InvalidInput(f"A data set is released under central privacy. Got {promise}. Use Central(...).")
    if promise.pure:
        raise InvalidInput(
            "Gram sums take Gaussian noise, which needs delta above 0. Give a delta such as 1e-6, or rho."
        )
    if calibration != TIGHT and promise.rho is None:
        raise InvalidInput("The paper states its noise for rho. Give rho, or use tight.")
    if calibration == TIGHT:
        return GramPrivatizer(_keeping(_proportional(form), promise, share), promise)
    printed = _printed(form, promise.rho or 0.0, calibration)
    if calibration == SOUND:
        needed = _keeping(printed, promise)
        # One factor, never below the paper's own noise.
        printed = needed if needed.sizes[0][0] > printed.sizes[0][0] else printed
    return GramPrivatizer(printed, promise)


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
            costs[kind] += price(form, step, kind, *size)
        factor = {VARIANCE: math.sqrt(costs[VARIANCE] / costs[VALUE]), VALUE: 1.0}
        sizes = [
            (factor[kind] * matrix, tuple(factor[kind] * size for size in vectors))
            for (_, kind), (matrix, vectors) in zip(form.questions, sizes, strict=True)
        ]
    return GramNoise(form, tuple(sizes), TIGHT)


def _keeping(noise: GramNoise, promise: Guarantee, share: float = 1.0) -> GramNoise:
    """The same noise times the least factor that keeps a share of the promise; mu falls as the factor grows."""
    whole = gaussian_mu(promise.epsilon, promise.delta) if promise.epsilon else math.sqrt(2 * (promise.rho or 0.0))
    wanted = whole * math.sqrt(share)
    factor = settled(noise.mu / wanted, lambda size: noise.scaled(size).mu <= wanted, math.inf)
    return noise.scaled(factor * (1 + 1e-12))


def _effective(sigma: float, grid: float) -> float:
    found = effective_sigma(sigma, grid)
    if found is None:
        raise InvalidInput(f"Noise of {sigma:g} is too small for sums cut at {grid:g}. Ask for a stronger promise.")
    return found
