"""Whether a sum of reports is one that honest devices can have sent, to a server or a shuffler, whatever their owners did.

Three things hold of honest reports about categories (a pair that was asked about, a sampled step), for every episode:

- the row that a device answers is drawn from a public law, so the number of reports about row i is Binomial(n, law_i);
- a cell is one with a probability between `miss` and `hit`, so a cell of n reports has a mean between n miss and n hit;
- where bits are flipped one by one (unary), a report has hit + (k - 1) miss ones on average, whichever category is true.

Two hold of honest reports about counts (Laplace, Gaussian and bounded noise, flipped bits):

- a count of one person lies in its public range, so n of them have a mean in n times that range;
- a step is in one cell of each part (visits, rewards, transitions ...), so the cells of a part have a total in n times the range of
  one cell, for each layer. Noise of cells is independent, so the total shows far less than an extreme report puts into it.

Each is tested by a bound that holds for every n (Chernoff's with the Kullback-Leibler divergence; Bernstein's), and the failure
probability is shared among all tests: `failure` bounds the probability that honest reports are called implausible.
A curator is handed episodes, of which those that cannot have happened count as empty: there is nothing to test.
What lies inside these bounds is not seen: a hostile device that draws its row as it should, and lies about what happened there
as a person could have lived it, is a person who lived it.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...mechanisms.randomizer import REACH, Randomizer, bernstein_radius
from ..design import Design
from .sums import Sum


class Part(NamedTuple):
    """Sums of reports about the rows from `first` on, all randomised by one mechanism; cells: its categories."""

    first: int
    cells: NDArray[np.int64]
    people: NDArray[np.int64]


def implausible(design: Design, total: Sum, law: NDArray[np.generic] | None, failure: float) -> str:
    """A sentence about the least plausible thing in a sum of reports; empty if honest devices can have sent it.

    law: (rows,) weights by which devices drew the row that they answer; None where it is not known. Kinds that are neither
    categories nor counts are not judged.
    """
    mechanism = design.devices[total.level]
    naming = mechanism.naming()
    if not total.users:
        return ""
    if naming is None:
        return _amounts(design, total, failure) if design.kind.of_whole_episodes else ""
    rows, width = total.cells.shape
    found = [_rows(total, law)]
    for where, device in design.kind.by_rows(design, total.level):
        named = device.naming() or naming
        part = Part(where.start, total.cells[where, : named.categories or width], total.people[where])
        found.append(_cells(part, named.hit, named.miss))
        if named.ones is None:
            found.append(_ones(part, named.hit, named.miss))
    surprise, sentence = max(found)
    tests = 2 * rows + 2 * rows * width + 2 * rows
    return sentence if surprise > math.log(tests / failure) else ""


def implausible_rows(people: NDArray[np.float64], expected: NDArray[np.float64], failure: float) -> str:
    """The same of how many answered each row in all rounds so far, whose laws may differ. expected: (rows,) how many would
    on average.

    A sum of n independent coins with mean mu is x or further with probability at most exp(-n KL(x/n, mu/n)) (Hoeffding 1963).
    """
    many = float(people.sum())
    if len(people) == 1 or not many:
        return ""
    surprise = many * divergence(people / many, expected / many)
    worst = int(surprise.argmax())
    if float(surprise[worst]) <= math.log(2 * len(people) / failure):
        return ""
    seen = f"{int(people[worst]):,} of {int(many):,} reports so far are about row {worst}"
    return f"{seen}, and {expected[worst]:,.0f} of those of honest devices"


def excess(people: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """(rows,) how many standard deviations more reports are about each row than on average; 0 where fewer are.

    The signed root of twice the log likelihood ratio, sqrt(2 n KL): of honest sums about a standard normal law, at small numbers
    too, where (x - mean)/sd is not.
    """
    many = max(float(people.sum()), 1.0)
    return np.where(people > expected, np.sqrt(2 * many * divergence(people / many, expected / many)), 0.0)


def doubtful_rows(people: NDArray[np.float64], expected: NDArray[np.float64], failure: float) -> str:
    """A sentence about the row that most more reports are about than on average, if honest sums show as much with probability
    `failure`, about, or less; else empty. For what costs little where it is wrong: nothing is proved of its rate."""
    if len(people) == 1:
        return ""
    beyond = excess(people, expected)
    worst = int(beyond.argmax())
    if beyond[worst] <= NormalDist().inv_cdf(1 - failure / len(people)):
        return ""
    seen = f"{int(people[worst]):,} of {int(people.sum()):,} reports so far are about row {worst}"
    return f"{seen}, which is {beyond[worst]:.1f} standard deviations more than the {expected[worst]:,.0f} on average"


def _amounts(design: Design, total: Sum, failure: float) -> str:
    """A sentence about a cell, or a part, of counts that is further beyond n times its range than noise goes; empty if none is."""
    counts, mechanism, users = design.counts, design.devices[total.level], total.users
    summed = (total.cells * mechanism.grid).astype(np.float64)
    cells = design.kind.estimate(design.question, mechanism, summed, total.people)
    share = failure / (len(cells) + len(counts.slices))
    for part, where in counts.slices.items():
        inside, first, layers = cells[where], where.start, counts.shape(part)[0]
        low, high = float(counts.range.low[first]), float(counts.range.high[first])
        trials = float(design.question.trials[first])
        bits = trials / float(counts.trials[first])  # make up one count
        tested = (
            ("one cell", inside.min(), inside.max(), 1, 1),
            ("all cells together", inside.sum(), inside.sum(), len(inside), layers),
        )
        for what, least, most, many, times in tested:
            off = _furthest(mechanism, users, share, trials, many, bits * (high - low)) / bits
            for value, bound, beyond in (
                (most, times * high, most - users * times * high),
                (least, times * low, users * times * low - least),
            ):
                if beyond > off:
                    return (
                        f"{what} of {part} are {value / users:.3g} a user in {users:,} reports; honest devices come to "
                        f"{bound:.3g}, give or take {off / users:.2g}"
                    )
    return ""


def _furthest(mechanism: Randomizer, users: int, failure: float, trials: float, cells: int, span: float) -> float:
    """How far noise moves the estimate of a sum over this many cells of this many people, but for a chance of `failure`.

    Additive noise is clamped on devices, at its reach beyond the range (`span` wide). So it is bounded, Bernstein's inequality
    holds, and its mean is off by less than the reach times the chance to come there.
    """
    reach = mechanism.reach()
    if not reach:
        return float(mechanism.radius(users, failure, trials, cells))
    spread, many = float(mechanism.variance(trials)), float(users) * cells
    return float(bernstein_radius(many * spread, (reach + span) * (1 + REACH), failure)) + many * REACH * reach


def _rows(total: Sum, law: NDArray[np.generic] | None) -> tuple[float, str]:
    """How surprising it is, in nats, how many answered each row; and a sentence about the worst."""
    if law is None or len(law) == 1:
        return 0.0, ""
    shares, people = np.asarray(law, dtype=np.float64) / float(np.sum(law)), float(total.users)
    surprise = people * divergence(total.people / people, shares)
    worst = int(surprise.argmax())
    return float(surprise[worst]), (
        f"{int(total.people[worst]):,} of {int(people):,} reports are about row {worst}, which devices draw with probability "
        f"{shares[worst]:.3g}"
    )


def _cells(total: Part, hit: float, miss: float) -> tuple[float, str]:
    """The same of every cell: it is one less often than noise alone makes it, or more often than the truth could."""
    people = np.maximum(total.people, 1)[:, None].astype(np.float64)
    shares = total.cells / people
    surprise = people * np.where(
        shares < miss, divergence(shares, miss), np.where(shares > hit, divergence(shares, hit), 0.0)
    )
    row, cell = np.unravel_index(int(surprise.argmax()), surprise.shape)
    return float(surprise[row, cell]), (
        f"category {cell} of row {total.first + row} is in {shares[row, cell]:.3g} of {int(total.people[row]):,} reports, and in "
        f"those of honest devices in {miss:.3g} to {hit:.3g}"
    )


def _ones(total: Part, hit: float, miss: float) -> tuple[float, str]:
    """The same of the number of ones in all reports about a row, whose law is known: by Bernstein's inequality."""
    width, people = total.cells.shape[1], total.people.astype(np.float64)
    mean, variance = hit + (width - 1) * miss, hit * (1 - hit) + (width - 1) * miss * (1 - miss)
    off = np.abs(total.cells.sum(axis=1) - people * mean)
    surprise = off**2 / (2 * (people * variance + off / 3) + 1e-300)
    worst = int(surprise.argmax())
    ones = float(total.cells[worst].sum() / max(people[worst], 1.0))
    return float(surprise[worst]), (
        f"reports about row {total.first + worst} name {ones:.3g} categories on average, and those of honest devices {mean:.3g}"
    )


def divergence(share: ArrayLike, chance: ArrayLike) -> NDArray[np.float64]:
    """Kullback-Leibler divergence of a coin with one chance from another: n of it bounds -log P(share or further of n)."""
    one, other = np.asarray(share, dtype=np.float64), np.asarray(chance, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(one > 0, one * np.log(one / other), 0.0)
        second = np.where(one < 1, (1 - one) * np.log((1 - one) / (1 - other)), 0.0)
    result: NDArray[np.float64] = np.maximum(np.nan_to_num(first + second, nan=0.0, posinf=np.inf), 0.0)
    return result
