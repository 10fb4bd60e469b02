"""confide learns good policies from people who do not want to be seen."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import environments, learners, trajectories
    from .device.device import Device
    from .fitting.fit import fit
    from .privacy import Central, Guarantee, Joint, Local, NoPrivacy, Shuffle
    from .results import Run
    from .results.fit import Fit, load
    from .simulation.registering import register
    from .simulation.simulate import simulate

# Loaded when first used, so that `import confide` stays quick: name -> (module, attribute), attribute None for a room.
_LAZY: dict[str, tuple[str, str | None]] = {
    **{name: ("privacy", name) for name in ("Central", "Guarantee", "Joint", "Local", "NoPrivacy", "Shuffle")},
    "environments": ("environments", None),
    "learners": ("learners", None),
    "trajectories": ("trajectories", None),
    "Device": ("device", "Device"),
    "Fit": ("results.fit", "Fit"),
    "fit": ("fitting", "fit"),
    "load": ("results.fit", "load"),
    "register": ("simulation", "register"),
    "Run": ("results", "Run"),
    "simulate": ("simulation", "simulate"),
}

__all__ = [
    "Central",
    "Device",
    "Fit",
    "Guarantee",
    "Joint",
    "Local",
    "NoPrivacy",
    "Run",
    "Shuffle",
    "__version__",
    "environments",
    "fit",
    "learners",
    "load",
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
