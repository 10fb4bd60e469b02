"""Whether a sum of local reports is one that honest devices can have sent, whatever their owners did.

Three things hold of honest reports about categories (a pair that was asked about, a sampled step), for every episode:

- the row that a device answers is drawn from a public law, so the number of reports about row i is Binomial(n, law_i);
- a cell is one with a probability between `miss` and `hit`, so a cell of n reports has a mean between n miss and n hit;
- where bits are flipped one by one (unary), a report has hit + (k - 1) miss ones on average, whichever category is true.

Each is tested by a bound that holds for every n (Chernoff's with the Kullback-Leibler divergence; Bernstein's), and the failure
probability is shared among all tests: `failure` bounds the probability that honest reports are called implausible.
What lies inside these bounds is not seen: a hostile device that draws its row as it should, and lies about what happened there
as a person could have lived it, is a person who lived it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..design import Design
from .sums import Sum


def implausible(design: Design, total: Sum, law: NDArray[np.generic] | None, failure: float) -> str:
    """A sentence about the least plausible thing in a sum of reports; empty if honest devices can have sent it.

    law: (rows,) weights by which devices drew the row that they answer; None where it is not known. Mechanisms without a `hit` and
    a `miss` are not judged.
    """
    mechanism = design.mechanism
    hit, miss = getattr(mechanism, "hit", None), getattr(mechanism, "miss", None)
    if hit is None or miss is None or not total.users:
        return ""
    rows, width = total.cells.shape
    found = [_rows(total, law), _cells(total, float(hit), float(miss))]
    if getattr(mechanism, "ones", 1) is None:
        found.append(_ones(total, float(hit), float(miss)))
    surprise, sentence = max(found)
    tests = 2 * rows + 2 * rows * width + 2 * rows
    return sentence if surprise > math.log(tests / failure) else ""


def implausible_rows(people: NDArray[Any], expected: NDArray[Any], failure: float) -> str:
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


def _cells(total: Sum, hit: float, miss: float) -> tuple[float, str]:
    """The same of every cell: it is one less often than noise alone makes it, or more often than the truth could."""
    people = np.maximum(total.people, 1)[:, None].astype(np.float64)
    shares = total.cells / people
    surprise = people * np.where(
        shares < miss, divergence(shares, miss), np.where(shares > hit, divergence(shares, hit), 0.0)
    )
    row, cell = np.unravel_index(int(surprise.argmax()), surprise.shape)
    return float(surprise[row, cell]), (
        f"category {cell} of row {row} is in {shares[row, cell]:.3g} of {int(total.people[row]):,} reports, and in those of honest "
        f"devices in {miss:.3g} to {hit:.3g}"
    )


def _ones(total: Sum, hit: float, miss: float) -> tuple[float, str]:
    """The same of the number of ones in all reports about a row, whose law is known: by Bernstein's inequality."""
    width, people = total.cells.shape[1], total.people.astype(np.float64)
    mean, variance = hit + (width - 1) * miss, hit * (1 - hit) + (width - 1) * miss * (1 - miss)
    off = np.abs(total.cells.sum(axis=1) - people * mean)
    surprise = off**2 / (2 * (people * variance + off / 3) + 1e-300)
    worst = int(surprise.argmax())
    ones = float(total.cells[worst].sum() / max(people[worst], 1.0))
    return float(surprise[worst]), (
        f"reports about row {worst} name {ones:.3g} categories on average, and those of honest devices {mean:.3g}"
    )


def divergence(share: Any, chance: Any) -> NDArray[np.float64]:
    """Kullback-Leibler divergence of a coin with one chance from another: n of it bounds -log P(share or further of n)."""
    one, other = np.asarray(share, dtype=np.float64), np.asarray(chance, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(one > 0, one * np.log(one / other), 0.0)
        second = np.where(one < 1, (1 - one) * np.log((1 - one) / (1 - other)), 0.0)
    result: NDArray[np.float64] = np.maximum(np.nan_to_num(first + second, nan=0.0, posinf=np.inf), 0.0)
    return result
