"""Worlds on which constants may be chosen, and worlds on which nothing was ever chosen: two lists without a world in common.

A world of the first list may be looked at as often as one likes. One of the second is run when a result is to be reported, and
whoever changes a constant because of what was seen there moves it to the first. Horizons are those the worlds are registered
with, unless a tuning world says otherwise.
"""

from __future__ import annotations

EVALUATION = (
    "random/2x2?seed=17",
    "random/3x2?seed=12",
    "random/4x3?seed=13",
    "random/6x2?seed=14",
    "random/8x3?seed=15",
    "random/10x4?seed=16",
    "chain/4",
    "chain/5",
    "chain/6",
    "chain/8",
    "grid/2x2",
    "grid/2x3",
    "grid/3x3",
    "grid/3x4",
    "riverswim/4",
    "riverswim/7",
    "riverswim/8",
    "riverswim/10",
    "riverswim-inhomogeneous/3",
    "riverswim-inhomogeneous/4",
    "riverswim-inhomogeneous/5",
    "clinic",
    "gymnasium:FrozenLake-v1",
    "gymnasium:FrozenLake-v1?is_slippery=false",
)

TUNING = (
    ("riverswim/3", 12),
    ("riverswim/5", 20),
    ("riverswim/6", 20),
    ("lower-bound/9x2?episodes=1000", 8),
    ("random/5x3", 20),
    *((f"random/2x2?seed={seed}", 2) for seed in range(100, 106)),
    *((f"random/3x2?seed={seed}", 6) for seed in range(100, 106)),
    *((f"random/5x3?seed={seed}", 20) for seed in range(100, 106)),
    *((f"random/8x2?seed={seed}", 10) for seed in range(100, 106)),
    *((f"random/6x4?seed={seed}", 12) for seed in range(100, 106)),
    *((f"random/2x2?seed={seed}", 2) for seed in range(8)),
    ("illness/5x3?seed=1", 8),
    ("illness/6x2?seed=2", 12),
    ("illness/7x3?seed=3", 10),
    ("illness/6x4?seed=4", 6),
    ("illness/4x3?seed=5", 10),
    ("illness/8x2?seed=6", 14),
    *(
        (f"illness/{size}?seed={seed}", horizon)
        for first in (20, 26)
        for seed, (size, horizon) in enumerate(
            (("6x3", 8), ("5x3", 8), ("7x3", 10), ("4x4", 8), ("6x2", 6), ("5x4", 12)), first
        )
    ),
    ("climb/5?slip=0.2&rest=0.2", 16),
    ("climb/7?slip=0.15&rest=0.1", 24),
    ("climb/9?slip=0.1&rest=0.15", 36),
    ("climb/6?slip=0.1&rest=0.1", 18),
    ("climb/8?slip=0.2&rest=0.05", 24),
    ("climb/4?slip=0.3&rest=0.3", 20),
)
"""With their horizons."""


def family(world: str) -> str:
    """The family of a world: its name without sizes and options."""
    return world.partition("?")[0].partition("/")[0].partition(":")[0]
