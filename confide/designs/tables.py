"""Who designs what: every kind of question under every trust model that answers it. The one place that names them all."""

from __future__ import annotations

import importlib
from functools import cache

MODULES = ("local", "joint", "central", "shuffle", "mixture", "gram")


@cache
def enter() -> None:
    """Let every module of ours enter its trust model and its designs."""
    for name in MODULES:
        importlib.import_module(f".{name}", __package__)
