"""confide learns good policies from people who do not want to be seen."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .privacy.guarantee import Central, Guarantee, Joint, Local, NoPrivacy, Shuffle

if TYPE_CHECKING:
    from . import environments, learners, trajectories
    from .simulation import Run, register, simulate

# Loaded when first used, so that `import confide` stays quick: name -> (module, attribute), attribute None for a room.
_LAZY: dict[str, tuple[str, str | None]] = {
    "environments": ("environments", None),
    "learners": ("learners", None),
    "trajectories": ("trajectories", None),
    "register": ("simulation", "register"),
    "Run": ("results", "Run"),
    "simulate": ("simulation", "simulate"),
}

__all__ = [
    "Central",
    "Guarantee",
    "Joint",
    "Local",
    "NoPrivacy",
    "Run",
    "Shuffle",
    "__version__",
    "environments",
    "learners",
    "register",
    "simulate",
    "trajectories",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    loaded = importlib.import_module(f".{module}", __name__)
    return loaded if attribute is None else getattr(loaded, attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
