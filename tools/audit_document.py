"""Puts what `confide audit --all --deep --json > docs/audit-deep.json` found into docs/research/audit.md, between `<!-- found -->`
and `<!-- end -->`: `python -m tools.audit_document [--check | --missing [NAME...]]`.

`--missing` first audits the rows of the catalogue that were not there yet (or those of these names), deep and in one process, each
with the time that a row had before, and drops those that are gone.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from confide.cli.audit import DEEP, AuditJob, findings
from confide.lab.audit import entries
from confide.privacy.guarantee import rounded_down, rounded_up

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENT, DATA = DOCS / "research" / "audit.md", DOCS / "audit-deep.json"
PLACE = re.compile(r"(<!-- found -->\n).*?(<!-- end -->)", flags=re.DOTALL)

AuditRow = dict[str, Any]

GROUPS: dict[str, Callable[[AuditRow], bool]] = {
    "mechanisms alone": lambda row: row["calibration"] == "none",
    "reports of pages, `local/.../browser`": lambda row: row["name"].endswith("/browser"),
    "reports, `local/...`": lambda row: row["trust"] == "local",
    "sums of shufflers, `shuffle/...`": lambda row: row["trust"] == "shuffle",
    "releases of a curator, `joint/...`": lambda row: row["trust"] == "joint",
    "one release, `central/...`": lambda row: row["name"].startswith("central/"),
    "whole fits, `fit/...`": lambda row: row["name"].startswith("fit/"),
}
"""What rows are about; each belongs to the first that it fits."""
SHOWN = (
    ("laplace", "none"),
    ("local/laplace", "tight"),
    ("local/gaussian", "tight"),
    ("local/k-ary", "tight"),
    ("local/laplace/private-ucb", "paper"),
    ("shuffle/shuffled-bits", "tight"),
    ("joint/tree-laplace", "tight"),
    ("joint/toeplitz", "tight"),
    ("joint/toeplitz/h3", "tight"),
    ("central/gaussian", "tight"),
    ("fit/gaussian", "tight"),
    ("fit/gaussian/h3", "tight"),
    ("fit/gram", "tight"),
    ("fit/gram/pevi", "tight"),
    ("fit/gram/split", "tight"),
    ("fit/gram/worst-h2", "tight"),
)
"""The rows that the document shows one by one, by name and calibration."""


def grouped(rows: list[AuditRow]) -> dict[str, list[AuditRow]]:
    """The rows of every group."""
    groups: dict[str, list[AuditRow]] = {name: [] for name in GROUPS}
    for row in rows:
        groups[next(name for name, belongs in GROUPS.items() if belongs(row))].append(row)
    return groups


def section(found: dict[str, Any]) -> str:
    """What was found, in Markdown."""
    rows: list[AuditRow] = found["rows"]
    lines = [
        *_sentences(found),
        "",
        "| rows | how many | at least, of what is certified | of what an ideal audit would prove | samples of each world |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, group in grouped(rows).items():
        if group:
            shares = [_shares(group, key) for key in ("certified_epsilon", "ideal_bound")]
            samples = [row["samples"] for row in group]
            lines.append(f"| {name} | {len(group)} | {' | '.join(shares)} | {min(samples):,} to {max(samples):,} |")
    lines += [
        "",
        "Shares are the least, the median and the largest of a group. Some rows one by one:",
        "",
        "| what | certified | delta | at least | ideal | samples |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    named = {(row["name"], row["calibration"]): row for row in rows}
    for key in SHOWN:
        row = named[key]
        certified, bound = rounded_up(row["certified_epsilon"], 3), rounded_down(row["lower_bound"], 3)
        figures = certified, f"{row['delta']:g}", bound, f"{row['ideal_bound']:.3g}", f"{row['samples']:,}"
        lines.append(f"| `{key[0]}` ({key[1]}) | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def _sentences(found: dict[str, Any]) -> list[str]:
    rows, workers = found["rows"], found["workers"]
    within = sum(row["ok"] for row in rows)
    by = "one process" if workers == 1 else f"{workers} processes"
    later = found.get("added", [])
    first = len(rows) - sum(run["rows"] for run in later)
    drawn = Counter(row.get("drawn_by", "replayable") for row in rows)  # before rows said so, noise was replayable
    sources = ", ".join(f"{many} {source}" for source, many in drawn.most_common())
    took = f"{found['seconds'] / 60:.0f} minutes with {by}, which had a processor for {found['processor_seconds'] / 60:.0f} of them"
    added = [
        f"{run['rows']} rows came later, by `tools.audit_document --missing`, in {run['seconds']:.0f} seconds with one process."
        for run in later
    ]
    lacking = [f"Not attacked yet: {', '.join(found['lacking'])}."] if found.get("lacking") else []
    return [
        f"`confide audit --all --deep` on {first} rows took {took}; [audit-deep.json](../audit-deep.json) has them all.",
        *added,
        *lacking,
        f"{within} of the bounds stay within what is certified. Each is true with confidence {rows[0]['confidence']:g}, so that",
        f"any of them is too large has a probability of {found['false_alarm']:.2g} at most. Rows by who drew: {sources}.",
    ]


def _shares(rows: list[AuditRow], key: str) -> str:
    shares = [row["lower_bound"] / row[key] for row in rows if row[key]]  # nothing is certified where noise is no bound
    return f"{min(shares):.2f}, {median(shares):.2f}, {max(shares):.2f}" if shares else ""


def filled(text: str, found: dict[str, Any]) -> str:
    """The document with what was found."""
    if not PLACE.search(text):
        raise ValueError(f"{DOCUMENT.name} has no place between <!-- found --> and <!-- end -->. Put one there.")
    return PLACE.sub(lambda match: f"{match[1]}\n{section(found)}\n{match[2]}", text)


def completed(found: dict[str, Any], names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """What was found with each row of the catalogue that it lacked, row by row, and without those that are there no more."""
    known = {(entry.name, entry.calibration): entry for entry in entries()}
    rows = {key: row for row in found["rows"] if (key := (row["name"], row["calibration"])) in known}
    missing = [entry for key, entry in known.items() if key not in rows and not entry.missing(None)]
    chosen = [entry for entry in missing if not names or entry.name in names]
    promise = {"epsilon": 1.0, "delta": None, "confidence": found["rows"][0]["confidence"]}
    jobs = [AuditJob(at, entry, DEEP * entry.usual_samples, None, promise) for at, entry in enumerate(chosen)]
    each = (
        found["seconds"] * found["workers"] / (len(found["rows"]) - sum(run["rows"] for run in found.get("added", [])))
    )
    started = time.perf_counter()
    for done, (number, finding) in enumerate(findings(jobs, 1, each * len(jobs)), start=1):
        rows[chosen[number].name, chosen[number].calibration] = finding.as_json()
        ordered = [rows[key] for key in known if key in rows]
        alarm = min(1.0, sum(1 - row["confidence"] for row in ordered))
        run = {"rows": done, "seconds": time.perf_counter() - started}
        yield found | {
            "rows": ordered,
            "false_alarm": alarm,
            "added": [*found.get("added", []), run],
            "lacking": [f"`{name}` ({how})" for name, how in known if (name, how) not in rows],
        }


def main(check: bool, missing: Sequence[str] | None = None) -> int:
    """Compare, or renew."""
    if missing is not None:
        for found in completed(json.loads(DATA.read_text(encoding="utf-8")), missing):
            DATA.write_text(json.dumps(found) + "\n", encoding="utf-8")  # after each, so that nothing is lost
    text = DOCUMENT.read_text(encoding="utf-8")
    new = filled(text, json.loads(DATA.read_text(encoding="utf-8")))
    if not check:
        DOCUMENT.write_text(new, encoding="utf-8")
    return int(check and new != text)


if __name__ == "__main__":
    asked = sys.argv[2:] if sys.argv[1:2] == ["--missing"] else None
    sys.exit(main("--check" in sys.argv, asked))
