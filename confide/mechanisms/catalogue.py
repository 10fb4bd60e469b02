"""Mechanisms by name and independent parameters: how a design is written down, and made again by its reader.

Only what cannot be derived is written: a flip probability, say, may differ in its last digit between two languages.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..errors import ConfideError, FormatError
from ..loading import sibling
from ..privacy import Guarantee, Sensitivity
from ..validation import Json
from .mechanism import NoiseMechanism

LARGEST_TABLE = 1 << 28
"""The most categories, or grid points a radius, accepted from outside: both become arrays of that length."""
MOST_RELEASES = 1 << 24
"""The most releases of a counter, accepted from outside: their weights become an array too."""

_CLASSES = {
    "laplace": ("laplace", "Laplace"),
    "gaussian": ("gaussian", "Gaussian"),
    "randomised-response": ("randomized_response", "RandomizedResponse"),
    "categories": ("unary", "SampledStep"),
    "privunit": ("privunit", "PrivUnit"),
    "bounded": ("bounded", "Bounded"),
    "bounded-by-part": ("bounded", "BoundedByPart"),
    "tree": ("tree", "TreeCounter"),
    "toeplitz": ("toeplitz", "ToeplitzCounter"),
    "buffered-toeplitz": ("buffered", "BufferedToeplitzCounter"),
    "none": ("exact", "ExactCounter"),
    "shuffled-bits": ("shuffled_bits", "ShuffledBits"),
    "skellam": ("skellam", "SkellamShares"),
}
"""The module and class of each of our mechanisms, by name; a module is loaded when its mechanism is read."""

_NAMES = {home: name for name, home in _CLASSES.items()}
REGISTERED = "registered"
NOT_NUMBERS = {"encoding", "node", "crowds", "apart", "honest"}
"""The parameters that are not numbers; the maker of a mechanism checks them."""
USUAL = {"participations": 1, "separation": 1, "bands": 0}
"""Parameters that were added to the first format, and are written where they say something."""


def parameters(mechanism: NoiseMechanism) -> dict[str, Json]:
    """Plain values that say which mechanism it is (`mechanism`: its name) and how much noise it draws."""
    room, _, module = type(mechanism).__module__.rpartition(".")
    kind = _NAMES.get((module, type(mechanism).__name__)) if room == __package__ else None
    if kind is None:
        return {"mechanism": REGISTERED, "name": mechanism.name, "says": mechanism.describe()}
    values = {
        parameter.name: vars(mechanism)[parameter.name] for parameter in fields(mechanism) if parameter.name != "name"
    }
    if "crowds" in values:
        values["crowds"] = [[crowd.flip, crowd.people] for crowd in values["crowds"]]
        if not values["apart"]:  # added to the first format, and written where it says something
            del values["apart"]
    for name, usual in USUAL.items():
        if values.get(name) == usual:
            del values[name]
    if "honest" in values:
        values["honest"] = list(values["honest"])
    return {"mechanism": kind, **values}


def word(values: dict[str, Any]) -> str:
    """The word for a mechanism with these parameters: its encoding for categories, its node for a tree, what is sent for shuffled
    bits, its own name for a registered one.
    """
    kind = str(values["mechanism"])
    words = {
        REGISTERED: values.get("name"),
        "categories": values.get("encoding"),
        "tree": f"tree-{values.get('node')}",
        "shuffled-bits": "shuffled-step" if values.get("categories") else kind,
    }
    return str(words.get(kind, kind))


def from_parameters(values: dict[str, Any], size: Sensitivity, promise: Guarantee, unit: float) -> NoiseMechanism:
    """The mechanism that these values describe; anything else is refused.

    A registered one is calibrated again, by its maker here, and must say the same of itself.
    """
    try:
        arguments = dict(values)
        kind = arguments.pop("mechanism")
        if kind == REGISTERED:
            return _registered(arguments, size, promise, unit)
        if kind not in _CLASSES:
            raise ValueError(f"{kind!r} is not one of {', '.join(_CLASSES)}")
        for key in arguments.keys() - NOT_NUMBERS:
            _number(arguments[key])
        radius = max(_number(arguments.get(name, 0)) for name in ("bound", "wide"))
        entries = _number(arguments.get("categories", 0)), radius / (arguments.get("unit") or 1)
        if _number(arguments.get("releases", 0)) > MOST_RELEASES:
            raise ValueError(f"it counts for more than {MOST_RELEASES} releases")
        if max(entries) > LARGEST_TABLE:
            raise ValueError(f"its table would have more than {LARGEST_TABLE} entries")
        if "crowds" in arguments:
            from ..privacy.shuffling import ShuffledCrowd

            arguments["crowds"] = tuple(ShuffledCrowd(*pair) for pair in arguments["crowds"])
            if arguments.get("apart", True) is not True:
                raise ValueError("its batches are apart, or that is not said")
        if "honest" in arguments:
            arguments["honest"] = tuple(arguments["honest"])
        module, name = _CLASSES[kind]
        mechanism: NoiseMechanism = vars(sibling(str(__package__), module))[name](**arguments)
        if parameters(mechanism) != values:
            raise ValueError("its parameters contradict each other")
        return mechanism
    except (ConfideError, KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise FormatError(
            "mechanism-unreadable", f"This does not describe a mechanism that this version knows: {reason}."
        ) from error


def _registered(values: dict[str, Json], size: Sensitivity, promise: Guarantee, unit: float) -> NoiseMechanism:
    from . import registry

    name, says = str(values["name"]), values["says"]
    mechanism: NoiseMechanism
    if not isinstance(says, dict):
        raise ValueError("what it says of itself is no table")
    if name in registry.counters():
        mechanism = registry.make_counter(name, size, promise, int(_number(says["releases"])), unit)
    elif name in registry.shares():
        honest = tuple(int(_number(each)) for each in says["honest"])
        mechanism = registry.make_shares(name, size, promise, honest, int(_number(says["width"])), unit)
    elif name in registry.names():
        mechanism = registry.make(name, size, promise, unit)
    else:
        raise ValueError(f"no mechanism {name!r} is registered here")
    if mechanism.describe() != says:
        raise ValueError(f"{name!r} is calibrated in another way here")
    return mechanism


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("its parameters are not all numbers")
    return float(value)
