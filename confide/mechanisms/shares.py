"""Integer noise that no device adds alone, by the table of one device's share: what `skellam` does in closed form, for any law.

Each of h honest people of a batch adds a share of noise to every cell of whole numbers. Nothing is guaranteed of one report. Write
p for the law of the sum of h shares on one cell: symmetric, since a share's law is.

**Claim.** Let two vectors of whole numbers differ by d, with sum |d_i| <= D1 and sum d_i^2 <= D2^2, and let c be any whole number.
For every integer order a >= 2 and every set S of outputs, the noisy vectors P and Q have P(S) <= e^epsilon Q(S) + delta with

    delta = exp((a-1) (R(a) - epsilon)) (1 - 1/a)^a / (a-1) + D1 tau,     tau = probability that |noise of a cell| > c,
    R(a) = A D2^2 + B D1,   A = a/(2 variance),   B = max over d = 1 .. floor(D2) of max(0, g(d, a) - A d^2)/d,
    g(d, a) = 1/(a-1) log sum over |k| <= c of p(k)^a p(k+d)^(1-a).

**Proof.** At most D1 cells differ. Let E be the event that the noise of all of these lies in -c .. c: the rest of P has a
probability of at most D1 tau. On E the sum of P^a Q^(1-a) is the product over differing cells of the sums in g(|d_i|, a) (a
negative shift mirrors the sum, as p is symmetric), so at most exp((a-1) (A sum d_i^2 + B sum |d_i|)), no |d_i| being above D2.
With z the logarithm of P/Q, P(S and E) - e^epsilon Q(S) is at most the sum over E of P max(0, 1 - e^(epsilon-z)), and that is at
most exp(-(a-1) epsilon) (1 - 1/a)^a / (a-1) times the sum over E of P e^((a-1) z) (Canonne, Kamath and Steinke 2020, Proposition
12, which holds for every z and so on E alone). What dishonest people add is independent of all this, and adding it is
post-processing.

**Tables and floats**, with u = 2^-53. The law of a sum is found by squaring: the convolution of two tables of at most m entries
adds up products that are not negative, so each entry of it is off, relatively, by the sum of what the two are off and at most
(m + 1) u.
Entries below `SMALLEST` are left out, and how much probability they have is added up (`lost`): entries of at least `FLOOR` are then
off by at most lost / FLOOR more. Only these are used, and c is so small that every p(k+d) in g is one of them. Logarithms of
probabilities, and with them g, are rounded up by all that. A share's own table is taken to be right to `ROUNDED`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import InvalidInput
from ..privacy import Disclosed, Loss, Sensitivity
from ..privacy.skellam import LARGEST, ORDERS, UNIT, RenyiLoss
from ..validation import Json
from .mechanism import Shares
from .randomizer import Tabled

SMALLEST, FLOOR = 1e-60, 1e-40
"""Probabilities that are left out of tables, and those that are used."""
WIDEST = 1 << 15
"""The most entries of the table of a sum: products of all pairs of entries are added up."""
ROUNDED = 2.0**-43
"""By how much, relatively, the entries of a share's own table may be off: about a thousand roundings."""


@dataclass(frozen=True, eq=False)
class SumLaw:
    """The law of a sum. table: (2 m + 1,) probabilities of -m .. m, symmetric. error: by how much, relatively, those of at least
    `FLOOR` may be off; lost: the probability of what is not in the table, at most.
    """

    table: NDArray[np.float64]
    error: float = ROUNDED
    lost: float = 0.0

    @property
    def most(self) -> int:
        """The table ends here, on both sides."""
        return len(self.table) // 2

    def added_to(self, other: SumLaw) -> SumLaw:
        """The law of the sum of both, which are independent."""
        if len(self.table) + len(other.table) > 2 * WIDEST:
            raise InvalidInput(
                "shares-too-wide",
                f"The sum of shares must have a table of at most {WIDEST:,} entries. That of these is wider. Take a coarser grid, "
                "a larger epsilon, or the mechanism skellam.",
            )
        summed = np.convolve(self.table, other.table)
        summed = (summed + summed[::-1]) / 2
        few = int(np.searchsorted(summed[: len(summed) // 2], SMALLEST))  # a log-concave law rises up to its middle
        error = 1.01 * (self.error + other.error + (min(len(self.table), len(other.table)) + 3) * UNIT)
        return SumLaw(summed[few : len(summed) - few], error, self.lost + other.lost + 2 * few * SMALLEST)


@lru_cache(maxsize=128)
def law_of_sum(share: Tabled, people: int) -> SumLaw:
    """The law of the sum of this many shares, by squaring."""
    share.check()
    power, total = SumLaw(share.table()), None
    while True:
        if people & 1:
            total = power if total is None else total.added_to(power)
        people >>= 1
        if not people:
            break
        power = power.added_to(power)
    assert total is not None  # the share of no user is no noise: callers have at least one person
    return total


def renyi_curve(law: SumLaw, l1: float, l2: float) -> tuple[tuple[tuple[int, float], ...], float]:
    """R at every order that is of use, and what is charged to delta besides, for vectors that are l1 and l2 apart; nothing at all
    where the table is too narrow for such a change to be hidden in it."""
    furthest = max(1, math.floor(l2 + 1e-9))
    used = law.most - int(np.searchsorted(law.table[: law.most], FLOOR))
    reach = used - furthest
    if reach < 0:
        return (), 1.0
    middle = law.most
    logs = np.log(law.table[middle - used : middle + used + 1])
    off = law.error + law.lost / FLOOR + 8 * UNIT * float(np.abs(logs).max())
    tail = (float(law.table[: middle - reach].sum()) * 2 + law.lost) * (1 + 2 * law.error)
    places = np.arange(-law.most, law.most + 1)
    variance = float((law.table * places**2).sum())
    here = logs[furthest : len(logs) - furthest]  # -reach .. reach
    curve = []
    for order in ORDERS:
        gaussian, beyond = order / (2 * variance), 0.0
        if gaussian * l2**2 > LARGEST:
            break
        for shift in range(1, furthest + 1):
            terms = order * here - (order - 1) * logs[furthest + shift : len(logs) - furthest + shift]
            top = float(terms.max())
            rounded = (2 * order - 1) * off + 2 * UNIT * (len(terms) + 4 * abs(top))
            moment = top + math.log(float(np.exp(terms - top).sum())) + rounded
            beyond = max(beyond, (moment / (order - 1) - gaussian * shift**2) / shift)
        curve.append((order, gaussian * l2**2 + beyond * l1))
    return tuple(curve), l1 * tail


class NoiseShares(Shares, ABC):
    """Noise that the honest people of a batch add together. honest: how many a batch of each size has. width: cells of a report."""

    honest: tuple[int, ...]
    width: int
    grid: float

    @abstractmethod
    def loss_among(self, people: tuple[int, ...], sensitivity: Sensitivity) -> Loss:
        """The loss of the sums if this many people are honest, of each size, and add their shares."""

    @property
    def cells(self) -> int:
        """Cells of a report."""
        return self.width

    @property
    def apart(self) -> bool:
        """A person is in one of several batches, not in each."""
        return len(self.honest) > 1

    @property
    def people(self) -> tuple[int, ...]:
        """How many honest people are in the sums of each size."""
        return self.honest

    @property
    def missing(self) -> float:
        """0: every user is in every sum, so that no batch is smaller than stated."""
        return 0.0

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of the sums, which are all that leaves the shufflers."""
        return self.loss_among(self.honest, sensitivity)

    def local_loss(self, sensitivity: Sensitivity) -> Loss:
        """That of the reports themselves, if the shufflers kept them: nothing is guaranteed."""
        return Disclosed()


class TabledShares(NoiseShares):
    """Shares of noise of your own: `share` says what one device adds; the loss of the sums of a batch follows.

    Subclasses are frozen dataclasses with the fields `honest` (how many honest people a batch of each size has), `width` (cells of
    a report), `grid` and `name`, and whatever says how much noise there is.
    """

    @abstractmethod
    def share(self, people: int) -> Tabled:
        """What a device adds to a cell where this many honest people do; symmetric, log-concave, and on the same grid."""

    def loss_among(self, people: tuple[int, ...], sensitivity: Sensitivity) -> Loss:
        """The loss of the sums if this many people are honest, of each size, and add their shares: the worst of all sizes."""
        l1, l2 = sensitivity.l1 / self.grid, sensitivity.l2 / self.grid
        found = [
            renyi_curve(law_of_sum(self.share(counted), validation.integer("people", each, 1)), l1, l2)
            for each, counted in zip(people, self.honest, strict=True)
        ]
        curves, charged = [dict(curve) for curve, _ in found], max(charge for _, charge in found)
        worst = {order: max(curve[order] for curve in curves) for order in set.intersection(*map(set, curves))}
        return RenyiLoss(tuple(sorted(worst.items())), charged) if worst and charged < 1 else Disclosed()

    def on_device(self) -> tuple[Tabled, ...]:
        """What a device adds to a report to each of the shufflers."""
        return tuple(self.share(people) for people in self.honest)

    def describe(self) -> dict[str, Json]:
        """All fields, as plain values: by these the mechanism is made again from bytes."""
        values: dict[str, Json] = {field.name: vars(self)[field.name] for field in fields(self)}
        return {**values, "honest": list(self.honest)}
