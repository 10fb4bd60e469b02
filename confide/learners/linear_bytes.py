"""The bytes of states of learners with features: what was learned so far; the form of their questions is told beside."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np

from .. import validation
from ..errors import ConfideError, FormatError
from ..mdp.critic import Critic, ValueVariance
from ..questions.gram import GramForm
from ..releases.release import Array
from .vapvi import LinearState
from .vtr import MixtureContext, MixtureState

FORMAT, MIXTURE_FORMAT = "confide.linear-state/1", "confide.mixture-state/1"
MOST_STEPS = 1 << 20


def linear_to_bytes(state: LinearState) -> bytes:
    """Versioned bytes of a state of `vapvi` or `pevi`."""
    functions = [None if one is None else _packed(*one.arrays()) for one in (*state.critics, state.variances)]
    return bytes(msgpack.packb([FORMAT, state.form.digest, state.number, functions]))


def linear_from_bytes(data: bytes, form: GramForm) -> LinearState:
    """Read what `linear_to_bytes` wrote of a learner that asks questions of this form; refuse anything else."""
    try:
        number, functions = _opened(data, FORMAT, form.digest, 2)
        sizes = form.features.blocks, form.features.dimension
        *critics, variances = functions
        if len(critics) != form.horizon:
            raise ValueError("it has learned about another number of steps")
        found = tuple(None if one is None else Critic.of(*_arrays(one)).checked(*sizes) for one in critics)
        spread = None if variances is None else ValueVariance.of(*_arrays(variances)).checked(*sizes)
        answered = validation.integer("number of answers", number, 0, len(form.questions))
        return LinearState(form, answered, found, spread)
    except (ConfideError, ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
        raise FormatError(f"These bytes are not a state that this learner can go on from: {error}") from error


def mixture_to_bytes(state: MixtureState) -> bytes:
    """Versioned bytes of a state of `ucrl-vtr`."""
    return bytes(msgpack.packb([MIXTURE_FORMAT, state.context.form.digest, *_packed(state.policy, state.values)]))


def mixture_from_bytes(data: bytes, context: MixtureContext) -> MixtureState:
    """Read what `mixture_to_bytes` wrote of a learner that was told this; refuse anything else."""
    try:
        policy, values = _arrays(_opened(data, MIXTURE_FORMAT, context.form.digest, 2))
        spec = context.spec
        told = validation.array("policy", policy, (spec.horizon, spec.states, spec.actions))
        return MixtureState(context, told, validation.array("values", values, (spec.horizon + 1, spec.states)))
    except (ConfideError, ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
        raise FormatError(f"These bytes are not a state that this learner can go on from: {error}") from error


def _opened(data: bytes, form: str, digest: bytes, parts: int) -> list[Any]:
    """What follows the format's name and the fingerprint of what is asked."""
    found = msgpack.unpackb(data, max_array_len=MOST_STEPS, max_str_len=64)
    if not isinstance(found, list) or len(found) != parts + 2:
        raise ValueError("it has other parts than a state has")
    if found[0] != form:
        raise ValueError(f"its format is {found[0]!r}, not {form!r}")
    if found[1] != digest:
        raise ValueError("it is of a learner that asked other questions")
    return found[2:]


def _packed(*arrays: Array) -> list[Any]:
    return [[list(one.shape), np.ascontiguousarray(one, dtype="<f8").tobytes()] for one in arrays]


def _arrays(packed: Any) -> list[Array]:
    return [np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64) for shape, raw in packed]
