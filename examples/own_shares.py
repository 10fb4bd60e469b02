"""Integer noise of your own under shuffling: every device adds a share, and only sums of a batch hide a user.

Run `pytest examples/own_shares.py` to test it, or this file to simulate with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.lab.testing import SharesConformance
from confide.mdp import Spec
from confide.mechanisms.randomizer import Tabled
from confide.mechanisms.registry import register_shares
from confide.mechanisms.shares import TabledShares
from confide.privacy import Guarantee, Sensitivity, least_noise
from confide.protocol.defaults import request_for
from confide.protocol.design import Design, make
from confide.protocol.kinds import CountQuestion


@dataclass(frozen=True)
class CoinShare(Tabled):
    """`coins` coins a cell, each of which is +1 or -1 with probability rate/(2 people coins) either, and 0 otherwise.

    Log-concave: a coin is, as its 0 has a probability of at least a half, and sums of such coins are. Drawn exactly, in whole
    numbers: rate, people and coins are."""

    rate: int
    people: int
    coins: int
    grid: float = 1.0
    name: str = "coin-share"

    def table(self) -> Any:
        """(2 coins + 1,) probabilities."""
        moved = self.rate / (self.people * self.coins)
        coin, table = np.array([moved / 2, 1 - moved, moved / 2]), np.ones(1)
        for _ in range(self.coins):
            table = np.convolve(table, coin)
        return (table + table[::-1]) / 2  # floats add up in another order from the other side

    def steps(self, noise: Any, shape: Any) -> Any:
        """A coin moves if a number below people x coins is below the rate, and then up or down."""
        drawn = np.zeros(shape, dtype=np.int64)
        for _ in range(self.coins):
            moves = noise.integers(self.people * self.coins, shape) < self.rate
            drawn += np.where(moves, 2 * noise.integers(2, shape) - 1, 0)
        return drawn

    def describe(self) -> dict[str, Any]:
        """For certificates and reports."""
        return {
            "name": self.name,
            "rate": self.rate,
            "people": self.people,
            "coins": self.coins,
            "grid": self.grid,
        }


@dataclass(frozen=True)
class CoinShares(TabledShares):
    """Coins of all honest people of a batch, which add up to a variance of `rate` squared grids, whatever its size."""

    rate: int
    honest: tuple[int, ...]
    width: int
    grid: float = 1.0
    name: str = "coins"

    def share(self, people: int) -> CoinShare:
        """As few coins as will do: each moves with probability a half at most."""
        return CoinShare(self.rate, people, max(1, math.ceil(2 * self.rate / people)), self.grid)


class TestCoinShares(SharesConformance):
    """Everything shares must keep, an audit of their sums included."""

    def make(self) -> CoinShares:
        """What all tests are run on."""
        return CoinShares(rate=30, honest=(50, 100), width=6)


def case(guarantee: Guarantee) -> Design:
    """Where budgeted counts with it are attacked, and all users compared: three steps and four pairs at the least."""
    request = request_for(
        CountQuestion(Spec(2, 2, 3)), guarantee, 60, mechanism="coins", shuffling={"batch": 60, "honest": 60}, budget=3
    )
    return make(request)


@register_shares("coins", case)
def coins(
    sensitivity: Sensitivity, guarantee: Guarantee, honest: tuple[int, ...], width: int, unit: float
) -> CoinShares:
    """The least variance that keeps a guarantee, to half a percent."""
    start = (sensitivity.l2 / unit / (guarantee.epsilon or 1.0)) ** 2
    return least_noise(
        lambda rate: CoinShares(max(1, math.ceil(rate)), honest, width, unit),
        sensitivity,
        guarantee,
        start,
        tolerance=5e-3,
    )


def main() -> None:
    """From now on its name works wherever a mechanism of shufflers is named."""
    import confide as cf

    for mechanism in ("shuffled-bits", "skellam", "coins"):
        run = cf.simulate(
            "ucbvi", "riverswim/3", cf.Shuffle(epsilon=1, delta=1e-6), 20_000, 3, horizon=6, mechanism=mechanism
        )
        print(f"{mechanism:>13}: final regret {run.final_interval.text()}, {run.certificate.guarantee}")


if __name__ == "__main__":
    main()
