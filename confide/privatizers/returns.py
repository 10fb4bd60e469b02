"""The wall at a curator, for what people earned: one small question beside the counts, for a share of the promise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..designs.central import shared_gaussian
from ..errors import InvalidInput
from ..mechanisms.gaussian import Gaussian
from ..mechanisms.laplace import Laplace
from ..mechanisms.noise import NoiseSource, require_secure
from ..privacy import Act, Guarantee
from ..questions.returns import ReturnsQuestion
from ..releases.returns import ReturnsRelease

MOST_UNITS = 1 << 62


@dataclass(frozen=True)
class ReturnsPrivatizer:
    """Answers, once, what people earned on average and how widely that spreads. most: how many episodes a person has."""

    question: ReturnsQuestion
    act: Act
    most: int

    @classmethod
    def of(
        cls, horizon: int, levels: int | None, promise: Guarantee, share: float, laplace: bool, most: int = 1
    ) -> ReturnsPrivatizer:
        """With noise for a share of the promise. levels: to which rewards are rounded, None if they are known."""
        question = ReturnsQuestion.of(horizon, levels, laplace)
        size = replace(question.sensitivity.scaled(float(most)), cells=3 * most)
        if not laplace:
            return cls(question, Act(shared_gaussian(size.l2, share, promise, question.grid), size), most)
        return cls(question, Act(Laplace(size.l1 / promise.pure_epsilon(share), question.grid), size), most)

    @property
    def mechanism(self) -> Gaussian | Laplace:
        """How the three sums are noised."""
        mechanism: Gaussian | Laplace = self.act.mechanism  # type: ignore[assignment]
        return mechanism

    def answer(
        self,
        sums: NDArray[np.int64],
        users: int,
        noise: NoiseSource,
        rounded: float = 0.0,
        *,
        simulated: bool = False,
    ) -> ReturnsRelease:
        """The release of sums of u, u^2 and 1 over episodes. Replayable noise is refused unless people are simulated."""
        if not simulated:
            require_secure(noise, "a release about real people")
        question, mechanism = self.question, self.mechanism
        units = question.units((int(sums[0]), int(sums[1]), int(sums[2])))
        fine = round(question.grid / mechanism.grid)  # the noise may be drawn on a finer grid
        if max(map(abs, units)) * fine >= MOST_UNITS:
            raise InvalidInput(f"Returns of {users:,} people over {question.horizon:,} steps are too many to add up.")
        drawn = mechanism.steps(noise, (3,))
        released = [float(int(unit * fine) + int(one)) * mechanism.grid for unit, one in zip(units, drawn, strict=True)]
        deviation, scales = math.sqrt(mechanism.variance()), (1.0, question.square_scale, question.count_scale)
        centred, squares, episodes = (one / scale for one, scale in zip(released, scales, strict=True))
        sizes = deviation / scales[0], deviation / scales[1], deviation / scales[2]
        return ReturnsRelease(users, self.most, question.horizon, centred, squares, episodes, sizes, rounded)
