"""How an event is chosen, and what the noise it is chosen from goes through."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.lab.audit import Target, audit, events
from confide.lab.audit.reservoir import BLOCK, LARGEST_BLOCK, Reservoir
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.privacy import Pure
from tests.refusals import refused

Array = NDArray[np.float64]
FALSE_ALARM = 1e-6


def drawn(
    law: Callable[[np.random.Generator, int], Array], shift: float = 1.0, loss: float = 1.0, **more: object
) -> Target:
    """Independent draws of a law in several columns, the first of which is shifted in world 1."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        rows = law(np.random.default_rng(noise.integers(1 << 62, 2).tolist()), count)
        rows[:, 0] += shift * world
        return rows

    return Target("drawn", Pure(loss), sample, **more)  # type: ignore[arg-type]


def laplace(rng: np.random.Generator, count: int) -> Array:
    return rng.laplace(size=(count, 2))


def laplace_ratio(outputs: Array) -> Array:
    return np.abs(outputs[:, 0] - 1) - np.abs(outputs[:, 0])


@pytest.mark.parametrize(("epsilon", "least", "most"), [(1.0, 0.93, 1.0), (2.0, 1.88, 2.0)])
def test_what_a_hundred_thousand_samples_show(epsilon: float, least: float, most: float) -> None:
    """About 0.96 for a true 1 and 1.95 for a true 2."""

    def law(rng: np.random.Generator, count: int) -> Array:
        return rng.laplace(size=(count, 1)) / epsilon

    def ratio(outputs: Array) -> Array:
        return epsilon * (np.abs(outputs[:, 0] - 1) - np.abs(outputs[:, 0]))

    finding = audit(drawn(law, loss=epsilon, claimed=ratio), 100_000, noise=ReplayableNoise(1))
    assert least < finding.lower_bound < most
    assert finding.ok


def test_without_a_claim_the_audit_learns_as_much() -> None:
    finding = audit(drawn(laplace), 100_000, noise=ReplayableNoise(1))
    assert 0.9 < finding.lower_bound <= 1


def test_unrounded_losses_would_raise_a_false_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shifted float has fewer last bits than an unshifted one, and the claimed loss shows it."""
    target = drawn(laplace, claimed=laplace_ratio)
    assert audit(target, 20_000, 1 - FALSE_ALARM, noise=ReplayableNoise(2)).ok
    monkeypatch.setattr(events, "rounded", lambda values: values)
    assert audit(target, 20_000, 1 - FALSE_ALARM, noise=ReplayableNoise(2)).lower_bound > 2


def test_equal_worlds_are_never_told_apart() -> None:
    for seed in range(20):
        finding = audit(drawn(laplace, shift=0.0, loss=0.0), 2000, 1 - FALSE_ALARM, noise=ReplayableNoise(seed))
        assert finding.lower_bound == 0


def test_both_directions_are_tried() -> None:
    """Something that never happens in world 0, and something that never happens in world 1."""

    def ends(world: int) -> Callable[[int, int, NoiseSource], Array]:
        def sample(this: int, count: int, noise: NoiseSource) -> Array:
            rare = (np.arange(count) % 10 == 0) & (this == world)
            return rare[:, None].astype(np.float64)

        return sample

    for world in (0, 1):
        finding = audit(Target("ends", Pure(1.0), ends(world)), 5000, 1 - FALSE_ALARM, noise=ReplayableNoise(0))
        assert finding.lower_bound > 2.5


def test_a_set_in_the_middle_is_found() -> None:
    """The worlds differ by atoms inside the range: neither tail is any use."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        rng = np.random.default_rng(noise.integers(1 << 62, 2).tolist())
        values = rng.integers(-10, 11, size=count)
        return np.where((values % 2 == world) & (rng.random(count) < 0.9), values + 1, values)[:, None].astype(
            np.float64
        )

    finding = audit(Target("middle", Pure(0.5), sample), 20_000, 1 - FALSE_ALARM, noise=ReplayableNoise(3))
    assert finding.lower_bound > 1.5


def test_what_no_cell_tells_alone_is_found() -> None:
    """Eight fair bits whose sum is even in one world and odd in the other; any seven of them are independent."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        bits = noise.integers(2, (count, 8))
        bits[:, 0] = (world + bits[:, 1:].sum(axis=1)) % 2
        return bits.astype(np.float64)

    finding = audit(Target("parity", Pure(0.5), sample), 5000, 1 - FALSE_ALARM, noise=ReplayableNoise(3))
    assert finding.event == "whole output" and finding.lower_bound > 4


def test_constant_outputs_are_no_trouble() -> None:
    target = Target("constant", Pure(1.0), lambda world, count, noise: np.ones((count, 3)))
    assert audit(target, 2000).lower_bound == 0


def test_samples_are_as_promised_and_the_best_of_several_pairs_is_tested() -> None:
    asked = []

    def counting(target: Target) -> Target:
        def sample(world: int, count: int, noise: NoiseSource) -> Array:
            asked.append(count)
            return target.sample(world, count, noise)

        return Target(target.name, target.loss, sample)

    equal, apart = counting(drawn(laplace, shift=0.0)), counting(drawn(laplace))
    finding = audit([equal, apart, equal], 300_000, noise=ReplayableNoise(4))
    assert finding.samples == 300_000
    assert sum(asked) == 2 * (3 * 60_000 + 240_000)
    assert finding.lower_bound > 0.9


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"samples": 999}, "not-a-whole-number: samples"),
        ({"samples": 1500.5}, "not-a-whole-number: samples"),
        ({"confidence": 1.0}, "confidence-out-of-range"),
        ({"confidence": float("nan")}, "not-a-number: confidence"),
        ({"delta": 1.0}, "not-a-delta: delta"),
    ],
)
def test_bad_input_is_refused(given: dict[str, float], sentence: str) -> None:
    with refused(sentence):
        audit(drawn(laplace), **given)  # type: ignore[arg-type]


def test_a_reservoir_hands_out_the_draws_of_its_source_once() -> None:
    reservoir, twin = Reservoir(ReplayableNoise(5)), ReplayableNoise(5)
    small = [reservoir.discrete_laplace(3.0, (2, 4)) for _ in range(BLOCK // 8)]
    assert all(piece.shape == (2, 4) for piece in small)
    assert np.array_equal(np.concatenate(small).ravel(), twin.discrete_laplace(3.0, BLOCK))
    assert np.array_equal(reservoir.discrete_laplace(3.0, 5), twin.discrete_laplace(3.0, 2 * BLOCK)[:5])


def test_a_reservoir_keeps_laws_apart() -> None:
    reservoir, twin = Reservoir(ReplayableNoise(6)), ReplayableNoise(6)
    first, second = reservoir.bernoulli(0.5, 3), reservoir.bernoulli(0.25, 3)
    assert np.array_equal(first, twin.bernoulli(0.5, BLOCK)[:3])
    assert np.array_equal(second, twin.bernoulli(0.25, BLOCK)[:3])
    assert np.array_equal(reservoir.integers(7, LARGEST_BLOCK), twin.integers(7, LARGEST_BLOCK))
    assert np.array_equal(reservoir.discrete_gaussian(2.0, 3), twin.discrete_gaussian(2.0, BLOCK)[:3])


def test_a_reservoir_is_as_secure_as_its_source() -> None:
    assert Reservoir(SecureNoise()).secure
    assert not Reservoir(ReplayableNoise(0)).secure
    assert Reservoir(ReplayableNoise(0)).drawn_by == "replayable"
