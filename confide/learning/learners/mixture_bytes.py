"""The bytes of states of `ucrl-vtr`: what was learned so far; the form of its questions is told beside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgpack
import numpy as np

from ... import validation
from ...errors import ConfideError, FormatError
from ...protocol.releases.release import Array
from .vtr import MixtureContext, MixtureState

FORMAT = "confide.mixture-state/1"
MOST_STEPS = 1 << 20

PackedArray: TypeAlias = tuple[list[int], bytes]
"""An array: its shape, and its bytes."""


def mixture_to_bytes(state: MixtureState) -> bytes:
    """Versioned bytes of a state of `ucrl-vtr`."""
    return bytes(msgpack.packb([FORMAT, state.context.form.digest, *_packed(state.policy, state.values)]))


def mixture_from_bytes(data: bytes, context: MixtureContext) -> MixtureState:
    """Read what `mixture_to_bytes` wrote of a learner in this context; refuse anything else."""
    try:
        policy, values = _arrays(_opened(data, FORMAT, context.form.digest, 2))
        spec = context.spec
        checked = validation.array("policy", policy, (spec.horizon, spec.states, spec.actions))
        return MixtureState(context, checked, validation.array("values", values, (spec.horizon + 1, spec.states)))
    except (ConfideError, ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
        raise FormatError(
            "learner-state-unreadable", f"These bytes are not a state that this learner can go on from: {error}"
        ) from error


def _opened(data: bytes, form: str, digest: bytes, parts: int) -> list[PackedArray]:
    """The values after the format's name and the fingerprint of the question."""
    values = msgpack.unpackb(data, max_array_len=MOST_STEPS, max_str_len=64)
    if not isinstance(values, list) or len(values) != parts + 2:
        raise ValueError("it has other parts than a state has")
    if values[0] != form:
        raise ValueError(f"its format is {values[0]!r}, not {form!r}")
    if values[1] != digest:
        raise ValueError("it is of a learner with other statistics")
    packed: list[PackedArray] = values[2:]
    return packed


def _packed(*arrays: Array) -> list[PackedArray]:
    return [(list(array.shape), np.ascontiguousarray(array, dtype="<f8").tobytes()) for array in arrays]


def _arrays(packed: Iterable[PackedArray]) -> list[Array]:
    return [np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64) for shape, raw in packed]
