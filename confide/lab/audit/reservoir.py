"""A noise source in bulk: the draws of another, fetched many at a time and handed out one message at a time.

An audit asks a mechanism for as many messages as it can get, each of a few draws. Independent draws of one law stay
independent draws of that law however they are cut up, so the mechanism runs unchanged, only faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.noise import NoiseSource, Shape

# A first block is small enough for `SecureNoise` to draw it in numpy, as it does for most releases. Whatever is asked for more
# often comes in blocks twice as large as the last, up to the largest: the samplers of devices are quick for many cells only.
BLOCK, LARGEST_BLOCK = 8192, 1 << 17

D = TypeVar("D", bound=np.generic)
"""The type of what is drawn."""
Parameter: TypeAlias = float | tuple[float, int, int]
"""Of a distribution: all that says which one it is."""


class Reservoir:
    """A noise source that fetches blocks from another."""

    def __init__(self, source: NoiseSource) -> None:
        self.source = source
        self._pools: dict[tuple[str, Parameter], tuple[NDArray[np.generic], int]] = {}

    @property
    def secure(self) -> bool:
        """Whether its source is secure."""
        return self.source.secure

    @property
    def drawn_by(self) -> str:
        """The name of the sampler behind its source."""
        return self.source.drawn_by

    def empty(self) -> None:
        """Throw away what was fetched and not handed out, so that whatever comes next is drawn from now on."""
        self._pools.clear()

    def discrete_laplace(self, scale: float, shape: Shape) -> NDArray[np.int64]:
        """Draws of the source, from a block."""
        return self._take("laplace", scale, partial(self.source.discrete_laplace, scale), shape)

    def discrete_gaussian(self, sigma: float, shape: Shape) -> NDArray[np.int64]:
        """Draws of the source, from a block."""
        return self._take("gaussian", sigma, partial(self.source.discrete_gaussian, sigma), shape)

    def bernoulli(self, probability: float, shape: Shape) -> NDArray[np.bool_]:
        """Draws of the source, from a block."""
        return self._take("bernoulli", probability, partial(self.source.bernoulli, probability), shape)

    def lies(self, epsilon: float, others: int, shape: Shape, within: int = 1) -> NDArray[np.bool_]:
        """Draws of the source, from a block."""

        def draw(many: int) -> NDArray[np.bool_]:
            return self.source.lies(epsilon, others, many, within)

        return self._take("lies", (epsilon, others, within), draw, shape)

    def integers(self, high: int, shape: Shape) -> NDArray[np.int64]:
        """Draws of the source, from a block."""
        return self._take("integers", high, partial(self.source.integers, high), shape)

    def _take(self, law: str, parameter: Parameter, draw: Callable[[int], NDArray[D]], shape: Shape) -> NDArray[D]:
        """The next numbers of a pool, each handed out once."""
        size = shape if isinstance(shape, int) else math.prod(shape)
        if size > LARGEST_BLOCK // 2:
            return draw(size).reshape(shape)
        kept, used = self._pools.get((law, parameter), (np.empty(0), 0))
        pool: NDArray[D] = kept  # type: ignore[assignment]  # of a law and parameter: always the same type
        if used + size > pool.size:
            pool, used = draw(min(max(BLOCK, 2 * pool.size, 2 * size), LARGEST_BLOCK)), 0
        self._pools[law, parameter] = pool, used + size
        return pool[used : used + size].reshape(shape)
