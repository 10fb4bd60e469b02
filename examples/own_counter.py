"""A continual counter of your own for joint privacy, registered once, and everything that is asked of it, inherited.

Run `pytest examples/own_counter.py` to test it, or this file to simulate with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide import validation
from confide.lab.audit.counters import NoiseModel, noise_model
from confide.lab.testing import CounterConformance
from confide.mdp import Spec
from confide.mechanisms.counter import Counter, CounterState, checked_release
from confide.mechanisms.registry import register_counter
from confide.privacy import Guarantee, Pure, Schedule, Sensitivity, settled
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion


@dataclass(frozen=True)
class BlockCounter(Counter):
    """Two levels: batches, and blocks of `block` batches, each sum with Laplace noise of scale `scale`.

    Release t adds up the t // block finished blocks and the t mod block batches since. A user's batch is in one block and at
    most once by itself, so that all noisy sums together move by at most 2 l1: the loss is 2 l1 / scale, pure. Each release
    draws one noise a cell. Later batches may depend on earlier releases: given these, they are the same function of them
    whether the user is there or not."""

    releases: int
    block: int
    scale: float
    grid: float
    name: str = "blocks"

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """2 l1 / scale."""
        return Pure(2 * sensitivity.l1 / self.scale)

    def describe(self) -> dict[str, Any]:
        """For certificates and reports; `releases` is what the guarantee covers."""
        return {
            "name": self.name,
            "releases": self.releases,
            "block": self.block,
            "scale": self.scale,
            "grid": self.grid,
        }

    def memory(self) -> int:
        """The running sum, the noise of finished blocks, and that of the batches since."""
        return 3

    def init(self, cells: int) -> CounterState:
        """Nothing is counted, no noise is drawn."""
        return CounterState(cells, tuple(np.zeros(cells, dtype=np.int64) for _ in range(3)))

    def next(self, state: CounterState, increment: Any, noise: Any) -> tuple[CounterState, Any]:
        """`admit` checks the increment and that the state was not used; noise is drawn before the state is spent."""
        increment = state.admit(increment, self.releases)
        total, blocks, batches = state.arrays
        drawn = noise.discrete_laplace(self.scale / self.grid, state.cells)
        state.spend(increment)
        total += increment
        if (state.release + 1) % self.block:
            batches += drawn
        else:
            blocks += drawn
            batches[:] = 0
        return state.following(total, blocks, batches), self.grid * (total + blocks + batches)

    def _noises(self, release: int) -> int:
        return sum(divmod(checked_release(release, self.releases), self.block))

    def rounding(self, release: int) -> float:
        """Nothing is rounded."""
        return 0.0

    def std(self, release: int) -> float:
        """Of a discrete Laplace law, grid / (sqrt(2) sinh(grid / (2 scale))), for each noise."""
        return self.grid * math.sqrt(self._noises(release) / 2) / math.sinh(self.grid / (2 * self.scale))

    def radius(self, release: int, failure: float, cells: int = 1) -> float:
        """By Chebyshev's inequality; a sharper bound would make a learner less cautious."""
        return self.std(release) * math.sqrt(cells / validation.failure(failure))


class TestBlockCounter(CounterConformance):
    """Everything a counter must keep."""

    def make(self) -> BlockCounter:
        """What all tests are run on."""
        return BlockCounter(releases=14, block=4, scale=6.0, grid=1.0)


@noise_model.register
def _(counter: BlockCounter) -> NoiseModel:
    """For exact attacks: which noises are in which release. Noise j is that of a block if it is the last of one."""
    release, drawn = np.arange(1, counter.releases + 1)[:, None], np.arange(1, counter.releases + 1)
    finished, current = drawn % counter.block == 0, (release - 1) // counter.block == (drawn - 1) // counter.block
    used = (drawn <= release) & (finished | (current & (release % counter.block != 0)))
    return NoiseModel(used.astype(np.float64), counter.scale, laplace=True)


def case(guarantee: Guarantee) -> Design:
    """Where it is audited, and all users compared: three steps and four pairs at the least."""
    return make(Request(CountQuestion(Spec(2, 2, 3)), guarantee, Schedule.every(5), mechanism="blocks"))


@register_counter("blocks", case)
def blocks(sensitivity: Sensitivity, guarantee: Guarantee, releases: int, unit: float) -> BlockCounter:
    """The least noise that keeps a guarantee, in blocks of about the root of all releases."""
    most, block = guarantee.pure_epsilon(), max(2, round(math.sqrt(releases)))
    scale = settled(2 * sensitivity.l1 / most, lambda scale: 2 * sensitivity.l1 / scale <= most, math.inf)
    return BlockCounter(releases, block, scale, unit)


def main() -> None:
    """From now on its name works wherever a counter is named: `confide --import examples/own_counter.py simulate --mechanism
    blocks`."""
    import confide as cf

    for mechanism in ("tree-laplace", "blocks"):
        run = cf.simulate(
            "ucbvi", "riverswim/3", cf.Joint(epsilon=2), 5_000, 5, mechanism=mechanism, schedule="batches:30"
        )
        print(f"{mechanism:>12}: final regret {run.final_interval.text()}, {run.certificate.guarantee}")


if __name__ == "__main__":
    main()
