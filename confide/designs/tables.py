"""Who designs what: every kind of question under every trust model that answers it. The one place that names them all."""

from __future__ import annotations

from functools import cache


@cache
def enter() -> None:
    """Let every module of ours enter its trust model and its designs."""
    from . import central, gram, joint, local, mixture, shuffle

    _ = central, gram, joint, local, mixture, shuffle  # importing them is enough
