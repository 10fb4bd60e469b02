"""The bytes of a learner's state: what a server needs to go on after a restart, and nothing about any user.

Learners of tables share one form; `linear` has the weights in use, how many people they rest on, and where its generator is;
`ucrl-vtr` what was learned so far, the form of its questions being written beside.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import msgpack
import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import ConfideError, FormatError
from ...mdp import Spec
from ...protocol.releases.release import Array
from .learner import Context, Memory, State, TabularLearner, renewed

if TYPE_CHECKING:  # a collector loads this, and nothing that compiles
    from ...protocol.kinds.moments import MomentsQuestion
    from .linear import FeatureContext, FeatureState, Gathered
    from .vtr import MixtureContext, MixtureState

FORMAT = "confide.state/2"
MOST_POLICIES = 1 << 10
MOST_BYTES = 1 << 32
_TYPES = ("<f8", "<i8", "|b1")

Packed: TypeAlias = tuple[str, list[int], bytes]
"""An array: its type, its shape, its bytes."""
GeneratorState: TypeAlias = tuple[str, str, str, int, int]
"""A generator: its name, state and increment in hexadecimal digits, and the half of a number that it kept."""


def to_bytes(state: State) -> bytes:
    """Versioned bytes; equal states have equal bytes."""
    context = state.context
    spec = context.spec
    body: bytes = msgpack.packb(
        [
            FORMAT,
            [spec.states, spec.actions, spec.horizon, spec.dynamics],
            [context.users, context.failure, context.bonus_scale],
            state.users,
            _packed(state.policy),
            _packed(state.values),
            _packed(state.constants),
            [_packed(array) for array in _leaves(state.memory)],
            _generator_state(state.rng),
            None if state.mixture is None else _packed(state.mixture),
        ]
    )
    return body


def from_bytes(data: bytes, learner: TabularLearner) -> State:
    """Read what `to_bytes` wrote of a state of this learner; refuse anything else."""
    try:
        limit = min(max(len(data), 1), MOST_BYTES)
        form, *parts = msgpack.unpackb(data, max_array_len=1 << 12, max_str_len=1 << 12, max_bin_len=limit)
        if form != FORMAT:
            raise ValueError(f"its format is {form!r}, not {FORMAT!r}")
        sizes, settings, users, policy, values, constants, memory, generator_state, mixture = parts
        context = Context(Spec(*sizes), *settings)
        spec, shape = context.spec, learner.constants(context).shape
        arrays, shown = iter(memory), (spec.horizon, spec.states, spec.actions)
        state = State(
            context,
            _unpacked(policy, shown),
            _unpacked(values, (spec.horizon + 1, spec.states)),
            int(users),
            _unpacked(constants, shape),
            _filled(learner.memory(context), arrays),
            _generator(generator_state),
            None if mixture is None else _mixture(mixture, shown),
        )
        if next(arrays, None) is not None:
            raise ValueError("it remembers more than this learner does")
        return state
    except (ConfideError, ValueError, TypeError, LookupError, StopIteration, msgpack.UnpackException) as error:
        raise FormatError(
            "learner-state-unreadable", f"These bytes are not a state that this learner can go on from: {error}"
        ) from error


def _leaves(memory: Memory) -> list[NDArray[np.generic]]:
    """The arrays of a memory, which is one or a tuple of such, in order."""
    if isinstance(memory, np.ndarray):
        return [memory]
    return [array for part in memory for array in _leaves(part)]


def _filled(blank: Memory, arrays: Iterator[Packed]) -> Memory:
    """A memory of the same form, with these arrays in it."""
    if isinstance(blank, np.ndarray):
        return _remembered(next(arrays), blank)
    return renewed(blank, (_filled(part, arrays) for part in blank))


def _packed(array: NDArray[np.generic]) -> Packed:
    kind = array.dtype.newbyteorder("<").str
    if kind not in _TYPES:
        raise FormatError(
            "state-array-type", f"A state holds arrays of {', '.join(_TYPES)}. Got one of {kind}. Keep it in floats."
        )
    return kind, list(array.shape), np.ascontiguousarray(array, dtype=kind).tobytes()


def _unpacked(packed: Packed, shape: tuple[int, ...]) -> Array:
    """A writable array of the given shape."""
    kind, axes, raw = packed
    array = np.frombuffer(raw, dtype=kind if kind in _TYPES else None).reshape(axes).copy()
    if array.shape != shape:
        raise ValueError("an array has the wrong shape")
    return array


def _remembered(packed: Packed, blank: NDArray[np.generic]) -> NDArray[np.generic]:
    """A writable array of the blank's number of axes and type: memories may grow."""
    kind, axes, raw = packed
    array = np.frombuffer(raw, dtype=kind if kind in _TYPES else None).reshape(axes).copy()
    if array.ndim != blank.ndim or array.dtype != blank.dtype:
        raise ValueError("an array is of another kind than this learner remembers")
    return array


def _mixture(packed: Packed, shape: tuple[int, ...]) -> Array:
    """(M, H, S, A) several policies, of which every user follows one."""
    count = int(packed[1][0])
    if not 1 < count <= MOST_POLICIES:
        raise ValueError(f"it follows {count} policies, not 2 to {MOST_POLICIES}")
    return _unpacked(packed, (count, *shape))


def _generator_state(rng: np.random.Generator) -> GeneratorState:
    """The state of a generator: PCG64, which is numpy's default."""
    generator = rng.bit_generator.state
    if generator["bit_generator"] != "PCG64":
        raise FormatError(
            "state-generator", f"A state is kept with numpy's default generator. Got {generator['bit_generator']}."
        )
    inner = generator["state"]
    return "PCG64", f"{inner['state']:x}", f"{inner['inc']:x}", generator["has_uint32"], generator["uinteger"]


def _generator(generator_state: GeneratorState) -> np.random.Generator:
    name, where, step, half, rest = generator_state
    if name != "PCG64":
        raise ValueError(f"its generator {name!r} is not known")
    bits = np.random.PCG64(np.random.SeedSequence(0))
    bits.state = {
        "bit_generator": name,
        "state": {"state": int(where, 16), "inc": int(step, 16)},
        "has_uint32": int(half),
        "uinteger": int(rest),
    }
    return np.random.Generator(bits)


FEATURE_FORMAT = "confide.feature-state/1"
MOST_MODELS = 1024


def feature_to_bytes(state: FeatureState) -> bytes:
    """Versioned bytes of a state of `linear`."""
    weights = np.ascontiguousarray(state.weights, dtype="<f8")
    generator = json.dumps(state.rng.bit_generator.state)
    digest = state.context.question.digest
    gathered = [] if state.gathered is None else _packed_floats(*(np.atleast_1d(each) for each in state.gathered))
    return bytes(
        msgpack.packb([FEATURE_FORMAT, digest, state.users, len(weights), weights.tobytes(), generator, gathered])
    )


def feature_from_bytes(data: bytes, context: FeatureContext) -> FeatureState:
    """Read what `feature_to_bytes` wrote of a learner in this context; refuse anything else."""
    from .linear import FeatureState

    question = context.question
    try:
        name, digest, users, models, raw, generator, packed = msgpack.unpackb(data, max_array_len=16, max_str_len=4096)
        if (name, digest) != (FEATURE_FORMAT, question.digest):
            raise ValueError("it is of another format, or of a learner with other statistics")
        validation.integer("models", models, 1, MOST_MODELS)
        shape = (models, question.horizon, question.features.blocks, question.features.dimension)
        weights = validation.array("weights", np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64), shape)
        rng = np.random.default_rng(0)
        rng.bit_generator.state = json.loads(generator)
        return FeatureState(
            context,
            weights,
            validation.integer("users", users, 0),
            rng,
            _gathered(packed, question) if packed else None,
        )
    except (ConfideError, ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
        raise FormatError(
            "learner-state-unreadable", f"These bytes are not a state that this learner can go on from: {error}"
        ) from error


def _gathered(packed: list[PackedArray], question: MomentsQuestion) -> Gathered:
    """The weighed sums of a state; anything else is refused."""
    from .linear import Gathered

    cells, variance, weighed, noise = _float_arrays(packed)
    shape = (question.cells,)
    held = [validation.array("weighed sums", each, shape) for each in (cells, weighed)]
    own = [validation.array("variance", each, (1,))[0] for each in (variance, noise)]
    first, second = (validation.between("variance", float(each), 0.0, 1e300) for each in own)
    return Gathered(held[0], first, held[1], second)


MIXTURE_FORMAT = "confide.mixture-state/1"
MOST_STEPS = 1 << 20

PackedArray: TypeAlias = tuple[list[int], bytes]
"""An array: its shape, and its bytes."""


def mixture_to_bytes(state: MixtureState) -> bytes:
    """Versioned bytes of a state of `ucrl-vtr`."""
    return bytes(
        msgpack.packb([MIXTURE_FORMAT, state.context.form.digest, *_packed_floats(state.policy, state.values)])
    )


def mixture_from_bytes(data: bytes, context: MixtureContext) -> MixtureState:
    """Read what `mixture_to_bytes` wrote of a learner in this context; refuse anything else."""
    from .vtr import MixtureState

    try:
        policy, values = _float_arrays(_opened(data, MIXTURE_FORMAT, context.form.digest, 2))
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


def _packed_floats(*arrays: Array) -> list[PackedArray]:
    return [(list(array.shape), np.ascontiguousarray(array, dtype="<f8").tobytes()) for array in arrays]


def _float_arrays(packed: Iterable[PackedArray]) -> list[Array]:
    return [np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64) for shape, raw in packed]
