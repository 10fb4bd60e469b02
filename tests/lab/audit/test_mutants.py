"""Planted mistakes, each of which the audit must see: it claims one thing and runs another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.lab.audit import Finding, Target, alone, audit
from confide.lab.audit.alone import BITS, LEVELS, ONE, RELEASES, counter, factored, joint, sampled, symmetric, vector
from confide.lab.audit.mechanisms import randomizer_target
from confide.mechanisms.bounded import Bounded
from confide.mechanisms.buffered import BufferedToeplitzCounter
from confide.mechanisms.counter import CounterState
from confide.mechanisms.gaussian import Gaussian, sigma_for
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import NoiseSource, ReplayableNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.symmetric import SymmetricGaussian
from confide.mechanisms.toeplitz import ToeplitzCounter, square_root_coefficients
from confide.mechanisms.tree import TreeCounter
from confide.mechanisms.unary import KARY, SUBSET, SYMMETRIC, UNARY, SampledStep
from confide.privacy import Guarantee, Pure
from confide.privacy.conversion import gaussian_mu

FALSE_ALARM = 1e-6
SAMPLES = 20_000
DELTA = 0.01
PROMISE = Guarantee("local", 1.0, DELTA)

Array = NDArray[np.float64]


class HalfLies(SampledStep):
    """Lies half as often as it says."""

    def encoded(self, category: int, noise: NoiseSource) -> NDArray[np.int64]:
        if self.encoding == SUBSET:
            size, missed = self.ones or 0, (1 - self.hit) / 2
            louder = math.log((self.categories - size) * (1 - missed) / (size * missed))
            mutant = SampledStep(louder, self.categories, SUBSET)
            mutant.__dict__["ones"] = size  # sets as large as before
            return mutant.encoded(category, noise)
        others = self.categories - 1 if self.encoding == KARY else 1
        lies = others * self.miss / 2
        louder = math.log(others * (1 - lies) / lies) * (2 if self.encoding == SYMMETRIC else 1)
        return SampledStep(louder, self.categories, self.encoding).encoded(category, noise)


def half_flips(epsilon: float) -> RandomizedResponse:
    flip = RandomizedResponse(epsilon).flip / 2
    return RandomizedResponse(math.log((1 - flip) / flip))


def half_tree(tree: TreeCounter) -> TreeCounter:
    return replace(tree, scale=tree.scale / 2)


def pairs() -> dict[str, tuple[float, Callable[[], tuple[Sequence[Target], Sequence[Target]]]]]:
    """By mechanism: the delta, and what is claimed and what is run with half the noise."""
    normal = sigma_for(PROMISE, 1.0, 0.0)
    matrix, several = alone.matrix(PROMISE), alone.several(PROMISE)
    grid = Gaussian.keeping(PROMISE, ONE, 1.0)
    pure_tree = TreeCounter(RELEASES, "laplace", float(LEVELS), 1.0)
    normal_tree = alone.gaussian_tree(PROMISE)
    toeplitz, buffered = factored(ToeplitzCounter, PROMISE), factored(BufferedToeplitzCounter, PROMISE)
    steps = {encoding: SampledStep(1.0, 8, encoding) for encoding in (UNARY, SYMMETRIC, KARY, SUBSET)}

    def bounded() -> tuple[Sequence[Target], Sequence[Target]]:
        true = Bounded.keeping(PROMISE, ONE)
        return vector(true), vector(Bounded(true.bound / 2))

    return {
        "laplace": (0, lambda: (vector(Laplace(1.0)), vector(Laplace(0.5)))),
        "discrete-laplace": (0, lambda: (vector(Laplace(1.0, 1.0)), vector(Laplace(0.5, 1.0)))),
        "gaussian": (DELTA, lambda: (vector(Gaussian(normal)), vector(Gaussian(normal / 2)))),
        "discrete-gaussian": (DELTA, lambda: (vector(grid), vector(replace(grid, sigma=grid.sigma / 2)))),
        "joint-gaussian": (
            DELTA,
            lambda: (joint(several), joint(replace(several, sigmas=tuple(sigma / 2 for sigma in several.sigmas)))),
        ),
        "bounded": (DELTA, bounded),
        "randomised-response": (0, lambda: (vector(RandomizedResponse(1.0), BITS), vector(half_flips(1.0), BITS))),
        "unary": (0, lambda: (sampled(steps[UNARY]), sampled(HalfLies(1.0, 8, UNARY)))),
        "symmetric-unary": (0, lambda: (sampled(steps[SYMMETRIC]), sampled(HalfLies(1.0, 8, SYMMETRIC)))),
        "k-ary": (0, lambda: (sampled(steps[KARY]), sampled(HalfLies(1.0, 8, KARY)))),
        "subset": (0, lambda: (sampled(steps[SUBSET]), sampled(HalfLies(1.0, 8, SUBSET)))),
        "symmetric-gaussian": (DELTA, lambda: (symmetric(matrix), symmetric(replace(matrix, sigma=matrix.sigma / 2)))),
        "tree-laplace": (0, lambda: (counter(pure_tree), counter(half_tree(pure_tree)))),
        "tree-gaussian": (DELTA, lambda: (counter(normal_tree), counter(half_tree(normal_tree)))),
        "toeplitz": (DELTA, lambda: (counter(toeplitz), counter(replace(toeplitz, sigma=toeplitz.sigma / 2)))),
        "buffered-toeplitz": (DELTA, lambda: (counter(buffered), counter(replace(buffered, sigma=buffered.sigma / 2)))),
    }


def caught(claims: Sequence[Target], runs: Sequence[Target], delta: float = 0.0, samples: int = SAMPLES) -> Finding:
    """The audit of what runs, held against what is claimed."""
    planted = [replace(claim, sample=run.sample) for claim, run in zip(claims, runs, strict=True)]
    return audit(planted, samples, 1 - FALSE_ALARM, delta, ReplayableNoise(1))


PAIRS = pairs()


@pytest.mark.parametrize("name", PAIRS)
def test_half_the_noise_is_caught(name: str) -> None:
    delta, make = PAIRS[name]
    claims, runs = make()
    assert claims[0].loss.epsilon(delta) == pytest.approx(1, abs=2e-3)
    finding = caught(claims, runs, delta)
    assert not finding.ok
    assert finding.lower_bound > 1.1
    assert caught(claims, claims, delta).ok


@pytest.mark.parametrize("name", ["laplace", "gaussian", "k-ary", "tree-laplace", "toeplitz"])
def test_half_the_noise_is_caught_without_a_known_likelihood(name: str) -> None:
    delta, make = PAIRS[name]
    claims, runs = ([replace(target, claimed=None) for target in targets] for targets in make())
    assert not caught(claims, runs, delta).ok


@dataclass(frozen=True)
class SharedNoise(Laplace):
    """One draw for all cells: each cell alone is as noisy as it should be, differences are exact."""

    def randomize(self, cells: Array, trials: NDArray[np.int64], noise: NoiseSource) -> Array:
        return cells + self.grid * noise.discrete_laplace(self.scale / self.grid, 1)


@dataclass(frozen=True)
class SharedNormal(Gaussian):
    """The same with Gaussian noise."""

    def randomize(self, cells: Array, trials: NDArray[np.int64], noise: NoiseSource) -> Array:
        return cells + self.grid * noise.discrete_gaussian(self.sigma / self.grid, 1)


@dataclass(frozen=True)
class AveragedNoise(Laplace):
    """Four draws, averaged: a quarter of the variance."""

    def randomize(self, cells: Array, trials: NDArray[np.int64], noise: NoiseSource) -> Array:
        return cells + self.grid * noise.discrete_laplace(self.scale / self.grid, (4, *cells.shape)).mean(axis=0)


@dataclass(frozen=True)
class CoarseNoise(Laplace):
    """Whole noise, whatever the grid of the counts: what is below one shows."""

    def randomize(self, cells: Array, trials: NDArray[np.int64], noise: NoiseSource) -> Array:
        return cells + noise.discrete_laplace(self.scale, cells.shape)


def test_noise_shared_between_cells_is_caught() -> None:
    finding = caught(vector(Laplace(1.0, 1.0)), vector(SharedNoise(1.0, 1.0)), samples=5000)
    assert finding.lower_bound > 4
    normal = Gaussian.keeping(PROMISE, ONE, 1.0)
    assert caught(vector(normal), vector(SharedNormal(normal.sigma, normal.grid)), DELTA, 5000).lower_bound > 4


def test_noise_shared_between_cells_is_caught_where_no_neighbours_share_it() -> None:
    """Cells 0 and 2 have the same noise, cell 1 between them its own."""

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        rows = noise.discrete_laplace(1.0, (count, 3)).astype(np.float64)
        rows[:, 2] = rows[:, 0]
        rows[:, 0] += world
        return rows

    claim = vector(Laplace(1.0, 1.0))[0]
    assert caught([claim], [replace(claim, sample=sample)], samples=5000).lower_bound > 4


def test_averaged_noise_is_caught() -> None:
    assert caught(vector(Laplace(1.0, 1.0)), vector(AveragedNoise(1.0, 1.0)), samples=10_000).lower_bound > 1.1


def test_noise_that_is_redrawn_for_every_message_is_caught() -> None:
    """The same count sent four times, each time with noise of its own."""
    once = vector(Laplace(1.0, 1.0))[0]

    def again(world: int, count: int, noise: NoiseSource) -> Array:
        return np.concatenate([once.sample(world, count, noise) for _ in range(4)], axis=1)

    for claimed, ok in ((1.0, False), (4.0, True)):
        finding = audit(Target("again", Pure(claimed), again), SAMPLES, 1 - FALSE_ALARM, noise=ReplayableNoise(1))
        assert finding.ok == ok


class RedrawnNodes(TreeCounter):
    """Draws the noise of every node in use anew at each release: each release alone is as noisy as it should be."""

    def next(self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource) -> tuple[CounterState, Array]:
        state, _ = super().next(state, increment, noise)
        drawn = noise.discrete_gaussian(self.scale / self.grid, (state.release.bit_count(), state.cells))
        return state, self.grid * (state.arrays[0] + drawn.sum(axis=0))


class RedrawnReports(ToeplitzCounter):
    """The same for all reports so far."""

    def next(self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource) -> tuple[CounterState, Array]:
        state, _ = super().next(state, increment, noise)
        total = state.arrays[0][: state.release].sum(axis=0)
        drawn = noise.discrete_gaussian(self.std(state.release) / self.grid, state.cells)
        return state, self.grid * (total + drawn)


def test_a_counter_that_redraws_its_noise_is_caught() -> None:
    """Over many releases it averages out."""
    many = 31
    tree = alone.gaussian_tree(PROMISE, many)
    sigma = ToeplitzCounter.sigma_for(gaussian_mu(1.0, DELTA), ONE, many, tree.grid)
    for true, mutant in (
        (tree, RedrawnNodes(many, "gaussian", tree.scale, tree.grid)),
        (ToeplitzCounter(many, sigma, tree.grid), RedrawnReports(many, sigma, tree.grid)),
    ):
        assert caught(counter(true)[:1], counter(mutant)[:1], DELTA).lower_bound > 1.1


def test_whole_noise_on_half_counts_is_caught() -> None:
    """The scale is right for a change of one half, but the half itself stays visible."""
    true, mutant = Laplace(0.5, 0.5), CoarseNoise(0.5, 0.5)
    inputs = (np.zeros(3), np.array([0.5, 0.0, 0.0]))
    claim, run = (randomizer_target("half counts", each, Pure(1.0), inputs) for each in (true, mutant))
    assert caught([claim], [claim]).ok
    assert caught([claim], [run], samples=5000).lower_bound > 4


class Unrounded(ToeplitzCounter):
    """Noise on the grid, on reports that are not: their digits below the grid show."""

    def next(self, state: CounterState, increment: NDArray[np.int64], noise: NoiseSource) -> tuple[CounterState, Array]:
        past, f = state.release, square_root_coefficients(self.releases)
        increments, reports = state.arrays
        increments = np.concatenate([increments, increment[None]])
        report = f[past::-1] @ increments + noise.discrete_gaussian(self.sigma / self.grid, state.cells)
        reports = np.concatenate([reports, report[None]])
        return state.following(increments, reports), self.grid * (f[past::-1] @ reports)


def test_a_toeplitz_counter_that_does_not_round_is_caught() -> None:
    true = factored(ToeplitzCounter, PROMISE)
    mutant = Unrounded(true.releases, true.sigma, true.grid)
    assert caught(counter(true), counter(mutant), DELTA, 5000).lower_bound > 4


class EqualVariance(SymmetricGaussian):
    """The diagonal has the variance of everything else, so it is charged too little."""

    def add(self, matrix: NDArray[np.int64], noise: NoiseSource) -> Array:
        noisy = super().add(matrix, noise)
        size, lead = matrix.shape[-1], matrix.shape[:-2]
        diagonal = np.arange(size)
        drawn = noise.discrete_gaussian(self.sigma / self.grid, (*lead, size))
        noisy[..., diagonal, diagonal] = self.grid * (matrix[..., diagonal, diagonal] + drawn)
        return noisy


def test_a_matrix_whose_diagonal_has_too_little_noise_is_caught() -> None:
    matrix = alone.matrix(PROMISE)
    finding = caught(symmetric(matrix), symmetric(EqualVariance(matrix.sigma, matrix.grid)), DELTA, 100_000)
    assert finding.lower_bound > 1.1
