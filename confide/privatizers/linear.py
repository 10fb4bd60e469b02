"""The wall around linear mixtures: episodes and a question in, a report (on a device) or a release (at a curator) out.

Which noise a promise needs is a matter of `linear_design`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import InvalidInput
from ..mechanisms.buffered import BufferedToeplitzCounter
from ..mechanisms.counter import State
from ..mechanisms.gaussian import Gaussian
from ..mechanisms.noise import NoiseSource, SecureNoise, require_secure
from ..mechanisms.symmetric import SymmetricGaussian
from ..privacy import Act, Certificate, Guarantee, Schedule, true_guarantee
from ..releases import Report
from ..releases.linear import (
    MixtureForm,
    MixtureQuestion,
    MixtureRadius,
    MixtureRelease,
    MixtureSum,
)
from ..statistics.linear import gram_cells
from ..trajectories import Trajectory
from .design import TIGHT

Array: TypeAlias = NDArray[np.float64]

COMMON = (
    "one episode a person, at most the horizon long",
    "features, rewards and the range of the value function are public; a device refuses values outside their range",
)
LOCAL_ASSUMPTIONS = (*COMMON, "every device draws its own noise and sends one report once")
JOINT_ASSUMPTIONS = (
    *COMMON,
    "batch boundaries are public and fixed beforehand; the policy is constant inside a batch",
    "the curator keeps the episodes to itself",
)


@dataclass(frozen=True)
class MixtureDevice:
    """Answers the questions of one form about one person's episode. `act` fixes noise and sensitivity."""

    form: MixtureForm
    act: Act
    asked: Guarantee
    calibration: str

    @property
    def mechanism(self) -> Gaussian:
        """Noise of one sigma in every cell."""
        mechanism: Gaussian = self.act.mechanism  # type: ignore[assignment]
        return mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What is truly promised."""
        return true_guarantee(self.act.loss, self.asked)

    def report(
        self,
        question: MixtureQuestion,
        trajectory: Trajectory,
        noise: NoiseSource | None = None,
        *,
        simulated: bool = False,
    ) -> Report:
        """One person's report. Questions of another form are refused, and replayable noise unless she is simulated."""
        noise = _safe(noise, simulated)
        _same_form(question, self.form)
        grid = self.mechanism.grid
        cells = gram_cells(question, trajectory, grid)
        cells += noise.discrete_gaussian(self.mechanism.sigma / grid, cells.shape)
        return Report(question.digest, self.mechanism.describe(), grid, cells)

    def empty_sum(self) -> MixtureSum:
        """A sum that will take reports of this kind."""
        return MixtureSum(self.form, self.mechanism.describe(), self.mechanism.grid)

    def std(self, users: int) -> float:
        """Standard deviation of the noise in a cell after `users` reports."""
        return self.mechanism.sigma * math.sqrt(users)

    def radius(self, users: int, failure: float) -> MixtureRadius:
        """Error radii after `users` reports: ours, or the paper's shift Gamma for its own noise."""
        if users == 0:
            return MixtureRadius(0.0, 0.0)
        found = noise_radius(self.form, self.std(users), self.mechanism.grid, failure)
        if self.calibration == TIGHT:
            return found
        tail = math.sqrt(4 * self.form.features.dimension) + 2 * math.log(6 * self.form.spec.horizon / failure)
        return MixtureRadius(self.std(users) * tail, found.vector)

    def release(self, summed: MixtureSum, failure: float) -> MixtureRelease:
        """What a learner may see of the reports so far."""
        return summed.release(self.radius(summed.users, failure), failure, self.guarantee)

    def certificate(self, noise: str) -> Certificate:
        """What is promised to every person; `noise` says who drew."""
        return Certificate.of([self.act], self.asked, self.calibration, noise, LOCAL_ASSUMPTIONS)


@dataclass(frozen=True)
class MixtureProgress:
    """Where a curator stands. Sensitive; shows nothing of itself."""

    state: State = field(repr=False)
    users: int = 0
    release: int = 0


@dataclass(frozen=True)
class MixtureCurator:
    """Answers questions of one form about everybody so far, once a batch, under one guarantee for all releases."""

    form: MixtureForm
    act: Act
    asked: Guarantee
    calibration: str
    schedule: Schedule

    @property
    def counter(self) -> BufferedToeplitzCounter:
        """The continual counter over all cells."""
        counter: BufferedToeplitzCounter = self.act.mechanism  # type: ignore[assignment]
        return counter

    @property
    def guarantee(self) -> Guarantee:
        """What is truly promised."""
        return true_guarantee(self.act.loss, self.asked)

    def begin(self) -> MixtureProgress:
        """Before the first batch."""
        return MixtureProgress(self.counter.init(self.form.cells))

    def answer(
        self,
        progress: MixtureProgress,
        question: MixtureQuestion,
        batch: Iterable[Trajectory],
        failure: float,
        noise: NoiseSource | None = None,
        *,
        simulated: bool = False,
    ) -> tuple[MixtureProgress, MixtureRelease]:
        """Add one batch, whose people all followed the question's policy, and release the running sums."""
        noise = _safe(noise, simulated)
        _same_form(question, self.form)
        total, users, release = np.zeros(self.form.cells, dtype=np.int64), progress.users, progress.release + 1
        for trajectory in batch:
            total += gram_cells(question, trajectory, self.counter.grid)
            users += 1
        due = int(self.schedule.ends[progress.release]) if release <= self.schedule.releases else users
        if users != due:
            # Its size might tell of who is in it.
            raise validation.refusal(
                "batch", f"such that {due} people are counted after it", users, "Keep the schedule."
            )
        state, cells = self.counter.next(progress.state, total, noise)
        gram, vector = self.form.unpack(cells)
        radius = self.radius(release, failure)
        released = MixtureRelease(self.form, users, gram, vector, radius, failure, self.guarantee)
        return MixtureProgress(state, users, release), released

    def std(self, release: int) -> float:
        """Standard deviation of the noise in a cell of a release."""
        return self.counter.std(release)

    def radius(self, release: int, failure: float) -> MixtureRadius:
        """Error radii of one release."""
        if release == 0:
            return MixtureRadius(0.0, 0.0)
        rounding = self.counter.rounding(release)
        return noise_radius(self.form, self.std(release), self.counter.grid, failure, rounding)

    def certificate(self, noise: str) -> Certificate:
        """What is promised to every person; `noise` says who drew."""
        return Certificate.of(
            [self.act], self.asked, self.calibration, noise, JOINT_ASSUMPTIONS, self.schedule.describe()
        )


MixtureWall: TypeAlias = MixtureDevice | MixtureCurator


def noise_radius(form: MixtureForm, std: float, grid: float, failure: float, rounding: float = 0.0) -> MixtureRadius:
    """What noise of standard deviation `std` in every cell does at most; matrices and vectors share the failure.

    The spectral radius is that of noise with twice the variance on the diagonal. With one variance everywhere it is
    smaller: what is missing has mean zero, and the largest eigenvalue is convex.
    """
    from scipy.special import chdtri

    features = form.features
    share = failure / (2 * form.layers * features.blocks)
    matrix = SymmetricGaussian(std, grid).spectral_radius(features.size, share)
    vector = std * math.sqrt(float(chdtri(features.dimension, failure / (2 * form.layers))))
    return MixtureRadius(matrix + 2 * rounding * features.size, vector + rounding * math.sqrt(features.dimension))


def _safe(noise: NoiseSource | None, simulated: bool) -> NoiseSource:
    noise = noise or SecureNoise()
    return noise if simulated else require_secure(noise, "an answer about real people")


def _same_form(question: MixtureQuestion, form: MixtureForm) -> None:
    if question.form.digest != form.digest:
        raise InvalidInput("This question is of another form than its noise was made for. Ask a question of that form.")
