"""The view of many worlds: the ratio in each, geometric means, where one is behind, and who is stuck."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ...analysis.reporting.figures import Strip, strip_figure
from ...analysis.reporting.intervals import DASH, SeedInterval, ratio_interval
from ...learning.planning.evaluation import flow_value, optimal_value
from ...protocol.papers import POOLED
from ..environments import make
from .part import PartResult

OURS, SOUND = "ours", "sound at its best"
OUR_PLANNER, OUR_NOISE = "published noise, our planner", "our noise, published planner"
OPEN, PRINTED = "no privacy", "as printed"
POLICY, MANY = "policy optimisation", "ours, many seeds"

STUCK = 0.1
"""A run is stuck if its last policy loses more than this share of what acting at random loses."""

BAD = 0.02
"""A run is bad if it loses more than this share of what as many people lose who act at random."""

Sides = dict[str, PartResult]
TableRow = Sequence[str]


def named(promise: str, world: str, side: str) -> str:
    """The label of a part."""
    return f"{promise}; {world}; {side}"


def split(label: str) -> tuple[str, str, str]:
    """Guarantee, world and side of a part."""
    promise, world, side = label.split("; ")
    return promise, world, side


def by_promise(results: Sequence[PartResult]) -> dict[str, dict[str, Sides]]:
    """Results by guarantee, world and side."""
    table: dict[str, dict[str, Sides]] = {}
    for result in results:
        promise, world, side = split(result.label)
        table.setdefault(promise, {}).setdefault(world, {})[side] = result
    return table


def pooled(result: PartResult) -> str:
    """What a table adds to a side that pools counts over steps, which its paper counts apart."""
    return f", {POOLED}" if POOLED in result.guarantee else ""


@cache
def random_loss(world: str, horizon: int | None = None) -> float:
    """How much less than the best policy one who acts at random earns a person."""
    model = make(world, horizon).model
    assert model is not None  # all listed worlds are known
    spec = model.spec
    policy = np.full((spec.horizon, spec.states, spec.actions), 1 / spec.actions)
    flow = np.empty((2, spec.states))
    return float(optimal_value(model) - flow_value(model.transitions, model.rewards, model.initial, policy, flow))


def share_lost(worlds: dict[str, Sides], side: str) -> str:
    """The median over worlds of the mean regret, as a share of what as many people lose who act at random."""
    shares = [
        sides[side].rows[:, 0].mean() / (random_loss(world) * sides[side].x[0])
        for world, sides in worlds.items()
        if side in sides
    ]
    return f"{100 * float(np.median(shares)):.2g} %" if shares else DASH


def compared(result: PartResult, other: PartResult) -> SeedInterval:
    """Mean final regret of one over that of the other, with its interval; means below `LEAST` count as that."""
    return ratio_interval(result.rows[:, 0], other.rows[:, 0], LEAST)


LEAST = 1.0
"""What one step can earn: who loses less than that over all people together loses nothing, and nothing has no ratio."""

WorldRatios = dict[str, SeedInterval]


def ratios(worlds: dict[str, Sides], side: str, other: str) -> WorldRatios:
    """The ratios of mean final regrets, with their intervals, in the worlds where both sides were run."""
    return {
        world: compared(sides[side], sides[other])
        for world, sides in worlds.items()
        if side in sides and other in sides
    }


def geometric(values_by_world: WorldRatios) -> float:
    """The geometric mean of the ratios; not a number if there are none."""
    return (
        float(np.exp(np.mean([np.log(ratio.value) for ratio in values_by_world.values()])))
        if values_by_world
        else math.nan
    )


def behind(by_world: WorldRatios) -> list[str]:
    """The worlds where the interval of the ratio lies above 1."""
    return [world for world, ratio in by_world.items() if ratio.above_one]


def behind_text(by_world: WorldRatios, names: bool = False) -> str:
    """In how many worlds one is behind; a dash where there was one seed, which bears no verdict. names: with the worlds."""
    if all(ratio.low is None for ratio in by_world.values()):
        return DASH
    late = behind(by_world)
    return f"{len(late)}" + (f" ({', '.join(late)})" if names and late else "")


def stuck(worlds: dict[str, Sides], side: str) -> str:
    """How many runs of how many ended with a policy that loses more than a tenth of what acting at random does."""
    lost = [share for sides in worlds.values() if side in sides for share in sides[side].rows[:, 1]]
    return f"{sum(share > STUCK for share in lost)} of {len(lost)}"


def bad(worlds: dict[str, Sides]) -> tuple[int, int, float, str]:
    """Of the runs with many seeds: how many lost more than `BAD` of what acting at random does, how many there are, and the
    largest share, with its world. The third of their places is what acting at random loses.
    """
    shares = [
        (float(regret / sides[MANY].x[2]), world)
        for world, sides in worlds.items()
        if MANY in sides
        for regret in sides[MANY].rows[:, 0]
    ]
    return sum(share > BAD for share, _ in shares), len(shares), *max(shares, default=(math.nan, ""))


HEAD = (
    "guarantee",
    "world",
    "sound (scale)",
    "ours",
    "ours / sound",
    "share of random's loss: sound; ours",
    "stuck: sound; ours",
)
MIXED = ("published noise, our planner / sound", "our noise, published planner / sound", f"{POLICY} / ours")
LAST = "true guarantees: sound; ours"


@dataclass(frozen=True)
class Worlds:
    """Parts are labelled "guarantee; world; side". A side that was not run is left empty, and out of the means."""

    title: str

    def table(self, results: Sequence[PartResult]) -> list[TableRow]:
        """Rows for each guarantee: all worlds together, then each; then no privacy."""
        table = by_promise(results)
        rows: list[TableRow] = [(*HEAD, *MIXED, LAST)]
        for promise, worlds in table.items():
            if promise != OPEN and ratios(worlds, OURS, SOUND):
                rows.append(self._together(promise, worlds))
        for promise, worlds in table.items():
            rows += [self._alone(promise, world, sides) for world, sides in worlds.items() if OURS in sides]
        if OPEN in table:
            rows.append(self._open(table[OPEN]))
        return rows

    def _together(self, promise: str, worlds: dict[str, Sides]) -> TableRow:
        sound, policy = (ratios(worlds, *pair) for pair in ((OURS, SOUND), (POLICY, OURS)))
        return (
            promise,
            f"all {len(sound)}, geometric means",
            "",
            "",
            f"{geometric(sound):.3g}; behind in {behind_text(sound)}; {worst(sound)}",
            *_of_random(worlds),
            *(_mean(ratios(worlds, side, SOUND)) for side in (OUR_PLANNER, OUR_NOISE)),
            f"{geometric(policy):.3g}; {worst(policy)}" if policy else "",
            "",
        )

    def _alone(self, promise: str, world: str, sides: Sides) -> TableRow:
        here = {world: sides}
        return (
            promise,
            world,
            _scaled(sides.get(SOUND)),
            f"{sides[OURS].rows[:, 0].mean():.3g}",
            ratios(here, OURS, SOUND)[world].text() if SOUND in sides else "",
            *_of_random(here),
            *(_mean(ratios(here, *pair)) for pair in ((OUR_PLANNER, SOUND), (OUR_NOISE, SOUND), (POLICY, OURS))),
            "; ".join(sides[side].guarantee for side in (SOUND, OURS) if side in sides),
        )

    def _open(self, worlds: dict[str, Sides]) -> TableRow:
        printed, best = ratios(worlds, OURS, PRINTED), ratios(worlds, OURS, SOUND)
        lost, runs, _, _ = bad(worlds)
        return (
            OPEN,
            f"all {len(ratios(worlds, OURS, OURS))}, geometric means",
            "UCB-VI, PRIVATE-UCB-VI's bonus without noise",
            f"bad {lost} of {runs}" if runs else "",
            f"{_mean(best)}; of what is printed {_mean(printed)}",
            *_of_random(worlds),
            "",
            "",
            "",
            "",
        )

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture: a strip of dots for each guarantee."""
        strips = []
        for promise, worlds in by_promise(results).items():
            dots = ratios(worlds, OURS, SOUND)
            if promise != OPEN and dots:
                strips.append(Strip(promise, [(world, *each) for world, each in dots.items()], geometric(dots)))
        caption = "dot: a world, ratio of mean final regrets; bar: geometric mean; left of the line ours loses less"
        label = "regret of ours / regret of the published algorithm made sound, at its best scale in that world"
        return [strip_figure(strips, folder / f"worlds{suffix}", self.title, caption, label)]


def _of_random(worlds: dict[str, Sides]) -> tuple[str, str]:
    """Of the published side and of ours: the median share of what acting at random loses, and the runs that were stuck."""
    both = [side for side in (SOUND, OURS) if any(side in sides for sides in worlds.values())]
    return "; ".join(share_lost(worlds, side) for side in both), "; ".join(stuck(worlds, side) for side in both)


def _mean(by_world: WorldRatios) -> str:
    return f"{geometric(by_world):.3g}" if by_world else ""


def worst(by_world: WorldRatios) -> str:
    """The largest ratio, and its world."""
    value, where = max((ratio.value, world) for world, ratio in by_world.items())
    return f"worst {value:.3g} ({where})"


@dataclass(frozen=True)
class Newcomer:
    """A learner of your own beside ours and the published one made sound, at its best scale; `side` is its name."""

    title: str
    side: str

    def table(self, results: Sequence[PartResult]) -> list[TableRow]:
        """Rows for each guarantee: all worlds together, then each."""
        table, own = by_promise(results), self.side
        rows: list[TableRow] = [
            ("guarantee", "world", "sound (scale)", "ours", own, f"{own} / sound", f"{own} / ours", "true guarantee")
        ]
        for promise, worlds in table.items():
            beside = [ratios(worlds, own, other) for other in (SOUND, OURS)]
            rows.append(
                (
                    promise,
                    f"all {len(beside[1])}, geometric means",
                    *(f"stuck {stuck(worlds, side)}" for side in (SOUND, OURS, own)),
                    *(f"{geometric(each):.3g}; behind in {behind_text(each)}" for each in beside),
                    "",
                )
            )
        for promise, worlds in table.items():
            rows += [self._alone(promise, world, sides) for world, sides in worlds.items() if own in sides]
        return rows

    def _alone(self, promise: str, world: str, sides: Sides) -> TableRow:
        compared_with = (ratios({world: sides}, self.side, other).get(world) for other in (SOUND, OURS))
        means = (_scaled(sides.get(side)) for side in (SOUND, OURS, self.side))
        beside = (each.text() if each else "" for each in compared_with)
        return (promise, world, *means, *beside, sides[self.side].guarantee)

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture: a strip of dots for each guarantee."""
        strips = []
        for promise, worlds in by_promise(results).items():
            dots = ratios(worlds, self.side, OURS)
            strips.append(Strip(promise, [(world, *each) for world, each in dots.items()], geometric(dots)))
        caption = (
            f"dot: a world, ratio of mean final regrets; bar: geometric mean; left of the line {self.side} loses less"
        )
        label = f"regret of {self.side} / regret of ours"
        return [strip_figure(strips, folder / f"worlds{suffix}", self.title, caption, label)]


def _scaled(result: PartResult | None) -> str:
    if result is None:
        return ""
    scale = result.x[1]
    return f"{result.rows[:, 0].mean():.3g}" + ("" if np.isnan(scale) else f" ({scale:g})") + pooled(result)
