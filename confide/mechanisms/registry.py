"""Mechanisms of your own, by name: registered at run time, or announced by another package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .. import validation
from ..errors import InvalidInput, PrivacyError
from ..loading import announced
from ..privacy import Guarantee, Sensitivity, keeps
from .randomizer import Randomizer

GROUP = "confide.mechanisms"
"""The entry-point group in which other packages announce mechanisms."""

MechanismMaker = Callable[[Sensitivity, Guarantee, float], Randomizer]
"""make(sensitivity, promise, unit): the mechanism with least noise for a statistic whose cells are multiples of `unit`."""

AuditCase = Callable[[Guarantee], Any]
"""The design in which a mechanism of your own is audited and swept (`protocol.accepted.Case`)."""


class Entry(NamedTuple):
    """A mechanism that was registered. answers: the kinds of question and trust models under which designs with it are accepted
    from bytes; case: in which they are audited.
    """

    maker: MechanismMaker
    answers: tuple[tuple[str, str], ...] = ()
    case: AuditCase | None = None


_ENTRIES: dict[str, Entry] = {}


def register(
    name: str, answers: Iterable[tuple[str, str]] = (), case: AuditCase | None = None
) -> Callable[[MechanismMaker], MechanismMaker]:
    """Give a name to a function that calibrates a mechanism; it then works wherever a local mechanism is named.

    answers: (kind of question, trust model) by which designs with it cross as bytes, with the case in which these are audited.
    """
    rows = tuple(answers)
    if rows and case is None:
        raise InvalidInput(
            "mechanism-without-case",
            f"Designs with {name!r} are accepted only with a case in which they are audited. Give one.",
        )

    def enter(maker: MechanismMaker) -> MechanismMaker:
        if name in _ENTRIES:
            raise validation.refusal("mechanism-name-taken", "name", "one that no mechanism has yet", name)
        _ENTRIES[name] = Entry(maker, rows, case)
        return maker

    return enter


def entered() -> Mapping[str, Entry]:
    """The mechanisms that were registered in this process, by name."""
    return _ENTRIES


def names() -> tuple[str, ...]:
    """Every name that was registered or announced."""
    return tuple(sorted({*_ENTRIES, *announced(GROUP)}))


def make(name: str, sensitivity: Sensitivity, guarantee: Guarantee, unit: float) -> Randomizer:
    """The mechanism of that name, refused if by its own account it does not keep the promise."""
    maker = _ENTRIES[name].maker if name in _ENTRIES else announced(GROUP)[name].load()
    mechanism: Randomizer = maker(sensitivity, guarantee, unit)
    if not keeps(mechanism.loss(sensitivity), guarantee):
        raise PrivacyError(
            "mechanism-breaks-guarantee",
            f"Mechanism {name!r} does not keep {guarantee} by its own account. Mend its calibration.",
        )
    return mechanism
