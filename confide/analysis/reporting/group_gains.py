"""Who gains and who loses, in words and as a picture: a row for each public group."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from . import drawing
from .numbers import each, plural, share, written
from .pages import section, table
from .stated import GroupGain

GAINS, LOSES, UNCLEAR, FEW, UNSTATED = "gains", "loses", "unclear", "too few", "not stated"
"""What may be said of a group."""

SAID = {
    LOSES: "groups that lose by it",
    GAINS: "groups that gain by it",
    UNCLEAR: "groups of which it cannot be said",
    FEW: "groups of too few users",
}


def sentences_of(groups: Sequence[GroupGain]) -> list[str]:
    """For whom it is and for whom it is not, a sentence for each verdict."""
    by_verdict = {verdict: [row["group"] for row in groups if row["verdict"] == verdict] for verdict in SAID}
    return [f"{said}: {', '.join(by_verdict[verdict])}" for verdict, said in SAID.items() if by_verdict[verdict]]


def lines_of(groups: Sequence[GroupGain]) -> list[str]:
    """A line for each group."""
    return [f"group {row['group']} (about {row['share']:.0%} of the users): {_said(row)}" for row in groups]


def _said(row: GroupGain) -> str:
    span = _interval(row)
    return row["verdict"] if span is None else f"{row['verdict']}: {span[0]} ({span[1]}, all groups together 95 %)"


def _interval(row: GroupGain) -> tuple[str, str] | None:
    """The gain and its interval in words; None where nothing is said."""
    if row["gain"] is None or row["low"] is None or row["high"] is None:
        return None
    return written(row["gain"], sign=True), f"{written(row['low'], sign=True)} to {written(row['high'], sign=True)}"


def groups_section(groups: Sequence[GroupGain], alpha: float, unit: str) -> str:
    """What each group gains by the adoption of that share of decisions, with intervals that hold together."""
    if not groups:
        return ""
    cells = []
    for row in groups:
        size, span = f"{share(row['share_low'])} to {share(row['share_high'])}", _interval(row)
        gain = "&ndash;" if span is None else f'{span[0]} <span class="soft">({span[1]})</span>'
        about = f'{share(row["share"])} <span class="soft">({size})</span>'
        cells.append((escape(row["group"]), about, gain, escape(row["verdict"])))
    drawn = [
        (row["group"], row["gain"], row["low"], row["high"], None)
        for row in groups
        if row["gain"] is not None and row["low"] is not None and row["high"] is not None
    ]
    title = f"gain of the adoption, {each(unit)}"
    picture = drawing.both(lambda width: drawing.intervals(drawn, title, width)) if drawn else ""
    text = (
        f"<p>The policy followed in {10 * alpha:g} of 10 decisions, in every public group, as judging users found. All intervals "
        "hold together with 95&nbsp;% confidence; shares of groups come with noise, since who is in which is private.</p>"
    )
    columns = "group", f"of the {plural(unit)}", f"gain, {each(unit)}", "verdict"
    return section(
        "Who gains and who loses", text + table(columns, cells) + (f"<figure>{picture}</figure>" if picture else "")
    )
