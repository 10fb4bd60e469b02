"""Reinforcement learning with differential privacy, online and offline: simulate, fit, serve."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import analysis, data, errors, lab, learning, mdp, mechanisms, privacy, protocol, service
    from .analysis.fitting.fit import fit
    from .analysis.fitting.synthesizing import synthesize
    from .analysis.results import Run
    from .analysis.results.fit import Fit, load
    from .data import trajectories
    from .lab import audit, environments, testing
    from .lab.simulation.registering import register
    from .lab.simulation.simulate import simulate
    from .lab.studies import Study
    from .learning import learners
    from .privacy import Central, Guarantee, Joint, Local, NoPrivacy, Shuffle
    from .service.device.device import Device

# Loaded when first used, so that `import confide` stays quick: public name -> (module, attribute), or the module alone.
_HOMES: dict[str, tuple[str, ...]] = {
    **{name: ("privacy", name) for name in ("Central", "Guarantee", "Joint", "Local", "NoPrivacy", "Shuffle")},
    "Device": ("service.device", "Device"),
    "Fit": ("analysis.results.fit", "Fit"),
    "Run": ("analysis.results", "Run"),
    "Study": ("lab.studies", "Study"),
    "fit": ("analysis.fitting", "fit"),
    "load": ("analysis.results.fit", "load"),
    "register": ("lab.simulation", "register"),
    "simulate": ("lab.simulation", "simulate"),
    "synthesize": ("analysis.fitting", "synthesize"),
    "audit": ("lab.audit",),
    "environments": ("lab.environments",),
    "learners": ("learning.learners",),
    "testing": ("lab.testing",),
    "trajectories": ("data.trajectories",),
    **{
        name: (name,)
        for name in (
            "analysis",
            "data",
            "errors",
            "lab",
            "learning",
            "mdp",
            "mechanisms",
            "privacy",
            "protocol",
            "service",
        )
    },
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
    "Study",
    "__version__",
    "analysis",
    "audit",
    "data",
    "environments",
    "errors",
    "fit",
    "lab",
    "learners",
    "learning",
    "load",
    "mdp",
    "mechanisms",
    "privacy",
    "protocol",
    "register",
    "service",
    "simulate",
    "synthesize",
    "testing",
    "trajectories",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'confide' has no attribute {name!r}")
    module, *attribute = _HOMES[name]
    found = importlib.import_module(f".{module}", __name__)
    return getattr(found, attribute[0]) if attribute else found


def __dir__() -> list[str]:
    return sorted(__all__)
