"""The conformance suite of continual counters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...errors import PrivacyError
from ...mechanisms.counter import Counter
from ...mechanisms.noise import ReplayableNoise
from .mechanism import check_description, check_loss, check_scale

CELLS = 4000


class CounterConformance:
    """Tests of a `Counter`. Inherit, return one that is made for 8 to 100 releases from `make`."""

    def make(self) -> Counter:
        """The counter."""
        raise NotImplementedError("return your counter from make()")

    def stream(self, cells: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(releases, cells) true running sums and what was released, in counts."""
        counter, noise, rng = self.make(), ReplayableNoise(seed), np.random.default_rng(seed)
        increments = rng.integers(-50, 50, (counter.releases, cells))
        state, released = counter.init(cells), []
        for increment in increments:
            state, sums = counter.next(state, increment, noise)
            released.append(sums)
        return counter.grid * increments.cumsum(axis=0), np.array(released)

    def test_describes_itself(self) -> None:
        """Its description is plain JSON, with the number of releases that the guarantee covers."""
        counter = self.make()
        check_description(counter)
        assert counter.describe()["releases"] == counter.releases, "describe() must say for how many releases it is"
        assert counter == self.make(), "two counters of the same parameters must be equal: use a frozen dataclass"

    def test_loses_more_at_larger_sensitivity(self) -> None:
        """The loss grows with the sensitivity, and falls with larger epsilon and delta."""
        check_loss(self.make())

    def test_every_release_has_the_declared_scale(self) -> None:
        """Neither more nor less noise than `std` says, around the true sums."""
        counter = self.make()
        true, released = self.stream(CELLS, seed=1)
        for release, errors in enumerate(released - true, start=1):
            check_scale(errors, counter.std(release), f"release {release}")
            bias = abs(float(errors.mean())) / (counter.std(release) / math.sqrt(CELLS))
            assert bias < 6, f"release {release} is off by {bias:.1f} standard errors on average"

    def test_noise_is_not_shared_between_cells(self) -> None:
        """Differences of cells would be exact."""
        counter = self.make()
        true, released = self.stream(CELLS, seed=2)
        for release in (1, counter.releases):
            sums = (released - true)[release - 1].reshape(-1, 10).sum(axis=1)
            check_scale(sums, counter.std(release) * math.sqrt(10), f"a sum of ten cells of release {release}", 0.25)

    def test_radius_holds(self) -> None:
        """An error exceeds its radius no more often than stated."""
        counter, failure = self.make(), 0.05
        true, released = self.stream(CELLS, seed=3)
        for cells in (1, 4):
            for release in (1, counter.releases // 2, counter.releases):
                errors = (released - true)[release - 1].reshape(-1, cells).sum(axis=1)
                rate = float(np.mean(np.abs(errors) > counter.radius(release, failure, cells)))
                allowed = failure + 5 * math.sqrt(failure / errors.size)
                assert rate <= allowed, f"{rate:.3f} of the errors of release {release} exceed a radius for {failure}"

    def test_a_state_is_used_once(self) -> None:
        """The same state twice would be two draws for one release, whose mean has less noise."""
        counter, noise = self.make(), ReplayableNoise(4)
        state = counter.init(2)
        counter.next(state, np.zeros(2, dtype=np.int64), noise)
        try:
            counter.next(state, np.zeros(2, dtype=np.int64), noise)
        except PrivacyError:
            return
        raise AssertionError("a state that was used must be refused with PrivacyError")

    def test_makes_no_more_releases_than_it_is_made_for(self) -> None:
        """Its noise hides no user beyond them."""
        counter, noise = self.make(), ReplayableNoise(5)
        state = counter.init(1)
        for _ in range(counter.releases):
            state, _ = counter.next(state, np.zeros(1, dtype=np.int64), noise)
        try:
            counter.next(state, np.zeros(1, dtype=np.int64), noise)
        except PrivacyError:
            return
        raise AssertionError("one release more must be refused with PrivacyError")

    def test_memory_is_what_it_says(self) -> None:
        """A state never holds more numbers a cell than `memory` declares."""
        counter, noise = self.make(), ReplayableNoise(6)
        state = counter.init(10)
        for _ in range(counter.releases):
            state, _ = counter.next(state, np.zeros(10, dtype=np.int64), noise)
            held = sum(array.size for array in state.arrays) / 10
            assert held <= counter.memory(), f"a state holds {held:g} numbers a cell, not {counter.memory()}"
