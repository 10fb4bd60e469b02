"""Many curves in one picture that can be read: a panel for each world, and styles that say what a curve is.

The values of one axis have colours, those of a second dashes, those of a third markers, and the legend lists the values, not the
curves: thirty curves of five learners, three guarantees and two calibrations have ten lines in it. Where axes have too many values
for that, every curve has a style and a line of its own.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from .figures import (
    COLOURS,
    DASHES,
    FAINT,
    FONT,
    INK,
    LineStyle,
    check_picture,
    save_figure,
    short_number,
    taste,
    thinned_curve,
)
from .intervals import NAME, mean_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INTERVAL, RANGE, NO_BAND = "interval", "range", "none"
BANDS = {
    INTERVAL: f"band: {NAME}, where it is within a factor of ten",
    RANGE: "band: from the lowest to the highest seed",
    NO_BAND: "",
}
MARKERS = ("", "o", "s", "^", "D")
MOST_COLUMNS = 3
WIDEST = 10.0
"""High over low of a band that is still drawn."""

PANEL = (4.1, 3.1)
"""Inches of a panel."""

LEGEND, LETTERS = 2.4, 30
"""Inches beside the panels, and characters of a line there."""


class FacetCurve(NamedTuple):
    """A curve of one panel: the values of the axes in which it differs from others, numbers of episodes (C,), rows (seeds, C)."""

    facet: str
    values: Mapping[str, str]
    episodes: NDArray[np.int64]
    rows: NDArray[np.float64]

    @property
    def name(self) -> str:
        """The values of its axes."""
        return ", ".join(self.values.values())


def facet_figure(
    curves: Sequence[FacetCurve],
    path: str | Path | None = None,
    *,
    band: str = INTERVAL,
    log: bool = False,
    per_episode: bool = False,
    measure: str = "regret",
) -> NDArray[np.object_]:
    """Draw curves in panels; returns the axes of the panels, (n,), whose figure is `axes[0].figure`. path: where to save it, if."""
    validation.choice("band", band, BANDS)
    if not curves:
        raise InvalidInput("panels-no-curve", "A picture needs at least one curve. Got none.")
    target = None if path is None else check_picture(path)
    panels = list(dict.fromkeys(curve.facet for curve in curves))
    styles, legend = styles_of(curves)
    with taste():
        figure, places = _sheet(len(panels))
        for panel, axes in zip(panels, places, strict=True):
            for curve in (each for each in curves if each.facet == panel):
                _draw(axes, curve, styles[curve.name], band, per_episode)
            _finish(axes, panel, log, [each for each in curves if each.facet == panel])
        several = max(len(curve.rows) for curve in curves) > 1
        caption = ["line: mean over seeds", BANDS[band]] if several else ["one seed"]
        figure.suptitle("; ".join(filter(None, caption)), fontsize=0.85 * FONT, color="#777777", x=0.01, ha="left")
        figure.supxlabel("episodes", color=INK, fontsize=FONT)
        figure.supylabel(f"{measure} per episode" if per_episode else f"cumulative {measure}", color=INK, fontsize=FONT)
        if legend:
            _legend(figure, legend)
        if target is not None:
            save_figure(figure, target)
    return np.array(places, dtype=object)


def styles_of(curves: Sequence[FacetCurve]) -> tuple[dict[str, LineStyle], list[tuple[str, LineStyle]]]:
    """The style of each curve by its name, and the lines of the legend: text and style, none for a heading."""
    axes = {
        axis: list(dict.fromkeys(curve.values.get(axis, "-") for curve in curves))
        for curve in curves
        for axis in curve.values
    }
    axes = {axis: values for axis, values in sorted(axes.items(), key=lambda each: -len(each[1])) if len(values) > 1}
    names = {curve.name: curve.values for curve in curves}
    looks: tuple[list[LineStyle], ...] = (
        [{"color": colour} for colour in COLOURS],
        [{"linestyle": dashes} for dashes in DASHES],
        [{"marker": marker} for marker in MARKERS],
    )
    if not 0 < len(axes) <= len(looks) or any(
        len(v) > len(look) for v, look in zip(axes.values(), looks, strict=False)
    ):
        plain = {name: _numbered(index) for index, name in enumerate(names)}
        return plain, list(plain.items())
    kinds = {
        axis: dict(zip(values, look, strict=False)) for (axis, values), look in zip(axes.items(), looks, strict=False)
    }
    styles: dict[str, LineStyle] = {}
    for name, values_of in names.items():
        style: LineStyle = {}
        for axis in axes:
            style = {**style, **kinds[axis][values_of.get(axis, "-")]}
        styles[name] = style
    lines: list[tuple[str, LineStyle]] = []
    for axis, values in axes.items():
        lines.append((axis, {}))
        lines += [(value, {"color": INK, **kinds[axis][value]}) for value in values]
    return styles, lines


def _numbered(index: int) -> LineStyle:
    """The style of the index-th of many: colours first, then dashes, then markers."""
    more = index // len(COLOURS)
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[more % len(DASHES)],
        "marker": MARKERS[more // len(DASHES) % len(MARKERS)],
    }


def _sheet(panels: int) -> tuple[Figure, list[Axes]]:
    """A figure with room for this many panels and a legend beside them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(MOST_COLUMNS, panels)
    rows = math.ceil(panels / columns)
    wide = PANEL if panels > 1 else (6.0, 4.2)
    figure = Figure(figsize=(columns * wide[0] + LEGEND, rows * wide[1] + 0.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, number + 1) for number in range(panels)]


def _draw(axes: Axes, curve: FacetCurve, style: LineStyle, band: str, per_episode: bool) -> None:
    """One curve with its band."""
    x, rows = thinned_curve(curve.episodes, curve.rows)
    rows = rows / x if per_episode else rows
    low, high = mean_band(rows) if band == INTERVAL else (rows.min(axis=0), rows.max(axis=0))
    if band == INTERVAL:  # a wider one would fill the panel
        with np.errstate(invalid="ignore"):
            high = np.where((low > 0) & (high > WIDEST * low), math.nan, high)
    drawn: LineStyle = {"color": COLOURS[0], **style}
    if band != NO_BAND and len(rows) > 1:
        axes.fill_between(x, low, high, alpha=0.12, linewidth=0, color=drawn["color"])
    every = max(1, len(x) // 8)
    axes.plot(x, rows.mean(axis=0), linewidth=1.6, markevery=every, markersize=4, label=curve.name, **drawn)


def _finish(axes: Axes, title: str, log: bool, curves: Sequence[FacetCurve]) -> None:
    """A panel's title, its scales, and faint lines to read values by."""
    axes.set_title(title, loc="left", fontsize=FONT, color=INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#888888")
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0, which="both", labelsize=0.85 * FONT)
    axes.margins(x=0)
    if log and max(curve.rows.max() for curve in curves) > 0:
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="mask")
        means = np.concatenate([curve.rows.mean(axis=0) for curve in curves])
        axes.set_ylim(means[means > 0].min() / 2, 2 * means.max())
        return
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(short_number)
    axes.yaxis.set_major_formatter(short_number)
    if min(curve.rows.min() for curve in curves) >= 0:
        axes.set_ylim(bottom=0)


def _legend(figure: Figure, lines: Sequence[tuple[str, LineStyle]]) -> None:
    """The legend beside the panels: headings in bold, values with their style."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], **({"linewidth": 1.6, "markersize": 4, **style} if style else {"linestyle": "none"}))
        for _, style in lines
    ]
    drawn = figure.legend(
        handles,
        [textwrap.fill(text, LETTERS) for text, _ in lines],
        loc="outside right upper",
        frameon=False,
        fontsize=0.8 * FONT,
        handlelength=3.0,
    )
    for text, (_, style) in zip(drawn.get_texts(), lines, strict=True):
        text.set_color(INK)
        if not style:
            text.set_fontweight("bold")
