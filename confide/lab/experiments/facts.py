"""The facts of a page: numbers are read from its data, and claims are checked against it, or the page is not built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...validation import Json
from .part import PAPER, PartResult
from .terms import HOLDS as HELD
from .terms import Terms, above, departure, fitted, power_misfit
from .view import slope

HOLDS, FAILS = "holds", "does not hold"
REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"


class Claim(NamedTuple):
    """One claim of a paper, or of ours: what is said, what was measured, and whether the one follows from the other."""

    said: str
    measured: str
    verdict: str

    def sentence(self) -> str:
        """The claim as a sentence."""
        return f"{self.said.rstrip('.')}: {self.verdict}; {self.measured.rstrip('.')}."

    def as_json(self) -> dict[str, Json]:
        """The claim as plain values."""
        return {"claim": self.said, "measured": self.measured, "verdict": self.verdict}


Seen = Callable[["Facts"], "str | Sequence[Claim | str]"]
"""What is seen, as a function of the data: claims with their verdicts, and remarks that claim nothing of it; or a text."""


@dataclass(frozen=True)
class Facts:
    """The data of one experiment at one scale, by the labels of its parts."""

    address: str
    scale: str
    results: Sequence[PartResult]

    def of(self, label: str) -> PartResult:
        """The result of the part with that label."""
        for result in self.results:
            if result.label == label:
                return result
        known = ", ".join(result.label for result in self.results)
        raise InvalidInput(
            "page-label-unknown",
            f"The page {self.address} speaks of {label!r}, which it has no data of. It has {known}.",
        )

    def at(self, label: str, place: float | None = None) -> float:
        """The mean over seeds at a place, by default the last; at a quick scale the nearest place that there is."""
        result = self.of(label)
        index = -1 if place is None else int(np.abs(result.x - place).argmin())
        if self.scale == PAPER and place is not None and result.x[index] != place:
            raise InvalidInput(
                "page-place-unknown",
                f"The page {self.address} speaks of {label!r} at {place:g}, which it has no data of.",
            )
        return float(result.mean[index])

    def finals(self, label: str) -> NDArray[np.float64]:
        """(seeds,) values at the last place."""
        return self.of(label).final

    def median(self, label: str) -> float:
        """The median over seeds at the last place."""
        return float(np.median(self.finals(label)))

    def ratio(self, label: str, other: str, place: float | None = None) -> float:
        """The mean of one over that of the other."""
        return self.at(label, place) / max(self.at(other, place), 1e-300)

    def power(self, label: str) -> float:
        """The slope of the logarithm of the mean."""
        return slope(self.of(label)).value

    def among(self, labels: Sequence[str], place: float | None = None) -> list[str]:
        """The labels in the order of their means, least first."""
        return sorted(labels, key=lambda label: self.at(label, place))

    def judged(self, said: str, true: bool, measured: str, words: tuple[str, str] = (HOLDS, FAILS)) -> Claim:
        """A claim with the verdict that the data gives, whichever that is."""
        return Claim(said, measured, words[0] if true else words[1])

    def of_paper(self, said: str, true: bool, measured: str) -> Claim:
        """A claim of a paper: reproduced, or not."""
        return self.judged(said, true, measured, (REPRODUCED, NOT_REPRODUCED))

    def claim(self, true: bool, text: str) -> str:
        """The text, if it is true. At the full scale a page with a false claim is not built; at a quick one it says so."""
        if true:
            return text
        if self.scale == PAPER:
            raise InvalidInput(
                "page-claim-false",
                f"The page {self.address} claims what its data does not show: {text!r}. Change the claim.",
            )
        return f"(This scale is too small to show what the full one does, with numbers of its own: {text})"


def in_own_form(
    facts: Facts,
    said: str,
    forms: Mapping[str, Terms],
    random: Mapping[str, NDArray[np.float64] | float] | None = None,
    least: float = 0.0,
) -> list[Claim]:
    """Which sweeps have the form of a bound, two terms with one constant each, and of the others what differs, kind by kind.

    random: what acting at random loses at the places of a sweep, where that is known. Means up to `least` are rounding.
    """
    shown = {label: above(facts.of(label), least) for label in forms}
    shown = {label: result for label, result in shown.items() if len(result.x) > 1}
    fits = {label: fitted(result, forms[label]) for label, result in shown.items()}
    good = [
        f"{label} ({fit.misfit:.1%}; one power {power_misfit(shown[label]):.0%})"
        for label, fit in fits.items()
        if fit.holds
    ]
    bad = [f"{label} ({fit.misfit:.0%})" for label, fit in fits.items() if not fit.holds]
    claims = [
        facts.of_paper(
            f"{said}, to within {HELD:.0%}",
            not bad,
            f"the form holds for {'; '.join(good) or 'none'}; it does not for {'; '.join(bad) or 'none'}",
        )
    ]
    causes: dict[str, list[str]] = {}
    for label, result in shown.items():
        if (found := departure(result, forms[label], (random or {}).get(label))) is not None:
            causes.setdefault(found.kind, []).append(f"{label}: {found.measured}")
    claims += [
        Claim(f"What differs in {len(some)} of those that have not the form: {kind}", ". ".join(some), HOLDS)
        for kind, some in causes.items()
    ]
    return claims


def number(value: float) -> str:
    """A number as a text writes it: 3 digits, thousands with commas, large ones as 1.5e+06."""
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
