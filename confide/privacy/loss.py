"""How much a release gives away: privacy losses, their composition and what they mean in epsilon and delta.

A `Loss` is one of three closed forms (pure epsilon, Gaussian mu, concentrated rho), a tabulated privacy-loss
distribution, or that of what hides nothing. `compose` adds them up: mu^2 and rho exactly, pure epsilons by their sum,
anything else through dp-accounting's distributions, pessimistically rounded.

An `Act` says which mechanism, on a statistic of which sensitivity, how many times: one frozen value, made once. The noise that is
drawn, the account that is kept, the error radius a bonus uses and the certificate that is printed all come from the same
`Act`, so they cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from types import ModuleType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from .. import validation
from ..validation import Json
from . import conversion

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# Width of the cells of a tabulated privacy loss; dp-accounting rounds losses up to it.
RESOLUTION = 1e-4


class Loss(Protocol):
    """A privacy loss: what one act costs, in epsilon and delta."""

    def epsilon(self, delta: float) -> float:
        """The least epsilon certified at `delta` (infinite if none is)."""
        ...

    def delta(self, epsilon: float) -> float:
        """The least delta certified at `epsilon`."""
        ...

    def distribution(self) -> PrivacyLossDistribution:
        """A dp-accounting PrivacyLossDistribution that dominates this loss."""
        ...


@dataclass(frozen=True)
class Pure:
    """epsilon-DP with delta 0, dominated by randomised response with that epsilon.

    times: how many equal and independent parts the value is the sum of. Together they are dominated by as many randomised
    responses of value/times each (Kairouz, Oh, Viswanath 2015): with p = 1/(1 + e^-v), v = value/times, the loss is (2j - times) v
    where j ~ Binomial(times, p) of them are true. Above delta 0 that is less than one response of the whole value.
    """

    value: float
    times: int = field(default=1, compare=False)

    def epsilon(self, delta: float) -> float:
        """At delta = 0 the value itself; above, what randomised response with this epsilon leaves."""
        if delta <= 0:
            return self.value
        if self.times > 1:
            if self.delta(0.0) <= delta:
                return 0.0
            return conversion.bisect(lambda epsilon: -self.delta(epsilon), -delta, 0.0, self.value)[1]
        # delta(eps) = (e^v - e^eps)/(1 + e^v)  =>  e^eps = e^v - delta (1 + e^v)
        shrunk = 1 - delta * (1 + math.exp(-self.value))
        return max(0.0, self.value + math.log(shrunk)) if shrunk > 0 else 0.0

    def delta(self, epsilon: float) -> float:
        """(e^v - e^epsilon)/(1 + e^v) where positive; of several parts E max(0, 1 - e^(epsilon - loss))."""
        if epsilon >= self.value:
            return 0.0
        part = self.value / self.times
        log_true, log_false = -math.log1p(math.exp(-part)), -part - math.log1p(math.exp(-part))
        terms = []
        for true in range(self.times, -1, -1):
            loss = part * (2 * true - self.times)
            if loss <= epsilon:
                break
            chance = math.exp(_log_choose(self.times, true) + true * log_true + (self.times - true) * log_false)
            terms.append(chance * -math.expm1(epsilon - loss))
        return math.fsum(terms)

    def distribution(self) -> PrivacyLossDistribution:
        """Randomised response that tells the truth with probability e^v/(1+e^v), as often as there are parts."""
        pld = _pld()
        part = self.value / self.times
        lie = math.exp(-part) / (1 + math.exp(-part))
        one = pld.from_randomized_response(2 * lie, 2, value_discretization_interval=RESOLUTION)
        return one if self.times == 1 else one.self_compose(self.times)


def _log_choose(many: int, few: int) -> float:
    return math.lgamma(many + 1) - math.lgamma(few + 1) - math.lgamma(many - few + 1)


@dataclass(frozen=True)
class GaussianLoss:
    """A Gaussian mechanism whose l2 sensitivity is `mu` standard deviations.

    `concentrated`: its rho, where that is known to be less than mu^2/2 (on a grid mu is charged for the grid, rho is
    not).
    """

    mu: float
    concentrated: float | None = field(default=None, compare=False)

    def epsilon(self, delta: float) -> float:
        """The least epsilon at `delta`, by the exact profile of the Gaussian mechanism."""
        return conversion.gaussian_epsilon(self.mu, delta)

    def delta(self, epsilon: float) -> float:
        """The least delta at `epsilon`, by the exact profile of the Gaussian mechanism."""
        return conversion.gaussian_delta(self.mu, epsilon)

    def distribution(self) -> PrivacyLossDistribution:
        """The privacy-loss distribution of one Gaussian of sigma 1/mu."""
        return _pld().from_gaussian_mechanism(1 / self.mu, value_discretization_interval=RESOLUTION)


@dataclass(frozen=True)
class Concentrated:
    """rho-zCDP and nothing more."""

    rho: float

    def epsilon(self, delta: float) -> float:
        """The least epsilon at `delta`, by the best known conversion."""
        return conversion.zcdp_epsilon(self.rho, delta)

    def delta(self, epsilon: float) -> float:
        """The least delta at `epsilon`, by the best known conversion."""
        return conversion.zcdp_delta(self.rho, epsilon)

    def distribution(self) -> PrivacyLossDistribution:
        """None exists: zCDP bounds moments, it has no dominating pair of its own."""
        raise TypeError("a zCDP bound composes with zCDP bounds only")


@dataclass(frozen=True)
class Tabulated:
    """A privacy-loss distribution of dp-accounting, pessimistically rounded."""

    table: PrivacyLossDistribution = field(repr=False)

    def epsilon(self, delta: float) -> float:
        """The least epsilon at `delta`, read off the table."""
        return float(self.table.get_epsilon_for_delta(delta))

    def delta(self, epsilon: float) -> float:
        """The least delta at `epsilon`, read off the table."""
        return float(self.table.get_delta_for_epsilon(epsilon))

    def distribution(self) -> PrivacyLossDistribution:
        """The privacy loss distribution: the table itself."""
        return self.table


@dataclass(frozen=True)
class Disclosed:
    """Nothing is hidden: the outputs of some two users have no value in common. Whatever else is released, it stays so."""

    def epsilon(self, delta: float) -> float:
        """Infinite at every delta below 1."""
        return math.inf

    def delta(self, epsilon: float) -> float:
        """1 at every epsilon."""
        return 1.0

    def distribution(self) -> PrivacyLossDistribution:
        """None is needed: `compose` and `repeat` know that nothing is hidden."""
        raise TypeError("where nothing is hidden there is nothing to add up")


def _pld() -> ModuleType:
    from dp_accounting.pld import privacy_loss_distribution

    module: ModuleType = privacy_loss_distribution
    return module


@singledispatch
def rho_of(loss: Loss) -> float | None:
    """The rho of a loss, where it has one: mu^2/2 for a Gaussian; for a pure loss epsilon^2/2, or epsilon if smaller.

    (Bun and Steinke 2016 prove the first; the second holds as no Renyi divergence of a pure loss exceeds epsilon.)
    """
    return None


@rho_of.register
def _(loss: Pure) -> float:
    part = loss.value / loss.times
    return loss.times * min(part**2 / 2, part)


@rho_of.register
def _(loss: GaussianLoss) -> float:
    return loss.mu**2 / 2 if loss.concentrated is None else loss.concentrated


@rho_of.register
def _(loss: Concentrated) -> float:
    return loss.rho


def repeat(loss: Loss, times: int) -> Loss:
    """The loss of the same act `times` times. (dp-accounting's accountant, which ignores some counts, is not used.)"""
    return repeated(loss, validation.integer("times", times, 1))


@singledispatch
def repeated(loss: Loss, times: int) -> Loss:
    """`repeat` of a kind of loss; another kind is entered with `repeated.register`."""
    return Tabulated(loss.distribution().self_compose(times)) if times > 1 else loss


@repeated.register
def _(loss: Pure, times: int) -> Loss:
    return Pure(loss.value * times, loss.times * times)


@repeated.register
def _(loss: GaussianLoss, times: int) -> Loss:
    return GaussianLoss(loss.mu * math.sqrt(times), None if loss.concentrated is None else loss.concentrated * times)


@repeated.register
def _(loss: Concentrated, times: int) -> Loss:
    return Concentrated(loss.rho * times)


@repeated.register
def _(loss: Disclosed, times: int) -> Loss:
    return loss


def compose(losses: Iterable[Loss]) -> Loss:
    """The loss of releasing everything together; adaptively chosen acts are covered."""
    parts: Sequence[Loss] = list(losses)
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, Disclosed) for part in parts):
        return Disclosed()
    pure = [part for part in parts if isinstance(part, Pure)]
    if len(pure) == len(parts):
        alike = len({part.value / part.times for part in pure}) == 1
        return Pure(sum(part.value for part in pure), sum(part.times for part in pure) if alike else 1)
    rhos = [rho for rho in map(rho_of, parts) if rho is not None]
    squares = [part.mu**2 for part in parts if isinstance(part, GaussianLoss)]
    if len(squares) == len(parts):
        return GaussianLoss(math.sqrt(sum(squares)), sum(rhos))
    if any(isinstance(part, Concentrated) for part in parts):
        if len(rhos) < len(parts):
            raise TypeError("a zCDP bound composes with zCDP bounds only")
        return Concentrated(sum(rhos))
    total = parts[0].distribution()
    for part in parts[1:]:
        total = total.compose(part.distribution())
    return Tabulated(total)


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of a vector of counters: how far one person can move it, in the units of the counters.

    l1, l2: the largest such distances. `shifts` lists pairs (size, how many): the difference made by one person is
    never easier to notice than a vector of `how many` cells shifted by `size` each, whatever log-concave noise is
    added independently to the cells. (Merging two shifts t and u of separate cells into one shift t+u can only make
    them easier to notice: for log-concave noise with distribution function F the best test of a shift t has trade-off
    f_t(a) = F(F^-1(1-a) - t), and testing both shifts in two steps shows f_t (x) f_u >= f_u(1 - f_t) = f_{t+u}.)
    `cells` is the most cells in which two neighbours can differ.
    """

    l1: float
    l2: float
    shifts: tuple[tuple[float, int], ...]
    cells: int

    def scaled(self, factor: float) -> Sensitivity:
        """The sensitivity of the statistic in other units."""
        shifts = tuple((size * factor, count) for size, count in self.shifts)
        return Sensitivity(self.l1 * factor, self.l2 * factor, shifts, self.cells)


class Mechanism(Protocol):
    """A way to hide one person: its name and parameters are public, its loss is known."""

    @property
    def name(self) -> str:
        """The word by which commands and certificates know it."""
        ...

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The privacy loss of one use on a statistic of this sensitivity."""
        ...

    def describe(self) -> dict[str, Json]:
        """Name and parameters, as plain values."""
        ...


M = TypeVar("M", bound=Mechanism, covariant=True)
"""A kind of mechanism."""


@dataclass(frozen=True)
class Act(Generic[M]):
    """A mechanism used `times` times on a statistic of the given sensitivity by or for the same person."""

    mechanism: M
    sensitivity: Sensitivity
    times: int = 1

    @cached_property
    def loss(self) -> Loss:
        """The privacy loss of the act in all: that of the mechanism, composed `times` times."""
        return repeat(self.mechanism.loss(self.sensitivity), self.times)

    def describe(self) -> dict[str, Json]:
        """For certificates: mechanism, parameters, sensitivity, times."""
        sensitivity = {"l1": self.sensitivity.l1, "l2": self.sensitivity.l2}
        return {**self.mechanism.describe(), "sensitivity": sensitivity, "times": self.times}
