"""The bytes of a design. Reading them recomputes the sensitivity and checks that the promise is kept: nothing is believed."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from typing import Any

import msgpack
import numpy as np

from .. import validation
from ..errors import ConfideError, FormatError
from ..mechanisms.counter import checked_failure
from ..mechanisms.mechanism import NoiseMechanism
from ..privacy import Act, Guarantee, Schedule
from ..validation import Json
from .accepted import require_accepted
from .design import Design
from .kinds import Question, find, read
from .kinds.question import DIGEST_BYTES
from .trusts.mixing import Mixing

FORMAT = "confide.design/1"
MOST_BYTES = 1 << 28
MOST_TIMES = 1 << 20
"""The most episodes of a person, or uses of a mechanism, that a design may count."""
BROKEN = (ValueError, TypeError, LookupError, ArithmeticError, MemoryError, msgpack.UnpackException)
"""What numbers that nobody wrote in earnest end in: of bytes from outside all of them mean that these cannot be read."""


def to_bytes(design: Design) -> bytes:
    """Versioned bytes; equal designs have equal bytes."""
    promise, schedule = design.requested, design.schedule
    possible = None if design.possible is None else np.packbits(design.possible).tobytes()
    body: bytes = msgpack.packb(
        [
            FORMAT,
            [design.question.kind, design.question.to_bytes()],
            sorted(_noise_parameters(design).items()),
            design.act.times,
            [promise.trust, promise.epsilon, promise.delta, promise.rho, promise.unit, promise.neighbours],
            design.calibration,
            [schedule.kind, schedule.users, schedule.parameter, schedule.burn_in],
            design.failure,
            None if design.mixing is None else _mixing_parameters(design.mixing),
            design.paper,
            possible,
            design.episodes,
            list(design.remarks),
        ]
    )
    return body


def from_bytes(data: bytes) -> Design:
    """Read what `to_bytes` wrote; refuse anything else, what is not in the table (`accepted`), and a design that does not keep its
    promise.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        form, *parts = msgpack.unpackb(data, max_array_len=1 << 12, max_str_len=1 << 12)
        if form != FORMAT:
            raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
        design = require_accepted(_built(parts)).verified()
        if design.paper:
            design.radii(1)  # whoever prints none is not a paper that this version knows
        return design
    except (ConfideError, *BROKEN) as error:
        reason = str(error).rstrip(".")
        raise FormatError(
            "design-unreadable", f"These bytes are not a design that this version can keep: {reason}."
        ) from error


def _built(parts: list[Any]) -> Design:
    """The design of the values that `to_bytes` wrote after the format."""
    family, mechanism, times, promise, calibration, when, failure, mixed, paper, possible, episodes, remarks = parts
    question = read(*family)
    requested = Guarantee(*promise)
    count = validation.integer("episodes", episodes, 1, MOST_TIMES)
    noise = _noise(question, {str(key): value for key, value in mechanism}, requested, calibration)
    size = question.price(noise.grid)
    cells = None
    if possible is not None:
        if len(possible) != -(-question.cells // 8):
            raise ValueError("it says of more or fewer cells than there are whether they can be filled")
        cells = np.unpackbits(np.frombuffer(possible, dtype=np.uint8), count=question.cells).astype(np.bool_)
    return Design(
        question,
        Act(
            noise,
            replace(size.scaled(float(count)), cells=size.cells * count),
            validation.integer("times", times, 1, MOST_TIMES),
        ),
        requested,
        validation.choice("calibration", calibration, ("paper", "sound", "tight", "none")),
        Schedule(*when),
        checked_failure(failure),
        None if mixed is None else Mixing(**{str(key): value for key, value in mixed}),
        str(paper),
        cells,
        count,
        tuple(map(str, remarks)),
    )


def _mixing_parameters(mixing: Mixing) -> list[tuple[str, Any]]:
    """How people are mixed, by name. What was added to the first format is written where it says something."""
    return sorted((name, value) for name, value in asdict(mixing).items() if value or name != "widening")


def _noise_parameters(design: Design) -> dict[str, Json]:
    """The mechanism's name and parameters as plain values."""
    return design.kind.noise_to_plain(design.mechanism)


def _noise(question: Question, values: dict[str, Json], promise: Guarantee, calibration: str) -> NoiseMechanism:
    """The mechanism that these values describe; anything else is refused."""
    return find(question.kind).noise_from_plain(question, values, promise, calibration)


def digest(design: Design) -> bytes:
    """A fingerprint of a design: two that differ in anything that matters have different ones."""
    return hashlib.sha256(to_bytes(design)).digest()[:DIGEST_BYTES]
