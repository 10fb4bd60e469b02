"""Our own mechanisms and counters keep what we ask of other people's, and the suites notice those that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.lab.testing import CounterConformance, MechanismConformance, SharesConformance
from confide.mechanisms.bounded import Bounded
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.counter import Counter, CounterState
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import NoiseSource
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.randomizer import Randomizer
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.mechanisms.tree import TreeCounter
from confide.privacy import Loss, Pure, Sensitivity
from examples.own_shares import CoinShare, CoinShares

MECHANISMS = {
    "laplace": Laplace(3.0, 1.0),
    "laplace on halves": Laplace(4.5, 0.5),
    "gaussian": Gaussian(5.0, 0.125),
    "gaussian on a coarse grid": Gaussian(2.0, 1.0),
    "randomised response": RandomizedResponse(0.7),
    "bounded": Bounded(20.0),
}
COUNTERS = {
    "tree of laplace": TreeCounter(16, "laplace", 10.0, 1.0),
    "tree of gaussian": TreeCounter(11, "gaussian", 10.0, 0.5),
    "toeplitz": ToeplitzCounter(16, 20.0, 0.25),
    "banded toeplitz": ToeplitzCounter(16, 20.0, 0.25, participations=3, separation=4, bands=4),
    "buffered toeplitz": BufferedToeplitzCounter(16, 20.0, 0.25),
}


@pytest.mark.parametrize("name", MECHANISMS)
class TestOurMechanisms(MechanismConformance):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> Randomizer:
        return MECHANISMS[self.name]


@pytest.mark.parametrize("name", COUNTERS)
class TestOurCounters(CounterConformance):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> Counter:
        return COUNTERS[self.name]


@dataclass(frozen=True)
class Scaled(Laplace):
    """Laplace noise that draws `factor` of the scale it declares."""

    factor: float = 1.0

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        return replace(self, scale=self.scale * self.factor).drawn(cells, trials, noise)

    def drawn(self, *given: Any) -> NDArray[np.float64]:
        return Laplace.randomize(self, *given)


class Shared(Laplace):
    """One noise number for all cells."""

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        return cells + noise.discrete_laplace(self.scale, 1)


class Fractional(Laplace):
    """Leaves what lies between the points of its grid in the open."""

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        return cells + noise.discrete_laplace(self.scale, cells.shape)


class Biased(Laplace):
    """Rounds down after the fact."""

    def estimate(self, summed: NDArray[np.float64], users: int, trials: NDArray[np.int64]) -> NDArray[np.float64]:
        return summed - 0.5 * users


class Confident(Laplace):
    """States a radius that is too small."""

    def radius(self, *given: Any, **named: Any) -> NDArray[np.float64]:
        return super().radius(*given, **named) / 1.5


class Hasty(Laplace):
    """Simulates the sum of half as many people's noise."""

    def sum_of(
        self, totals: NDArray[np.float64], users: int, trials: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return super().sum_of(totals, users // 2, trials, rng)


class Careless(Laplace):
    """Claims to lose less, the more one person can move."""

    def loss(self, sensitivity: Sensitivity) -> Loss:
        return Pure(self.scale / sensitivity.l1)


class Secretive(Laplace):
    """Describes itself in things that JSON has no word for."""

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "scale": np.float32(self.scale)}


def suite(mechanism: Randomizer) -> MechanismConformance:
    class Suite(MechanismConformance):
        def make(self) -> Randomizer:
            return mechanism

    return Suite()


SCALE = MechanismConformance.test_estimates_have_the_declared_mean_and_variance
BROKEN: list[tuple[Randomizer, Callable[[MechanismConformance], None]]] = [
    (Scaled(3.0, 1.0, 2 / 3), SCALE),
    (Scaled(3.0, 1.0, 3 / 2), SCALE),
    (Biased(3.0, 1.0), SCALE),
    (Shared(3.0, 1.0), MechanismConformance.test_noise_is_not_shared),
    (Fractional(3.0, 1.0), MechanismConformance.test_refuses_what_is_off_the_grid),
    (Laplace(3.0), MechanismConformance.test_messages_lie_on_the_grid),
    (Confident(3.0, 1.0), MechanismConformance.test_radius_holds),
    (Hasty(3.0, 1.0), MechanismConformance.test_sums_drawn_at_once_have_the_law_of_summed_messages),
    (Scaled(3.0, 1.0, 1 / 2), MechanismConformance.test_an_audit_finds_no_more_than_is_declared),
    (Shared(3.0, 1.0), MechanismConformance.test_an_audit_finds_no_more_than_is_declared),
    (Careless(3.0, 1.0), MechanismConformance.test_loses_more_at_larger_sensitivity),
]


@pytest.mark.parametrize(("mechanism", "test"), BROKEN, ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_broken_mechanism_is_noticed(mechanism: Randomizer, test: Callable[[MechanismConformance], None]) -> None:
    with pytest.raises(AssertionError):
        test(suite(mechanism))


def test_a_description_that_is_not_json_is_noticed() -> None:
    with pytest.raises(TypeError):
        suite(Secretive(3.0, 1.0)).test_describes_itself()


class HalfShares(CoinShares):
    """Devices draw half of the noise that is accounted for."""

    def share(self, people: int) -> CoinShare:
        share = super().share(people)
        return HalfDrawn(**{field.name: getattr(share, field.name) for field in fields(share)})


class HalfDrawn(CoinShare):
    """Draws each coin, and keeps one of four moves."""

    def steps(self, noise: NoiseSource, shape: Any) -> Any:
        return np.where(noise.integers(4, shape) == 0, super().steps(noise, shape), 0)


class UnevenShares(CoinShares):
    """As large shares where twice as many people add one."""

    def share(self, people: int) -> CoinShare:
        return super().share(min(self.honest))


class BoastfulShares(CoinShares):
    """Claims to lose less than it does."""

    def loss_among(self, people: tuple[int, ...], sensitivity: Sensitivity) -> Loss:
        return Pure(super().loss_among(people, sensitivity).epsilon(1e-6) / 9)


BROKEN_SHARES: list[tuple[CoinShares, Callable[[SharesConformance], None]]] = [
    (HalfShares(30, (50,), 6), SharesConformance.test_a_share_is_drawn_by_its_table),
    (HalfShares(30, (50,), 6), SharesConformance.test_shares_of_a_batch_add_up_to_the_law_that_is_accounted_for),
    (HalfShares(30, (50,), 6), SharesConformance.test_sums_drawn_at_once_have_the_law_of_summed_shares),
    (UnevenShares(30, (50, 100), 6), SharesConformance.test_every_size_of_batch_has_as_much_noise),
    (BoastfulShares(4, (20,), 6), SharesConformance.test_an_audit_of_sums_finds_no_more_than_is_declared),
]


@pytest.mark.parametrize(("shares", "test"), BROKEN_SHARES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_broken_shares_are_noticed(shares: CoinShares, test: Callable[[SharesConformance], None]) -> None:
    class Suite(SharesConformance):
        def make(self) -> CoinShares:
            return shares

    with pytest.raises(AssertionError):
        test(Suite())


class Quiet(TreeCounter):
    """Draws two thirds of the noise it declares."""

    def std(self, release: int) -> float:
        return super().std(release) * 3 / 2


class Forgetful(TreeCounter):
    """Lets a state be used again and again."""

    def next(
        self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource
    ) -> tuple[CounterState, NDArray[np.float64]]:
        fresh = CounterState(state.cells, tuple(array.copy() for array in state.arrays), state.release)
        after, released = super().next(fresh, increment, noise)
        return (after if after.release < self.releases else replace_release(after, 0)), released


def replace_release(state: CounterState, release: int) -> CounterState:
    return CounterState(state.cells, state.arrays, release)


class Greedy(TreeCounter):
    """Uses more memory than it says."""

    def memory(self) -> int:
        return 2


BROKEN_COUNTERS: list[tuple[type[TreeCounter], Callable[[CounterConformance], None]]] = [
    (Quiet, CounterConformance.test_every_release_has_the_declared_scale),
    (Forgetful, CounterConformance.test_a_state_is_used_once),
    (Forgetful, CounterConformance.test_makes_no_more_releases_than_it_is_made_for),
    (Greedy, CounterConformance.test_memory_is_what_it_says),
]


@pytest.mark.parametrize(("kind", "test"), BROKEN_COUNTERS)
def test_a_broken_counter_is_noticed(kind: type[TreeCounter], test: Callable[[CounterConformance], None]) -> None:
    class Suite(CounterConformance):
        def make(self) -> Counter:
            return kind(16, "laplace", 10.0, 1.0)

    with pytest.raises(AssertionError):
        test(Suite())
