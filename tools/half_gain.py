"""How good the forecast of half the possible gain is, over held-out worlds: `python -m tools.half_gain --minutes 10 --json FILE`.

A row is a world of the evaluation list, a trust model and an epsilon. The forecast knows the sizes of the world alone; what is true
is found by the same search in the world itself, with other seeds. Right is within a factor of 3, or both beyond 10^7. Rows
are taken in an order that is drawn once, until the minutes of CPU are over. With so few people that acting at random may be better,
`--few` measures the regret of a thousand people as a share of that of random actions instead.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from confide.lab.environments import make
from confide.lab.experiments.worlds import EVALUATION
from confide.lab.simulation.half_gain import half_gain, people_until_half
from confide.lab.simulation.simulate import prepare, run
from confide.privacy import Guarantee, Joint, Local, Shuffle

EPSILONS, DELTA, SEED, FEW = (1.0, 3.0), 1e-6, 900, 1000
WITHIN = 3.0
PLACE = 0.05
"""By so much more than acting at random a thousand people may lose."""


def rows() -> list[tuple[str, Guarantee]]:
    """All of them, in the order in which they are measured."""
    every = [
        (world, promise)
        for world in EVALUATION
        for epsilon in EPSILONS
        for promise in (Joint(epsilon, DELTA), Shuffle(epsilon, DELTA), Local(epsilon))
    ]
    return [every[index] for index in np.random.default_rng(0).permutation(len(every))]


def measured(world: str, promise: Guarantee) -> dict[str, Any]:
    """The forecast, and what is true."""
    forecast = half_gain(make(world).spec, promise)
    truth = people_until_half(world, promise, seed=SEED)
    off = 1.0 if forecast.people == truth else max(forecast.people / truth, truth / forecast.people)
    held = {"forecast": forecast.people, "low": forecast.low, "high": forecast.high, "true": truth, "off": off}
    return {"world": world, "promise": str(promise), **held, "right": off <= WITHIN}


def few(world: str, promise: Guarantee) -> dict[str, Any]:
    """The regret of a thousand people over that of as many who act at random."""
    share = run(prepare("ucbvi", world, promise, FEW, seeds=10, seed=SEED)).share_of_random
    assert share is not None
    return {"world": world, "promise": str(promise), "share": share, "right": share <= 1 + PLACE}


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print how many were right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of CPU, after which no further row is begun")
    parser.add_argument("--few", action="store_true", help="of a thousand people, against acting at random")
    parser.add_argument("--json", type=Path, help="write what was found here")
    options = parser.parse_args(arguments)
    started, found = time.process_time(), []
    for world, promise in rows():
        if time.process_time() - started > 60 * options.minutes:
            break
        row = few(world, promise) if options.few else measured(world, promise)
        found.append(row)
        print(*(f"{value:.3g}" if isinstance(value, float) else value for value in row.values()), flush=True)
        if options.json:
            told = [{name: None if value == math.inf else value for name, value in each.items()} for each in found]
            options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(row['right'] for row in found)} of {len(found)} of {len(rows())} rows are right")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
