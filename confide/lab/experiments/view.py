"""Views of the results of parts: pictures, and tables with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...analysis.reporting.figures import (
    Dot,
    histogram_figure,
    ratio_figure,
    regret_figure,
    tradeoff_figure,
    value_figure,
)
from ...analysis.reporting.intervals import NAME, SeedInterval, mean_interval, power_interval, ratio_interval
from .part import PartResult
from .terms import Terms, above, fitted, power_misfit


def ratio(result: PartResult, other: PartResult) -> SeedInterval:
    """Mean final value of one over that of the other, with its interval: two curves share no random numbers."""
    return ratio_interval(result.final, other.final)


def surely_less(one: PartResult, other: PartResult) -> list[float]:
    """The places at which one is below the other, beyond the error of seeds."""
    return [
        float(place)
        for place, left, right in zip(one.x, one.rows.T, other.rows.T, strict=True)
        if ratio_interval(left, right).below_one
    ]


@dataclass(frozen=True)
class Regret:
    """Cumulative regret over people, and per person where asked for. `pairs` are compared: (sound, tight) indices."""

    title: str
    pairs: tuple[tuple[int, int], ...] = ()
    per_person: bool = False
    log: bool = True

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of final regrets; beside tight its share of each sound one that it is compared with."""
        beside: dict[int, list[str]] = {tight: [] for _, tight in self.pairs}
        for sound, tight in self.pairs:
            beside[tight].append(f"{ratio(results[tight], results[sound]).text()} of {results[sound].label}")
        rows: list[Sequence[str]] = [("", "true guarantee", "final regret", "ratio")]
        for index, result in enumerate(results):
            rows.append(
                (result.label, result.guarantee, mean_interval(result.final).text(), "; ".join(beside.get(index, [])))
            )
        return rows if self.pairs else [row[:3] for row in rows]

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture, or two."""
        curves = [(result.label, result.x, result.rows) for result in results]
        ways = {"regret": False, **({"regret-per-person": True} if self.per_person else {})}
        return [
            regret_figure(
                curves, folder / f"{name}{suffix}", self.title, log_x=self.log, log_y=self.log, per_episode=divided
            )
            for name, divided in ways.items()
        ]


@dataclass(frozen=True)
class Values:
    """A measure over the number of people, at a few numbers."""

    title: str
    measure: str
    lines: tuple[tuple[str, float], ...] = ()
    log: bool = False

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of the means at each number of people."""
        people = sorted({float(many) for result in results for many in result.x})
        rows: list[Sequence[str]] = [("", "true guarantee", *(f"{many:,.0f}" for many in people))]
        for result in results:
            means = dict(zip(result.x.tolist(), result.mean, strict=True))
            cells = (f"{means[many]:.3g}" if many in means else "" for many in people)
            rows.append((result.label, result.guarantee, *cells))
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        curves = [(result.label, result.x, result.rows) for result in results]
        target = folder / f"values{suffix}"
        return [value_figure(curves, target, self.title, self.measure, self.lines, log_y=self.log)]


@dataclass(frozen=True)
class Over:
    """One quantity over another, on logarithmic axes: one line for each part."""

    title: str
    x: str
    y: str
    name: str = "over"

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of the means at each place."""
        places = sorted({float(place) for result in results for place in result.x})
        rows: list[Sequence[str]] = [(self.x, *(f"{place:g}" for place in places))]
        for result in results:
            means = dict(zip(result.x.tolist(), result.mean, strict=True))
            rows.append((result.label, *(f"{means[place]:.3g}" if place in means else "" for place in places)))
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        series = [(result.label, result.x, result.rows) for result in results]
        return [tradeoff_figure(series, [], folder / f"{self.name}{suffix}", self.title, self.x, self.y)]


@dataclass(frozen=True)
class Histograms:
    """How often values come out; the rows of a part are samples."""

    title: str
    label: str
    caption: str = ""

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of mean and deviation."""
        rows: list[Sequence[str]] = [("", "true guarantee", "mean", "standard deviation")]
        return rows + [
            (result.label, result.guarantee, f"{result.rows.mean():.4g}", f"{result.rows.std():.4g}")
            for result in results
        ]

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        samples = [(result.label, result.rows.ravel()) for result in results]
        return [histogram_figure(samples, folder / f"histogram{suffix}", self.title, self.caption, self.label)]


def pairs_of(results: Sequence[PartResult]) -> list[tuple[PartResult, PartResult]]:
    """Sound and tight of the same name; who was not run yet has no pair."""
    tight = {result.label.removesuffix(": tight"): result for result in results if result.label.endswith(": tight")}
    named = ((result, result.label.removesuffix(": sound")) for result in results if result.label.endswith(": sound"))
    return [(result, tight[name]) for result, name in named if name in tight]


@dataclass(frozen=True)
class Ratios:
    """Tight over sound under the same guarantee, by the names of the parts. Below 1 ours loses less."""

    title: str

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of both sides and their ratio."""
        heads = ("", "true guarantee of sound", "true guarantee of tight", "sound", "tight", "tight / sound")
        rows: list[Sequence[str]] = [heads]
        for sound, tight in pairs_of(results):
            cells = (mean_interval(sound.final), mean_interval(tight.final), ratio(tight, sound))
            rows.append((_both(sound.label), sound.guarantee, tight.guarantee, *(cell.text() for cell in cells)))
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        dots: list[Dot] = [(_both(sound.label), *ratio(tight, sound)) for sound, tight in pairs_of(results)]
        caption = f"dot: ratio of mean losses; bar: {NAME}; left of the line ours loses less"
        label = "loss of ours / loss of the published algorithm made sound"
        target = folder / f"cost{suffix}"
        return [ratio_figure(dots, target, self.title, caption, label, better="below")]


def _both(label: str) -> str:
    return label.removesuffix(": sound")


@dataclass(frozen=True)
class Slopes:
    """Growth as a power, and in a bound's own form: two terms, where it has two.

    A part is called "NAME, over THING"; `theory` says by that label which power is expected, `forms` which two terms.
    """

    title: str
    theory: tuple[tuple[str, str], ...]
    forms: tuple[tuple[str, Terms], ...] = ()
    measure: str = "regret"
    least: float = 0.0
    """Means up to this are rounding, and left out of powers and fits."""

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of powers and coefficients with their intervals, and of how far each fit is off at most."""
        expected, forms = dict(self.theory), dict(self.forms)
        heads = ("", "from", "to", "measured power", "theory", "off by", "two terms", "off by")
        rows: list[Sequence[str]] = [heads]
        for result in (above(result, self.least) for result in results):
            if len(result.x) < 2:
                rows.append([result.label, *[""] * (len(heads) - 1)])
                continue
            ends, power = (f"{place:g}" for place in result.x[[0, -1]]), slope(result).text(".2f")
            row = [result.label, *ends, power, expected.get(result.label, ""), f"{power_misfit(result):.0%}", "", ""]
            if (terms := forms.get(result.label)) is not None:
                fit = fitted(result, terms)
                row[-2:] = fit.text(terms), f"{fit.misfit:.0%}"
            rows.append(row)
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture for each thing that grows."""
        paths = []
        for thing in dict.fromkeys(_thing(result) for result in results):
            series = [
                (result.label.rpartition(", over ")[0], result.x, result.rows)
                for result in results
                if _thing(result) == thing
            ]
            target = folder / f"over-{'-'.join(thing.split())}{suffix}"
            paths.append(tradeoff_figure(series, [], target, self.title, thing, self.measure))
        return paths


def _thing(result: PartResult) -> str:
    return result.label.rpartition(", over ")[2]


def slope(result: PartResult) -> SeedInterval:
    """The power by which the mean grows with x, with its interval."""
    return power_interval(result.x, result.rows)
