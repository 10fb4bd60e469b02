"""Distributions of ratios: a strip of dots for each, and the geometric mean of the strip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInput
from .figures import COLOURS, INK, check_picture, sheet
from .ratio_figure import Dot, dress_ratios

STRIP = 0.9
"""Inches."""


class Strip(NamedTuple):
    """A name, dots with their intervals, and a mean to mark."""

    name: str
    dots: Sequence[Dot]
    mean: float


def strip_figure(strips: Sequence[Strip], path: str | Path, title: str, caption: str, label: str) -> Path:
    """Draw strips on one logarithmic axis; dots whose whole interval is above 1 have another colour."""
    target = check_picture(path)
    if not strips or not all(strip.dots for strip in strips):
        raise InvalidInput(
            "picture-no-strip", "A picture needs at least one strip, and each at least one dot. Got none."
        )
    with sheet(target, 1.5 + STRIP * len(strips)) as (figure, axes):
        dress_ratios(figure, axes, title, caption, label, 1.0)
        for place, strip in enumerate(strips):
            for number, (_, value, low, _) in enumerate(sorted(strip.dots, key=lambda dot: dot[1])):
                offset = 0.5 * (number / max(1, len(strip.dots) - 1) - 0.5)
                axes.plot(
                    [value], [place + offset], marker="o", color=COLOURS[int(low is not None and low > 1)], alpha=0.75
                )
            axes.plot([strip.mean, strip.mean], [place - 0.38, place + 0.38], color=INK, linewidth=2)
            axes.annotate(
                f"{strip.mean:.2g}",
                (strip.mean, place - 0.38),
                (0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
        axes.margins(x=0.1)
        axes.set_yticks(range(len(strips)), [strip.name for strip in strips])
        axes.set_ylim(len(strips) - 0.4, -0.7)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return target
