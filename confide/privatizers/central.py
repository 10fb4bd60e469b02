"""The wall at a curator: batches of episodes in, private running counts out. Trust: the curator (joint or central)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..mechanisms.counter import Counter, State, checked_failure
from ..mechanisms.noise import NoiseSource, SecureNoise, require_secure
from ..privacy import Act, Certificate, Guarantee, Schedule, true_guarantee
from ..releases import CountQuestion, CountRelease, Radius, unpack
from ..releases.papers import Radii
from ..releases.reading import derived_radii, statements
from ..statistics import count, round_rewards
from ..trajectories import Trajectory

ASSUMPTIONS = (
    "one episode a person, at most the horizon long, in one batch",
    "rewards in [0, 1]",
    "batch boundaries are public and fixed beforehand; the policy is constant inside a batch",
    "the curator keeps the episodes to itself",
)


@dataclass(frozen=True)
class Progress:
    """Where a curator stands: the counter's state, how many people were counted. Sensitive; shows nothing of itself."""

    state: State = field(repr=False)
    users: int = 0
    release: int = 0


@dataclass(frozen=True)
class CentralPrivatizer:
    """Answers one question about everybody so far, once a batch, under one guarantee for all releases together."""

    question: CountQuestion
    act: Act
    asked: Guarantee
    calibration: str
    schedule: Schedule
    printed: tuple[Radii, float] | None = None

    @property
    def counter(self) -> Counter:
        """The continual counter."""
        counter: Counter = self.act.mechanism  # type: ignore[assignment]
        return counter

    @property
    def guarantee(self) -> Guarantee:
        """What is truly promised."""
        return true_guarantee(self.act.loss, self.asked)

    def begin(self) -> Progress:
        """Before the first batch."""
        return Progress(self.counter.init(self.question.cells))

    def answer(
        self,
        progress: Progress,
        batch: Iterable[Trajectory],
        failure: float,
        noise: NoiseSource | None = None,
        *,
        simulated: bool = False,
    ) -> tuple[Progress, CountRelease]:
        """Count a batch and release the running counts. Replayable noise is refused unless the people are simulated."""
        noise = noise or SecureNoise()
        if not simulated:
            require_secure(noise, "a release about real people")
        total, users = np.zeros(self.question.cells, dtype=np.int64), progress.users
        for trajectory in batch:
            uniforms = noise.integers(1 << 53, trajectory.steps) / float(1 << 53)
            total += count(self.question, trajectory, round_rewards(trajectory.rewards, self.question.levels, uniforms))
            users += 1
        self._on_schedule(progress.release, users)
        steps = round(1 / (self.question.resolution * self.counter.grid))
        state, cells = self.counter.next(progress.state, total * steps, noise)
        release = progress.release + 1
        radius = Radius(*self.radii(release, failure).tolist())
        released = CountRelease(self.question, users, unpack(self.question, cells), radius, failure, self.guarantee)
        return Progress(state, users, release), released

    def _on_schedule(self, release: int, users: int) -> None:
        """Refuse a batch that does not end where the public schedule says: its size might tell of who is in it."""
        due = int(self.schedule.ends[release]) if release < self.schedule.releases else None
        if due is not None and users != due:
            raise validation.refusal(
                "batch", f"such that {due} people are counted after it", users, "Keep the schedule."
            )

    def radii(self, release: int, failure: float) -> NDArray[np.float64]:
        """(5,) error radii of one release: the counter's own, or the paper's."""
        checked_failure(failure)
        if self.printed is not None:
            formula, noise = self.printed
            users = np.asarray(float(self.schedule.ends[release - 1]))
            return formula(self.question.spec, noise, users, self.schedule.users, failure)
        share = failure / statements(self.question)
        one = self.counter.radius(release, share)

        def of(_: float, cells: float) -> NDArray[np.float64]:
            if cells in (0.0, 1.0):
                return np.asarray(one * cells)
            return np.asarray(self.counter.radius(release, share, int(np.ceil(cells))))

        return derived_radii(self.question, of)

    def certificate(self, noise: str) -> Certificate:
        """What is promised to every person; `noise` says who drew."""
        return Certificate.of([self.act], self.asked, self.calibration, noise, ASSUMPTIONS, self.schedule.describe())
