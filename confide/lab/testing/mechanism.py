"""The conformance suite of mechanisms that run on a device.

Draws are replayable with fixed seeds, so a suite that is green stays green. A scale is accepted within `TOLERANCE`, and
so rejected at two thirds and at three halves of what is declared.
"""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...mechanisms.noise import NoiseSource, ReplayableNoise
from ...mechanisms.randomizer import Randomizer
from ...privacy import Loss, Mechanism, Sensitivity
from ..audit.auditing import Target, audit

TOLERANCE = 0.1
"""How far a measured standard deviation may lie from the declared one: many standard errors, far from 2/3 and 3/2."""

# One person replaced by another, who is in another cell: what sensitivity 1 means here.
ONE_MOVE = Sensitivity(2.0, math.sqrt(2), ((1.0, 2),), 2)
DELTAS = (1e-9, 1e-6, 1e-3)
# Among this many calls an audit shares its outputs.
CALLS = 64
EPSILONS = (0.01, 0.1, 1.0, 10.0)


def check_description(mechanism: Mechanism) -> None:
    """Check that name and parameters are plain JSON, and `name` is among them."""
    described: Any = mechanism.describe()
    assert json.loads(json.dumps(described, allow_nan=False)) == described, "describe() must be plain JSON"
    assert described["name"] == mechanism.name, "describe() must carry the mechanism's name"


def check_loss(mechanism: Mechanism) -> None:
    """Check that the loss grows with sensitivity, falls with epsilon and with delta, and is never zero."""
    losses = [mechanism.loss(ONE_MOVE.scaled(factor)) for factor in (1, 2, 4)]
    for less, more in itertools.pairwise(losses):
        assert all(less.epsilon(d) <= more.epsilon(d) for d in DELTAS), "a larger sensitivity must not lose less"
        assert all(less.delta(e) <= more.delta(e) for e in EPSILONS), "a larger sensitivity must not lose less"
    _check_profile(losses[0])


def _check_profile(loss: Loss) -> None:
    falling = [loss.delta(epsilon) for epsilon in EPSILONS]
    assert all(0 <= more <= less <= 1 for less, more in itertools.pairwise(falling)), "delta must fall with epsilon"
    assert falling[0] > 0, "something must be lost at sensitivity 1: a mechanism without loss releases nothing"
    needed = [loss.epsilon(delta) for delta in DELTAS]
    assert all(0 <= more <= less for less, more in itertools.pairwise(needed)), "epsilon must fall with delta"


def check_scale(errors: NDArray[np.float64], declared: float, what: str, tolerance: float = TOLERANCE) -> None:
    """Check that the root mean square of errors is the declared standard deviation."""
    ratio = math.sqrt(float(np.mean(errors**2))) / declared
    assert abs(ratio - 1) < tolerance, f"{what} has {ratio:.3f} times the declared standard deviation"


class MechanismConformance:
    """Tests of a `Randomizer`. Inherit, return yours from `make`, and pytest does the rest:

    class TestMine(MechanismConformance):
        def make(self):
            return Mine(scale=3.0)
    """

    trials = 3
    """How many zero-or-one observations every count is the sum of; counts in the tests go from 0 to this."""

    def make(self) -> Randomizer:
        """The mechanism, on a grid."""
        raise NotImplementedError("return your mechanism from make()")

    def messages(self, people: int, cells: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """True counts (people, cells) and what `people` send of them, each drawing afresh."""
        noise, each = ReplayableNoise(seed), np.full(cells, self.trials)
        counts = (np.arange(people * cells).reshape(people, cells) % (self.trials + 1)).astype(np.float64)
        mechanism = self.make()
        return counts, np.array([mechanism.randomize(row, each, noise) for row in counts])

    def estimates(self, messages: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        """Estimated counts from messages (rows, cells), each the sum over `users` people."""
        each = np.full(messages.shape[1], self.trials)
        return np.array([self.make().estimate(row, users, each) for row in messages])

    def test_describes_itself(self) -> None:
        """Its description is plain JSON, and always in the same words."""
        mechanism = self.make()
        check_description(mechanism)
        assert mechanism == self.make(), "two mechanisms of the same parameters must be equal: use a frozen dataclass"

    def test_loses_more_at_larger_sensitivity(self) -> None:
        """The loss grows with the sensitivity, and falls with larger epsilon and delta."""
        check_loss(self.make())

    def test_messages_lie_on_the_grid(self) -> None:
        """A grid that divides one count, so that every count lies on it."""
        grid = self.make().grid
        assert 0 < grid <= 1 and (1 / grid).is_integer(), "the grid must be one over a whole number"
        counts, sent = self.messages(20, 50, seed=1)
        assert sent.shape == counts.shape
        assert np.array_equal(sent / grid, np.rint(sent / grid)), "messages must be whole multiples of the grid"

    def test_refuses_what_is_off_the_grid(self) -> None:
        """Noise on the grid would leave what lies between its points in the open."""
        mechanism, noise = self.make(), ReplayableNoise(2)
        try:
            mechanism.randomize(np.array([mechanism.grid / 2, 0.0]), np.full(2, self.trials), noise)
        except InvalidInput:
            return
        raise AssertionError("counts that are off the grid must be refused with InvalidInput")

    def test_estimates_have_the_declared_mean_and_variance(self) -> None:
        """Unbiased, and neither more nor less noisy than `variance` says."""
        counts, sent = self.messages(40, 1000, seed=3)
        errors = self.estimates(sent, 1) - counts
        declared = math.sqrt(self.make().variance(self.trials))
        check_scale(errors, declared, "the error of an estimate")
        for value in range(self.trials + 1):
            some = errors[counts == value]
            bias = abs(float(some.mean())) / (declared / math.sqrt(some.size))
            assert bias < 6, f"counts of {value} are estimated with a bias of {bias:.1f} standard errors"

    def test_noise_is_not_shared(self) -> None:
        """Neither between cells, whose differences would be exact, nor between people."""
        counts, sent = self.messages(400, 100, seed=4)
        errors = self.estimates(sent, 1) - counts
        declared = math.sqrt(self.make().variance(self.trials))
        check_scale(errors.sum(axis=1), declared * math.sqrt(100), "a sum over cells", tolerance=0.25)
        check_scale(errors.sum(axis=0), declared * math.sqrt(400), "a sum over people", tolerance=0.4)

    def test_radius_holds(self) -> None:
        """An error exceeds its radius no more often than stated."""
        failure = 0.05
        for users, cells in ((1, 1), (1, 4), (8, 3)):
            counts, sent = self.messages(1600 * users // 10, 10 * cells, seed=5)
            summed, true = (rows.reshape(-1, users, 10 * cells).sum(axis=1) for rows in (sent, counts))
            errors = (self.estimates(summed, users) - true).reshape(-1, cells).sum(axis=1)
            radius = float(self.make().radius(users, failure, self.trials, cells))
            rate = float(np.mean(np.abs(errors) > radius))
            allowed = failure + 5 * math.sqrt(failure / errors.size)
            assert rate <= allowed, f"{rate:.3f} of the errors over {users} people exceed a radius for {failure}"

    def test_sums_drawn_at_once_have_the_law_of_summed_messages(self) -> None:
        """What simulation draws with `sum_of`, by the two-sample test of Kolmogorov and Smirnov."""
        users, sums = 20, 4000
        counts, sent = self.messages(users, sums, seed=6)
        totals, each = counts.sum(axis=0), np.full(sums, self.trials)
        at_once = self.make().sum_of(totals, users, each, np.random.default_rng(7))
        errors, errors_at_once = (
            self.make().estimate(summed, users, each) - totals for summed in (sent.sum(axis=0), at_once)
        )
        distance = largest_gap(errors, errors_at_once)
        # At most once in 10^6 for equal laws; laws that differ in scale by 2/3 or 3/2 lie 0.09 apart.
        allowed = math.sqrt(-math.log(0.5e-6) / 2 * 2 / sums)
        assert distance < allowed, f"sum_of differs from summed messages by {distance:.3f} in distribution"

    def test_an_audit_finds_no_more_than_is_declared(self) -> None:
        """Two people in different cells are not distinguished better than `loss` allows."""
        mechanism = self.make()
        people = np.array([[1.0, 0.0], [0.0, 1.0]])

        def sample(world: int, many: int, noise: NoiseSource) -> NDArray[np.float64]:
            each = math.ceil(
                many / CALLS
            )  # in several calls, so that noise which one call shares is not that of the world
            told = np.tile(people[world], each), np.full(2 * each, self.trials)
            return np.concatenate([mechanism.randomize(*told, noise) for _ in range(CALLS)]).reshape(-1, 2)[:many]

        loss = mechanism.loss(ONE_MOVE)
        delta = 0.0 if math.isfinite(loss.epsilon(0.0)) else 0.01
        finding = audit(Target(mechanism.name, loss, sample), delta=delta, noise=ReplayableNoise(8))
        assert finding.ok, (
            f"epsilon is at least {finding.lower_bound:.3f}, not {finding.certified_epsilon:.3f}: {finding.event}"
        )


def largest_gap(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The largest difference of two empirical distribution functions."""
    points = np.sort(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(sample), points, side="right") / sample.size for sample in (first, second)]
    return float(np.abs(below[0] - below[1]).max())
