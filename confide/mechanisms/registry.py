"""Mechanisms of your own, by name: registered at run time, or announced by another package."""

from __future__ import annotations

from collections.abc import Callable

from .. import validation
from ..errors import PrivacyError
from ..loading import announced
from ..privacy import Guarantee, Sensitivity, keeps
from .randomizer import Randomizer

GROUP = "confide.mechanisms"
"""The entry-point group in which other packages announce mechanisms."""

MechanismMaker = Callable[[Sensitivity, Guarantee, float], Randomizer]
"""make(sensitivity, promise, unit): the mechanism with least noise for a statistic whose cells are multiples of `unit`."""

_MAKERS: dict[str, MechanismMaker] = {}


def register(name: str) -> Callable[[MechanismMaker], MechanismMaker]:
    """Give a name to a function that calibrates a mechanism; it then works wherever a local mechanism is named."""

    def enter(maker: MechanismMaker) -> MechanismMaker:
        if name in _MAKERS:
            raise validation.refusal("mechanism-name-taken", "name", "one that no mechanism has yet", name)
        _MAKERS[name] = maker
        return maker

    return enter


def names() -> tuple[str, ...]:
    """Every name that was registered or announced."""
    return tuple(sorted({*_MAKERS, *announced(GROUP)}))


def make(name: str, sensitivity: Sensitivity, guarantee: Guarantee, unit: float) -> Randomizer:
    """The mechanism of that name, refused if by its own account it does not keep the promise."""
    maker = _MAKERS.get(name) or announced(GROUP)[name].load()
    mechanism: Randomizer = maker(sensitivity, guarantee, unit)
    if not keeps(mechanism.loss(sensitivity), guarantee):
        raise PrivacyError(
            "mechanism-breaks-guarantee",
            f"Mechanism {name!r} does not keep {guarantee} by its own account. Mend its calibration.",
        )
    return mechanism
