"""`./run mutants`: plant every mutant of `tools.planted` in a copy of the sources, and see who notices.

Each is run against the tests that are named for it, which must fail, and against the entries of the audit that are named for it,
of which one must prove more than is certified, at confidence 1 - 1e-6. Without a mutant both must pass. What came out is
written to docs/mutants.json and docs/mutants.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .planted import MUTANTS as BROKEN
from .planted import Mutant
from .planted_papers import MUTANTS as MISPRINTED

MUTANTS = (*BROKEN, *MISPRINTED)
ROOT = Path(__file__).resolve().parent.parent
DATA, PAGE = ROOT / "docs" / "mutants.json", ROOT / "docs" / "mutants.md"
COPIED = ("confide", "tests", "tools", "examples", "docs", "pyproject.toml")
SAMPLES, CONFIDENCE = 20_000, 1 - 1e-6


def attacked(names: Sequence[str]) -> list[dict[str, Any]]:
    """What the audit says of these entries, in this process."""
    from confide.audit import entries
    from confide.mechanisms.noise import ReplayableNoise

    known = {entry.name: entry for entry in reversed(entries())}
    found = (known[name].audit(1.0, None, SAMPLES, CONFIDENCE, ReplayableNoise(1)) for name in names)
    return [one.as_json() for one in found]


def planted(mutant: Mutant, copy: Path) -> Path:
    """The file of the mutant, changed in the copy; refused unless its text is there exactly once."""
    file = copy / "confide" / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"mutants: {mutant.file} has {text.count(mutant.old)} places for {mutant.what!r}. Mend the table."
        )
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return file


def run(command: Sequence[str], copy: Path) -> subprocess.CompletedProcess[str]:
    """A command of ours in the copy, whose sources stand before any that are installed."""
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run([sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True)


def judged(mutant: Mutant, copy: Path) -> dict[str, Any]:
    """Who noticed."""
    tested = run(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *mutant.tests], copy)
    failed = next(
        (line.split(" ")[1] for line in tested.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), ""
    )
    rows: list[dict[str, Any]] = []
    refused = ""
    if mutant.audits:
        told = run(["-m", "tools.mutants", "--attack", *mutant.audits], copy)
        if told.returncode:
            refused = told.stderr.strip().splitlines()[-1] if told.stderr.strip() else "no output"
        else:
            rows = json.loads(told.stdout)
    best = max(rows, key=lambda row: row["lower_bound"] - row["certified_epsilon"], default=None)
    return {
        "mutant": mutant.what,
        "file": mutant.file,
        "test": failed,
        "killed_by_test": tested.returncode != 0 and bool(failed),
        "attacked": None if best is None else best["name"],
        "certified": None if best is None else best["certified_epsilon"],
        "at_least": None if best is None else best["lower_bound"],
        "event": None if best is None else best["event"],
        "killed_by_audit": bool(refused) or any(not row["ok"] for row in rows),
        "refused": refused,
        "unseen": mutant.unseen,
    }


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page of the documentation."""
    dead = sum(row["killed_by_test"] for row in rows)
    seen = [row for row in rows if not row["unseen"]]
    lines = [
        "# Planted mutants",
        "",
        f"Written by `./run mutants`, which plants each of these {len(rows)} mistakes in a copy of the sources. {dead} of them are",
        f"noticed by the tests named for them. Of the {len(seen)} that an attack can see, the audit flags "
        f"{sum(row['killed_by_audit'] for row in seen)}, with {SAMPLES:,} samples",
        "at confidence 1 - 1e-6; of the others the reason is given. The same in [mutants.json](mutants.json).",
        "",
        "| mutant | in | noticed by the test | the audit proves | of a certified |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        test = f"`{row['test'].replace('tests/', '').replace('|', ' ')}`" if row["killed_by_test"] else "**nobody**"
        if row["unseen"]:
            shown, certified = row["unseen"], ""
        elif row["refused"]:
            shown, certified = "the design is refused before anything is drawn", ""
        elif row["at_least"] is None:
            shown, certified = "not attacked", ""
        else:
            word = "" if row["killed_by_audit"] else ", **not enough**"
            shown = f"{row['at_least']:.2f} on `{row['attacked']}`{word}"
            certified = f"{row['certified']:.3g}"
        lines.append(f"| {row['mutant']} | `{row['file']}` | {test} | {shown} | {certified} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant, run, write; 1 if a mutant lives that should not."""
    parser = argparse.ArgumentParser(prog="mutants", description="Plant mistakes and see who notices.")
    parser.add_argument("--attack", nargs="+", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", type=int, metavar="N", help="these of the table, counted from 1")
    parser.add_argument("--json", action="store_true", help="print one JSON object and write nothing")
    told = parser.parse_args(arguments)
    if told.attack:
        print(json.dumps(attacked(told.attack)))
        return 0
    known = {row["mutant"]: row for row in json.loads(DATA.read_text(encoding="utf-8"))} if DATA.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "reproductions"))
            else:
                shutil.copy(source, copy / name)
        rows = []
        for number, mutant in enumerate(MUTANTS, start=1):
            if told.only and number not in told.only:
                rows += [known[mutant.what]] if mutant.what in known else []
                continue
            file = planted(mutant, copy)
            rows.append(judged(mutant, copy))
            shutil.copy(ROOT / "confide" / mutant.file, file)
            word = {True: "dead", False: "ALIVE"}
            row = rows[-1]
            print(
                f"{number:3} tests {word[row['killed_by_test']]:5} audit "
                f"{'cannot see it' if mutant.unseen else word[row['killed_by_audit']]:13} {mutant.what}",
                file=sys.stderr,
                flush=True,
            )
            if not told.json:
                DATA.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if told.json:
        print(json.dumps({"rows": rows}))
    else:
        DATA.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(rows), encoding="utf-8")
    return 0 if all(row["killed_by_test"] and (row["unseen"] or row["killed_by_audit"]) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
