"""Mechanisms by name and independent parameters: how a design is written down, and made again by whoever reads it.

Only what cannot be derived is written: a flip probability, say, may differ in its last digit between two languages.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..errors import ConfideError, FormatError
from ..loading import sibling
from ..privacy import Guarantee, Sensitivity

LARGEST_TABLE = 1 << 28
"""The most categories, or grid points a radius, accepted from outside: both become arrays of that length."""

_CLASSES = {
    "laplace": ("laplace", "Laplace"),
    "gaussian": ("gaussian", "Gaussian"),
    "randomised-response": ("randomized_response", "RandomizedResponse"),
    "categories": ("unary", "SampledStep"),
    "bounded": ("bounded", "Bounded"),
    "bounded-by-part": ("bounded", "BoundedByPart"),
    "tree": ("tree", "TreeCounter"),
    "toeplitz": ("toeplitz", "ToeplitzCounter"),
    "buffered-toeplitz": ("buffered", "BufferedToeplitzCounter"),
    "none": ("exact", "ExactCounter"),
    "shuffled-bits": ("shuffled_bits", "ShuffledBits"),
}
"""Where ours are, by their words: each is loaded when it is read."""

_WORDS = {home: word for word, home in _CLASSES.items()}
REGISTERED = "registered"
WORDS = {"encoding", "node", "crowds"}
"""The parameters that are not numbers; whoever makes a mechanism checks them."""


def parameters(mechanism: Any) -> dict[str, Any]:
    """Plain values that say which mechanism it is and how much noise it draws; `mechanism` is its word."""
    room, _, module = type(mechanism).__module__.rpartition(".")
    word = _WORDS.get((module, type(mechanism).__name__)) if room == __package__ else None
    if word is None:
        return {"mechanism": REGISTERED, "name": mechanism.name, "says": mechanism.describe()}
    told = {one.name: getattr(mechanism, one.name) for one in fields(mechanism) if one.name != "name"}
    if "crowds" in told:
        told["crowds"] = [[crowd.flip, crowd.people] for crowd in told["crowds"]]
    return {"mechanism": word, **told}


def from_parameters(told: dict[str, Any], size: Sensitivity, promise: Guarantee, unit: float) -> Any:
    """The mechanism that these values describe; anything else is refused.

    One that somebody registered is calibrated again, by its maker here, and must say the same of itself.
    """
    try:
        rest = dict(told)
        word = rest.pop("mechanism")
        if word == REGISTERED:
            return _registered(rest, size, promise, unit)
        if word not in _CLASSES:
            raise ValueError(f"{word!r} is not one of {', '.join(_CLASSES)}")
        for key in rest.keys() - WORDS:
            _number(rest[key])
        radius = max(_number(rest.get(name, 0)) for name in ("bound", "wide"))
        entries = _number(rest.get("categories", 0)), radius / (rest.get("unit") or 1)
        if max(entries) > LARGEST_TABLE:
            raise ValueError(f"its table would have more than {LARGEST_TABLE} entries")
        if "crowds" in rest:
            from ..privacy.shuffling import Crowd

            rest["crowds"] = tuple(Crowd(*pair) for pair in rest["crowds"])
        module, name = _CLASSES[word]
        made = getattr(sibling(str(__package__), module), name)(**rest)
        if parameters(made) != told:
            raise ValueError("its parameters contradict each other")
        return made
    except (ConfideError, KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise FormatError(f"This does not describe a mechanism that this version knows: {reason}.") from error


def _registered(told: dict[str, Any], size: Sensitivity, promise: Guarantee, unit: float) -> Any:
    from . import registry

    name = told["name"]
    if name not in registry.names():
        raise ValueError(f"nobody registered {name!r} here")
    made = registry.make(name, size, promise, unit)
    if made.describe() != told["says"]:
        raise ValueError(f"{name!r} is calibrated in another way here")
    return made


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("its parameters are not all numbers")
    return float(value)
