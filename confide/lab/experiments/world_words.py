"""The text over many worlds, and one small table, with every number from the results."""

from __future__ import annotations

from collections.abc import Sequence

from .part import PartResult
from .world_lists import EVALUATION, family
from .world_view import (
    BAD,
    OPEN,
    OURS,
    POLICY,
    PRINTED,
    SOUND,
    Sides,
    TableRow,
    bad,
    behind_text,
    by_promise,
    geometric,
    pooled,
    ratios,
    stuck,
)

HEAD = (
    "promise",
    "worlds, people, seeds",
    "ours / sound at its best scale",
    "worlds where ours is behind",
    "stuck runs: ours; sound",
    "ours / ours without privacy",
    "policy optimisation / ours",
)


def headline(results: Sequence[PartResult]) -> list[TableRow]:
    """The rows of the headline, for each promise: what was run, geometric means of ratios, where ours is behind, who is
    stuck, what privacy costs."""
    table = by_promise(results)
    without = {world: sides[OURS] for world, sides in table.get(OPEN, {}).items() if OURS in sides}
    rows: list[TableRow] = [HEAD]
    for promise, worlds in table.items():
        vs_sound = ratios(worlds, OURS, SOUND)
        if promise == OPEN or not vs_sound:
            continue
        known = {world: {**sides, OPEN: without[world]} for world, sides in worlds.items() if world in without}
        named = pooled(next(sides[SOUND] for sides in worlds.values() if SOUND in sides))
        rows.append(
            (
                promise,
                _ran([worlds[world] for world in vs_sound]),
                f"{geometric(vs_sound):.2g}{named}",
                behind_text(vs_sound, names=True),
                f"{stuck(worlds, OURS)}; {stuck(worlds, SOUND)}",
                _mean(known, OURS, OPEN),
                _mean(worlds, POLICY, OURS),
            )
        )
    return rows


def world_words(results: Sequence[PartResult]) -> str:
    """The text: which worlds were run, and how ours does without privacy."""
    table = by_promise(results)
    worlds = list(dict.fromkeys(world for each in table.values() for world in each))
    sentences = [
        f"Run were {len(worlds)} of {len(EVALUATION)} worlds, of {len({family(world) for world in worlds})} families."
    ]
    for promise, ran in table.items():
        vs_sound = ratios(ran, OURS, SOUND)
        if promise != OPEN and vs_sound:
            sentences.append(
                f"{promise[0].upper()}{promise[1:]}: {geometric(vs_sound):.2g} times as much, behind in {behind_text(vs_sound)}."
            )
        policy = ratios(ran, POLICY, OURS)
        if policy:
            sentences.append(
                f"There policy optimisation, as it comes too, loses {geometric(policy):.2g} times what ours does, in "
                f"{len(policy)} worlds."
            )
    without = table.get(OPEN, {})
    if ratios(without, OURS, OURS):
        named = ((SOUND, "UCB-VI at its best scale"), (PRINTED, "UCB-VI as printed"))
        beside = [f"{_mean(without, OURS, side)} times {name}" for side, name in named if ratios(without, OURS, side)]
        sentences.append(f"Without privacy: {', '.join([f'{stuck(without, OURS)} runs stuck', *beside])}.")
    many, runs, largest, where = bad(without)
    if runs:
        sentences.append(
            f"{many} of {runs} runs without privacy lose over {BAD:.0%} of what as many people lose who act at random; the "
            f"worst loses {largest:.2%}, in {where}."
        )
    return " ".join(sentences)


def _ran(sides: Sequence[Sides]) -> str:
    people = {float(side[OURS].x[0]) for side in sides}
    seeds = {float(len(side[which].rows)) for side in sides for which in (OURS, SOUND)}
    return f"{len(sides)}, {_numbers(people)}, {_numbers(seeds)}"


def _mean(worlds: dict[str, Sides], side: str, other: str) -> str:
    by_world = ratios(worlds, side, other)
    return (
        f"{geometric(by_world):.2g}" + (f" in {len(by_world)}" if len(by_world) < len(worlds) else "")
        if by_world
        else "not run"
    )


def _numbers(values: set[float]) -> str:
    return " or ".join(f"{value:g}" for value in sorted(values))
