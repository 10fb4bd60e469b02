"""The conformance suite of shares of noise, which only add up to noise that hides a user."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from ...mechanisms.noise import NoiseSource, ReplayableNoise
from ...mechanisms.shares import TabledShares, law_of_sum
from ..audit.auditing import Target, audit
from .mechanism import ONE_MOVE, check_description, check_loss, check_scale, largest_gap

SUMS = 6000
ALARM = 1e-9
"""How often a right law is rejected; seeds are fixed, so that a suite that is green stays green."""
EXPECTED = 8.0
"""The fewest draws that a class of the test of the whole law has on average."""
DELTA = 0.01


class SharesConformance:
    """Tests of `TabledShares`. Inherit, return some for batches of 10 to 200 honest people from `make`."""

    def make(self) -> TabledShares:
        """The shares."""
        raise NotImplementedError("return your shares from make()")

    def sums(self, people: int, many: int, seed: int | NoiseSource) -> NDArray[np.int64]:
        """(many,) sums of the shares of this many devices of the first batch, each drawn as a device draws it, in grids."""
        noise = ReplayableNoise(seed) if isinstance(seed, int) else seed
        return np.asarray(self.make().on_device()[0].steps(noise, (people, many)).sum(axis=0))

    def test_describes_itself(self) -> None:
        """Its description is plain JSON, and says by which batches and cells it is made again."""
        shares = self.make()
        check_description(shares)
        assert shares == self.make(), "two of the same parameters must be equal: use a frozen dataclass"
        told = shares.describe()
        assert (told["honest"], told["width"], told["grid"]) == (list(shares.honest), shares.width, shares.grid)

    def test_loses_more_at_larger_sensitivity(self) -> None:
        """The loss grows with the sensitivity, falls with larger epsilon and delta, and grows where fewer people are honest."""
        shares = self.make()
        check_loss(shares)
        fewer = shares.loss_among(tuple(each // 2 for each in shares.honest), ONE_MOVE.scaled(shares.grid))
        assert fewer.epsilon(DELTA) > shares.loss(ONE_MOVE.scaled(shares.grid)).epsilon(DELTA), "half of them hide less"

    def test_a_share_is_drawn_by_its_table(self) -> None:
        """All probabilities at once, by the test of Pearson; unlikely values are one class."""
        device = self.make().on_device()[0]
        check_law(self.sums(1, 4 * SUMS, seed=1), device.table())

    def test_shares_of_a_batch_add_up_to_the_law_that_is_accounted_for(self) -> None:
        """The sums of as many devices as are honest have the law whose loss is stated, and its deviation."""
        shares = self.make()
        law = law_of_sum(shares.on_device()[0], shares.honest[0]).table
        drawn, places = self.sums(shares.honest[0], SUMS, seed=2), np.arange(len(law)) - len(law) // 2
        check_scale(drawn.astype(np.float64), math.sqrt(float((law * places**2).sum())), "a sum of shares")
        check_law(drawn, law)

    def test_every_size_of_batch_has_as_much_noise(self) -> None:
        """Shares are smaller where more people add one: the sums of all sizes have one variance, within a part of a hundred."""
        shares = self.make()
        spread = [each * device.variance() for each, device in zip(shares.honest, shares.on_device(), strict=True)]
        assert max(spread) <= 1.01 * min(spread), "batches of one size have more noise than those of another"

    def test_sums_drawn_at_once_have_the_law_of_summed_shares(self) -> None:
        """What simulation draws with `sum_of`, by the two-sample test of Kolmogorov and Smirnov."""
        device, many = self.make().on_device()[0], self.make().honest[0]
        zeros, each = np.zeros(SUMS), np.ones(SUMS, dtype=np.int64)
        at_once = device.sum_of(zeros, many, each, np.random.default_rng(3)) / device.grid
        distance = largest_gap(self.sums(many, SUMS, seed=4).astype(np.float64), at_once)
        allowed = math.sqrt(-math.log(0.5e-6) / 2 * 2 / SUMS)
        assert distance < allowed, f"sum_of differs from summed shares by {distance:.3f} in distribution"

    def test_an_audit_of_sums_finds_no_more_than_is_declared(self) -> None:
        """Two users in different cells, one count each, are not distinguished better in a batch's sums than `loss` allows."""
        shares = self.make()
        moved = np.array([[1.0, 0.0], [0.0, 1.0]]) / shares.grid

        def sample(world: int, many: int, noise: NoiseSource) -> NDArray[np.float64]:
            return np.asarray(self.sums(shares.honest[0], 2 * many, noise).reshape(many, 2) + moved[world])

        target = Target(shares.name, shares.loss(ONE_MOVE), sample)
        finding = audit(target, samples=2 * SUMS, delta=DELTA, noise=ReplayableNoise(5))
        assert finding.ok, (
            f"epsilon is at least {finding.lower_bound:.3f}, not {finding.certified_epsilon:.3f}: {finding.event}"
        )


def check_law(drawn: NDArray[np.int64], table: NDArray[np.float64]) -> None:
    """Check that whole numbers have the law of a table, by Pearson's test with a false-alarm rate of `ALARM`."""
    middle = len(table) // 2
    assert np.abs(drawn).max() <= middle, "a value was drawn that the table does not have"
    counted, expected = np.bincount(drawn + middle, minlength=len(table)), len(drawn) * table
    often = expected >= EXPECTED
    seen = np.append(counted[often], counted[~often].sum())
    due = np.append(expected[often], max(EXPECTED, float(expected[~often].sum())))
    surprise = float(((seen - due) ** 2 / due)[: len(seen) if expected[~often].sum() >= EXPECTED else -1].sum())
    assert surprise < chi2.isf(ALARM, max(1, int(often.sum()))), (
        f"what is drawn has not the law of the table: chi2 {surprise:.0f}"
    )
