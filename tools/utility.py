"""What a fit gains where people judge: `python -m tools.utility`, in named worlds whose truth is computed; --write, --kept FILE.

Each row is a world, how people act in it, how many are logged and under which rho. Each of its fits goes through the functions of
`confide fit`, with replayable noise; rho 100,000 stands for no privacy. `taken` is the true gain of the policy that a fit
gives, as it
is run; `stated` that of what may be relied on: the whole policy where it is recommended, the adoption where only that is sure, else
nothing. Of the same logs, without privacy and without judging users, plain algorithms learn too: LCB with one deviation, and SPIBB
at 5, 20 and 100 visits, of which the best is taken, by its mean. `unjudged` is a fit of the same log in which all users are
counted.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import confide as cf
from confide.data.trajectories import read
from confide.lab.simulation.offline import practice_of
from confide.lab.simulation.offline_log import draw_records
from confide.learning.planning.evaluation import optimal, policy_value
from confide.mdp import Model, Policy
from confide.mechanisms.noise import ReplayableNoise
from tools.coverage import counted_fit
from tools.coverage_document import written
from tools.coverage_worlds import judged_fit

Array = NDArray[np.float64]

NONE = 1e5
"""The rho that stands for no privacy."""

FIRST = 9000
SEEN = (5, 20, 100)
DOCUMENT = Path(__file__).parents[1] / "docs" / "research" / "utility.md"
SHOP = Path(__file__).parents[1] / "examples" / "data" / "shop.csv"


@dataclass(frozen=True)
class UtilityRow:
    """A world, how people act in it, how many are logged, under which rho. exact: rewards are logged as they are, not as 0 or 1.
    support: possible transitions are public. unjudged: fits without judging users are made beside. An address with `{again}` is of
    another world for every fit."""

    name: str
    address: str
    horizon: int
    behaviour: str | None
    people: int
    rho: float = NONE
    exact: bool = False
    support: bool = True
    unjudged: bool = False
    choices: Mapping[str, Any] = field(default_factory=dict, hash=False)
    declared: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """What tells it from all other rows."""
        return f"{self.name}, rho {'none' if self.rho == NONE else f'{self.rho:g}'}"


LAKE, SEPSIS = "gymnasium:FrozenLake8x8-v1", "icu-sepsis"
ALONG = (0.1, 0.5, 2.0, 10.0, NONE)

FIRST_VISITS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("a budget of visits", 100, {}),
    ("a budget, returns at most 1", 100, {"return_range": (0.0, 1.0)}),
    ("a budget, returns at most 1, rewards near 0.1", 100, {"return_range": (0.0, 1.0), "reward_centre": 0.1}),
)
"""Attempts at FrozenLake under privacy: what is public and how visits are counted, by name."""


def _rows() -> list[UtilityRow]:
    lake = [UtilityRow("FrozenLake 8x8", LAKE, 100, "soft:0.7", 20_000, rho) for rho in ALONG]
    lake.append(UtilityRow("FrozenLake 8x8", LAKE, 100, "soft:0.7", 20_000, 1.0))
    for more, visits, declared in FIRST_VISITS:
        name, centre = f"FrozenLake 8x8, {more}", declared.get("reward_centre")
        choices = {"visits": visits, **({} if centre is None else {"reward_centre": centre})}
        public = {key: value for key, value in declared.items() if key != "reward_centre"}
        lake.append(UtilityRow(name, LAKE, 100, "soft:0.7", 20_000, 1.0, choices=choices, declared=public))
    tables = [
        UtilityRow("random 12x3", "random/12x3?seed={again}", 8, "uniform", people, rho, unjudged=True)
        for people in (3000, 30_000)
        for rho in ALONG
    ]
    sepsis = [UtilityRow("ICU-Sepsis", SEPSIS, 20, None, 10_000, rho) for rho in (0.5, NONE)]
    cliff = [
        UtilityRow("CliffWalking", "gymnasium:CliffWalking-v1", 40, "soft:0.5", 10_000, rho, True)
        for rho in (1.0, NONE)
    ]
    taxi = [UtilityRow("Taxi", "gymnasium:Taxi-v4", 50, "soft:0.3", 4000, NONE, True)]
    shop = [UtilityRow("the shop's log", "shop", 1, "uniform", 100_000, NONE)]
    return [*lake, *tables, *cliff, *shop, *sepsis, *taxi]


@cache
def world_of(address: str, horizon: int) -> tuple[Model, Any]:
    """A world's model, and its environment; `shop` has the rates of the log in examples/data, each shrunk to the mean of all."""
    if address != "shop":
        environment = cf.environments.make(address, horizon)
        assert environment.model is not None
        return environment.model, environment
    with open(SHOP, encoding="utf-8") as file:
        rows = [(int(row["position"]) - 1, int(row["item_id"]), float(row["click"])) for row in csv.DictReader(file)]
    seen, clicks = np.zeros((3, 34)), np.zeros((3, 34))
    for place, item, click in rows:
        seen[place, item] += 1
        clicks[place, item] += click
    mean = clicks.sum() / seen.sum()
    rates = (clicks + 100 * mean) / (seen + 100)
    stay = np.broadcast_to(np.eye(3)[:, None], (3, 34, 3))[None]
    return Model(stay, rates[None], seen.sum(axis=1) / seen.sum(), 1), None


class PlainCounts(NamedTuple):
    """What plain algorithms see: n (S, A), mean rewards (S, A), rows (S, A, S) and what people did (S, A)."""

    n: Array
    paid: Array
    rows: Array
    usual: Array

    @classmethod
    def of(cls, records: dict[str, Any], states: int, actions: int) -> PlainCounts:
        """The counts of a log."""
        pair = np.asarray(records["state"]) * actions + np.asarray(records["action"])
        n = np.bincount(pair, minlength=states * actions).astype(np.float64)
        paid = np.bincount(pair, np.asarray(records["reward"]), states * actions) / np.maximum(n, 1)
        moves = np.bincount(pair * states + np.asarray(records["next_state"]), minlength=states * actions * states)
        rows = moves.reshape(-1, states) / np.maximum(n, 1)[:, None]
        n, paid, rows = n.reshape(states, actions), paid.reshape(states, actions), rows.reshape(states, actions, states)
        total = n.sum(axis=1, keepdims=True)
        usual = np.where(total > 0, n / np.maximum(total, 1), 1 / actions)
        return cls(n, paid, rows, usual)

    def learned(self, horizon: int, choose: Callable[[Array, Array], Array]) -> Policy:
        """The policy of backward induction: choose makes chances (S, A) of Q (S, A) and of the values that follow (S,)."""
        values, table = np.zeros(len(self.n)), np.empty((horizon, *self.n.shape))
        for h in range(horizon - 1, -1, -1):
            q = self.paid + self.rows @ values
            table[h] = choose(q, values)
            values = (table[h] * q).sum(axis=1)
        return Policy(table)

    def lcb(self, horizon: int) -> Policy:
        """Greedy in a lower confidence bound of one deviation; an untried pair has the value 0."""
        values, table = np.zeros(len(self.n)), np.zeros((horizon, *self.n.shape))
        for h in range(horizon - 1, -1, -1):
            mean = self.rows @ values
            variance = np.maximum(self.rows @ values**2 - mean**2, 0) + self.paid * (1 - self.paid)
            low = self.paid + mean - np.sqrt(variance / np.maximum(self.n, 1)) - (horizon - h) / np.maximum(self.n, 1)
            low = np.where(self.n > 0, np.maximum(low, 0.0), 0.0)
            best = low.argmax(axis=1)
            here = np.arange(len(best))
            table[h, here, best] = 1.0
            values = low[here, best]
        return Policy(table)

    def spibb(self, horizon: int, least: int) -> Policy:
        """Current practice among pairs of fewer visits, and the best of the others with what is left of its chances."""
        often = self.n >= least

        def choose(q: Array, _: Array) -> Array:
            kept = np.where(often, 0.0, self.usual)
            best = np.where(often, q, -np.inf).argmax(axis=1)
            here = np.arange(len(best))
            kept[here, best] += 1 - kept.sum(axis=1)
            return np.where(often.any(axis=1, keepdims=True), kept, self.usual)

        return self.learned(horizon, choose)


def fitted(row: UtilityRow, again: int) -> dict[str, Any]:
    """One fit of a row and what plain algorithms make of the same log, all by their true gains over current practice."""
    model, environment = world_of(row.address.format(again=31 + again), row.horizon)
    states, actions = model.rewards.shape[1:]
    uniform = Policy.uniform(row.horizon, states, actions)
    usual = uniform if environment is None else practice_of(environment, row.behaviour)
    usual = Policy(
        np.repeat(usual.probabilities[:1], row.horizon, axis=0)
    )  # states tell what practice does, and steps do not
    records = draw_records(model, usual, row.people, np.random.default_rng([FIRST, row.people, again]))
    if row.exact:
        records["reward"] = model.rewards[0][records["state"], records["action"]]
    support = model.transitions[0] > 0 if row.support and row.horizon > 1 else None
    sizes: dict[str, Any] = {"states": states, "actions": actions, "horizon": row.horizon, "initial": model.initial}
    data = read(records, **sizes, fixed_length=True, support=support, **row.declared)

    def noise(use: int) -> ReplayableNoise:
        return ReplayableNoise(np.random.SeedSequence([FIRST, again, use]))

    worth = policy_value(model, usual)

    def gain(policy: Array, share: float = 1.0) -> float:
        mixed = (1 - share) * usual.probabilities + share * policy
        return policy_value(model, Policy(mixed)) - worth

    said, plan = judged_fit(data, row.rho, noise=noise(0), **row.choices)
    followed, judged = plan.followed_by(usual.probabilities), said["judged"]
    sure, whole = bool(judged and judged["sure"]), bool(said["recommended"])
    relied = 1.0 if whole else judged["alpha"] if sure else 0.0
    plain = PlainCounts.of(records, states, actions)
    rivals = {"LCB": plain.lcb(row.horizon), **{f"SPIBB {n}": plain.spibb(row.horizon, n) for n in SEEN}}
    found = {
        "possible": float(model.initial @ optimal(model)[1][0]) - worth,
        "practice": worth,
        "taken": gain(followed),
        "stated": gain(followed, relied) if relied else 0.0,
        "sure": sure,
        "recommended": whole,
        "alarms": list(said["alarms"]),
        "rivals": {name: gain(policy.probabilities) for name, policy in rivals.items()},
    }
    if row.unjudged:
        _, everybody = counted_fit(data, row.rho, noise(1))
        found["unjudged"] = gain(everybody.followed_by(usual.probabilities))
    return found


def document_row(row: UtilityRow, fits: Sequence[dict[str, Any]]) -> list[str]:
    """A row of the table: what a fit gives, and the best of the plain algorithms, in shares of what is possible."""
    possible = np.array([one["possible"] for one in fits])

    def share(numbers: Sequence[float]) -> str:
        shares = np.array(numbers) / possible
        return (
            f"{shares.mean():.3f} ({shares.std(ddof=1) / math.sqrt(len(shares)) if len(shares) > 1 else math.nan:.3f})"
        )

    best = max(fits[0]["rivals"], key=lambda name: float(np.mean([one["rivals"][name] for one in fits])))
    per_cent = [f"{100 * np.mean([one[name] for one in fits]):.0f}" for name in ("sure", "recommended")]
    alarms = f"{100 * np.mean([bool(one['alarms']) for one in fits]):.0f}"
    beside = share([one["unjudged"] for one in fits]) if "unjudged" in fits[0] else "-"
    rival = f"{best}: {share([one['rivals'][best] for one in fits])}"
    numbers = [f"{np.mean([one['practice'] for one in fits]):.3f}", f"{possible.mean():.3f}"]
    gains = [share([one["taken"] for one in fits]), share([one["stated"] for one in fits])]
    return [row.key, f"{row.people:,}", str(len(fits)), *numbers, *gains, *per_cent, alarms, beside, rival]


class KeptFits:
    """Fits in a file, one JSON line each, with which a run goes on."""

    def __init__(self, path: Path | None) -> None:
        """What the file holds."""
        self._path, self.found = path, dict[tuple[str, int, int], dict[str, Any]]()
        for line in path.read_text(encoding="utf-8").splitlines() if path is not None and path.is_file() else ():
            key, people, again, one = json.loads(line)
            self.found[key, people, again] = one

    def keep(self, row: UtilityRow, again: int, one: dict[str, Any]) -> None:
        """Write one down."""
        self.found[row.key, row.people, again] = one
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps([row.key, row.people, again, one]) + "\n")

    def of(self, row: UtilityRow) -> list[dict[str, Any]]:
        """The fits of a row."""
        return [one for (key, people, _), one in self.found.items() if (key, people) == (row.key, row.people)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The rows whose name contains `--only`, a fit of each in turn."""
    reader = argparse.ArgumentParser(prog="python -m tools.utility", description="What a fit gains where people judge.")
    reader.add_argument("--only", default="", help="rows whose name contains this")
    reader.add_argument("--fits", type=int, default=10, help="of each row")
    reader.add_argument("--kept", type=Path, help="a file of fits, with which a run goes on")
    reader.add_argument("--minutes", type=float, default=math.inf, help="no fit begins after that")
    reader.add_argument("--write", action="store_true", help="put the rows into the table of docs/research/utility.md")
    options = reader.parse_args(arguments)
    kept, ends = KeptFits(options.kept), time.monotonic() + 60 * options.minutes
    rows = [row for row in _rows() if options.only in row.key]
    for again in range(options.fits):
        for row in rows:
            if (row.key, row.people, again) not in kept.found and time.monotonic() < ends:
                kept.keep(row, again, fitted(row, again))
    table = [document_row(row, kept.of(row)) for row in rows if kept.of(row)]
    print("\n".join(" | ".join(row) for row in table))
    if options.write:
        written(table, DOCUMENT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
