"""confide learns good policies from people who do not want to be seen."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import (
        audit,
        collector,
        contracts,
        designs,
        device,
        environments,
        errors,
        fitting,
        learners,
        mdp,
        mechanisms,
        planning,
        privacy,
        privatizers,
        questions,
        releases,
        results,
        simulation,
        staging,
        testing,
        trajectories,
    )
    from .device.device import Device
    from .fitting.fit import fit
    from .privacy import Central, Guarantee, Joint, Local, NoPrivacy, Shuffle
    from .results import Run
    from .results.fit import Fit, load
    from .simulation.registering import register
    from .simulation.simulate import simulate

# Loaded when first used, so that `import confide` stays quick: name -> (module, attribute). All else in `__all__` is a room.
_LAZY: dict[str, tuple[str, str]] = {
    **{name: ("privacy", name) for name in ("Central", "Guarantee", "Joint", "Local", "NoPrivacy", "Shuffle")},
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
    "audit",
    "collector",
    "contracts",
    "designs",
    "device",
    "environments",
    "errors",
    "fit",
    "fitting",
    "learners",
    "load",
    "mdp",
    "mechanisms",
    "planning",
    "privacy",
    "privatizers",
    "questions",
    "register",
    "releases",
    "results",
    "simulate",
    "simulation",
    "staging",
    "testing",
    "trajectories",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    if name not in _LAZY:
        return importlib.import_module(f".{name}", __name__)
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(f".{module}", __name__), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
