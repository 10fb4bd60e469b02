"""What is seen over many worlds, in a few words and one small table, with every number from what was found."""

from __future__ import annotations

from collections.abc import Sequence

from .part import Found
from .world_lists import EVALUATION, family
from .world_view import OLD, OPEN, OURS, PRINTED, SOUND, Row, Sides, behind, geometric, ratios, sorted_out, stuck

HEAD = (
    "promise",
    "worlds, people, seeds",
    "ours / sound at its best scale",
    "worlds where ours is behind",
    "stuck runs: ours; sound",
    "ours / our planner of 0.1 at its best",
    "ours / ours without privacy",
)


def headline(found: Sequence[Found]) -> list[Row]:
    """For each promise: what was run, geometric means of ratios, where ours is behind, who is stuck, what privacy costs."""
    table = sorted_out(found)
    without = {world: sides[OURS] for world, sides in table.get(OPEN, {}).items() if OURS in sides}
    rows: list[Row] = [HEAD]
    for promise, worlds in table.items():
        both = ratios(worlds, OURS, SOUND)
        if promise == OPEN or not both:
            continue
        known = {world: {**sides, OPEN: without[world]} for world, sides in worlds.items() if world in without}
        late = behind(both)
        rows.append(
            (
                promise,
                _ran([worlds[world] for world in both]),
                f"{geometric(both):.2g}",
                f"{len(late)}" + (f" ({', '.join(late)})" if late else ""),
                f"{stuck(worlds, OURS)}; {stuck(worlds, SOUND)}",
                _mean(worlds, OURS, OLD),
                _mean(known, OURS, OPEN),
            )
        )
    return rows


def world_words(found: Sequence[Found]) -> str:
    """Which worlds were run, and how ours does without privacy."""
    table = sorted_out(found)
    worlds = list(dict.fromkeys(world for each in table.values() for world in each))
    words = [
        f"Run were {len(worlds)} of {len(EVALUATION)} worlds, of {len({family(world) for world in worlds})} families."
    ]
    for promise, ran in table.items():
        both = ratios(ran, OURS, SOUND)
        if promise != OPEN and both:
            words.append(
                f"{promise[0].upper()}{promise[1:]}: {geometric(both):.2g} times as much, behind in {len(behind(both))}."
            )
    without = table.get(OPEN, {})
    if ratios(without, OURS, OURS):
        named = ((OLD, "our default of 0.1"), (SOUND, "UCB-VI at its best scale"), (PRINTED, "UCB-VI as printed"))
        beside = [f"{_mean(without, OURS, side)} times {name}" for side, name in named if ratios(without, OURS, side)]
        words.append(f"Without privacy: {', '.join([f'{stuck(without, OURS)} runs stuck', *beside])}.")
    return " ".join(words)


def _ran(sides: Sequence[Sides]) -> str:
    people, seeds = {float(one[OURS].x[0]) for one in sides}, {float(len(one[OURS].rows)) for one in sides}
    return f"{len(sides)}, {_numbers(people)}, {_numbers(seeds)}"


def _mean(worlds: dict[str, Sides], one: str, other: str) -> str:
    found = ratios(worlds, one, other)
    return f"{geometric(found):.2g}" + (f" in {len(found)}" if len(found) < len(worlds) else "") if found else "not run"


def _numbers(values: set[float]) -> str:
    return " or ".join(f"{value:g}" for value in sorted(values))
