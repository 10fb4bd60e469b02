"""The wall on a device: one person's episode in, one randomised report out. Trust: nobody but the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..mechanisms.counter import checked_failure
from ..mechanisms.noise import NoiseSource, SecureNoise, require_secure
from ..mechanisms.unary import SampledStep
from ..privacy import Act, Certificate, Guarantee, true_guarantee
from ..releases import CountQuestion, CountRelease, Radius, Report, ReportSum
from ..releases.papers import Radii
from ..releases.question import END
from ..releases.reading import LocalMechanism, radii, read, sum_shape, trials
from ..statistics import admit, count, round_rewards
from ..trajectories import Trajectory

ASSUMPTIONS = (
    "one episode a person, at most the horizon long",
    "rewards in [0, 1]",
    "every device draws its own noise and sends one report once",
)


@dataclass(frozen=True)
class LocalPrivatizer:
    """Answers one question about one person's episode.

    `act` fixes mechanism and sensitivity; `printed` are a paper's error radii where its bonus is to be reproduced.
    """

    question: CountQuestion
    act: Act
    asked: Guarantee
    calibration: str
    episodes: int
    printed: tuple[Radii, float] | None = None

    @property
    def mechanism(self) -> LocalMechanism:
        """How a report is randomised."""
        mechanism: LocalMechanism = self.act.mechanism  # type: ignore[assignment]
        return mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What is truly promised."""
        return true_guarantee(self.act.loss, self.asked)

    def report(self, trajectory: Trajectory, noise: NoiseSource | None = None, *, simulated: bool = False) -> Report:
        """One person's report. Noise that can be replayed is refused unless the person is simulated."""
        noise = noise or SecureNoise()
        if not simulated:
            require_secure(noise, "a person's report")
        return randomized(self.question, self.mechanism, trajectory, noise)

    def empty_sum(self) -> ReportSum:
        """A sum that will take reports of this kind."""
        mechanism = self.mechanism
        grid = 1.0 if isinstance(mechanism, SampledStep) else mechanism.grid
        return ReportSum(self.question, mechanism.describe(), sum_shape(self.question, mechanism), grid)

    def radii(self, users: ArrayLike, failure: float) -> NDArray[np.float64]:
        """(..., 5) error radii after `users` reports: ours, or the paper's."""
        checked_failure(failure)
        if self.printed is None:
            return radii(self.question, self.mechanism, users, failure)
        formula, noise = self.printed
        return formula(self.question.spec, noise, np.asarray(users, dtype=np.float64), self.episodes, failure)

    def release(self, summed: ReportSum, failure: float) -> CountRelease:
        """What a learner may see of the reports so far."""
        radius = Radius(*self.radii(int(summed.users.sum()), failure).tolist())
        return read(summed, self.mechanism, self.guarantee, failure, radius)

    def certificate(self, noise: str) -> Certificate:
        """What is promised to every person; `noise` says who drew."""
        return Certificate.of([self.act], self.asked, self.calibration, noise, ASSUMPTIONS)


def randomized(
    question: CountQuestion,
    mechanism: LocalMechanism,
    trajectory: Trajectory,
    noise: NoiseSource,
    told: NDArray[np.int64] | int = 1,
) -> Report:
    """A report about one episode; `told` is by how many bits each count is told, where bits are what is randomised."""
    admit(question, trajectory)
    uniforms = noise.integers(1 << 53, trajectory.steps) / float(1 << 53)
    levels = round_rewards(trajectory.rewards, question.levels, uniforms)
    if isinstance(mechanism, SampledStep):
        step = int(noise.integers(question.spec.horizon, 1)[0])
        message = mechanism.randomize(category(question, trajectory, levels, step), noise)
        row = step if question.spec.layers > 1 else 0
        return Report(question.digest, mechanism.describe(), 1.0, message, row)
    cells = count(question, trajectory, levels) * told / question.resolution
    noisy = mechanism.randomize(cells, trials(question) * told, noise)
    whole = np.rint(noisy / mechanism.grid).astype(np.int64)
    return Report(question.digest, mechanism.describe(), mechanism.grid, whole)


def category(question: CountQuestion, trajectory: Trajectory, levels: NDArray[np.int64], step: int) -> int:
    """The category of one step: (s, a, s', reward bit), or the last category if the step was not taken."""
    spec = question.spec
    shape = (spec.states, spec.actions, question.next_states, 2)
    if step >= trajectory.steps:
        return int(np.prod(shape))
    last = step + 1 == trajectory.steps
    following = spec.states if last and question.last == END else trajectory.states[step + 1]
    bit = int(levels[step]) if question.objective == "reward" else 1 - int(levels[step])
    return int(np.ravel_multi_index((trajectory.states[step], trajectory.actions[step], following, bit), shape))
