"""Ways to look at what parts gave: pictures, and tables with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..reporting.figures import regret_figure
from ..reporting.histogram import histogram_figure
from ..reporting.ratio_figure import Dot, ratio_figure
from ..reporting.tradeoff import tradeoff_figure
from ..reporting.value_figure import value_figure
from .part import Found

RESAMPLES, CONFIDENCE = 4000, 0.95


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 % of resampled statistics."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return float(low), float(high)


def resampled(rows: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """(resamples, ...) means over seeds drawn with replacement: the bootstrap, with a fixed seed of its own."""
    drawn = np.random.default_rng(seed).integers(len(rows), size=(RESAMPLES, len(rows)))
    return np.asarray(rows[drawn].mean(axis=1))


def said(values: NDArray[np.float64]) -> str:
    """Mean of one value a seed, with its 95 % bootstrap interval."""
    low, high = interval(resampled(values))
    return f"{values.mean():.3g} ({low:.3g} to {high:.3g})"


def ratio(one: Found, other: Found) -> tuple[float, float, float]:
    """Mean final value of one over that of the other, with its 95 % bootstrap interval."""
    # Seeds of the two sides are drawn apart: two curves share no luck.
    drawn = resampled(one.final, 1) / resampled(other.final, 2)
    return (float(one.final.mean() / other.final.mean()), *interval(drawn))


@dataclass(frozen=True)
class Regret:
    """Cumulative regret over people, and per person where asked for. `pairs` are compared: (sound, tight) indices."""

    title: str
    pairs: tuple[tuple[int, int], ...] = ()
    per_person: bool = False
    log: bool = True

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """Final regrets; beside tight its share of each sound one that it is compared with."""
        beside: dict[int, list[str]] = {tight: [] for _, tight in self.pairs}
        for sound, tight in self.pairs:
            value, low, high = ratio(found[tight], found[sound])
            beside[tight].append(f"{value:.3g} ({low:.3g} to {high:.3g}) of {found[sound].label}")
        rows: list[Sequence[str]] = [("", "true guarantee", "final regret", "ratio")]
        for index, one in enumerate(found):
            rows.append((one.label, one.guarantee, said(one.final), "; ".join(beside.get(index, []))))
        return rows if self.pairs else [row[:3] for row in rows]

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture, or two."""
        curves = [(one.label, one.x, one.rows) for one in found]
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

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """The mean at each number of people."""
        people = sorted({float(many) for one in found for many in one.x})
        rows: list[Sequence[str]] = [("", "true guarantee", *(f"{many:,.0f}" for many in people))]
        for one in found:
            means = dict(zip(one.x.tolist(), one.mean, strict=True))
            words = (f"{means[many]:.3g}" if many in means else "" for many in people)
            rows.append((one.label, one.guarantee, *words))
        return rows

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture."""
        curves = [(one.label, one.x, one.rows) for one in found]
        target = folder / f"values{suffix}"
        return [value_figure(curves, target, self.title, self.measure, self.lines, log_y=self.log)]


@dataclass(frozen=True)
class Over:
    """Something over something else, on logarithmic axes: one line for each part."""

    title: str
    x: str
    y: str
    name: str = "over"

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """The mean at each place."""
        places = sorted({float(place) for one in found for place in one.x})
        rows: list[Sequence[str]] = [(self.x, *(f"{place:g}" for place in places))]
        for one in found:
            means = dict(zip(one.x.tolist(), one.mean, strict=True))
            rows.append((one.label, *(f"{means[place]:.3g}" if place in means else "" for place in places)))
        return rows

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture."""
        series = [(one.label, one.x, one.rows) for one in found]
        return [tradeoff_figure(series, [], folder / f"{self.name}{suffix}", self.title, self.x, self.y)]


@dataclass(frozen=True)
class Histograms:
    """How often values come out; the rows of a part are samples."""

    title: str
    label: str
    caption: str = ""

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """Mean and deviation."""
        rows: list[Sequence[str]] = [("", "true guarantee", "mean", "standard deviation")]
        return rows + [(one.label, one.guarantee, f"{one.rows.mean():.4g}", f"{one.rows.std():.4g}") for one in found]

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture."""
        samples = [(one.label, one.rows.ravel()) for one in found]
        return [histogram_figure(samples, folder / f"histogram{suffix}", self.title, self.caption, self.label)]


def pairs_of(found: Sequence[Found]) -> list[tuple[Found, Found]]:
    """Sound and tight, as they stand in turn."""
    return list(zip(found[::2], found[1::2], strict=True))


@dataclass(frozen=True)
class Ratios:
    """Tight over sound at the same true guarantee: parts come in pairs, sound then tight. Below 1 ours loses less."""

    title: str

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """Both sides and their ratio."""
        heads = ("", "true guarantee of sound", "true guarantee of tight", "sound", "tight", "tight / sound")
        rows: list[Sequence[str]] = [heads]
        for sound, tight in pairs_of(found):
            value, low, high = ratio(tight, sound)
            words = said(sound.final), said(tight.final), f"{value:.3g} ({low:.3g} to {high:.3g})"
            rows.append((_both(sound.label), sound.guarantee, tight.guarantee, *words))
        return rows

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture."""
        dots: list[Dot] = [(_both(sound.label), *ratio(tight, sound)) for sound, tight in pairs_of(found)]
        caption = "dot: ratio of mean losses; bar: 95 % bootstrap interval over seeds; left of the line ours loses less"
        label = "loss of ours / loss of the published algorithm made sound"
        target = folder / f"cost{suffix}"
        return [ratio_figure(dots, target, self.title, caption, label, better="below")]


def _both(label: str) -> str:
    return label.removesuffix(": sound")


@dataclass(frozen=True)
class Slopes:
    """Growth as a power: the slope of log loss over log place of each part, beside what theory says.

    A part is called "NAME, over THING"; `theory` says what is expected by that label.
    """

    title: str
    theory: tuple[tuple[str, str], ...]

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """Slopes with 95 % bootstrap intervals over seeds."""
        expected = dict(self.theory)
        rows: list[Sequence[str]] = [("", "from", "to", "measured power", "theory")]
        for one in found:
            value, low, high = slope(one)
            words = f"{value:.2f} ({low:.2f} to {high:.2f})"
            rows.append((one.label, f"{one.x[0]:g}", f"{one.x[-1]:g}", words, expected.get(one.label, "")))
        return rows

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture for each thing that grows."""
        paths = []
        for thing in dict.fromkeys(_thing(one) for one in found):
            series = [(one.label.rpartition(", over ")[0], one.x, one.rows) for one in found if _thing(one) == thing]
            target = folder / f"over-{'-'.join(thing.split())}{suffix}"
            paths.append(tradeoff_figure(series, [], target, self.title, thing, "regret"))
        return paths


def _thing(found: Found) -> str:
    return found.label.rpartition(", over ")[2]


def slope(found: Found) -> tuple[float, float, float]:
    """Least-squares slope of the logarithm of the mean over the logarithm of x, and its 95 % bootstrap interval."""
    x = np.log(found.x) - np.log(found.x).mean()

    def fitted(means: NDArray[np.float64]) -> NDArray[np.float64]:
        y = np.log(np.maximum(means, np.finfo(np.float64).tiny))
        return np.asarray((y * x).sum(axis=-1) / (x * x).sum())

    return (float(fitted(found.mean)), *interval(fitted(resampled(found.rows))))
