"""All that leaves a fit is the release, what follows from it, and what was declared public.

Two logs differ in one person. The second fit is given the release that the first one drew, as if its noise had made up for the
difference to the last digit. Then whatever else leaves must be the same, to the last byte: stdout, stderr, every file that is
written. What differs is an exact function of the data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from confide.analysis.fitting.linear import LinearPlan
from confide.analysis.fitting.plan import CountPlan
from confide.analysis.results.fit import FILES
from confide.cli import run

PEOPLE = 40
KEYED = {"data"}
"""Of a ledger: keyed fingerprints, which stay beside the data."""


@dataclass
class Person:
    """Rows of one person, a dictionary each, in the order of their steps."""

    rows: list[dict[str, Any]] = field(default_factory=list)


def walker(name: int, steps: int, reward: float = 1.0, **more: Any) -> Person:
    states = [(name + step) % 3 for step in range(steps)]
    return Person(
        [
            {"user": name, "step": step, "state": state, "action": step % 2, "reward": reward, **more}
            for step, state in enumerate(states)
        ]
    )


def point(name: int, length: float) -> Person:
    row = {"user": name, "step": 0, "action": name % 2, "reward": 0.5, "x1": length, "x2": 0.1}
    return Person([row])


def twice(name: int, episodes: int) -> Person:
    rows = [
        {**row, "episode": f"{name}.{number}"} for number in range(episodes) for row in walker(name, 1 + number).rows
    ]
    return Person(rows)


def visits(name: int, steps: int) -> Person:
    rows = walker(name, steps).rows
    return Person([{"when": f"visit{8 + row.pop('step')}", **row} for row in rows])


SIZES = ["--states", "3", "--actions", "2", "--horizon", "4"]
POINTS = ["--state-columns", "x*", "--norm", "1", "--clip", "--intercept", "--actions", "2", "--horizon", "1"]
CASES: dict[str, tuple[Callable[[int], Person], Person, list[str]]] = {
    "more rows": (lambda n: walker(n, 2), walker(0, 4), SIZES),
    "rewards that are clipped": (lambda n: walker(n, 2), walker(0, 2, reward=9.0), [*SIZES, "--clip"]),
    "a longer name": (lambda n: walker(n, 2), walker(10**9, 2), SIZES),
    "vectors that are scaled down": (lambda n: point(n, 0.5), point(0, 7.0), POINTS),
    "more episodes": (lambda n: twice(n, 1), twice(0, 3), [*SIZES, "--users", "limit"]),
    "ordered by texts": (lambda n: visits(n, 2), visits(0, 4), [*SIZES, "--order-by", "when"]),
    "propensities": (
        lambda n: walker(n, 1, p=0.5),
        walker(0, 1, p=0.03, reward=0.0),
        ["--states", "3", "--actions", "2", "--horizon", "1", "--propensity", "p", "--propensity-floor", "0.02"],
    ),
}


def written(place: Path, suffix: str, everybody: list[Person]) -> None:
    place.mkdir()
    table = pa.Table.from_pylist([row for person in everybody for row in person.rows])
    if suffix == "csv":
        csv.write_csv(table, place / "log.csv")
    else:
        parquet.write_table(table, place / "log.parquet")


def left(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """All that a fit left, by where: what is written beside data without its keyed fingerprints."""
    said = capsys.readouterr()
    files = {file.name: file.read_bytes() for file in (place / "policy").iterdir()}
    with np.load(place / "policy" / "policy.npz") as arrays:  # its archive bears the time of day
        files["policy.npz"] = b"".join(name.encode() + arrays[name].tobytes() for name in sorted(arrays.files))
    (ledger,) = place.glob("*.ledger.json")
    entries = {name: value for name, value in json.loads(ledger.read_text()).items() if name not in KEYED}
    return {"stdout": said.out, "stderr": said.err, "ledger": entries, **files}


@pytest.mark.parametrize("output", ["words", "--json"])
@pytest.mark.parametrize("what", CASES)
def test_nothing_leaves_but_the_release_and_what_is_public(
    what: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual, odd, flags = CASES[what]
    suffix = "csv" if output == "words" else "parquet"
    drawn: list[Any] = []
    for plan in (CountPlan, LinearPlan):
        draw = plan.release

        def once(*arguments: Any, _draw: Any = draw, **words: Any) -> Any:
            released = _draw(*arguments, **words)
            drawn.append(released if not drawn else drawn[0])
            return drawn[0]

        monkeypatch.setattr(plan, "release", once)
    others = [usual(number) for number in range(1, PEOPLE)]
    found = []
    for name, first in (("one", usual(0)), ("two", odd)):
        written(tmp_path / name, suffix, [first, *others])
        monkeypatch.chdir(tmp_path / name)
        words = ["fit", f"log.{suffix}", *flags, "--rho", "0.5", "--budget", "1", "--out", "policy"]
        assert run([*words, *([output] if output.startswith("-") else [])]) == 0, capsys.readouterr().err
        found.append(left(tmp_path / name, capsys))
    assert len(drawn) == 2 and set(FILES) - {"policy.csv"} <= set(found[0])
    differing = [where for where in found[0] if found[0][where] != found[1][where]]
    assert not differing, {where: (found[0][where], found[1][where]) for where in differing[:1]}
