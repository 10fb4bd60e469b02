"""Mechanisms by name and independent parameters: how a design is written down, and made again by whoever reads it.

Only what cannot be derived is written: a flip probability, say, may differ in its last digit between two languages.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from ..errors import ConfideError, FormatError
from ..privacy import Guarantee, Sensitivity
from . import registry

LARGEST_TABLE = 1 << 28
"""The most categories, or grid points a radius, accepted from outside: both become arrays of that length."""

REGISTERED = "registered"


@cache
def _classes() -> dict[str, Any]:
    """Ours by their words, loaded on first use."""
    from .bounded import Bounded
    from .buffered import BufferedToeplitzCounter
    from .exact import ExactCounter
    from .gaussian import Gaussian
    from .laplace import Laplace
    from .randomized_response import RandomizedResponse
    from .shuffled_bits import ShuffledBits
    from .toeplitz import ToeplitzCounter
    from .tree import TreeCounter
    from .unary import SampledStep

    return {
        "laplace": Laplace,
        "gaussian": Gaussian,
        "randomised-response": RandomizedResponse,
        "categories": SampledStep,
        "bounded": Bounded,
        "tree": TreeCounter,
        "toeplitz": ToeplitzCounter,
        "buffered-toeplitz": BufferedToeplitzCounter,
        "none": ExactCounter,
        "shuffled-bits": ShuffledBits,
    }


def parameters(mechanism: Any) -> dict[str, Any]:
    """Plain values that say which mechanism it is and how much noise it draws; `mechanism` is its word."""
    word = next((word for word, kind in _classes().items() if type(mechanism) is kind), None)
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
        if word not in _classes():
            raise ValueError(f"{word!r} is not one of {', '.join(_classes())}")
        entries = _number(rest.get("categories", 0)), _number(rest.get("bound", 0)) / (rest.get("unit") or 1)
        if max(entries) > LARGEST_TABLE:
            raise ValueError(f"its table would have more than {LARGEST_TABLE} entries")
        if "crowds" in rest:
            from ..privacy.shuffling import Crowd

            rest["crowds"] = tuple(Crowd(*pair) for pair in rest["crowds"])
        made = _classes()[word](**rest)
        if parameters(made) != told:
            raise ValueError("its parameters contradict each other")
        return made
    except (ConfideError, KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise FormatError(f"This does not describe a mechanism that this version knows: {reason}.") from error


def _registered(told: dict[str, Any], size: Sensitivity, promise: Guarantee, unit: float) -> Any:
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
