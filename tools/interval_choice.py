"""Which constants the interval over seeds has, by one rule on the tuning cells alone: `python -m tools.interval_choice`.

A point of the grid is the prior's seeds d0, its relative deviation s0, Student's quantile, and a factor c on skewness, by which
the relative error h grows by c max(0, skewness of the seeds) sigma / n, as Johnson (1978) and Hall (1992) have it but for its
square. The rule: of the intervals that are given at least 93 % hold the mean, at every number of seeds, over all cells together
and in each cell that is not steep; at most 3 % of equal sides are called behind in each cell; and of the points that keep this,
the least upper end over the mean (the median of groups and cells, its logarithm averaged over numbers of seeds). The cells that
were held out are not read here.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from tools.interval_candidates import Array
from tools.interval_coverage import BEHIND, COVERED, SEEDS, STEEP, Runs, drawn, steepness, stored

GRID = ((2, 3, 4, 5, 6, 8, 10), (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7), (0.975, 0.98, 0.985, 0.99), (0.0, 0.5, 1.0))
"""d0, s0, the quantile, and the factor on skewness."""

SHOWN = 5

IntervalConstants = tuple[float, float, float, float]


class SeedGroups(NamedTuple):
    """Of groups of seeds: their means; of values over these the variance, and a positive third moment over the variance."""

    mean: Array
    variance: Array
    skew: Array


class CellGroups(NamedTuple):
    """The mean of all runs of a cell, groups of its runs, and pairs of groups; whether it is steep."""

    truth: float
    groups: SeedGroups
    pair: tuple[SeedGroups, SeedGroups]
    steep: bool


class PointFigures(NamedTuple):
    """Of a point, at the number of seeds where it is worst: held over all cells, held in the worst calm cell, behind in the
    worst cell; and the mean logarithm of the upper end over the mean."""

    pooled: float
    calm: float
    behind: float
    width: float

    @property
    def kept(self) -> bool:
        """Whether the rule holds."""
        return min(self.pooled, self.calm) >= COVERED and self.behind <= BEHIND


def groups_of(values: Array) -> SeedGroups:
    """What a point needs to know of (groups, seeds) values."""
    mean = values.mean(axis=1)
    apart = values / mean[:, None] - 1
    variance = apart.var(axis=1, ddof=1)
    third = np.maximum((apart**3).mean(axis=1), 0.0)
    return SeedGroups(mean, variance, third / np.maximum(variance, np.finfo(np.float64).tiny))


def cells_of(runs: Runs) -> dict[int, list[CellGroups]]:
    """By number of seeds, the cells."""
    found: dict[int, list[CellGroups]] = {seeds: [] for seeds in SEEDS}
    for seeds, values in product(SEEDS, runs.values()):
        one, other = (groups_of(each) for each in np.split(drawn(values, 2 * seeds, 2), 2, axis=1))
        alone = groups_of(drawn(values, seeds, 1))
        found[seeds].append(CellGroups(float(values.mean()), alone, (one, other), steepness(values) > STEEP))
    return found


def error(sides: tuple[SeedGroups, ...], seeds: int, point: IntervalConstants) -> Array:
    """The relative error h of the mean of one side, or of the ratio of two."""
    weight, deviation, quantile, skewness = point
    free = weight + seeds - 1
    parts = [(weight * deviation**2 + (seeds - 1) * side.variance) / free / seeds for side in sides]
    total = sum(parts, np.zeros(len(parts[0])))
    joined = total**2 / sum((part**2 / free for part in parts), np.zeros(len(parts[0])))
    skew = sum((side.skew for side in sides), np.zeros(len(parts[0])))
    return np.asarray(stdtrit(joined, quantile) * np.sqrt(total) + skewness * skew / seeds)


def figures(cells: dict[int, list[CellGroups]], point: IntervalConstants) -> PointFigures:
    """How a point does."""
    pooled, calm, behind, width = [], [], [], []
    for seeds, found in cells.items():
        held, upper = [], []
        for cell in found:
            h = error((cell.groups,), seeds, point)
            given, truth = h < 1, cell.truth / cell.groups.mean
            high = np.where(given, 1 / (1 - np.where(given, h, 0.0)), np.inf)
            held.append(float(((1 - h <= truth) & (truth <= high))[given].mean()) if given.any() else 1.0)
            upper.append(float(np.median(high)))
            one, other = cell.pair
            behind.append(float((one.mean / other.mean * (1 - error(cell.pair, seeds, point)) > 1).mean()))
        pooled.append(float(np.mean(held)))
        calm.append(min(share for share, cell in zip(held, found, strict=True) if not cell.steep))
        width.append(float(np.log(np.median(upper))))
    return PointFigures(min(pooled), min(calm), max(behind), float(np.mean(width)))


def searched(runs: Runs) -> list[tuple[IntervalConstants, PointFigures]]:
    """All points of the grid, those that keep the rule first, by width."""
    cells = cells_of(runs)
    found = [(point, figures(cells, point)) for point in product(*GRID)]
    return sorted(found, key=lambda each: (not each[1].kept, each[1].width))


def main() -> int:
    """Print the best points by the rule."""
    found = searched(stored())
    print(f"{sum(each.kept for _, each in found)} of {len(found)} points keep the rule; the narrowest:")
    for (weight, deviation, quantile, skewness), each in found[:SHOWN]:
        print(
            f"d0 {weight:g}, s0 {deviation:g}, quantile {quantile:g}, skewness {skewness:g}: held {100 * each.pooled:.1f} %"
            f" together, {100 * each.calm:.1f} % in the worst calm cell, behind {100 * each.behind:.1f} %,"
            f" upper end / mean {np.exp(each.width):.3f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
