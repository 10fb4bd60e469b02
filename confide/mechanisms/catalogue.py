"""From the words of a report or a certificate back to the mechanism: how a server learns what its devices did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ConfideError, FormatError
from .bounded import Bounded
from .gaussian import Gaussian
from .laplace import Laplace
from .randomized_response import RandomizedResponse
from .randomizer import Randomizer
from .unary import KARY, SYMMETRIC, UNARY, SampledStep

LARGEST_TABLE = 1 << 28
"""The most categories, or grid points a radius, accepted from outside: both become arrays of that length."""

_BUILDERS: dict[str, Callable[[dict[str, Any]], Randomizer | SampledStep]] = {
    "laplace": lambda said: Laplace(said["scale"], said["grid"]),
    "discrete-laplace": lambda said: Laplace(said["scale"], said["grid"]),
    "gaussian": lambda said: Gaussian(said["sigma"], said["grid"]),
    "discrete-gaussian": lambda said: Gaussian(said["sigma"], said["grid"]),
    "randomised-response": lambda said: RandomizedResponse(said["bit_epsilon"]),
    "sampled-unary": lambda said: SampledStep(said["epsilon"], said["categories"], UNARY),
    "sampled-symmetric": lambda said: SampledStep(said["epsilon"], said["categories"], SYMMETRIC),
    "sampled-k-ary": lambda said: SampledStep(said["epsilon"], said["categories"], KARY),
    "bounded": lambda said: Bounded(said["bound"], said["unit"]),
}


def from_description(description: dict[str, Any]) -> Randomizer | SampledStep:
    """The local mechanism that describes itself in exactly these words; anything else is refused."""
    try:
        build = _BUILDERS.get(description["name"])
        if build is None:
            raise ValueError(f"{description['name']!r} is not one of {', '.join(_BUILDERS)}")
        values = {key: value for key, value in description.items() if key != "name"}
        if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values.values()):
            raise ValueError("its parameters are not all numbers")
        entries = values.get("categories", 0), values.get("bound", 0) / (values.get("grid") or 1)
        if max(entries) > LARGEST_TABLE:
            raise ValueError(f"its table would have more than {LARGEST_TABLE} entries")
        mechanism = build(description)
        if mechanism.describe() != description:
            raise ValueError("its parameters contradict each other")
    except (ConfideError, KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise FormatError(f"This does not describe a mechanism that this version knows: {reason}.") from error
    return mechanism
