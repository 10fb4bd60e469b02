"""How much memory a problem of given sizes takes, estimated before anything is read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import InvalidInput
from .model import Spec

TABLE, COUNTS, SUMS = 1, 90, 24
"""Bytes a triple (state, action, next state): of the public table alone; of counting and planning, a layer (measured:
82); of counting for features (measured: 15)."""

STEPS = 80
"""Bytes a triple (step, state, action) of a policy and its values (measured: 75)."""

LONGEST = 100_000
"""Steps that are planned one by one in reasonable time."""


def needed(spec: Spec, bytes_a_triple: int = TABLE) -> int:
    """Bytes that a problem of these sizes takes, an end state included."""
    states = spec.states + 1
    layers = 1 if bytes_a_triple == TABLE else spec.layers
    following = 1 if spec.horizon == 1 and bytes_a_triple != SUMS else states  # nothing follows a single step
    return layers * states * spec.actions * following * bytes_a_triple + spec.horizon * states * spec.actions * STEPS


def check_memory(spec: Spec, bytes_a_triple: int = TABLE) -> None:
    """Refuse sizes that this machine has no memory for, and horizons that would take too long."""
    take, have = needed(spec, bytes_a_triple), machine()
    sizes = f"{spec.states:,} states, {spec.actions:,} actions and {spec.horizon:,} steps"
    if take > have:
        per_step = ", --model stationary" if spec.layers > 1 else ""
        raise InvalidInput(
            "memory-exceeded",
            f"{sizes} would take about {in_words(take)} of memory, and this machine has {in_words(have)}. Declare fewer "
            f"states or steps{per_step}, or describe states by features (--learner vapvi).",
        )
    if spec.horizon > LONGEST:
        raise InvalidInput(
            "horizon-too-long",
            f"{sizes} would take about {in_words(take)} of memory and hours: the horizon must be at most {LONGEST:,}. "
            "Take larger steps, or cut the episodes.",
        )


def machine() -> int:
    """Bytes of memory that this machine, or the container on it, has."""
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # "max" is no number
        have = min(have, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return have


def in_words(size: int) -> str:
    """A number of bytes as text in a readable unit: 1.8 TB, 23 GB, 310 MB."""
    if size >= 10**18:
        return "more than a million TB"
    for unit, name in ((10**12, "TB"), (10**9, "GB")):
        if size >= unit:
            return f"{size / unit:,.2g} {name}" if size < 10 * unit else f"{size / unit:,.0f} {name}"
    return f"{max(size / 10**6, 1):,.0f} MB"
