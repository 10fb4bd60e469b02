"""Guarantees: what is guaranteed, to whom, and against whom."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass

from .. import validation
from ..errors import InvalidInput
from ..validation import Json

NONE = "none"
LOCAL = "local"
SHUFFLE = "shuffle"
JOINT = "joint"
CENTRAL = "central"
TRUSTS = (NONE, LOCAL, SHUFFLE, JOINT, CENTRAL)
"""Ours. `enter_trust` enters the word of another."""

REPLACE = "replace-one"
"""Neighbours differ in one person, who is replaced by another; how many people there are is public."""
ADD_REMOVE = "add-or-remove-one"
"""Neighbours differ in one person, who is there or not."""
NEIGHBOURS = (REPLACE, ADD_REMOVE)

UNIT = "one person's whole trajectory"

_ENTERED: set[str] = set()


def trusts() -> tuple[str, ...]:
    """The words of all trust models: ours, and those that were entered."""
    return (*TRUSTS, *sorted(_ENTERED - set(TRUSTS)))


def enter_trust(name: str) -> None:
    """Let guarantees name a trust model of one's own; `protocol.trusts.trust.register` does this."""
    _ENTERED.add(name)


# The delta at which a guarantee made in rho is also stated as an epsilon.
STATED_DELTA = 1e-6


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of differential privacy: epsilon with delta, or rho (zero-concentrated), or none at all.

    `trust` says who is trusted: `local` only the user's own device; `shuffle` a shuffler that mixes reports; `joint` a
    server whose policies other people see (joint DP); `central` a curator who publishes one release; `none` is no privacy.
    Another word is one that was entered.
    `unit` is what is hidden and `neighbours` what counts as one change of it.
    """

    trust: str
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    unit: str = UNIT
    neighbours: str = REPLACE

    def __post_init__(self) -> None:
        validation.choice("trust", self.trust, trusts())
        validation.choice("neighbours", self.neighbours, NEIGHBOURS)
        if not self.private:
            if self.epsilon is not None or self.rho is not None:
                raise InvalidInput(
                    "trust-none-takes-no-guarantee",
                    "trust 'none' has no guarantee, so it takes no epsilon or rho. Choose local or joint.",
                )
            return
        if self.rho is not None and self.epsilon is not None:
            raise InvalidInput("epsilon-and-rho", "A guarantee is in epsilon or in rho, not both. Leave one out.")
        if self.rho is not None:
            if self.delta:
                raise InvalidInput(
                    "rho-takes-no-delta",
                    "A guarantee in rho takes no delta. Leave delta out, or give epsilon and delta.",
                )
            object.__setattr__(self, "rho", validation.positive("rho", self.rho, "Use NoPrivacy() for no privacy."))
            return
        if self.epsilon is None:
            raise InvalidInput(
                "epsilon-or-rho",
                "A guarantee needs epsilon (with delta, if you like) or rho. Use NoPrivacy() for no privacy.",
            )
        way_out = "Use NoPrivacy() for no privacy."
        object.__setattr__(self, "epsilon", validation.positive("epsilon", self.epsilon, way_out))
        object.__setattr__(self, "delta", validation.delta("delta", self.delta, "Use 0 for pure epsilon."))

    @classmethod
    def none(cls) -> Guarantee:
        """The guarantee of no privacy."""
        return cls(NONE)

    @property
    def private(self) -> bool:
        """Whether it guarantees anything."""
        return self.trust != NONE

    @property
    def pure(self) -> bool:
        """Whether the guarantee has no delta: Laplace-like noise keeps it, Gaussian noise does not."""
        return self.epsilon is not None and self.delta == 0

    def mu(self, share: float = 1.0) -> float:
        """The largest mu of Gaussian noise that keeps this guarantee, or a share of it: of rho, or of mu^2."""
        from .conversion import gaussian_mu

        if self.rho is not None:
            return math.sqrt(2 * self.rho * share)
        if self.epsilon is None or self.delta == 0:
            raise InvalidInput(
                "gaussian-needs-delta",
                "Gaussian noise needs delta above 0. Give a delta such as 1e-6, or use Laplace noise.",
            )
        return gaussian_mu(self.epsilon, self.delta) * math.sqrt(share)

    def pure_epsilon(self, share: float = 1.0) -> float:
        """The largest epsilon without delta that keeps this guarantee, or a share of that epsilon.

        rho allows sqrt(2 rho) (Bun and Steinke 2016), or rho if larger, as no Renyi divergence exceeds epsilon.
        """
        if self.rho is not None:
            epsilon = max(math.sqrt(2 * self.rho), self.rho)
            while min(epsilon**2 / 2, epsilon) > self.rho:
                epsilon = math.nextafter(epsilon, 0.0)
            return epsilon * share
        if self.epsilon is None:
            raise InvalidInput("noise-needs-guarantee", "This noise needs a guarantee to keep. Give epsilon.")
        return self.epsilon * share

    def as_json(self) -> dict[str, Json]:
        """trust, epsilon, delta, rho, and `converted` where epsilon is rho's conversion at delta 1e-6."""
        from .conversion import zcdp_epsilon

        if self.rho is None:
            return {"trust": self.trust, "epsilon": self.epsilon, "delta": self.delta, "rho": None, "converted": False}
        epsilon = zcdp_epsilon(self.rho, STATED_DELTA)
        return {"trust": self.trust, "epsilon": epsilon, "delta": STATED_DELTA, "rho": self.rho, "converted": True}

    def __str__(self) -> str:
        if not self.private:
            return "no privacy"
        if self.rho is not None:
            return f"{rounded_up(self.rho)}-zCDP, {self.trust}"
        epsilon = rounded_up(self.epsilon or 0.0)
        return (
            f"({epsilon}, {rounded_up(self.delta)})-DP, {self.trust}" if self.delta else f"{epsilon}-DP, {self.trust}"
        )


def rounded_up(number: float, digits: int = 6) -> str:
    """The number in this many digits, never below what it is: a guarantee that is printed must not be stronger than kept."""
    text = f"{number:.{digits}g}"
    if float(text) >= number or not math.isfinite(number):
        return text
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    return f"{float(context.create_decimal_from_float(number)):.{digits}g}"


def rounded_down(number: float, digits: int = 6) -> str:
    """The number in this many digits, never above what it is: what is left of a budget is not made more."""
    return f"-{rounded_up(-number, digits)}".removeprefix("--") if number else "0"


def NoPrivacy() -> Guarantee:
    """No guarantee at all."""
    return Guarantee.none()


def Local(epsilon: float | None = None, delta: float = 0.0, rho: float | None = None) -> Guarantee:
    """A guarantee kept on each user's own device."""
    return Guarantee(LOCAL, epsilon, delta, rho)


def Shuffle(epsilon: float | None = None, delta: float = 0.0) -> Guarantee:
    """A guarantee kept by devices and a shuffler together."""
    return Guarantee(SHUFFLE, epsilon, delta)


def Joint(epsilon: float | None = None, delta: float = 0.0, rho: float | None = None) -> Guarantee:
    """A guarantee kept by a trusted server that learns online: the treatment of other users reveals nothing of a user's data."""
    return Guarantee(JOINT, epsilon, delta, rho)


def Central(epsilon: float | None = None, delta: float = 0.0, rho: float | None = None) -> Guarantee:
    """A guarantee kept by a trusted curator who publishes from data already collected."""
    return Guarantee(CENTRAL, epsilon, delta, rho)
