"""Every mechanism alone keeps what it certifies, and an audit comes close to what it could see."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from confide.lab.audit import audit
from confide.lab.audit.alone import ALONE, NEED_DELTA, counter
from confide.lab.audit.catalogue import DELTA, AuditEntry
from confide.lab.audit.counters import mixing, moved_by
from confide.lab.audit.likelihood import category_loss, exact_loss, log_likelihood_ratio
from confide.mechanisms.bounded import Bounded
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.counter import Counter
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.mechanisms.tree import TreeCounter
from confide.mechanisms.unary import KARY, SUBSET, SYMMETRIC, UNARY, SampledStep

FALSE_ALARM = 1e-6
ENTRIES = [AuditEntry(name, trust) for trust, makers in ALONE.items() for name in makers]
COUNTERS: list[Counter] = [
    TreeCounter(7, "laplace", 3.0, 1.0),
    TreeCounter(6, "gaussian", 2.0, 0.5),
    ToeplitzCounter(6, 3.0, 2.0**-10),
    BufferedToeplitzCounter(6, 3.0, 2.0**-10),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_none_is_flagged_and_each_is_seen(entry: AuditEntry) -> None:
    finding = entry.audit(1.0, samples=20_000, confidence=1 - FALSE_ALARM, noise=ReplayableNoise(1))
    assert (finding.name, finding.trust, finding.calibration) == (entry.mechanism, entry.trust, "none")
    assert finding.delta == (DELTA if entry.mechanism in NEED_DELTA else 0)
    assert finding.certified_epsilon == pytest.approx(1, abs=2e-3)
    assert finding.ok
    assert finding.lower_bound > 0.8 * finding.ideal_bound
    assert finding.ideal_bound <= finding.certified_epsilon


@pytest.mark.parametrize("epsilon", [0.01, 1000.0])
def test_next_to_no_privacy_and_next_to_no_leak(epsilon: float) -> None:
    """Ends at which probabilities are no floats any more, and an audit sees nothing or everything."""
    for entry in ENTRIES:
        if entry.mechanism != "bounded":
            finding = entry.audit(epsilon, samples=1000, confidence=1 - FALSE_ALARM, noise=ReplayableNoise(5))
            assert finding.ok and math.isfinite(finding.ideal_bound)
            assert finding.lower_bound > 2 if epsilon > 1 else finding.lower_bound == 0


@pytest.mark.parametrize("name", ["laplace", "discrete-laplace", "randomised-response", "unary", "k-ary"])
def test_most_of_the_true_epsilon_is_reached(name: str) -> None:
    finding = AuditEntry(name, "local").audit(1.0, samples=50_000, noise=ReplayableNoise(2))
    assert finding.lower_bound > 0.85
    assert finding.seconds < 20
    assert finding.ok


def test_secure_noise_is_audited_too() -> None:
    finding = AuditEntry("discrete-laplace", "local").audit(
        1.0, samples=3000, confidence=1 - FALSE_ALARM, noise=SecureNoise()
    )
    assert finding.ok
    assert finding.lower_bound > 0.4


def test_any_delta_may_be_audited() -> None:
    """One Gaussian, certified at every delta: at each the audit stays below."""
    targets = AuditEntry("discrete-gaussian", "local").targets(1.0, 1e-6)
    for delta in (1e-6, 1e-3, 0.05):
        finding = audit(targets, 20_000, 1 - FALSE_ALARM, delta, ReplayableNoise(3))
        assert finding.certified_epsilon == pytest.approx(targets[0].loss.epsilon(delta))
        assert finding.ok


@pytest.mark.parametrize("mechanism", COUNTERS, ids=lambda mechanism: mechanism.name)
def test_what_is_behind_the_releases_is_recovered(mechanism: Counter) -> None:
    """Without noise to speak of, one unit moves the numbers behind the releases by `moved_by`, for every batch."""
    hushed = {"scale" if isinstance(mechanism, TreeCounter) else "sigma": mechanism.grid / 50}
    quiet: Counter = replace(mechanism, **hushed)  # type: ignore[type-var]
    for target, batch in zip(counter(quiet), (1, 3), strict=True):
        still, moved = (target.sample(world, 1, ReplayableNoise(0)).reshape(-1, 2) for world in (0, 1))
        assert np.abs(still).max() < 1e-6
        assert moved[:, 0] == pytest.approx(moved_by(mechanism, batch), abs=2 * mechanism.grid)
        assert np.abs(moved[:, 1]).max() < 1e-6


@pytest.mark.parametrize("mechanism", COUNTERS, ids=lambda mechanism: mechanism.name)
def test_noises_behind_the_releases_are_independent(mechanism: Counter) -> None:
    """So that their log-likelihood ratios add up; for a wrong matrix they would not be."""
    numbers = counter(mechanism)[0].sample(0, 20_000, ReplayableNoise(4))
    correlation = np.corrcoef(numbers, rowvar=False) - np.eye(numbers.shape[1])
    assert np.abs(correlation).max() < 0.05
    assert numbers.std(axis=0) == pytest.approx(np.full(numbers.shape[1], numbers.std()), rel=0.05)


def test_an_unknown_counter_has_no_matrix() -> None:
    class Unknown:
        releases = 3
        name = "unknown"

    assert mixing(Unknown()) is None  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown"):
        moved_by(Unknown(), 1)  # type: ignore[arg-type]


BITS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))


def test_the_likelihood_and_the_loss_of_randomised_response_agree() -> None:
    """Against a sum over all messages."""
    mechanism, trials = RandomizedResponse(0.8), np.ones(3, dtype=np.int64)
    inputs = (np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]))
    flips = [np.abs(BITS - cells).sum(axis=1) for cells in inputs]
    p, q = (mechanism.flip**many * (1 - mechanism.flip) ** (3 - many) for many in flips)
    ratio, exact = log_likelihood_ratio(mechanism, inputs, trials), exact_loss(mechanism, inputs, trials)
    assert ratio is not None and exact is not None
    assert ratio(BITS) == pytest.approx(np.log(p / q))
    for epsilon in (0.1, 0.7, 1.2):
        assert exact.delta(epsilon) == pytest.approx(np.maximum(p - math.exp(epsilon) * q, 0).sum(), abs=1e-3)


@pytest.mark.parametrize("encoding", [UNARY, SYMMETRIC, KARY, SUBSET])
def test_the_loss_of_two_categories(encoding: str) -> None:
    """Against a sum over all messages, of which k-ary randomised response makes three."""
    mechanism = SampledStep(1.1, 3 if encoding != SUBSET else 8, encoding)
    if encoding == SUBSET:  # of all sets of two among eight
        assert mechanism.ones == 2
        sets = [set(one) for one in itertools.combinations(range(8), 2)]
        p, q = (np.array([math.exp(1.1) if c in one else 1.0 for one in sets]) for c in (0, 1))
        p, q = p / p.sum(), q / q.sum()
    elif encoding == KARY:
        p = np.array([mechanism.hit, mechanism.miss, mechanism.miss])
        q = p[[1, 0, 2]]
    else:
        bits = [np.where(BITS == 1, chance, 1 - chance) for chance in (mechanism.hit, mechanism.miss)]
        p = bits[0][:, 0] * bits[1][:, 1] * bits[1][:, 2]
        q = bits[1][:, 0] * bits[0][:, 1] * bits[1][:, 2]
    assert p.sum() == pytest.approx(1)
    for epsilon in (0.1, 0.5, 1.0):
        expected = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert category_loss(mechanism).delta(epsilon) == pytest.approx(expected, abs=1e-3)
    assert category_loss(mechanism, [(1.0, [2], [2])]).delta(0.0) == 0


def test_ratios_of_additive_noise() -> None:
    inputs, trials = (np.array([0.0, 2.0]), np.array([1.0, 2.0])), np.ones(2, dtype=np.int64)
    outputs = np.array([[0.5, 9.0], [3.0, 2.0], [-1.0, 0.0]])
    gaussian = log_likelihood_ratio(Gaussian(2.0, 0.5), inputs, trials)
    laplace = log_likelihood_ratio(Laplace(2.0, 0.5), inputs, trials)
    bounded = log_likelihood_ratio(Bounded(8.0, 0.5), inputs, trials)
    assert gaussian is not None and laplace is not None and bounded is not None
    x = outputs[:, 0]
    assert gaussian(outputs) == pytest.approx(np.log(norm.pdf(x, 0, 2) / norm.pdf(x, 1, 2)))
    assert laplace(outputs) == pytest.approx((np.abs(x - 1) - np.abs(x)) / 2)
    density = [np.exp(-np.exp(1 / (1 - ((x - shift) / 8) ** 2))) for shift in (0, 1)]
    assert bounded(outputs) == pytest.approx(np.log(density[0] / density[1]))


def test_what_bounded_noise_cannot_reach_is_as_good_as_impossible() -> None:
    ratio = log_likelihood_ratio(Bounded(8.0), (np.array([0.0]), np.array([1.0])), np.ones(1, dtype=np.int64))
    assert ratio is not None
    low, high = ratio(np.array([[-7.5], [8.0]]))
    assert low > 1000 and high < -1000


def test_the_loss_of_equal_inputs_is_nothing() -> None:
    same = (np.zeros(2), np.zeros(2))
    exact = exact_loss(Laplace(1.0, 1.0), same, np.ones(2, dtype=np.int64))
    assert exact is not None and exact.delta(0.0) == 0
    ratio = log_likelihood_ratio(RandomizedResponse(1.0), same, np.ones(2, dtype=np.int64))
    assert ratio is not None and np.array_equal(ratio(np.zeros((4, 2))), np.zeros(4))
