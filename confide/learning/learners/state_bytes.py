"""The bytes of a learner's state: what a server needs to go on after a restart, and nothing about anybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgpack
import numpy as np
from numpy.typing import NDArray

from ...errors import ConfideError, FormatError
from ...mdp import Spec
from ...protocol.releases.release import Array
from .learner import Context, Memory, State, TabularLearner, renewed

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
    """(M, H, S, A) several policies, of which everybody follows one."""
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
