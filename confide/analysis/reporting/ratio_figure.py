"""Numbers beside each other: one row each, a dot with its interval, and a line to compare them with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ...errors import InvalidInput
from .figures import COLOURS, FAINT, INK, check_picture, dress, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Dot: TypeAlias = tuple[str, float, float | None, float | None]
"""A name, a value, and the ends of its interval, if it has one."""

ROW = 0.34
"""Inches."""


def dress_ratios(figure: Figure, axes: Axes, title: str, caption: str, label: str, at: float) -> None:
    """Title and caption, one logarithmic axis, and a line at what ratios are compared with."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=INK)
    dress(axes, "", "", label, "")
    figure.text(0.01, 0.005, caption, fontsize=8.5, color="#777777", va="bottom")
    foot = 0.3 / figure.get_figheight()
    figure.set_layout_engine("constrained", rect=(0, foot, 1, 1 - foot))
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_xscale("log")
    axes.axvline(at, color=INK, linewidth=1, linestyle=(0, (4, 3)))


def ratio_figure(
    dots: Sequence[Dot], path: str | Path, title: str, caption: str, label: str, *, at: float = 1.0, better: str = ""
) -> Path:
    """Draw values on a logarithmic axis; those on the better side of `at` ("below", "above" or neither) in blue."""
    target = check_picture(path)
    if not dots:
        raise InvalidInput("picture-no-row", "A picture needs at least one row. Got none.")
    with sheet(target, max(2.4, 1.3 + ROW * len(dots))) as (figure, axes):
        dress_ratios(figure, axes, title, caption, label, at)
        for place, (_, value, low, high) in enumerate(dots):
            good = not better or (value <= 1.0001 * at if better == "below" else value >= 0.9999 * at)
            colour = COLOURS[0] if good else COLOURS[1]
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=colour, linewidth=2, alpha=0.5)
            axes.plot([value], [place], marker="o", color=colour)
            axes.annotate(f"{value:.3g}", (value, place), (0, 5), textcoords="offset points", ha="center", fontsize=8)
        axes.margins(x=0.12)
        axes.set_yticks(range(len(dots)), [name for name, *_ in dots])
        axes.set_ylim(len(dots) - 0.4, -0.7)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return target
