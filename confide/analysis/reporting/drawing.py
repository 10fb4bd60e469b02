"""Small pictures as SVG text, for pages without network or script."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .numbers import written

# Okabe and Ito's colours, which people with any colour vision distinguish. A page may set them anew for a dark screen.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C", "#F0E442", "#000000")
COLOURS = tuple(f"var(--c{index},{colour})" for index, colour in enumerate(_COLOURS))
INK, SOFT, LINE, BACK = "var(--ink,#222)", "var(--soft,#666)", "var(--line,#ddd)", "var(--back,#eee)"
WIDE, NARROW = 720, 340
"""Widths of a picture in pixels: on a desk, and on a telephone, where text keeps its size."""

Interval = tuple[str, float, float, float, float | None]
"""A name, a value, the ends of its interval, and a pessimistic bound if there is one."""


def both(draw: Callable[[int], str]) -> str:
    """A picture for a desk and one for a telephone; the page shows the one that fits."""
    return f'<div class="wide">{draw(WIDE)}</div><div class="narrow">{draw(NARROW)}</div>'


def intervals(rows: Sequence[Interval], title: str, width: int = WIDE) -> str:
    """Values with their intervals, one below the other, on one scale."""
    small = width < WIDE
    left, right, top, step = (14, 14, 26, 58) if small else (150, 30, 14, 44)
    numbers = [number for row in rows for number in row[1:] if number is not None]
    low, high = _widened(min(numbers), max(numbers))
    height = top + step * len(rows) + 46

    def x(value: float) -> float:
        return left + (width - left - right) * (value - low) / (high - low)

    parts = [_axis(Scale(low, high, x), top, top + step * len(rows), title, 3 if small else 5)]
    for index, (name, value, least, most, bound) in enumerate(rows):
        y, colour = top + step * (index + 0.5), COLOURS[0] if index else SOFT
        if small:
            parts.append(_text(left, y - 24, _short(f"{name}: {written(value)}", 38), "start", 13))
        else:
            parts.append(_text(left - 14, y + 5, _short(name, 18), "end"))
        parts.append(
            f'<rect x="{x(least):.1f}" y="{y - 6}" width="{max(x(most) - x(least), 2):.1f}" height="12" rx="6" '
            f'fill="{colour}" fill-opacity=".3"/>'
        )
        parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="6" fill="{colour}"/>')
        if not small:
            parts.append(_text(x(value), y - 12, written(value), "middle", 13))
        if bound is not None:
            parts.append(f'<path d="M{x(bound):.1f} {y - 9}v18" stroke="{colour}" stroke-width="3"/>')
    return _picture(height, parts, f"{title}: " + ", ".join(f"{row[0]} {written(row[1])}" for row in rows), width)


def bars(rows: Sequence[tuple[str, float]], width: int = WIDE) -> str:
    """Shares between 0 and 1 as bars."""
    small = width < WIDE
    left, step, down = (0, 46, 18) if small else (230, 30, 0)
    parts = []
    for index, (name, share) in enumerate(rows):
        y, full = 6 + step * index + down, width - left - 60
        if small:
            parts.append(_text(0, y - 3, name, "start", 13))
        else:
            parts.append(_text(left - 12, y + 16, name, "end"))
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{full}" height="16" rx="3" fill="{BACK}"/>')
        parts.append(
            f'<rect x="{left}" y="{y + 3}" width="{full * min(max(share, 0), 1):.1f}" height="16" rx="3" '
            f'fill="{COLOURS[0]}"/>'
        )
        parts.append(_text(left + full + 8, y + 16, f"{100 * share:.0f} %"))
    description = ", ".join(f"{name}: {100 * share:.0f} %" for name, share in rows)
    return _picture(step * len(rows) + 10, parts, description, width)


def curve(
    points: Sequence[tuple[float, float]],
    here: tuple[float, float],
    lines: Sequence[tuple[str, float]],
    across: str,
    up: str,
    width: int = WIDE,
) -> str:
    """A curve over a logarithmic axis, with horizontal lines to compare it with and a ring where we are."""
    small = width < WIDE
    left, right, top, bottom, height = (52, 12, 40, 52, 280) if small else (70, 150, 24, 52, 300)
    xs, ys = np.array([point[0] for point in points]), np.array([point[1] for point in points])
    low, high = _widened(min([*ys, *(value for _, value in lines)]), max([*ys, *(value for _, value in lines)]))
    first, last = math.log10(xs.min()), math.log10(xs.max())

    def x(value: float) -> float:
        return left + (width - left - right) * (math.log10(value) - first) / max(last - first, 1e-9)

    def y(value: float) -> float:
        return height - bottom - (height - top - bottom) * (value - low) / (high - low)

    parts = []
    for tick in _ticks(low, high):
        parts.append(f'<path d="M{left} {y(tick):.1f}H{width - right}" stroke="{LINE}"/>')
        parts.append(_text(left - 8, y(tick) + 5, written(tick, digits=6), "end", 13, SOFT))
    parts += _powers(first, last, x, height - bottom + 20)
    parts.append(_text(left + (width - left - right) / 2, height - 8, across, "middle", 13, SOFT))
    parts.append(_text(4 if small else left - 8, 12, up, "start", 13, SOFT))
    placed = _apart([y(value) for _, value in lines], 17)
    for (name, value), at in zip(lines, placed, strict=True):
        parts.append(f'<path d="M{left} {y(value):.1f}H{width - right}" stroke="{SOFT}" stroke-dasharray="5 4"/>')
        if small:
            parts.append(_text(width - right, y(value) - 5, name, "end", 12, SOFT))
        else:
            parts.append(_text(width - right + 8, at + 5, name, "start", 13, SOFT))
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[0]}" stroke-width="2.5"/>')
    parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="4" fill="{COLOURS[0]}"/>' for a, b in points]
    parts.append(
        f'<circle cx="{x(here[0]):.1f}" cy="{y(here[1]):.1f}" r="9" fill="none" stroke="{COLOURS[5]}" stroke-width="2.5"/>'
    )
    right_half = small and x(here[0]) > width / 2
    side = "end" if right_half else "start"
    parts.append(_text(x(here[0]) + (-12 if right_half else 12), y(here[1]) + 20, "this guarantee", side, 13))
    return _picture(height, parts, f"{up} over {across}", width)


def logarithms(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]], across: str, up: str, width: int = WIDE
) -> str:
    """Curves over two logarithmic axes, each with its name."""
    small = width < WIDE
    left, right, top, bottom, height = (74, 12, 40, 52, 300) if small else (110, 40, 34, 52, 320)
    xs = [point[0] for _, points in series for point in points]
    ys = [point[1] for _, points in series for point in points]
    first, last, low, high = (math.log10(value) for value in (min(xs), max(xs), min(ys), max(ys)))

    def x(value: float) -> float:
        return left + (width - left - right) * (math.log10(value) - first) / max(last - first, 1e-9)

    def y(value: float) -> float:
        return height - bottom - (height - top - bottom) * (math.log10(value) - low) / max(high - low, 1e-9)

    parts = _powers(first, last, x, height - bottom + 20)
    for power in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1):
        parts.append(f'<path d="M{left} {y(10.0**power):.1f}H{width - right}" stroke="{LINE}"/>')
        parts.append(_text(left - 8, y(10.0**power) + 5, written(10.0**power, digits=1), "end", 12, SOFT))
    parts.append(_text(left + (width - left - right) / 2, height - 8, across, "middle", 13, SOFT))
    parts.append(_text(4 if small else left - 8, 14, up, "start", 13, SOFT))
    for index, (name, points) in enumerate(series):
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[index]}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="4" fill="{COLOURS[index]}"/>' for a, b in points]
        parts.append(_text(width - right, top + 14 + 18 * index, name, "end", 13, COLOURS[index]))
    return _picture(height, parts, f"{up} over {across}", width)


def _powers(first: float, last: float, x: Callable[[float], float], y: float) -> list[str]:
    """The powers of ten between two logarithms, written below an axis."""
    return [
        _text(x(10.0**power), y, written(10.0**power, digits=1), "middle", 13, SOFT)
        for power in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    ]


def grid(
    best: NDArray[np.int64],
    certain: NDArray[np.bool_],
    states: Sequence[str],
    actions: Sequence[str],
    width: int = WIDE,
) -> str:
    """Which action is taken at each step (columns, (H, S)) in each state (rows); pale where it is not certain."""
    steps, count = best.shape
    small = width < WIDE
    most, across = (14, 2) if small else (22, 4)
    left = 20 + 8 * min(max(len(name) for name in states), most)
    cell = max(8 if small else 10, min(34, (width - left - 20) // steps, 1200 // count))
    legend = 34 * math.ceil(len(actions) / across) + 8
    first = 4 if small else left
    parts = []
    for index, name in enumerate(actions):
        x, y = first + (index % across) * 150, 10 + 30 * (index // across)
        parts.append(f'<rect x="{x}" y="{y}" width="16" height="16" rx="3" fill="{COLOURS[index]}"/>')
        parts.append(_text(x + 22, y + 13, _short(name, 16)))
    for s in range(count):
        y = legend + cell * s
        if cell >= 12:
            parts.append(_text(left - 8, y + cell / 2 + 5, _short(states[s], most), "end", 13))
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
    return _picture(below + 26, parts, "The action at each step and state", max(width, left + cell * steps + 4))


class Scale(NamedTuple):
    """The values that an axis shows, and where each of them lies in the picture."""

    low: float
    high: float
    at: Callable[[float], float]


def _axis(scale: Scale, top: float, bottom: float, title: str, count: int = 5) -> str:
    """Lines to read values by, with their numbers below, and what they mean."""
    low, high, at = scale
    parts = []
    for tick in _ticks(low, high, count):
        parts.append(f'<path d="M{at(tick):.1f} {top}V{bottom}" stroke="{LINE}"/>')
        number = written(tick, digits=6)
        half = 4.0 * len(number)  # of its width: a number is not cut off at the edge
        parts.append(_text(min(max(at(tick), half), at(high) + 14 - half), bottom + 18, number, "middle", 13, SOFT))
    parts.append(_text((at(low) + at(high)) / 2, bottom + 40, title, "middle", 13, SOFT))
    return "".join(parts)


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers between two values."""
    rough = (high - low) / count
    step = 10.0 ** math.floor(math.log10(rough))
    step *= next(size for size in (1, 2, 5, 10) if size * step >= rough)
    ticks = _between(low, high, step)
    return ticks if len(ticks) > 1 else _between(low, high, step / 2)


def _between(low: float, high: float, step: float) -> list[float]:
    return [round(index * step, 12) for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _widened(low: float, high: float) -> tuple[float, float]:
    room = 0.06 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - room, high + room


def _apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Heights of labels, moved down where two would touch."""
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


def _picture(height: float, parts: Sequence[str], description: str, width: int = WIDE) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height:.0f}" width="{width}" role="img" '
        f'aria-label="{escape(description)}" font-family="system-ui,sans-serif">{"".join(parts)}</svg>'
    )


def alone(picture: str) -> str:
    """A picture as a file of its own."""
    return picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
