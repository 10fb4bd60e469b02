"""A mechanism of one's own: discrete Laplace noise, and besides one unit up, down or none, which takes nothing away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.mdp import Spec
from confide.mechanisms.randomizer import Randomizer, on_grid
from confide.mechanisms.registry import register
from confide.privacy import Guarantee, Pure, Schedule, Sensitivity, settled
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion


@dataclass(frozen=True)
class Blurred(Randomizer):
    """Adding what does not depend on the data is post-processing: the loss is that of the Laplace noise, l1/scale."""

    scale: float
    grid: float
    name: str = "blurred"

    def loss(self, sensitivity: Sensitivity) -> Pure:
        return Pure(sensitivity.l1 / self.scale)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "scale": self.scale, "grid": self.grid}

    def randomize(self, cells: Any, trials: Any, noise: Any) -> Any:
        blur = noise.integers(3, cells.size).reshape(cells.shape) - 1
        drawn = noise.discrete_laplace(self.scale / self.grid, cells.shape)
        return self.grid * (on_grid(cells, self.grid) + drawn + blur)

    def estimate(self, summed: Any, users: int, trials: Any) -> Any:
        return summed

    def sum_of(self, totals: Any, users: int, trials: Any, rng: np.random.Generator) -> Any:
        chance = -math.expm1(-self.grid / self.scale)
        up, down = (rng.negative_binomial(users, chance, totals.shape) for _ in range(2))
        blur = rng.multinomial(users, np.full(3, 1 / 3), totals.shape) @ np.array([-1, 0, 1])
        return totals + self.grid * (up - down + blur)

    def variance(self, trials: float = 1.0) -> float:
        return self.grid**2 * (0.5 / math.sinh(self.grid / (2 * self.scale)) ** 2 + 2 / 3)

    def radius(self, users: Any, failure: float, trials: float = 1.0, cells: float = 1.0) -> Any:
        return np.sqrt(np.asarray(users, dtype=float) * cells * self.variance() / failure)


def case(promise: Guarantee) -> Design:
    """Where it is audited and swept, under a trust model whose devices randomise."""
    return make(Request(CountQuestion(Spec(2, 2, 3)), promise, Schedule.every(1), mechanism="blurred"))


@register("blurred", [("counts", "local")], case)
def blurred(sensitivity: Sensitivity, promise: Guarantee, unit: float) -> Blurred:
    most = promise.pure_epsilon()
    return Blurred(settled(sensitivity.l1 / most, lambda scale: sensitivity.l1 / scale <= most, math.inf), unit)
