"""A mechanism of your own, in forty lines, and everything that is asked of it, inherited.

Run `pytest examples/own_mechanism.py` to test it, or this file to see one person's report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.lab.testing import MechanismConformance
from confide.mdp import Spec
from confide.mechanisms.randomizer import Randomizer, on_grid
from confide.mechanisms.registry import register
from confide.privacy import Guarantee, Pure, Schedule, Sensitivity, settled
from confide.protocol.accepted import accept
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion


@dataclass(frozen=True)
class Staircase(Randomizer):
    """Staircase noise (Geng, Kairouz, Oh and Viswanath 2015): P(x) ~ exp(-step |round(x / width)|), width odd.

    x counts multiples of the grid. Moving one cell by d of them climbs at most ceil(d / width) steps, which is at most d,
    and at most (d + width - 1) / width.
    """

    step: float
    width: int = 3
    name: str = "staircase"
    grid: float = 1.0

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """Pure epsilon: a step for every climb."""
        moved = sensitivity.l1 / self.grid
        climbs = (moved + (self.width - 1) * sensitivity.cells) / self.width
        return Pure(self.step * min(moved, climbs))

    def describe(self) -> dict[str, Any]:
        """For certificates and reports."""
        return {"name": self.name, "step": self.step, "width": self.width, "grid": self.grid}

    def randomize(self, cells: Any, trials: Any, noise: Any) -> Any:
        """One person's counts with noise; it only ever draws from `noise`."""
        inside = noise.integers(self.width, cells.shape) - self.width // 2
        drawn = self.width * noise.discrete_laplace(1 / self.step, cells.shape) + inside
        return self.grid * (on_grid(cells, self.grid) + drawn)

    def estimate(self, summed: Any, users: int, trials: Any) -> Any:
        """The noise has mean zero."""
        return summed

    def sum_of(self, totals: Any, users: int, trials: Any, rng: np.random.Generator) -> Any:
        """The noise of many people at once, for simulation."""
        up, down = (rng.negative_binomial(users, -math.expm1(-self.step), totals.shape) for _ in range(2))
        inside = rng.multinomial(users, np.full(self.width, 1 / self.width), totals.shape)
        return totals + self.grid * (self.width * (up - down) + inside @ (np.arange(self.width) - self.width // 2))

    def variance(self, trials: float = 1.0) -> float:
        """Of the steps, and of the place on one."""
        return self.grid**2 * ((self.width / math.sinh(self.step / 2)) ** 2 / 2 + (self.width**2 - 1) / 12)

    def radius(self, users: Any, failure: float, trials: float = 1.0, cells: float = 1.0) -> Any:
        """By Chebyshev's inequality; a sharper bound would make a learner less cautious."""
        return np.sqrt(np.asarray(users, dtype=float) * cells * self.variance() / failure)


class TestStaircase(MechanismConformance):
    """Everything a mechanism must keep, an audit included."""

    def make(self) -> Staircase:
        """What all tests are run on."""
        return Staircase(step=0.5)


@register("staircase")
def staircase(sensitivity: Sensitivity, promise: Guarantee, unit: float) -> Staircase:
    """The steepest stairs that keep a guarantee; the counts are multiples of the unit."""
    most = promise.pure_epsilon()
    steepest = most / Staircase(1.0, grid=unit).loss(sensitivity).value
    kept = settled(steepest, lambda step: Staircase(step, grid=unit).loss(sensitivity).value <= most, 0.0)
    return Staircase(kept, grid=unit)


def case(promise: Guarantee) -> Design:
    """Where counts with it are attacked, and all people compared: three steps and four pairs at the least."""
    return make(Request(CountQuestion(Spec(2, 2, 3)), promise, Schedule.every(1), mechanism="staircase"))


accept("counts", "staircase", "local", case)  # from now on devices that run this file accept contracts with it


def main() -> None:
    """From now on its name works wherever a local mechanism is named. One person's report, with secure noise."""
    from confide.data.privatizers import respond
    from confide.data.trajectories import Trajectory
    from confide.mechanisms.noise import SecureNoise
    from confide.privacy import Local

    spec = Spec(states=2, actions=2, horizon=4)
    design = make(Request(CountQuestion(spec), Local(epsilon=6), Schedule.every(1), mechanism="staircase"))
    person = Trajectory.checked(spec, states=[0, 1, 1, 0, 0], actions=[0, 1, 0, 1], rewards=[0, 1, 1, 0])
    noise = SecureNoise()
    print(f"a report of {len(respond(design, None, person, noise).to_bytes(design))} bytes")
    print(design.certificate(noise.drawn_by))


if __name__ == "__main__":
    main()
