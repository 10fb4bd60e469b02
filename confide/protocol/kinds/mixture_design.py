"""Linear mixtures: which form of question, how much noise, in three calibrations, on devices and at a curator.

`paper`: noise of sigma = 4 H v^2 sqrt(2 log(2.5 H/delta))/epsilon in the whole upper triangle of every d x d matrix and
in every vector, v = H for rewards in [0, 1] and 1 for rewards over H (Liao, He and Gu, 2021). `sound`: the same, raised
if need be until the claim is true. `tight`: one joint Gaussian over everything a report contains, on blocks where the
features have them, on value functions scaled to their public range, with twice the variance on the diagonal, pooled
over steps where the model is stationary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp import PER_STEP, MixtureFeatures, Spec
from ...mechanisms.buffered import BufferedToeplitzCounter
from ...mechanisms.exact import ExactCounter
from ...mechanisms.gaussian import FINE, Gaussian, sigma_for
from ...privacy import Act, Guarantee
from ...privacy.guarantee import JOINT, LOCAL, NONE
from ..design import AUTO, PAPER, TIGHT, Design, Request, register_maker
from .mixture import CENTRED, KIND, RAW, UNIT, MixtureForm

PAPER_NAME = "ldp-ucrl-vtr"
EXACT = 2.0**-32
"""The grid without privacy: fine enough to be exact for all that matters, and coarse enough to add up a million people."""


@dataclass(frozen=True, eq=False)
class MixtureProblem:
    """The problem of a learner of linear mixtures; designs choose the form of its questions.

    ranges: (H,), the largest value after each step.
    """

    spec: Spec
    features: MixtureFeatures
    ranges: NDArray[np.float64]

    @property
    def kind(self) -> str:
        """`mixture`."""
        return KIND

    def form(self, scaling: str = RAW) -> MixtureForm:
        """The family of questions with values scaled in this way."""
        return MixtureForm(self.spec, self.features, self.ranges, scaling)


def _form(problem: MixtureProblem, calibration: str) -> MixtureForm:
    if calibration != TIGHT:
        return MixtureForm(
            problem.spec.with_dynamics(PER_STEP), problem.features.dense(), problem.ranges, RAW, even=True
        )
    forms = [problem.form(scaling) for scaling in (UNIT, CENTRED)]
    # Centred values are spread twice as wide, so the same noise counts for a quarter.
    return min(forms, key=lambda form: form.price().l2 / (4 if form.scaling == CENTRED else 1))


def _needs_delta(promise: Guarantee) -> None:
    if promise.rho is None and promise.delta == 0:
        raise InvalidInput(
            "mixture-needs-delta",
            "Gram matrices are hidden by Gaussian noise, which needs delta above 0. Got delta 0. Give one such as 1e-6.",
        )


def design_local(request: Request) -> Design:
    """The design under local trust: Gaussian noise on every cell of a report."""
    validation.choice("mechanism", request.mechanism, (AUTO, "gaussian"))
    promise, ours = request.promise, request.calibration == TIGHT
    _needs_delta(promise)
    form = _form(request.question, request.calibration)
    grid = _grid(form, sigma_for(promise, form.price().l2, 0.0))
    if not ours:
        grid = min(grid, _grid(form, printed_sigma(form, promise)))
    size = form.price(grid)
    sigma = sigma_for(promise, size.l2, 0.0 if promise.rho is not None else grid)
    if not ours:
        stated = printed_sigma(form, promise)
        sigma = stated if request.calibration == PAPER else max(stated, sigma)
    return request.design(form, Act(Gaussian(sigma, grid), size), paper="" if ours else PAPER_NAME)


def printed_sigma(form: MixtureForm, promise: Guarantee) -> float:
    """4 H v^2 sqrt(2 log(2.5 H/delta))/epsilon, v = H times the largest reward: 4 H^3 ... for rewards up to 1."""
    if promise.epsilon is None:
        raise InvalidInput(
            "paper-needs-epsilon",
            "The paper's noise is stated in epsilon, not rho. Give epsilon and delta, or use tight.",
        )
    horizon = form.spec.horizon
    v = float(form.ranges[0]) * horizon / (horizon - 1)
    return 4 * horizon * v**2 * math.sqrt(2 * math.log(2.5 * horizon / promise.delta)) / promise.epsilon


def design_joint(request: Request) -> Design:
    """The design under joint trust: a continual counter over all cells, each person's cells rounded to its grid."""
    validation.choice("mechanism", request.mechanism, (AUTO, "buffered-toeplitz"))
    _needs_delta(request.promise)
    if request.calibration == PAPER:
        raise InvalidInput(
            "paper-without-joint",
            "The paper has no joint privacy, so there is nothing to reproduce. Use sound or tight.",
        )
    form, releases = _form(request.question, request.calibration), request.schedule.releases
    grid = 2.0 ** math.floor(math.log2(_grid(form, math.inf) / math.sqrt(releases)))
    size = form.price(grid)
    sigma = BufferedToeplitzCounter.sigma_for(request.promise.mu(), size, releases, grid)
    return request.design(form, Act(BufferedToeplitzCounter(releases, sigma, grid), size))


def design_open(request: Request) -> Design:
    """The design without privacy: exact sums."""
    form = request.question.form()
    counter = ExactCounter(request.schedule.releases, EXACT)
    return request.design(form, Act(counter, form.price(EXACT)), calibration="none")


def _grid(form: MixtureForm, sigma: float) -> float:
    """A power of two that is fine for sigma, and so fine that rounding costs at most a thousandth of sensitivity."""
    size = form.price()
    most = min(1.0, sigma / (4 * FINE), 1e-3 * size.l2 / math.sqrt(size.cells))
    return 2.0 ** math.floor(math.log2(most))


register_maker(KIND, LOCAL, design_local)
register_maker(KIND, JOINT, design_joint)
register_maker(KIND, NONE, design_open)
