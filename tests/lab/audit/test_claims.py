"""The bet that follows from what a mechanism claims: as good as an ideal one, whatever the seed; and what if the claim is false."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm

from confide.lab.audit import Target, audit, ideal_bound
from confide.lab.audit.auditing import beyond, claimed_bet
from confide.lab.audit.bound import bet_bound, expected_pairs
from confide.lab.audit.catalogue import AuditEntry
from confide.lab.audit.likelihood import Told, category_loss
from confide.mechanisms.noise import NoiseSource, ReplayableNoise
from confide.mechanisms.unary import KARY, SUBSET, SYMMETRIC, UNARY, SampledStep
from confide.privacy import GaussianLoss, Pure

Array = NDArray[np.float64]
FALSE_ALARM = 1e-6
MU = 0.8


def shifted(world: int, count: int, noise: NoiseSource) -> Array:
    """A Gaussian whose mean is MU in world 1."""
    rng = np.random.default_rng(noise.integers(1 << 62, 2).tolist())
    return rng.standard_normal((count, 1)) + MU * world


def ratio(outputs: Array) -> Array:
    return np.asarray(MU**2 / 2 - MU * outputs[:, 0])


def test_how_likely_losses_are_in_both_worlds_follows_from_where_they_lie() -> None:
    noise, thresholds = ReplayableNoise(0), np.array([0.1, 0.5, 1.0, 2.0])
    losses = np.sort(ratio(np.concatenate([shifted(world, 20_000, noise) for world in (0, 1)])))
    (p, q), (other_p, other_q) = beyond(losses, thresholds)
    expected = norm.cdf((MU**2 / 2 - thresholds) / MU), norm.cdf((-(MU**2) / 2 - thresholds) / MU)
    assert p == pytest.approx(expected[0], abs=0.01) and other_p == pytest.approx(expected[0], abs=0.01)
    assert q == pytest.approx(expected[1], abs=0.004) and other_q == pytest.approx(expected[1], abs=0.004)
    # However few outputs there are, their odds are as good as claimed; counts of them would be better or worse.
    assert (p > 0.97 * np.exp(thresholds) * q).all()


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_a_few_outputs_are_enough_for_a_bet_as_good_as_an_ideal_one(delta: float) -> None:
    """By any seed: a bet on events and with a stake from a few thousand outputs, judged by the true law."""
    trials, failure = 50_000, 1e-3
    ideal = ideal_bound(GaussianLoss(MU), trials, failure, delta)
    for seed in range(8):
        noise = ReplayableNoise(seed)
        bet = claimed_bet((shifted(0, 4000, noise), shifted(1, 4000, noise)), ratio, trials, failure, delta)
        assert bet is not None and [event.likelier for event in bet.events] == [0, 1]
        threshold = float(bet.events[0].edges[0])
        assert bet.events[1].edges == -threshold
        likely = [float(norm.cdf((side * MU**2 / 2 - threshold) / MU)) for side in (1, -1)]
        pairs = trials * expected_pairs((likely[0], likely[1]), (likely[0], likely[1]))
        assert bet_bound(pairs, [bet.stake], 2, failure, delta)[0] > 0.95 * ideal


def test_what_is_equally_likely_is_not_bet_on() -> None:
    outputs = np.zeros((100, 1)), np.ones((100, 1))
    assert claimed_bet(outputs, lambda seen: np.zeros(len(seen)), 1000, 1e-3, 0.0) is None


@pytest.mark.parametrize("name", ["discrete-laplace", "randomised-response", "discrete-gaussian", "joint-gaussian"])
def test_most_of_epsilon_is_proved_by_any_seed(name: str) -> None:
    entry = AuditEntry(name, "local")
    findings = [entry.audit(1.0, noise=ReplayableNoise(seed)) for seed in range(6)]
    assert all(0.85 < finding.lower_bound <= 1 for finding in findings)
    assert min(finding.lower_bound / finding.ideal_bound for finding in findings) > 0.92


def test_few_samples_of_many_cells_prove_what_they_can_by_any_seed() -> None:
    """Laplace noise on the counts of three steps: rare events tell, which a search among few outputs finds by chance."""
    entry = AuditEntry("laplace", "local", "tight", setting="h3")
    targets = entry.targets(1.0)[:2]
    findings = [audit(targets, 10_000, noise=ReplayableNoise(seed)) for seed in range(6)]
    assert min(finding.lower_bound / finding.ideal_bound for finding in findings) > 0.75
    assert np.median([finding.lower_bound / finding.ideal_bound for finding in findings]) > 0.9


@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_a_false_claim_does_not_hide_what_is_told(sign: float) -> None:
    """What was learned is bet on beside it, and alone if nothing is claimed to differ."""
    target = Target("false", Pure(0.5), shifted, lambda outputs: sign * ratio(outputs))
    finding = audit(target, 20_000, 1 - FALSE_ALARM, noise=ReplayableNoise(1))
    assert not finding.ok and finding.lower_bound > 1


def test_a_bound_exceeds_the_truth_no_more_often_than_is_allowed() -> None:
    """True epsilon log 3, both bets are tested: at confidence 0.8 it is exceeded in a fifth of all audits at most."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        lies = noise.integers(4, (count, 2)) == 0
        return np.where(lies, 1 - world, world).astype(np.float64)[:, :1]

    target = Target("three to one", Pure(math.log(3)), sample, lambda seen: math.log(3) * (1 - 2 * seen[:, 0]))
    wrong = sum(not audit(target, 1000, 0.8, noise=ReplayableNoise(seed)).ok for seed in range(100))
    assert binom.sf(wrong - 1, 100, 0.2) > FALSE_ALARM
    quiet = replace(target, loss=Pure(math.log(2)))
    assert sum(not audit(quiet, 1000, 0.8, noise=ReplayableNoise(seed)).ok for seed in range(10)) == 10


def said(mechanism: SampledStep, category: int) -> list[float]:
    """How likely every message of three categories is, or of eight if it names two of them."""
    if mechanism.encoding == SUBSET:
        odds = [math.exp(mechanism.epsilon) if category in one else 1.0 for one in itertools.combinations(range(8), 2)]
        return [each / sum(odds) for each in odds]
    if mechanism.encoding == KARY:
        return [mechanism.hit if index == category else mechanism.miss for index in range(3)]
    chances = [mechanism.hit if index == category else mechanism.miss for index in range(3)]
    return [
        math.prod(chance if bit else 1 - chance for bit, chance in zip(bits, chances, strict=True))
        for bits in itertools.product((0, 1), repeat=3)
    ]


ROWS: dict[str, list[Told]] = {
    "one of two rows tells nothing": [(0.5, [0], [1]), (0.5, [2], [2])],
    "rows of different odds": [(0.2, [0], [2]), (0.3, [1], [1]), (0.5, [2], [0])],
    "pooled": [(1.0, [0, 0, 1], [1, 2, 2])],
}


@pytest.mark.parametrize("encoding", [UNARY, SYMMETRIC, KARY, SUBSET])
@pytest.mark.parametrize("rows", ROWS)
def test_the_loss_of_a_message_about_one_of_several_rows(encoding: str, rows: str) -> None:
    """Against a sum over all messages."""
    mechanism = SampledStep(1.1, 8 if encoding == SUBSET else 3, encoding)
    laws: list[list[float]] = [[], []]
    for share, *both in ROWS[rows]:
        for law, categories in zip(laws, both, strict=True):
            law += [
                share * float(np.mean(each)) for each in zip(*(said(mechanism, one) for one in categories), strict=True)
            ]
    assert [sum(law) for law in laws] == pytest.approx([1, 1])
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        ways = (laws, laws[::-1])
        expected = max(sum(max(p - math.exp(epsilon) * q, 0) for p, q in zip(*way, strict=True)) for way in ways)
        assert category_loss(mechanism, ROWS[rows]).delta(epsilon) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("setting", ["", "h3", "h2-per-step"])
@pytest.mark.parametrize("mechanism", ["k-ary", "asked-unary"])
def test_what_is_claimed_of_reports_about_a_step_or_pair_is_their_loss(mechanism: str, setting: str) -> None:
    """The claimed ratio of outputs has the law that `exact` says, for all pairs of people."""
    entry = AuditEntry(mechanism, "local", "tight", setting=setting)
    for target in entry.targets(1.0)[:2]:
        assert target.claimed is not None and target.exact is not None
        losses = target.claimed(target.sample(0, 2000, ReplayableNoise(3)))
        for epsilon in (0.0, 0.3, 0.7):
            expected = max(0.0, float(np.maximum(1 - np.exp(epsilon - losses), 0).mean()))
            assert expected == pytest.approx(target.exact.delta(epsilon), abs=0.06)
