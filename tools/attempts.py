"""Attempts at losing less, by name: `python -m tools.attempts shares --minutes 10`.

An attempt is two ways of learning under one guarantee, with as many users and seeds: as before, and as tried. Worlds are taken one
family after another, until the minutes of CPU are over; what was measured is kept in docs/research/attempts.json, so that
several calls add up: nothing kept is run again, and `--minutes 0` says what is known. Said are the geometric mean of the ratios of
regret, in how many worlds the tried way is behind (the interval of the ratio lies above 1), and for both ways the median share
of what acting at random loses and how many runs ended with a policy that loses over a tenth of that.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from confide.lab.experiments.part import PartResult
from confide.lab.experiments.world_view import STUCK, behind, compared, geometric
from confide.lab.experiments.worlds import EVALUATION, TUNING, family
from confide.lab.simulation.setting import Setting
from confide.lab.simulation.simulate import prepare, run
from confide.privacy import Guarantee, Local, Shuffle

from .value_targets import ValueTargets

PLACE = Path(__file__).resolve().parents[1] / "docs" / "research" / "attempts.json"
WorldAt = tuple[str, int | None]
"""An address and a horizon; None is the one the world is registered with."""
Side = tuple[list[float], list[float]]
"""Of every seed the regret, and the value of the last policy."""
HELD_OUT: tuple[WorldAt, ...] = tuple((world, None) for world in EVALUATION)
EVERY_FOURTH: tuple[WorldAt, ...] = TUNING[::4]


@dataclass(frozen=True)
class NamedAttempt:
    """before, tried: choices of a simulation by `ucbvi`, with default settings where nothing is said; or what plays it instead."""

    question: str
    guarantee: Guarantee
    users: float
    worlds: tuple[WorldAt, ...]
    seeds: int
    tried: Mapping[str, Any] | ValueTargets
    before: Mapping[str, Any] = field(default_factory=dict)

    def measured(self, name: str, world: WorldAt) -> AttemptRow:
        """Both ways in one world."""
        setting = self._setting(world, self.before)
        lost = setting.optimal_value - setting.random_value
        sides = []
        for regret, value in (self._run(setting), self._tried(setting, world)):
            last = (setting.optimal_value - np.asarray(value)) / lost
            sides.append(([round(float(each), 1) for each in regret], [round(float(each), 5) for each in last]))
        (before, last_before), (tried, last_tried) = sides
        return AttemptRow(name, *world, lost * self.users, before, tried, last_before, last_tried)

    def _setting(self, world: WorldAt, choices: Mapping[str, Any]) -> Setting:
        address, horizon = world
        return prepare("ucbvi", address, self.guarantee, self.users, horizon=horizon, seeds=self.seeds, **choices)

    def _run(self, setting: Setting) -> Side:
        played = run(setting)
        return played.regret[:, -1].tolist(), played.final_value.tolist()

    def _tried(self, setting: Setting, world: WorldAt) -> Side:
        if isinstance(self.tried, ValueTargets):
            played = [self.tried.play(setting, seed) for seed in range(self.seeds)]
            return [regret for regret, _ in played], [value for _, value in played]
        return self._run(self._setting(world, self.tried))


@dataclass(frozen=True)
class AttemptRow:
    """One world: what acting at random loses, and of each seed the regret, and the share of random's loss of the last policy."""

    attempt: str
    world: str
    horizon: int | None
    random: float
    before: list[float]
    tried: list[float]
    last_before: list[float]
    last_tried: list[float]

    @property
    def key(self) -> tuple[str, str, int | None]:
        """What it is a row of."""
        return self.attempt, self.world, self.horizon


ATTEMPTS = {
    "shares": NamedAttempt(
        "Under shufflers, budgeted counts with shares of Skellam noise in place of flipped bits, half of the users honest",
        Shuffle(1.0, 1e-6),
        1e6,
        HELD_OUT,
        5,
        {"honest": 0.5, "claimed": True},
        {"honest": 0.5},
    ),
    "targets": NamedAttempt(
        "One bit about the next reward and value of an asked pair; three rounds in ten ask about random sets of next states",
        Local(1.0),
        1e7,
        EVERY_FOURTH,
        3,
        ValueTargets(0.3),
    ),
    "targets-half": NamedAttempt(
        "The same, where half of the rounds ask about random sets", Local(1.0), 1e7, EVERY_FOURTH, 3, ValueTargets(0.5)
    ),
    "targets-laws": NamedAttempt(
        "The first of these, planned with the nearest laws",
        Local(1.0),
        1e7,
        EVERY_FOURTH,
        3,
        ValueTargets(0.3, projected=True),
    ),
}


def in_order(worlds: Sequence[WorldAt]) -> list[WorldAt]:
    """Of every family one world after the other."""
    seen: Counter[str] = Counter()
    ranked = []
    for world in worlds:
        seen[family(world[0])] += 1
        ranked.append((seen[family(world[0])], world))
    return [world for _, world in sorted(ranked, key=lambda each: each[0])]


def kept(place: Path) -> dict[tuple[str, str, int | None], AttemptRow]:
    """The rows that were measured before."""
    told = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else []
    rows = [AttemptRow(**row) for row in told]
    return {row.key: row for row in rows}


def write(rows: Sequence[AttemptRow], place: Path) -> None:
    """Keep rows; the file appears whole or not at all."""
    draft = place.with_suffix(f".{os.getpid()}.partial")
    draft.write_text("[\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]\n", encoding="utf-8")
    os.replace(draft, place)


def said(attempt: NamedAttempt, rows: Sequence[AttemptRow]) -> str:
    """What is known of an attempt."""
    lines = [
        attempt.question,
        f"{attempt.guarantee}, {attempt.users:,.0f} users, {len(rows)} of {len(attempt.worlds)} worlds",
    ]
    if rows:
        ratios = {
            f"{row.world} {row.horizon or ''}".strip(): compared(*(_result(side) for side in (row.tried, row.before)))
            for row in rows
        }
        lines.append(
            f"regret over that before: geometric mean {geometric(ratios):.3g}, behind in {behind(ratios) or 'none'}"
        )
        for name, regrets, lasts in (
            ("before", [row.before for row in rows], [row.last_before for row in rows]),
            ("tried", [row.tried for row in rows], [row.last_tried for row in rows]),
        ):
            shares = [float(np.mean(each)) / row.random for each, row in zip(regrets, rows, strict=True)]
            runs = [last for each in lasts for last in each]
            bad = sum(last > STUCK for last in runs)
            lines.append(f"{name}: median share of random {np.median(shares):.2%}, stuck {bad} of {len(runs)} runs")
    return "\n".join(lines)


def _result(regrets: list[float]) -> PartResult:
    return PartResult("", np.zeros(1), np.array(regrets)[:, None], "")


def main(arguments: list[str] | None = None) -> int:
    """Measure, and say what is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attempt", choices=sorted(ATTEMPTS))
    parser.add_argument("--minutes", type=float, default=10.0, help="of CPU, after which no further world is begun")
    parser.add_argument("--json", type=Path, default=PLACE, help="where rows are kept")
    options = parser.parse_args(arguments)
    attempt, rows, started = ATTEMPTS[options.attempt], kept(options.json), time.process_time()
    for world in in_order(attempt.worlds):
        if time.process_time() - started >= 60 * options.minutes:
            break
        if (options.attempt, *world) not in rows:
            row = attempt.measured(options.attempt, world)
            rows[row.key] = row
            print(row.world, f"{np.mean(row.tried) / np.mean(row.before):.3g}", flush=True)
            write(list(rows.values()), options.json)
    print(said(attempt, [row for row in rows.values() if row.attempt == options.attempt]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
