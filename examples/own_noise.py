"""Approximate-DP noise of your own, by its table of probabilities: loss, error radius and the law of sums follow.

Run `pytest examples/own_noise.py` to test it, or this file to see what it costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidInput
from confide.lab.testing import MechanismConformance
from confide.mdp import Spec
from confide.mechanisms.randomizer import Tabled
from confide.mechanisms.registry import register
from confide.privacy import Guarantee, Schedule, Sensitivity, least_noise
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion

WIDTHS = 14
"""Noise ends after this many scales, where e^-14, about 1e-6, of it is left."""


@dataclass(frozen=True)
class TruncatedLaplace(Tabled):
    """Discrete Laplace noise that is drawn again until it is at most `bound` grids: P(x) ~ exp(-|x| grid / scale), |x| <= bound.

    Log-concave and bounded. A shift shows where one law ends and the other does not, with a probability that delta pays for:
    (epsilon, delta)-DP, and for no epsilon pure. `Tabled` has the loss from the table, by composed privacy-loss distributions.
    """

    scale: float
    bound: int
    grid: float = 1.0
    name: str = "truncated-laplace"

    def table(self) -> Any:
        """(2 bound + 1,) probabilities."""
        weights = np.exp(-np.abs(np.arange(-self.bound, self.bound + 1)) * self.grid / self.scale)
        return weights / weights.sum()

    def steps(self, noise: Any, shape: Any) -> Any:
        """Drawn again where it is too large. How often says nothing of the data: noise is drawn without them."""
        drawn = noise.discrete_laplace(self.scale / self.grid, shape)
        while (beyond := np.abs(drawn) > self.bound).any():
            drawn = np.where(beyond, noise.discrete_laplace(self.scale / self.grid, shape), drawn)
        return drawn

    def describe(self) -> dict[str, Any]:
        """For certificates and reports."""
        return {"name": self.name, "scale": self.scale, "bound": self.bound, "grid": self.grid}


def of_scale(scale: float, grid: float = 1.0) -> TruncatedLaplace:
    """With its end after `WIDTHS` scales."""
    return TruncatedLaplace(scale, math.ceil(WIDTHS * scale / grid), grid)


class TestTruncatedLaplace(MechanismConformance):
    """Everything a mechanism must keep, an audit included."""

    def make(self) -> TruncatedLaplace:
        """What all tests are run on."""
        return of_scale(3.0)


def case(guarantee: Guarantee) -> Design:
    """Where counts with it are attacked: three steps and four pairs at the least."""
    return make(Request(CountQuestion(Spec(2, 2, 3)), guarantee, Schedule.every(1), mechanism="truncated-laplace"))


@register("truncated-laplace", [("counts", "local")], case)
def truncated_laplace(sensitivity: Sensitivity, guarantee: Guarantee, unit: float) -> TruncatedLaplace:
    """The least scale that keeps a guarantee with a delta above 0, to 1 %: no scale keeps one without."""
    if guarantee.delta <= 0:
        raise InvalidInput("delta-missing", "Truncated noise keeps no guarantee without a delta. Give one, say 1e-6.")
    start = sensitivity.l1 / (guarantee.epsilon or 1.0)
    return least_noise(lambda scale: of_scale(scale, unit), sensitivity, guarantee, start, tolerance=1e-2)


def main() -> None:
    """What a guarantee costs with it, and a million users' noise drawn at once from tables."""
    import confide as cf

    spec = Spec(states=2, actions=2, horizon=4)
    design = make(
        Request(CountQuestion(spec), cf.Local(epsilon=6, delta=1e-4), Schedule.every(1), mechanism="truncated-laplace")
    )
    mechanism = design.randomizer
    drawn = mechanism.sum_of(np.zeros(2_000), 1_000_000, np.ones(2_000), np.random.default_rng(0))
    print(f"scale {mechanism.describe()['scale']:.3g}; keeps {design.guarantee}")
    print(f"sums of 1,000,000: deviation {drawn.std():.0f}, by the table {math.sqrt(1e6 * mechanism.variance()):.0f}")


if __name__ == "__main__":
    main()
