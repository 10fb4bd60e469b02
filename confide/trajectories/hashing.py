"""Hashes of many texts at once, compiled. Apart from `keys`, which devices import, so that they need no compiler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

PRIME = np.uint64(0x100000001B3)
FIRST, SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
HALF = np.uint64(33)


@compiled
def hash_texts(starts: NDArray[np.int64], text: NDArray[np.uint8], key: np.uint64, out: NDArray[np.uint64]) -> None:
    """out[i] is the hash of text[starts[i]:starts[i+1]]: FNV-1a from a secret start, and MurmurHash3's finaliser."""
    for i in range(out.size):
        h = key
        for at in range(starts[i], starts[i + 1]):
            h = (h ^ np.uint64(text[at])) * PRIME
        h ^= h >> HALF
        h *= FIRST
        h ^= h >> HALF
        h *= SECOND
        h ^= h >> HALF
        out[i] = h
