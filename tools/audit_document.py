"""Puts what `confide audit --all` and `--all --deep` found into docs/audit.md: `python -m tools.audit_document [--check]`.

Each was run with `--json`, and is kept in docs/audit-usual.json and docs/audit-deep.json. What follows from them stands in the
document between `<!-- found -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from confide.privacy.guarantee import rounded_down, rounded_up

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENT, USUAL, DEEP = (DOCS / name for name in ("audit.md", "audit-usual.json", "audit-deep.json"))
PLACE = re.compile(r"(<!-- found -->\n).*?(<!-- end -->)", flags=re.DOTALL)

Row = dict[str, Any]

GROUPS: dict[str, Callable[[Row], bool]] = {
    "mechanisms alone": lambda row: row["calibration"] == "none",
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
    ("fit/gram/split", "tight"),
    ("fit/gram/worst-h2", "tight"),
)
"""The rows that the document shows one by one, by name and calibration."""


def grouped(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of every group."""
    groups: dict[str, list[Row]] = {name: [] for name in GROUPS}
    for row in rows:
        groups[next(name for name, belongs in GROUPS.items() if belongs(row))].append(row)
    return groups


def section(usual: dict[str, Any], deep: dict[str, Any]) -> str:
    """What both audits found, in Markdown."""
    lines = [
        _sentence("`confide audit --all`", "audit-usual.json", usual),
        _sentence("`confide audit --all --deep`", "audit-deep.json", deep),
        "",
        "| rows | how many | of what is certified, `--all` | `--deep` | of the ideal, `--all` | `--deep` | samples, `--deep` |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    quick, slow = grouped(usual["rows"]), grouped(deep["rows"])
    for name in GROUPS:
        if slow[name]:
            shares = [
                _shares(rows[name], key) for key in ("certified_epsilon", "ideal_bound") for rows in (quick, slow)
            ]
            samples = [row["samples"] for row in slow[name]]
            spread = f"{min(samples):,} to {max(samples):,}"
            lines.append(f"| {name} | {len(slow[name])} | {' | '.join(shares)} | {spread} |")
    lines += [
        "",
        "Shares are the least, the median and the largest of a group. Some rows one by one; all stand in the two files.",
        "",
        "| what | certified | delta | at least, `--all` | ideal | samples | at least, `--deep` | ideal | samples |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    fast, long = ({(row["name"], row["calibration"]): row for row in each["rows"]} for each in (usual, deep))
    for key in SHOWN:
        row = long[key]
        figures = rounded_up(row["certified_epsilon"], 3), f"{row['delta']:g}", _figures(fast[key]), _figures(row)
        lines.append(f"| `{key[0]}` ({key[1]}) | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def _sentence(command: str, file: str, found: dict[str, Any]) -> str:
    rows, confidence = found["rows"], found["rows"][0]["confidence"]
    within = sum(row["ok"] for row in rows)
    workers = "one process" if found["workers"] == 1 else f"{found['workers']} processes"
    used = f"{found['processor_seconds'] / 60:.0f} minutes of a processor"
    took = f"{len(rows)} rows in {found['seconds'] / 60:.0f} minutes, {workers}, {used}"
    alarm = f"so that any is too large has a probability of {found['false_alarm']:.2g} at most"
    held = f"{within} bounds stay within what is certified"
    return f"{command} ([{file}]({file})): {took}; {held}. Each is true with confidence {confidence:g}, {alarm}.\n"


def _shares(rows: list[Row], key: str) -> str:
    shares = [row["lower_bound"] / row[key] for row in rows if row[key] > 0]
    return f"{min(shares):.2f}, {median(shares):.2f}, {max(shares):.2f}" if shares else ""


def _figures(row: Row) -> str:
    return f"{rounded_down(row['lower_bound'], 3)} | {row['ideal_bound']:.3f} | {row['samples']:,}"


def filled(text: str, usual: dict[str, Any], deep: dict[str, Any]) -> str:
    """The document with what was found."""
    if not PLACE.search(text):
        raise ValueError(f"{DOCUMENT.name} has no place between <!-- found --> and <!-- end -->. Put one there.")
    return PLACE.sub(lambda match: f"{match[1]}\n{section(usual, deep)}\n{match[2]}", text)


def main(check: bool) -> int:
    """Compare, or renew."""
    text = DOCUMENT.read_text(encoding="utf-8")
    new = filled(text, *(json.loads(file.read_text(encoding="utf-8")) for file in (USUAL, DEEP)))
    if check:
        return int(new != text)
    DOCUMENT.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
