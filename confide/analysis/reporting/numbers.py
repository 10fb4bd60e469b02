"""Numbers as people write them: no powers of ten, thousands set apart, three digits that matter."""

from __future__ import annotations

import math

SMALLEST = 5e-7


def written(value: float | None, sign: bool = False, digits: int = 3) -> str:
    """A number for a sentence or a table. sign: with its plus, as a difference has it."""
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "endless" if value > 0 else "-endless"
    mark = "+" if sign else ""
    size = abs(value)
    if size < SMALLEST:
        return "0"
    if size >= 10 ** (digits - 1):
        return f"{value:{mark},.0f}"
    places = min(digits - 1 - math.floor(math.log10(size)), 6)
    shown = f"{value:{mark}.{places}f}".rstrip("0").rstrip(".")
    # 0.9996 rounds to one digit more than it needs.
    return shown if abs(float(shown)) < 10 ** (digits - 1) else f"{float(shown):{mark},.0f}"


def counted(number: int, noun: str) -> str:
    """A number of them: `1 seed`, `1,000 seeds`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def each(noun: str) -> str:
    """The noun with its article: `a person`, `an episode`."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def share(part: float) -> str:
    """A share in per cent; never 0 or 100 unless it is."""
    percent = 100 * min(max(float(part), 0.0), 1.0)
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:
        return "over 99 %"
    return f"{percent:.0f} %"


def plural(unit: str) -> str:
    """The plural of a unit: people, or episodes."""
    return "people" if unit == "person" else f"{unit}s"
