"""From a promise to the wall around linear mixtures: which form of question, how much noise, in three calibrations.

`paper`: noise of sigma = 4 H v^2 sqrt(2 log(2.5 H/delta))/epsilon in the whole upper triangle of every d x d matrix and
in every vector, v = H for rewards in [0, 1] and 1 for rewards over H (Liao, He and Gu, 2021). `sound`: the same, raised
if need be until the claim is true. `tight`: one joint Gaussian over everything a report contains, on blocks where the
features have them, on value functions scaled to their public range, with twice the variance on the diagonal, pooled
over steps where the model is stationary.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import InvalidInput
from ..mdp import PER_STEP, MixtureFeatures, Spec
from ..mechanisms.buffered import BufferedToeplitzCounter
from ..mechanisms.gaussian import FINE, Gaussian, sigma_for
from ..privacy import Act, Guarantee, Schedule
from ..privacy.conversion import gaussian_mu
from ..privacy.guarantee import JOINT, LOCAL
from ..releases.linear import CENTRED, RAW, UNIT, MixtureForm
from ..statistics.linear import mixture_sensitivity
from .design import AUTO, PAPER, SOUND, TIGHT
from .linear import MixtureCurator, MixtureDevice, MixtureWall

Array = NDArray[np.float64]


def design_mixture(
    spec: Spec,
    features: MixtureFeatures,
    ranges: Array,
    guarantee: Guarantee,
    schedule: Schedule,
    calibration: str = TIGHT,
    mechanism: str = AUTO,
) -> MixtureWall:
    """The wall for a promise. ranges: (H,), the largest value after each step."""
    validation.choice("calibration", calibration, (PAPER, SOUND, TIGHT))
    if guarantee.trust not in (LOCAL, JOINT):
        raise InvalidInput(f"Linear mixtures have no privatizer for trust {guarantee.trust!r}. Choose local or joint.")
    validation.choice("mechanism", mechanism, (AUTO, "gaussian" if guarantee.trust == LOCAL else "buffered-toeplitz"))
    if guarantee.rho is None and guarantee.delta == 0:
        raise InvalidInput(
            "Gram matrices are hidden by Gaussian noise, which needs delta above 0. Got delta 0. Give one such as 1e-6."
        )
    if calibration == TIGHT:
        forms = [MixtureForm(spec, features, ranges, scaling) for scaling in (UNIT, CENTRED)]
        # Centred values are spread twice as wide, so the same noise counts for a quarter.
        form = min(forms, key=lambda form: mixture_sensitivity(form).l2 / (4 if form.scaling == CENTRED else 1))
    else:
        form = MixtureForm(spec.with_model(PER_STEP), features.dense(), ranges, RAW, even=True)
    if guarantee.trust == JOINT:
        if calibration == PAPER:
            raise InvalidInput("The paper has no joint privacy, so there is nothing to reproduce. Use sound or tight.")
        return MixtureCurator(form, _counted(form, guarantee, schedule.releases), guarantee, calibration, schedule)
    return MixtureDevice(form, _reported(form, guarantee, calibration), guarantee, calibration)


def printed_sigma(form: MixtureForm, guarantee: Guarantee) -> float:
    """4 H v^2 sqrt(2 log(2.5 H/delta))/epsilon, v = H times the largest reward: 4 H^3 ... for rewards up to 1."""
    if guarantee.epsilon is None:
        raise InvalidInput("The paper's noise is stated in epsilon, not rho. Give epsilon and delta, or use tight.")
    horizon = form.spec.horizon
    v = float(form.ranges[0]) * horizon / (horizon - 1)
    return 4 * horizon * v**2 * math.sqrt(2 * math.log(2.5 * horizon / guarantee.delta)) / guarantee.epsilon


def _reported(form: MixtureForm, guarantee: Guarantee, calibration: str) -> Act:
    """Gaussian noise on every cell of a report."""
    grid = _grid(form, sigma_for(guarantee, mixture_sensitivity(form).l2, 0.0))
    if calibration != TIGHT:
        grid = min(grid, _grid(form, printed_sigma(form, guarantee)))
    size = mixture_sensitivity(form, grid)
    sigma = sigma_for(guarantee, size.l2, 0.0 if guarantee.rho is not None else grid)
    if calibration != TIGHT:
        stated = printed_sigma(form, guarantee)
        sigma = stated if calibration == PAPER else max(stated, sigma)
    return Act(Gaussian(sigma, grid), size)


def _counted(form: MixtureForm, guarantee: Guarantee, releases: int) -> Act:
    """A continual counter over all cells, each person's cells rounded to its grid."""
    grid = _grid(form, math.inf) / math.sqrt(releases)
    grid = 2.0 ** math.floor(math.log2(grid))
    size = mixture_sensitivity(form, grid)
    mu = math.sqrt(2 * (guarantee.rho or 0.0)) or gaussian_mu(guarantee.epsilon or 0.0, guarantee.delta)
    sigma = BufferedToeplitzCounter.sigma_for(mu, size, releases, grid)
    return Act(BufferedToeplitzCounter(releases, sigma, grid), size)


def _grid(form: MixtureForm, sigma: float) -> float:
    """A power of two that is fine for sigma, and so fine that rounding costs at most a thousandth of sensitivity."""
    size = mixture_sensitivity(form)
    most = min(1.0, sigma / (4 * FINE), 1e-3 * size.l2 / math.sqrt(size.cells))
    return 2.0 ** math.floor(math.log2(most))
