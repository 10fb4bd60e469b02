"""Values over the number of people: one line for the mean over seeds, a band from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInput
from .figures import COLOURS, DASHES, FAINT, INK, Curve, check_picture


def value_figure(
    curves: Sequence[Curve],
    path: str | Path,
    title: str,
    measure: str,
    lines: Sequence[tuple[str, float]] = (),
) -> Path:
    """Draw curves (name, people (C,), rows (seeds, C)) and horizontal lines to compare them with, into a PNG or SVG."""
    target = check_picture(path)
    if not curves:
        raise InvalidInput("A picture needs at least one curve. Got none.")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "svg.hashsalt": "confide", "font.size": 10.0}):
        figure = Figure(figsize=(8.0, 4.6), dpi=150, layout="constrained")
        FigureCanvasAgg(figure)
        axes: Any = figure.add_subplot()
        for index, (name, people, rows) in enumerate(curves):
            x, y = np.asarray(people, dtype=np.float64), np.atleast_2d(np.asarray(rows, dtype=np.float64))
            style = {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}
            axes.plot(x, y.mean(axis=0), marker="o", markersize=3.5, linewidth=1.8, label=name, **style)
            if len(y) > 1:
                axes.fill_between(x, y.min(axis=0), y.max(axis=0), alpha=0.15, linewidth=0, color=style["color"])
        for name, value in lines:
            axes.axhline(value, color="#888888", linewidth=1, linestyle=(0, (4, 3)))
            where = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
            axes.annotate(name, (0.995, value), color="#666666", fontsize=8.5, **where)
        axes.set_xscale("log")
        axes.set_xlabel("people", color=INK)
        axes.set_ylabel(measure, color=INK)
        axes.set_title(title, loc="left", color=INK, fontsize=12)
        axes.grid(axis="y", color=FAINT, linewidth=0.8)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.savefig(target, metadata={"Date": None} if target.suffix.lower() == ".svg" else None)
    return target
