"""Random generators as compiled code takes them that does not count references: by the addresses of their parts."""

from __future__ import annotations

from ctypes import c_void_p, cast
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic


class GeneratorAddress(NamedTuple):
    """The addresses of a generator's state and its three functions. They do not keep the generator alive."""

    state: int
    next_uint64: int
    next_uint32: int
    next_double: int


@lru_cache(maxsize=256)
def address_of(rng: np.random.Generator) -> GeneratorAddress:
    """The address of a generator, which must outlive it; the last few are kept alive here."""
    parts = rng.bit_generator.ctypes
    functions = (parts.next_uint64, parts.next_uint32, parts.next_double)
    return GeneratorAddress(parts.state_address, *(cast(function, c_void_p).value or 0 for function in functions))


def _generator_at(context: Any, address: Any) -> Any:
    """The same generator, inside compiled code: it draws from, and moves on, the one whose address it is."""

    def build(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = cgutils.create_struct_proxy(types.npy_bitgen)(target, builder)
        parts = cgutils.unpack_tuple(builder, arguments[0])
        bits.state, bits.fnptr_next_uint64, bits.fnptr_next_uint32, bits.fnptr_next_double = parts
        made = cgutils.create_struct_proxy(types.npy_rng)(target, builder)
        made.bit_generator = bits._getvalue()
        return made._getvalue()

    return types.npy_rng(address), build


generator_at = intrinsic(_generator_at)
