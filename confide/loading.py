"""Rooms load their modules on first use, so that a device imports what it needs and nothing more.

This is the only place that imports by a name that is not written in an import statement, and it reaches no other room: what
a room may import stays visible in its sources.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from .errors import InvalidInput


def sibling(room: str, module: str) -> ModuleType:
    """A module of a room, by its name there."""
    if not (room.startswith("confide.") and room.count(".") == 1 and module.isidentifier()):
        raise InvalidInput(f"A room loads its own modules only. Got {module!r} in {room!r}. Write an import statement.")
    return importlib.import_module(f"{room}.{module}")


def on_first_use(room: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a room whose names live in the modules that `homes` tells."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(sibling(room, homes[name]), name)

    return find
