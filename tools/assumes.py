"""The example of docs/explanations/what-an-interval-assumes.md, its numbers and its picture: `python -m tools.assumes`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.analysis.reporting.figures import sheet
from confide.mechanisms.noise import ReplayableNoise
from tools.coverage_worlds import judged_fit, repeated_dose

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE, DATA, PICTURE = (
    Path("docs/explanations/what-an-interval-assumes.md"),
    Path("docs/assumes.json"),
    Path("docs/pictures/assumes.svg"),
)
SIZES, RHO = (1000, 3000, 10_000, 30_000), 0.5
BEGIN, END = "<!-- measured -->", "<!-- end -->"


def measured() -> list[dict[str, Any]]:
    """The example, for logs of several sizes: what the table says of the whole policy, and what is true."""
    family, rows = repeated_dose("a second dose harms", avoided=True), []
    for people in SIZES:
        data = family.read(people, np.random.default_rng([1, people]))
        said, plan = judged_fit(data, RHO, noise=ReplayableNoise(people))
        judged = said["judged"]
        row = {"people": people, "gain": said["gain"], "true": family.gain(plan.extended, 1.0)}
        row |= {"alarms": said["alarms"], "recommended": said["recommended"], "judged": judged}
        row["adoption"] = None if judged is None else family.gain(plan.extended, judged["alpha"])
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    head = "| people | the table says | true | those who judge say | true | alarms |\n|---|---|---|---|---|---|\n"
    lines = []
    for row in rows:
        gain, judged = row["gain"], row["judged"]
        whole = f"{gain['value']:+.2f} ({gain['low']:+.2f} to {gain['high']:+.2f})"
        adoption, true = "-", "-"
        if judged is not None:
            share = f"{10 * judged['alpha']:g} of 10 decisions"
            adoption = f"{share}: {judged['gain']:+.3f} ({judged['low']:+.3f} to {judged['high']:+.3f})"
            true = f"{row['adoption']:+.3f}"
        alarms = ", ".join(row["alarms"]) or "none"
        lines.append(f"| {row['people']:,} | {whole} | {row['true']:+.2f} | {adoption} | {true} | {alarms} |")
    return head + "\n".join(lines)


def draw(rows: list[dict[str, Any]]) -> None:
    """The picture: intervals of the table that shrink around a wrong number, and the truth."""
    with sheet(PICTURE, 3.6) as (_, axes):
        _on(axes, rows)


def _on(axes: Axes, rows: list[dict[str, Any]]) -> None:
    places = np.arange(len(rows))
    values = np.array([row["gain"]["value"] for row in rows])
    ends = np.array([[row["gain"]["low"], row["gain"]["high"]] for row in rows]).T
    axes.errorbar(places, values, np.abs(ends - values), fmt="o", capsize=4, label="the table, 95 % interval")
    axes.plot(places, [row["true"] for row in rows], "x", color="crimson", label="true gain")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xticks(places, [f"{row['people']:,}" for row in rows])
    axes.set_xlabel("people in the log")
    axes.set_ylabel("gain over current practice")
    axes.legend()


def main() -> None:
    """Measure, and write data, picture and page."""
    rows = measured()
    DATA.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    draw(rows)
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
