"""Learners by name: ours, those registered at run time, and those other packages announce."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from .. import validation
from ..errors import InvalidInput

GROUP = "confide.learners"
"""The entry-point group in which other packages announce learners."""

Build = Callable[..., Any]


@dataclass(frozen=True)
class Listing:
    """A name, what it stands for, who builds it, and the options that give the algorithm as its paper prints it."""

    name: str
    description: str
    build: Build
    paper: dict[str, Any] = field(default_factory=dict)


def names() -> list[str]:
    """Every name that `make` knows."""
    return sorted({*_LISTINGS, *_announced()})


def listing(name: str) -> Listing:
    """What stands behind a name; an unknown one is answered with the nearest."""
    validation.choice("learner", name, names())
    if name in _LISTINGS:
        return _LISTINGS[name]
    point = _announced()[name]
    return Listing(name, f"announced by {point.value}", point.load())


def make(name: str, **options: Any) -> Any:
    """The learner of that name. Options are those of its function, such as `bonus` of `ucbvi`."""
    build = listing(name).build
    try:
        return build(**options)
    except TypeError as error:
        raise InvalidInput(f"learner {name!r} does not take these options: {error}") from error


def register(name: str, description: str = "") -> Callable[[Build], Build]:
    """Give a name to a function that builds a learner; it then works wherever a learner is named."""

    def enter(build: Build) -> Build:
        if name in _LISTINGS and not _same_source(_LISTINGS[name].build, build):
            raise validation.refusal("name", "one that no learner has yet", name)
        _LISTINGS[name] = Listing(name, description or (build.__doc__ or "").strip().split("\n")[0], build)
        return build

    return enter


def _same_source(known: Build, build: Build) -> bool:
    """Whether this is the same line of the same file, imported a second time, as loading compiled code may do."""
    return known is not build and getattr(known, "__code__", None) == getattr(build, "__code__", build)


def _announced() -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


# Each is imported when it is made: compiled code is not loaded before it is needed.


def _ucbvi(**options: Any) -> Any:
    from .ucbvi import ucbvi

    return ucbvi(**options)


def _po(**options: Any) -> Any:
    from .po import po

    return po(**options)


def _obi(**options: Any) -> Any:
    from .obi import obi

    return obi(**options)


def _psrl(**options: Any) -> Any:
    from .psrl import psrl

    return psrl(**options)


def _pucb(**options: Any) -> Any:
    from .pucb import pucb

    return pucb(**options)


def _apvi(**options: Any) -> Any:
    from .apvi import apvi

    return apvi(**options)


def _vapvi(**options: Any) -> Any:
    from .vapvi import vapvi

    return vapvi(**options)


def _pevi(**options: Any) -> Any:
    from .vapvi import pevi

    return pevi(**options)


def _ucrl_vtr(**options: Any) -> Any:
    from .vtr import ucrl_vtr

    return ucrl_vtr(**options)


_LISTINGS = {
    entry.name: entry
    for entry in (
        Listing("ucbvi", "value iteration: UCB-VI, PRIVATE-UCB-VI, DP-UCBVI", _ucbvi, {"bonus": "private"}),
        Listing("po", "optimistic policy optimisation: PRIVATE-UCB-PO", _po, {"steps": "paper"}),
        Listing("obi", "optimistic backward induction: LDP-OBI", _obi, {"bonus": "paper"}),
        Listing("psrl", "posterior sampling: PSRL, LDP-PSRL", _psrl, {"posterior": "paper"}),
        Listing("pucb", "private upper confidence bounds: PUCB", _pucb, {"bonus": "paper"}),
        Listing("apvi", "from logged episodes: APVI, DP-APVI", _apvi, {"calibration": "paper"}),
        Listing("vapvi", "from logged episodes, linear: VAPVI, DP-VAPVI", _vapvi, {"calibration": "paper"}),
        Listing("pevi", "from logged episodes, linear: PEVI", _pevi, {"calibration": "paper"}),
        Listing(
            "ucrl-vtr",
            "value-targeted regression: UCRL-VTR, LDP-UCRL-VTR",
            _ucrl_vtr,
            {"beta": "printed", "definite": "shift"},
        ),
    )
}
