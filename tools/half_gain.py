"""How good the forecast of half the possible gain is: `python -m tools.half_gain --minutes 10`.

A row is a world of the evaluation list, a trust model and an epsilon. The forecast knows the sizes of the world alone; what is true
is found by the same search in the world itself, with other seeds. Right is within a factor of 3, or both beyond 10^7. Rows
are taken in an order that is drawn once, until the minutes of CPU are over. What is true and what was foreseen is kept in
docs/research/half-gain.json, so that several calls add up to the whole table: nothing kept is measured again, but forecasts
with `--forecast-again`, and `--minutes 0` says what is known. `--tuning` does the same in worlds on which the prior may be chosen,
and `--few` measures the regret of a thousand people as a share of that of random actions instead. `--sizes` says how well a smooth
rule of sizes could do: the power law that is fitted to what is true in these very worlds, in all but the world of a row, and in
tuning worlds; and the last together with the forecast. `--attempts` simulates more worlds of the prior, for rows that have a
forecast, and says how right each of `SUMMARIES` of what was found there would be.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.lab.environments import Environment
from confide.lab.environments.registry import resolve
from confide.lab.experiments.worlds import EVALUATION, TUNING
from confide.lab.simulation.half_gain import BEYOND, PEOPLE, half_gain, people_until_half, prior
from confide.lab.simulation.simulate import prepare, run
from confide.privacy import Guarantee, Joint, Local, Shuffle

RESEARCH = Path(__file__).resolve().parents[1] / "docs" / "research"
EPSILONS, DELTA, SEED, FEW = (1.0, 3.0), 1e-6, 900, 1000
WITHIN = 3.0
PLACE = 0.05
"""By so much more than acting at random a thousand people may lose."""

Array = NDArray[np.float64]

TRUSTS = ("joint", "shuffle", "local")

WorldAt = tuple[str, int | None]
"""An address and a horizon; None is the one the world is registered with."""


@dataclass(frozen=True)
class HalfGainRow:
    """A world under a guarantee: people until half of the gain is had, in truth and as foreseen; what is not measured is None."""

    world: str
    horizon: int | None
    guarantee: str
    true: float | None = None
    forecast: float | None = None
    share_of_random: float | None = None
    """Of a thousand people, over that of acting at random."""
    many: list[float] | None = None
    """People until half in each of `MANY` worlds of the prior, one run in each: for attempts."""

    @property
    def off(self) -> float | None:
        """The factor between forecast and truth."""
        if self.true is None or self.forecast is None:
            return None
        if self.true == self.forecast:
            return 1.0
        return max(self.forecast / self.true, self.true / self.forecast)

    @property
    def right(self) -> bool:
        """Whether the forecast is within the factor."""
        return self.off is not None and self.off <= WITHIN


MANY = 24


def _mean(numbers: Array) -> float:
    return float(np.exp(np.log(numbers).mean()))


def _middle_half(numbers: Array) -> float:
    quarter = len(numbers) // 4
    return _mean(np.sort(numbers)[quarter : len(numbers) - quarter])


SUMMARIES: dict[str, Callable[[Array], float]] = {
    "geometric mean": _mean,
    "median": lambda numbers: float(np.median(numbers)),
    "geometric mean of the middle half": _middle_half,
}
"""Attempts at a better middle of what is found in `MANY` worlds, by name."""


def table(tuning: bool) -> list[tuple[WorldAt, Guarantee]]:
    """All rows, in the order in which they are measured."""
    worlds: list[WorldAt] = list(TUNING) if tuning else [(world, None) for world in EVALUATION]
    every = [
        (world, promise)
        for world in worlds
        for epsilon in EPSILONS
        for promise in (Joint(epsilon, DELTA), Shuffle(epsilon, DELTA), Local(epsilon))
    ]
    return [every[index] for index in np.random.default_rng(0).permutation(len(every))]


def kept(place: Path) -> dict[tuple[WorldAt, str], HalfGainRow]:
    """The rows that were measured before."""
    if not place.is_file():
        return {}
    told: list[dict[str, Any]] = json.loads(place.read_text(encoding="utf-8").replace('"beyond"', "Infinity"))
    rows = [HalfGainRow(**row) for row in told]
    return {((row.world, row.horizon), row.guarantee): row for row in rows}


def attempts(rows: list[HalfGainRow]) -> str:
    """How many rows each summary of many worlds gets right, beside the forecast that is built."""
    known = [row for row in rows if row.many and row.true is not None and row.forecast is not None]
    lines = [f"as built: {sum(row.right for row in known)} of {len(known)}"]
    for name, summary in SUMMARIES.items():
        tried = [replace(row, forecast=_whole(summary(np.minimum(row.many or [], BEYOND)))) for row in known]
        lines.append(f"{name} of {MANY} worlds: {sum(row.right for row in tried)} of {len(tried)}")
    return "\n".join(lines)


def _whole(people: float) -> float:
    return math.inf if people > PEOPLE[-1] else people


def write(rows: list[HalfGainRow], place: Path) -> None:
    """Keep rows, what is beyond 10^7 by that word; the file appears whole or not at all."""
    told = [
        json.dumps(
            {
                name: [round(number, 1) for number in np.minimum(value, BEYOND)]
                if isinstance(value, list)
                else "beyond"
                if value == math.inf
                else value
                for name, value in asdict(row).items()
                if name != "many" or value
            }
        )
        for row in rows
    ]
    draft = place.with_suffix(f".{os.getpid()}.partial")
    draft.write_text("[\n" + ",\n".join(told) + "\n]\n", encoding="utf-8")
    os.replace(draft, place)


def simulated(row: HalfGainRow, promise: Guarantee) -> HalfGainRow:
    """The row with what is found in many worlds of the prior, if it has a forecast."""
    if row.forecast is None or row.many:
        return row
    worlds = prior(resolve(row.world, row.horizon, None).spec, MANY)
    return replace(row, many=[people_until_half(world, promise, seeds=1) for world in worlds])


def measured(row: HalfGainRow, promise: Guarantee, few: bool, again: bool) -> HalfGainRow:
    """The row with all that was not known of it."""
    world: Environment = resolve(row.world, row.horizon, None)
    if few and row.share_of_random is None:
        return replace(
            row, share_of_random=run(prepare("ucbvi", world, promise, FEW, seeds=10, seed=SEED)).share_of_random
        )
    if not few and row.true is None:
        row = replace(row, true=people_until_half(world, promise, seed=SEED))
    if not few and (row.forecast is None or again):
        row = replace(row, forecast=half_gain(world.spec, promise).people)
    return row


def said(rows: list[HalfGainRow], number: int) -> str:
    """How many rows are right, and by how much the others are off."""
    lines = []
    for trust in (*TRUSTS, ""):
        offs = [row.off for row in rows if row.off is not None and row.guarantee.endswith(trust)]
        if offs:
            right, middle = sum(off <= WITHIN for off in offs), float(np.median(offs))
            lines.append(f"{trust or 'all'}: {right} of {len(offs)} within a factor of {WITHIN:g}, median {middle:.2f}")
    shares = [row.share_of_random for row in rows if row.share_of_random is not None]
    if shares:
        good = sum(share <= 1 + PLACE for share in shares)
        lines.append(
            f"{FEW:,} people: {good} of {len(shares)} lose at most {1 + PLACE:g} of random, worst {max(shares):.2f}"
        )
    return "\n".join([*lines, f"{number} rows in all"])


def features(rows: list[HalfGainRow]) -> Array:
    """(rows, facts) what a power law of sizes, one for each trust model, knows of a row."""
    columns = []
    for row in rows:
        spec = resolve(row.world, row.horizon, None).spec
        facts = (
            1.0,
            *np.log10([spec.states, spec.actions, spec.horizon]),
            "3" in row.guarantee[:2],
            spec.dynamics == "per-step",
        )
        columns.append([fact * row.guarantee.endswith(trust) for trust in TRUSTS for fact in facts])
    return np.array(columns, dtype=float)


def sizes(rows: list[HalfGainRow], tuning: list[HalfGainRow]) -> str:
    """How many rows a power law of sizes gets right: fitted to these worlds, to the others of them, to tuning worlds; and the
    geometric mean of the last and the forecast by simulation."""

    def fitted(some: list[HalfGainRow]) -> Array:
        return np.asarray(np.linalg.lstsq(features(some), truths(some))[0])

    def truths(some: list[HalfGainRow]) -> Array:
        return np.log10([min(row.true or math.inf, BEYOND) for row in some])

    known, others = ([row for row in each if row.true is not None] for each in (rows, tuning))
    table, true = features(known), truths(known)
    errors = {"fitted to these worlds": true - table @ fitted(known)}
    errors["fitted without the world of a row"] = apart = np.empty(len(true))
    for world in {(row.world, row.horizon) for row in known}:
        left_out = np.array([(row.world, row.horizon) == world for row in known])
        rest = [row for row, out in zip(known, left_out, strict=True) if not out]
        apart[left_out] = true[left_out] - table[left_out] @ fitted(rest)
    law = table @ fitted(others)
    errors["fitted to tuning worlds"] = true - law
    both = [(at, row.forecast) for at, row in enumerate(known) if row.forecast is not None]
    where = [at for at, _ in both]
    foreseen = np.log10([min(forecast, BEYOND) for _, forecast in both])
    errors["the last, where there is a forecast too"] = (true - law)[where]
    errors["geometric mean of the last and the forecast"] = true[where] - (law[where] + foreseen) / 2
    return "\n".join(
        f"a power law of sizes, {name}: {int((np.abs(error) <= math.log10(WITHIN)).sum())} of {len(error)}"
        for name, error in errors.items()
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print how many were right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of CPU, after which no further row is begun")
    parser.add_argument("--few", action="store_true", help="of a thousand people, against acting at random")
    parser.add_argument("--tuning", action="store_true", help="in the worlds on which the prior may be chosen")
    parser.add_argument("--forecast-again", action="store_true", help="forecasts that are kept are made again")
    parser.add_argument(
        "--sizes", action="store_true", help="how well a rule of sizes alone could do; measures nothing"
    )
    parser.add_argument("--attempts", action="store_true", help="other middles, of more worlds of the prior")
    parser.add_argument("--json", type=Path, help="where rows are kept, if not in docs/research")
    options = parser.parse_args(arguments)
    place = options.json or RESEARCH / ("half-gain-tuning.json" if options.tuning else "half-gain.json")
    if options.sizes:
        print(sizes(list(kept(place).values()), list(kept(RESEARCH / "half-gain-tuning.json").values())))
        return 0
    rows, started, every = kept(place), time.process_time(), table(options.tuning)
    for world, promise in every:
        if time.process_time() - started >= 60 * options.minutes:
            break
        key = (world, str(promise))
        before = rows.get(key, HalfGainRow(*world, str(promise)))
        rows[key] = (
            simulated(before, promise)
            if options.attempts
            else measured(before, promise, options.few, options.forecast_again)
        )
        if rows[key] != before:
            print(*asdict(rows[key]).values(), flush=True)
            write(list(rows.values()), place)
    print(attempts(list(rows.values())) if options.attempts else said(list(rows.values()), len(every)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
