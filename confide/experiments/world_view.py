"""Many worlds at a glance: the ratio in each, geometric means, where one is behind, and who is stuck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..reporting.strip_figure import Strip, strip_figure
from .part import Found
from .view import interval, resampled

OURS, SOUND, OLD = "ours", "sound at its best", "planner of 0.1 at its best"
OUR_PLANNER, OUR_NOISE = "published noise, our planner", "our noise, published planner"
OPEN, PRINTED = "no privacy", "as printed"

STUCK = 0.1
"""A run is stuck if its last policy loses more than this share of what acting at random loses."""

Sides = dict[str, Found]
Row = Sequence[str]


def named(promise: str, world: str, side: str) -> str:
    """The label of a part."""
    return f"{promise}; {world}; {side}"


def sorted_out(found: Sequence[Found]) -> dict[str, dict[str, Sides]]:
    """By promise, world and side."""
    table: dict[str, dict[str, Sides]] = {}
    for one in found:
        promise, world, side = one.label.split("; ")
        table.setdefault(promise, {}).setdefault(world, {})[side] = one
    return table


def compared(one: Found, other: Found) -> tuple[float, float, float]:
    """Mean final regret of one over that of the other, with its 95 % bootstrap interval."""
    drawn = resampled(one.rows[:, 0], 1) / np.maximum(resampled(other.rows[:, 0], 2), 1e-12)
    return (float(one.rows[:, 0].mean() / max(other.rows[:, 0].mean(), 1e-12)), *interval(drawn))


def geometric(worlds: dict[str, Sides], one: str, other: str) -> float:
    """The geometric mean over worlds of the ratios of mean final regrets."""
    return float(np.exp(np.mean([np.log(max(compared(each[one], each[other])[0], 1e-12)) for each in worlds.values()])))


def worst(worlds: dict[str, Sides], one: str, other: str) -> tuple[float, str]:
    """The largest ratio, and where."""
    return max((compared(each[one], each[other])[0], world) for world, each in worlds.items())


def behind(worlds: dict[str, Sides], one: str, other: str) -> int:
    """In how many worlds the interval of the ratio lies above 1."""
    return sum(compared(each[one], each[other])[1] > 1 for each in worlds.values())


def stuck(worlds: dict[str, Sides], side: str) -> str:
    """How many runs of how many ended with a policy that loses more than a tenth of what acting at random does."""
    lost = np.concatenate([each[side].rows[:, 1] for each in worlds.values()])
    return f"{int((lost > STUCK).sum())} of {len(lost)}"


HEAD = ("promise", "world", "sound (scale)", "ours", "ours / sound", "planner of 0.1 (scale)", "ours / planner of 0.1")
MIXED = ("published noise, our planner / sound", "our noise, published planner / sound", "true guarantees: sound; ours")


@dataclass(frozen=True)
class Worlds:
    """Parts are labelled "promise; world; side"; each promise has the same worlds."""

    title: str

    def table(self, found: Sequence[Found]) -> list[Row]:
        """For each promise all worlds together, then each; then no privacy."""
        table = sorted_out(found)
        rows: list[Row] = [(*HEAD, *MIXED)]
        for promise, worlds in table.items():
            if promise != OPEN:
                rows.append(self._together(promise, worlds))
        for promise, worlds in table.items():
            rows += [self._alone(promise, world, sides) for world, sides in worlds.items()]
        if OPEN in table:
            rows.append(self._open(table[OPEN]))
        return rows

    def _together(self, promise: str, worlds: dict[str, Sides]) -> Row:
        ratio, where = worst(worlds, OURS, SOUND)
        old, there = worst(worlds, OURS, OLD)
        return (
            promise,
            f"all {len(worlds)}, geometric means",
            f"stuck {stuck(worlds, SOUND)}",
            f"stuck {stuck(worlds, OURS)}",
            f"{geometric(worlds, OURS, SOUND):.3g}; behind in {behind(worlds, OURS, SOUND)}; worst {ratio:.3g} "
            f"({where})",
            f"stuck {stuck(worlds, OLD)}",
            f"{geometric(worlds, OURS, OLD):.3g}; worst {old:.3g} ({there})",
            f"{geometric(worlds, OUR_PLANNER, SOUND):.3g}",
            f"{geometric(worlds, OUR_NOISE, SOUND):.3g}",
            "",
        )

    def _alone(self, promise: str, world: str, sides: Sides) -> Row:
        value, low, high = compared(sides[OURS], sides[SOUND])
        mixed = [
            f"{compared(sides[side], sides[SOUND])[0]:.3g}" if side in sides else ""
            for side in (OUR_PLANNER, OUR_NOISE)
        ]
        return (
            promise,
            world,
            _scaled(sides[SOUND]),
            f"{sides[OURS].rows[:, 0].mean():.3g}",
            f"{value:.3g} ({low:.3g} to {high:.3g})",
            _scaled(sides[OLD]),
            f"{compared(sides[OURS], sides[OLD])[0]:.3g}",
            *mixed,
            f"{sides[SOUND].guarantee}; {sides[OURS].guarantee}",
        )

    def _open(self, worlds: dict[str, Sides]) -> Row:
        printed = geometric(worlds, OURS, PRINTED)
        return (
            OPEN,
            f"all {len(worlds)}, geometric means",
            "UCB-VI, PRIVATE-UCB-VI's bonus without noise",
            f"stuck {stuck(worlds, OURS)}",
            f"{geometric(worlds, OURS, SOUND):.3g}; of what is printed {printed:.3g}",
            "the default of 0.1",
            f"{geometric(worlds, OURS, OLD):.3g}",
            "",
            "",
            "",
        )

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture: a strip of dots for each promise."""
        strips = []
        for promise, worlds in sorted_out(found).items():
            if promise == OPEN:
                continue
            dots = [(world, *compared(sides[OURS], sides[SOUND])) for world, sides in worlds.items()]
            strips.append(Strip(promise, dots, geometric(worlds, OURS, SOUND)))
        caption = "dot: a world, ratio of mean final regrets; bar: geometric mean; left of the line ours loses less"
        label = "regret of ours / regret of the published algorithm made sound, at its best scale in that world"
        return [strip_figure(strips, folder / f"worlds{suffix}", self.title, caption, label)]


@dataclass(frozen=True)
class Newcomer:
    """A learner of your own beside ours and the published one made sound, at its best scale; `side` is its name."""

    title: str
    side: str

    def table(self, found: Sequence[Found]) -> list[Row]:
        """For each promise all worlds together, then each."""
        table, own = sorted_out(found), self.side
        rows: list[Row] = [
            ("promise", "world", "sound (scale)", "ours", own, f"{own} / sound", f"{own} / ours", "guarantee")
        ]
        for promise, worlds in table.items():
            rows.append(
                (
                    promise,
                    f"all {len(worlds)}, geometric means",
                    *(f"stuck {stuck(worlds, side)}" for side in (SOUND, OURS, own)),
                    *(
                        f"{geometric(worlds, own, other):.3g}; behind in {behind(worlds, own, other)}"
                        for other in (SOUND, OURS)
                    ),
                    "",
                )
            )
        for promise, worlds in table.items():
            rows += [self._alone(promise, world, sides) for world, sides in worlds.items()]
        return rows

    def _alone(self, promise: str, world: str, sides: Sides) -> Row:
        ratios = (compared(sides[self.side], sides[other]) for other in (SOUND, OURS))
        means = (_scaled(sides[side]) for side in (SOUND, OURS, self.side))
        beside = (f"{value:.3g} ({low:.3g} to {high:.3g})" for value, low, high in ratios)
        return (promise, world, *means, *beside, sides[self.side].guarantee)

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """One picture: a strip of dots for each promise."""
        strips = []
        for promise, worlds in sorted_out(found).items():
            dots = [(world, *compared(sides[self.side], sides[OURS])) for world, sides in worlds.items()]
            strips.append(Strip(promise, dots, geometric(worlds, self.side, OURS)))
        caption = (
            f"dot: a world, ratio of mean final regrets; bar: geometric mean; left of the line {self.side} loses less"
        )
        label = f"regret of {self.side} / regret of ours"
        return [strip_figure(strips, folder / f"worlds{suffix}", self.title, caption, label)]


def _scaled(found: Found) -> str:
    scale = found.x[1]
    return f"{found.rows[:, 0].mean():.3g}" + ("" if np.isnan(scale) else f" ({scale:g})")
