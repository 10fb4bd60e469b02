"""What samplers ought to draw, what broken ones would, and whether draws look like it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

FALSE_ALARM = 1e-7
"""How often draws of the true law are rejected, at most, in one comparison."""

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def looks_like(counts: Integers, chances: Array) -> bool:
    """Whether counts, by bin, may be draws of a law. Of the true law the count of a bin is binomial: this is a proof, whatever
    the numbers, that it is rejected with probability `FALSE_ALARM` at most."""
    draws = int(counts.sum())
    tails = np.minimum(binom.cdf(counts, draws, chances), binom.sf(counts - 1, draws, chances))
    return bool((tails > FALSE_ALARM / (2 * counts.size)).all())


def noise_law(law: str, scale: float) -> Array:
    """(2 r + 1,) how likely each whole number from -r to r is, those beyond being next to impossible."""
    x = np.arange(-reach(scale), reach(scale) + 1)
    return _normal(np.exp(-np.abs(x) / scale if law == "laplace" else -((x / scale) ** 2) / 2))


def mistaken_laws(law: str, scale: float) -> dict[str, Array]:
    """What samplers with one mistake would draw, over the same numbers as `noise_law`."""
    x = np.arange(-reach(scale), reach(scale) + 1)
    true = noise_law(law, scale)
    found = {
        "two thirds of the scale": _same_size(noise_law(law, scale * 2 / 3), x.size),
        "three halves of the scale": _same_size(noise_law(law, scale * 3 / 2), x.size),
        "zero twice as often": _normal(np.where(x == 0, 2 * true, true)),
        "nothing beyond two scales": _normal(np.where(np.abs(x) <= 2 * scale, true, 0)),
    }
    if law == "gaussian":
        ratio = np.abs(np.abs(x) - scale**2 / (math.floor(scale) + 1)) / scale
        found["without the last factor of its acceptance"] = _normal(true * np.exp((ratio % 1) ** 2 / 2))
    return found


def reach(scale: float) -> int:
    """The largest number that is looked at."""
    return math.ceil(40 * scale)


def binned(draws: Integers, law: str, scale: float) -> Integers:
    """How often each number occurred, all beyond a few scales counted together on either side."""
    last = _last(law, scale)
    return np.bincount(np.clip(draws.ravel(), -last, last) + last, minlength=2 * last + 1)


def folded(chances: Array, law: str, scale: float) -> Array:
    """The same of chances."""
    last, middle = _last(law, scale), chances.size // 2
    kept = chances[middle - last : middle + last + 1].copy()
    kept[0], kept[-1] = chances[: middle - last + 1].sum(), chances[middle + last :].sum()
    return kept


def grouped(bins: NDArray[Any], scale: float) -> NDArray[Any]:
    """Counts or chances of bins that are half a scale wide, for fewer draws."""
    return np.asarray(np.add.reduceat(bins, np.arange(0, bins.size, max(1, int(scale / 2)))))


def assert_law(draws: Integers, law: str, scale: float) -> None:
    """Draws have this law and none of those that a mistake would give it; and neighbours have nothing to do with each other."""
    counts = binned(draws, law, scale)
    assert looks_like(counts, folded(noise_law(law, scale), law, scale)), "not its own law"
    for mistake, chances in mistaken_laws(law, scale).items():
        assert not looks_like(counts, folded(chances, law, scale)), f"it passes for {mistake}"
    assert looks_like(*_signs_of_neighbours(draws, law, scale)), "neighbours share signs"
    assert not looks_like(*_signs_of_neighbours(np.repeat(draws.ravel(), 2), law, scale))


def _signs_of_neighbours(draws: Integers, law: str, scale: float) -> tuple[Integers, Array]:
    """(9,) how often each pair of signs occurred in draws that follow each other, and how likely it is."""
    zero = float(noise_law(law, scale)[reach(scale)])
    each = np.array([(1 - zero) / 2, zero, (1 - zero) / 2])
    signs = np.sign(draws.ravel()[: draws.size // 2 * 2]).reshape(-1, 2) + 1
    return np.bincount(3 * signs[:, 0] + signs[:, 1], minlength=9), np.outer(each, each).ravel()


def _last(law: str, scale: float) -> int:
    return max(1, math.ceil((4 if law == "laplace" else 3) * scale))


def _normal(weights: Array) -> Array:
    return np.asarray(weights / weights.sum())


def _same_size(chances: Array, size: int) -> Array:
    """Cut off, or filled up with zeros, on both sides."""
    missing = size - chances.size
    if missing >= 0:
        return np.pad(chances, missing // 2)
    cut = -missing // 2
    return _normal(chances[cut : chances.size - cut])
