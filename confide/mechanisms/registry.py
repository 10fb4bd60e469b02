"""Mechanisms of your own, by name: registered at run time, or announced by another package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .. import validation
from ..errors import InvalidInput, PrivacyError
from ..loading import announced
from ..privacy import Guarantee, Loss, Sensitivity, keeps
from .counter import Counter
from .mechanism import NoiseMechanism
from .randomizer import Randomizer
from .shares import TabledShares

GROUP = "confide.mechanisms"
"""The entry-point group in which other packages announce mechanisms."""

MechanismMaker = Callable[[Sensitivity, Guarantee, float], Randomizer]
"""make(sensitivity, guarantee, unit): the mechanism with least noise for a statistic whose cells are multiples of `unit`."""

CounterMaker = Callable[[Sensitivity, Guarantee, int, float], Counter]
"""make(sensitivity, guarantee, releases, unit): the counter with least noise for this many releases of a statistic whose cells
are multiples of `unit`, which its grid divides."""

SharesMaker = Callable[[Sensitivity, Guarantee, tuple[int, ...], int, float], "TabledShares"]
"""make(sensitivity, guarantee, honest, width, unit): the shares with least noise, for reports of `width` cells, multiples of
`unit`, and batches of one or more sizes, each with this many honest people."""

AuditCase = Callable[[Guarantee], Any]
"""The design in which a mechanism of your own is audited and swept (`protocol.accepted.Case`)."""


class Entry(NamedTuple):
    """A mechanism that was registered. answers: the kinds of question and trust models under which designs with it are accepted
    from bytes; case: in which they are audited.
    """

    maker: MechanismMaker
    answers: tuple[tuple[str, str], ...] = ()
    case: AuditCase | None = None


class CounterEntry(NamedTuple):
    """A continual counter that was registered."""

    maker: CounterMaker
    answers: tuple[tuple[str, str], ...]
    case: AuditCase


class SharesEntry(NamedTuple):
    """Shares of noise that were registered."""

    maker: SharesMaker
    answers: tuple[tuple[str, str], ...]
    case: AuditCase


_ENTRIES: dict[str, Entry] = {}
_COUNTERS: dict[str, CounterEntry] = {}
_SHARES: dict[str, SharesEntry] = {}


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
        _require_new(name)
        _ENTRIES[name] = Entry(maker, rows, case)
        return maker

    return enter


def register_counter(name: str, case: AuditCase) -> Callable[[CounterMaker], CounterMaker]:
    """Give a name to a function that calibrates a continual counter; it then works wherever a counter is named, under joint
    privacy.

    case: makes the design of counts in which it is audited and swept, and by which designs with it cross as bytes.
    """

    def enter(maker: CounterMaker) -> CounterMaker:
        _require_new(name)
        _COUNTERS[name] = CounterEntry(maker, (("counts", "joint"),), case)
        return maker

    return enter


def register_shares(name: str, case: AuditCase) -> Callable[[SharesMaker], SharesMaker]:
    """Give a name to a function that calibrates shares of noise; it then works wherever a mechanism of shufflers is named.

    case: makes the design of budgeted counts in which they are audited and swept, and by which designs with them cross as bytes.
    """

    def enter(maker: SharesMaker) -> SharesMaker:
        _require_new(name)
        _SHARES[name] = SharesEntry(maker, (("budgeted", "shuffle"),), case)
        return maker

    return enter


def _require_new(name: str) -> None:
    if name in entered():
        raise validation.refusal("mechanism-name-taken", "name", "one that no mechanism has yet", name)


def entered() -> Mapping[str, Entry | CounterEntry | SharesEntry]:
    """The mechanisms, counters and shares of noise that were registered in this process, by name."""
    return {**_ENTRIES, **_COUNTERS, **_SHARES}


def shares() -> tuple[str, ...]:
    """Every name of shares of noise that were registered."""
    return tuple(sorted(_SHARES))


def counters() -> tuple[str, ...]:
    """Every name of a counter that was registered."""
    return tuple(sorted(_COUNTERS))


def names() -> tuple[str, ...]:
    """Every name that was registered or announced."""
    return tuple(sorted({*_ENTRIES, *announced(GROUP)}))


def make(name: str, sensitivity: Sensitivity, guarantee: Guarantee, unit: float) -> Randomizer:
    """The mechanism of that name, refused if by its own account it does not keep the guarantee."""
    maker = _ENTRIES[name].maker if name in _ENTRIES else announced(GROUP)[name].load()
    mechanism: Randomizer = maker(sensitivity, guarantee, unit)
    _require_words(name, mechanism, Randomizer)
    _require_kept(name, mechanism.loss(sensitivity), guarantee)
    return mechanism


def make_counter(name: str, sensitivity: Sensitivity, guarantee: Guarantee, releases: int, unit: float) -> Counter:
    """The counter of that name, refused if by its own account it does not keep the guarantee for all releases."""
    counter = _COUNTERS[name].maker(sensitivity, guarantee, releases, unit)
    _require_words(name, counter, Counter)
    if counter.releases < releases:
        raise PrivacyError(
            "counter-for-fewer-releases",
            f"Counter {name!r} is made for {counter.releases} releases. The schedule has {releases}. Mend its maker.",
        )
    _require_kept(name, counter.loss(sensitivity), guarantee)
    return counter


def make_shares(
    name: str, sensitivity: Sensitivity, guarantee: Guarantee, honest: tuple[int, ...], width: int, unit: float
) -> TabledShares:
    """The shares of that name, refused if they are for other batches or by their own account do not keep the guarantee."""
    made = _SHARES[name].maker(sensitivity, guarantee, honest, width, unit)
    _require_words(name, made, TabledShares)
    if (made.honest, made.width, made.grid) != (honest, width, unit):
        raise PrivacyError(
            "shares-for-other-batches",
            f"Shares {name!r} must be for {honest} honest people, {width} cells and the grid {unit:g}. They are for {made.honest}, "
            f"{made.width} and {made.grid:g}. Mend their maker.",
        )
    _require_kept(name, made.loss(sensitivity), guarantee)
    return made


def _require_words(name: str, mechanism: NoiseMechanism, base: type[NoiseMechanism]) -> None:
    """Refuse what does not say of itself all that is asked of a mechanism."""
    if base not in type(mechanism).__mro__:
        raise InvalidInput(
            "mechanism-without-base",
            f"Mechanism {name!r} must inherit {base.__module__}.{base.__name__}. Got a {type(mechanism).__name__}. "
            "Name the base in its class.",
        )


def _require_kept(name: str, loss: Loss, guarantee: Guarantee) -> None:
    if not keeps(loss, guarantee):
        raise PrivacyError(
            "mechanism-breaks-guarantee",
            f"Mechanism {name!r} does not keep {guarantee} by its own account. Mend its calibration.",
        )
