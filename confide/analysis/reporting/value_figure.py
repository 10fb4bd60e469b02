"""Values over the number of people: one line for the mean over seeds, a band from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .figures import INK, NamedCurve, check_curves, check_picture, dress, sheet, style_of


def value_figure(
    curves: Sequence[NamedCurve],
    path: str | Path,
    title: str,
    measure: str,
    lines: Sequence[tuple[str, float]] = (),
    *,
    log_y: bool = False,
) -> Path:
    """Draw curves (name, people (C,), rows (seeds, C)) and horizontal lines to compare them with, into a PNG or SVG."""
    target = check_picture(path)
    check_curves(curves)
    with sheet(target) as (_, axes):
        several = max(len(np.atleast_2d(rows)) for _, _, rows in curves) > 1
        caption = "line: mean over seeds; band: from the lowest to the highest" if several else ""
        dress(axes, title, caption, "people", measure)
        axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log", nonpositive="mask")
        for index, (name, people, rows) in enumerate(curves):
            x, y = np.asarray(people, dtype=np.float64), np.atleast_2d(np.asarray(rows, dtype=np.float64))
            style = style_of(index)
            axes.plot(x, y.mean(axis=0), marker="o", markersize=3.5, linewidth=1.8, label=name, **style)
            if len(y) > 1:
                axes.fill_between(x, y.min(axis=0), y.max(axis=0), alpha=0.15, linewidth=0, color=style["color"])
        for name, value in lines:
            axes.axhline(value, color="#888888", linewidth=1, linestyle=(0, (4, 3)))
            axes.annotate(
                name,
                (0.995, value),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                color="#666666",
                fontsize=8.5,
            )
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=INK)
    return target
