"""A mechanism of your own, in forty lines, and everything that is asked of it, inherited.

Run `pytest examples/own_mechanism.py` to test it, or this file to see one person's report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.mechanisms.randomizer import on_grid
from confide.privacy import Pure, Sensitivity
from confide.testing import MechanismConformance


@dataclass(frozen=True)
class Staircase:
    """Staircase noise (Geng, Kairouz, Oh and Viswanath 2015): P(x) ~ exp(-step |round(x / width)|), width odd.

    Moving one cell by d climbs at most ceil(d / width) steps, which is at most d, and at most (d + width - 1) / width.
    """

    step: float
    width: int = 3
    name: str = "staircase"
    grid: float = 1.0

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """Pure epsilon: a step for every climb."""
        climbs = (sensitivity.l1 + (self.width - 1) * sensitivity.cells) / self.width
        return Pure(self.step * min(sensitivity.l1, climbs))

    def describe(self) -> dict[str, Any]:
        """For certificates and reports."""
        return {"name": self.name, "step": self.step, "width": self.width}

    def randomize(self, cells: Any, trials: Any, noise: Any) -> Any:
        """One person's counts with noise; it only ever draws from `noise`."""
        inside = noise.integers(self.width, cells.shape) - self.width // 2
        return on_grid(cells, self.grid) + self.width * noise.discrete_laplace(1 / self.step, cells.shape) + inside

    def estimate(self, summed: Any, users: int, trials: Any) -> Any:
        """The noise has mean zero."""
        return summed

    def sum_of(self, totals: Any, users: int, trials: Any, rng: np.random.Generator) -> Any:
        """The noise of many people at once, for simulation."""
        up, down = (rng.negative_binomial(users, -math.expm1(-self.step), totals.shape) for _ in range(2))
        inside = rng.multinomial(users, np.full(self.width, 1 / self.width), totals.shape)
        return totals + self.width * (up - down) + inside @ (np.arange(self.width) - self.width // 2)

    def variance(self, trials: float = 1.0) -> float:
        """Of the steps, and of the place on one."""
        return (self.width / math.sinh(self.step / 2)) ** 2 / 2 + (self.width**2 - 1) / 12

    def radius(self, users: Any, failure: float, trials: float = 1.0, cells: float = 1.0) -> Any:
        """By Chebyshev's inequality; a sharper bound would make a learner less cautious."""
        return np.sqrt(np.asarray(users, dtype=float) * cells * self.variance() / failure)


class TestStaircase(MechanismConformance):
    """Everything a mechanism must keep, an audit included."""

    def make(self) -> Staircase:
        """What all tests are run on."""
        return Staircase(step=0.5)


def main() -> None:
    """One person's report under the mechanism, with secure noise."""
    from confide.mdp import Spec
    from confide.mechanisms.noise import SecureNoise
    from confide.privacy import Act, Local
    from confide.privatizers import LocalPrivatizer
    from confide.questions import CountQuestion
    from confide.questions.sensitivity import sensitivity
    from confide.trajectories import Trajectory

    spec = Spec(states=2, actions=2, horizon=4)
    question = CountQuestion(spec)
    act = Act(Staircase(step=0.25), sensitivity(question))
    device = LocalPrivatizer(question, act, Local(epsilon=6), calibration="tight", episodes=1)
    person = Trajectory.checked(spec, states=[0, 1, 1, 0, 0], actions=[0, 1, 0, 1], rewards=[0, 1, 1, 0])
    noise = SecureNoise()
    print(f"a report of {len(device.report(person, noise).to_bytes())} bytes")
    print(device.certificate(noise.drawn_by))


if __name__ == "__main__":
    main()
