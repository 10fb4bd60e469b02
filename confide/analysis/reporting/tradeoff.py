"""One number against another: how regret falls, or rises, as a promise changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InvalidInput
from .figures import INK, check_picture, dress, sheet, style_of

Series: TypeAlias = tuple[str, ArrayLike, ArrayLike]
"""A name, values on the x axis (P,), and one row a seed, (seeds, P)."""

Level: TypeAlias = tuple[str, ArrayLike]
"""A name and one value a seed, (seeds,): what does not depend on the x axis."""


def tradeoff_figure(
    series: Sequence[Series],
    levels: Sequence[Level],
    path: str | Path,
    title: str,
    x_label: str,
    y_label: str,
) -> Path:
    """Draw series as lines through points, levels as dashed lines, on logarithmic axes, into a PNG or SVG file."""
    target = check_picture(path)
    if not series:
        raise InvalidInput("picture-no-series", "A picture needs at least one series. Got none.")
    from matplotlib.ticker import LogLocator, NullLocator

    with sheet(target) as (_, axes):
        caption = "points: mean over seeds; bars and bands: from the lowest to the highest"
        dress(axes, title, caption, x_label, y_label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for index, (name, places, rows) in enumerate(series):
            x, y, style = np.asarray(places, dtype=np.float64), np.atleast_2d(rows), style_of(index)
            mean = y.mean(axis=0)
            axes.errorbar(
                x,
                mean,
                np.maximum((mean - y.min(axis=0), y.max(axis=0) - mean), 0),
                marker="o",
                capsize=2,
                label=name,
                **style,
            )
        for name, values in levels:
            seen = np.asarray(values, dtype=np.float64)
            axes.axhspan(seen.min(), seen.max(), color=INK, alpha=0.1, linewidth=0)
            axes.axhline(seen.mean(), color=INK, linestyle=(0, (4, 3)), linewidth=1)
            axes.annotate(
                name, (1, seen.mean()), (-2, 3), ("axes fraction", "data"), "offset points", ha="right", color=INK
            )
        axes.xaxis.set_minor_locator(NullLocator())
        low, high = axes.get_xlim()
        if high / low < 1e3:  # within a few decades numbers between powers of ten help
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), labelcolor=INK)
    return target
