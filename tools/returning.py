"""What people who come again cost, and services that do not end: `python -m tools.returning noise contracts endless visits`.

Each part is measured and written to docs/research/returning.json and docs/research/returning.md; parts that are not named stay.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from confide.lab.experiments.worlds import EVALUATION
from confide.lab.simulation.contracts import run_contracts
from confide.lab.simulation.simulate import prepare, run
from confide.mechanisms.toeplitz import ToeplitzCounter, best_bands
from confide.privacy import Guarantee, Joint, Local, Participation, Shuffle

PLACE = Path(__file__).resolve().parents[1] / "docs" / "research"
GUARANTEES: dict[str, Guarantee] = {
    "joint": Joint(1.0, 1e-6),
    "shuffle": Shuffle(1.0, 1e-6),
    "local": Local(2.0),
}
WORLD, CONTRACTS = "riverswim/6", 10
VISITS, APART = 16, 4
WORLDS = EVALUATION[::7][:6]


def rms_noise(batches: int, taken: Participation) -> float:
    """The root mean square over batches of the noise of a counter with the least noise at sensitivity 1 and mu 1."""
    shape = {"participations": taken.times, "separation": taken.apart, "bands": best_bands(batches, taken)}
    counter = ToeplitzCounter(batches, 1.0, 2.0**-20, **shape)
    stds = [counter.std(release) for release in range(1, batches + 1)]
    return counter.columns_norm * math.sqrt(float(np.mean(np.square(stds))))


def noise(seeds: int, trusts: Sequence[str]) -> list[dict[str, Any]]:
    """16 visits 4 batches apart beside one."""
    once, several = Participation(), Participation(VISITS, APART)
    return [
        {"batches": batches, "times": rms_noise(batches, several) / rms_noise(batches, once), "goal": goal}
        for batches, goal in ((64, 6.1), (128, 7.6))
    ]


def contracts(seeds: int, trusts: Sequence[str]) -> list[dict[str, Any]]:
    """Ten contracts in a row: how much lower first policies are than the last ones before, in shares of the possible gain."""
    rows: list[dict[str, Any]] = []
    for trust in trusts:
        setting = prepare("ucbvi", WORLD, GUARANTEES[trust], 10_000)
        gain = setting.optimal_value - setting.random_value
        runs = np.array([run_contracts(setting, CONTRACTS, seed) for seed in range(seeds)])  # seeds, contracts, values
        change = (runs[:, 1:, 0] - runs[:, :-1, 1]) / gain
        error = change.std(axis=0, ddof=1) / math.sqrt(seeds)
        held = change.mean(axis=0) >= -2 * error
        rows.append(
            {
                "trust": trust,
                "world": WORLD,
                "users": setting.schedule.users,
                "seeds": seeds,
                "held": int(held.sum()),
                "of": CONTRACTS - 1,
                "least": float(change.mean(axis=0).min()),
                "mean": float(change.mean()),
                "first": float(1 - (setting.optimal_value - runs[:, 0, 3].mean()) / gain),
                "later": float(1 - (setting.optimal_value - runs[:, 1:, 3].mean()) / gain),
            }
        )
    return rows


def endless(seeds: int, trusts: Sequence[str]) -> list[dict[str, Any]]:
    """A service that is asked for 100,000 users and gets others, beside one that knew how many come."""
    rows = []
    for trust in trusts:
        for users in (10_000, 1_000_000):
            regret = [
                run(prepare("ucbvi", WORLD, GUARANTEES[trust], users, seeds=seeds, **more)).regret[:, -1]
                for more in ({"expected": 100_000.0}, {})
            ]
            ratio = float(regret[0].mean() / regret[1].mean())
            rows.append({"trust": trust, "world": WORLD, "users": users, "seeds": seeds, "ratio": ratio, "goal": 1.3})
    return rows


def visits(seeds: int, trusts: Sequence[str]) -> list[dict[str, Any]]:
    """25,000 users who come 4 times: regret of an episode beside that of 25,000 and of 100,000 who come once."""
    rows = []
    for world in WORLDS:
        lost = [
            float(run(prepare("ucbvi", world, GUARANTEES["joint"], many, seeds=seeds, **more)).regret[:, -1].mean())
            / many
            for many, more in ((100_000, {"returns": 4, "apart": 5}), (25_000, {}), (100_000, {}))
        ]
        rows.append({"world": world, "seeds": seeds, "once_few": lost[0] / lost[1], "once_many": lost[0] / lost[2]})
    return rows


PARTS: dict[str, tuple[Callable[[int, Sequence[str]], list[dict[str, Any]]], str]] = {
    "noise": (noise, "Joint: 16 visits 4 batches apart, root mean square noise beside one visit"),
    "contracts": (contracts, "Ten contracts in a row, each with new users: first policies beside the last ones before"),
    "endless": (endless, "Asked for 100,000 users: regret beside that of a service that knew how many come"),
    "visits": (
        visits,
        "Joint: 25,000 users who come 4 times, regret of an episode beside 25,000 and 100,000 who come once",
    ),
}


def page(known: dict[str, list[dict[str, Any]]]) -> str:
    """The page of all parts that were measured."""
    lines = ["# People who come again, and services that do not end", ""]
    lines += [
        "Measured with version 0.2.0 by `python -m tools.returning`, in `returning.json`, whose keys are the columns.",
        "",
    ]
    for name, (_, title) in PARTS.items():
        rows = known.get(name, [])
        if rows:
            lines += [f"## {title}", "", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
            lines += ["| " + " | ".join(_cell(value) for value in row.values()) + " |" for row in rows] + [""]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the parts that are named, and write what is known."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.returning", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; none: write the page alone")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trusts", nargs="*", default=list(GUARANTEES), help="which of the trust models; others stay")
    options = parser.parse_args(arguments)
    data = PLACE / "returning.json"
    known = json.loads(data.read_text(encoding="utf-8")) if data.exists() else {}
    for name in options.parts:
        kept = [row for row in known.get(name, []) if row.get("trust", options.trusts[0]) not in options.trusts]
        known[name] = PARTS[name][0](options.seeds, options.trusts) + kept
        print(json.dumps(known[name], indent=1), flush=True)
        data.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    (PLACE / "returning.md").write_text(page(known), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
