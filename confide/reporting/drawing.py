"""Small pictures as SVG text, for pages without network or script."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

# Okabe and Ito's colours, which people with any colour vision tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C", "#F0E442", "#000000")
INK, SOFT, LINE = "#222", "#666", "#ddd"
WIDTH = 720

Interval = tuple[str, float, float, float, float | None]
"""A name, a value, the ends of its interval, and a pessimistic bound if there is one."""


def intervals(rows: Sequence[Interval], title: str) -> str:
    """Values with their intervals, one below the other, on one scale."""
    left, right, top, step = 150, 30, 14, 44
    numbers = [number for row in rows for number in row[1:] if number is not None]
    low, high = _widened(min(numbers), max(numbers))
    height = top + step * len(rows) + 46

    def x(value: float) -> float:
        return left + (WIDTH - left - right) * (value - low) / (high - low)

    parts = [_axis(low, high, x, top, top + step * len(rows), title)]
    for index, (name, value, least, most, bound) in enumerate(rows):
        y, colour = top + step * (index + 0.5), COLOURS[0] if index else SOFT
        parts.append(_text(left - 14, y + 5, name, "end"))
        parts.append(
            f'<rect x="{x(least):.1f}" y="{y - 6}" width="{max(x(most) - x(least), 2):.1f}" height="12" rx="6" '
            f'fill="{colour}" fill-opacity=".3"/>'
        )
        parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="6" fill="{colour}"/>')
        parts.append(_text(x(value), y - 12, f"{value:.3g}", "middle", 13))
        if bound is not None:
            parts.append(f'<path d="M{x(bound):.1f} {y - 9}v18" stroke="{colour}" stroke-width="3"/>')
    return _picture(height, parts, f"{title}: " + ", ".join(f"{row[0]} {row[1]:.3g}" for row in rows))


def bars(rows: Sequence[tuple[str, float]]) -> str:
    """Shares between 0 and 1 as bars."""
    left, step = 230, 30
    parts = []
    for index, (name, share) in enumerate(rows):
        y, full = 6 + step * index, WIDTH - left - 60
        parts.append(_text(left - 12, y + 16, name, "end"))
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{full}" height="16" rx="3" fill="#eee"/>')
        parts.append(
            f'<rect x="{left}" y="{y + 3}" width="{full * min(max(share, 0), 1):.1f}" height="16" rx="3" '
            f'fill="{COLOURS[0]}"/>'
        )
        parts.append(_text(left + full + 8, y + 16, f"{100 * share:.0f} %"))
    return _picture(step * len(rows) + 10, parts, ", ".join(f"{name}: {100 * share:.0f} %" for name, share in rows))


def curve(
    points: Sequence[tuple[float, float]],
    here: tuple[float, float],
    lines: Sequence[tuple[str, float]],
    across: str,
    up: str,
) -> str:
    """A curve over a logarithmic axis, with horizontal lines to compare it with and a ring where we are."""
    left, right, top, bottom, height = 70, 150, 24, 52, 300
    xs, ys = np.array([point[0] for point in points]), np.array([point[1] for point in points])
    low, high = _widened(min([*ys, *(value for _, value in lines)]), max([*ys, *(value for _, value in lines)]))
    first, last = math.log10(xs.min()), math.log10(xs.max())

    def x(value: float) -> float:
        return left + (WIDTH - left - right) * (math.log10(value) - first) / max(last - first, 1e-9)

    def y(value: float) -> float:
        return height - bottom - (height - top - bottom) * (value - low) / (high - low)

    parts = []
    for tick in _ticks(low, high):
        parts.append(f'<path d="M{left} {y(tick):.1f}H{WIDTH - right}" stroke="{LINE}"/>')
        parts.append(_text(left - 8, y(tick) + 5, f"{tick:g}", "end", 13, SOFT))
    for power in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1):
        parts.append(_text(x(10.0**power), height - bottom + 20, f"{10.0**power:g}", "middle", 13, SOFT))
    parts.append(_text(left + (WIDTH - left - right) / 2, height - 8, across, "middle", 13, SOFT))
    parts.append(_text(left - 8, 12, up, "start", 13, SOFT))
    placed = _apart([y(value) for _, value in lines], 17)
    for (name, value), at in zip(lines, placed, strict=True):
        parts.append(f'<path d="M{left} {y(value):.1f}H{WIDTH - right}" stroke="{SOFT}" stroke-dasharray="5 4"/>')
        parts.append(_text(WIDTH - right + 8, at + 5, name, "start", 13, SOFT))
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[0]}" stroke-width="2.5"/>')
    parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="4" fill="{COLOURS[0]}"/>' for a, b in points]
    parts.append(
        f'<circle cx="{x(here[0]):.1f}" cy="{y(here[1]):.1f}" r="9" fill="none" stroke="{COLOURS[5]}" stroke-width="2.5"/>'
    )
    parts.append(_text(x(here[0]) + 12, y(here[1]) + 20, "this promise", "start", 13))  # below a curve that rises
    return _picture(height, parts, f"{up} over {across}")


def grid(best: NDArray[np.int64], certain: NDArray[np.bool_], states: Sequence[str], actions: Sequence[str]) -> str:
    """Which action is taken at each step (columns, (H, S)) in each state (rows); pale where it is not certain."""
    steps, count = best.shape
    left = 20 + 8 * min(max(len(name) for name in states), 22)
    cell = max(10, min(34, (WIDTH - left - 20) // steps, 1200 // count))
    legend = 34 * math.ceil(len(actions) / 4) + 8
    parts = []
    for index, name in enumerate(actions):
        x, y = left + (index % 4) * 150, 10 + 30 * (index // 4)
        parts.append(f'<rect x="{x}" y="{y}" width="16" height="16" rx="3" fill="{COLOURS[index]}"/>')
        parts.append(_text(x + 22, y + 13, _short(name, 16)))
    for s in range(count):
        y = legend + cell * s
        if cell >= 12:
            parts.append(_text(left - 8, y + cell / 2 + 5, _short(states[s], 22), "end", 13))
        for h in range(steps):
            shade = "" if certain[h, s] else ' fill-opacity=".35"'
            parts.append(
                f'<rect x="{left + cell * h}" y="{y}" width="{cell - 1}" height="{cell - 1}" rx="2" '
                f'fill="{COLOURS[best[h, s]]}"{shade}/>'
            )
    below = legend + cell * count
    if steps == 1:
        parts.append(_text(left, below + 18, "every step", size=13, colour=SOFT))
    else:
        parts += [
            _text(left + cell * (h + 0.5), below + 18, str(h + 1), "middle", 12, SOFT)
            for h in range(0, steps, max(1, 24 // cell))
        ]
    return _picture(below + 26, parts, "The action at each step and state")


def _axis(low: float, high: float, at: Callable[[float], float], top: float, bottom: float, title: str) -> str:
    """Lines to read values by, with their numbers below, and what they mean."""
    parts = []
    for tick in _ticks(low, high):
        parts.append(f'<path d="M{at(tick):.1f} {top}V{bottom}" stroke="{LINE}"/>')
        parts.append(_text(at(tick), bottom + 18, f"{tick:g}", "middle", 13, SOFT))
    parts.append(_text((at(low) + at(high)) / 2, bottom + 40, title, "middle", 13, SOFT))
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers in between."""
    rough = (high - low) / 5
    step = 10.0 ** math.floor(math.log10(rough))
    step *= next(size for size in (1, 2, 5, 10) if size * step >= rough)
    first = math.ceil(low / step)
    return [round(index * step, 12) for index in range(first, math.floor(high / step) + 1)]


def _widened(low: float, high: float) -> tuple[float, float]:
    room = 0.06 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - room, high + room


def _apart(wanted: Sequence[float], gap: float) -> list[float]:
    """The same heights, moved down where two would touch."""
    placed = dict[int, float]()
    floor = -math.inf
    for index in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        floor = placed[index] = max(wanted[index], floor + gap)
    return [placed[index] for index in range(len(wanted))]


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 14, colour: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
    )


def _picture(height: float, parts: Sequence[str], said: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(said)}" '
        f'font-family="system-ui,sans-serif">{"".join(parts)}</svg>'
    )
