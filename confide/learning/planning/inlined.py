"""Compiled code that is copied into whatever compiled code calls it.

A call from one compiled function to another counts references to every array it passes. For a problem of two states
that costs more than the planning, so the small functions of this room are inlined; it is compiled sooner, too.
"""

from __future__ import annotations

from ...compiled import F, compiled


def inlined(function: F) -> F:
    """`compiled`, and copied into its compiled callers."""
    made = compiled(function)
    made.targetoptions["inline"] = "always"  # type: ignore[attr-defined]  # of numba's dispatchers
    return made
