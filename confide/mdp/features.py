"""Linear mixture models: P_h(s'|s,a) = <phi(s'|s,a), theta_h>, with phi public and theta_h unknown.

What a learner meets is phi_V(s,a) = sum_s' phi(s'|s,a) V(s'), whose product with theta_h is the expected V of the next
state. Where phi_V(s,a) can only be non-zero in a part of the coordinates, a *block*, and each pair has one, Gram
matrices are block-diagonal, and only the blocks are ever kept. A table of S states and A actions is the mixture with
phi(s'|s,a) = e_(s,a,s'): S A blocks of size S, each with the identity as its map.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import msgpack
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import ConfideError, FormatError, InvalidInput
from .model import Model

Array = NDArray[np.float64]

FORMAT = "confide.mixture-features/1"

MOST_BYTES = 8 * 2**30
"""What the Gram matrices of all steps, or a table of features, may take."""

VERTICES = 12
"""Up to this many next states the corners of the cube of value functions are all tried: 2^12 of them."""

SPANNED = 1e-8
"""How far a mixture's probabilities may lie from those of the model it describes."""


@dataclass(frozen=True, eq=False)
class MixtureFeatures:
    """phi(s'|s,a) is row s' of maps[which[s,a]], in the coordinates of block[s,a]; it is zero in all other blocks.

    maps: (U, S, m); which, block: (S, A). The dimension d is the number of blocks times their size m.
    parameter_norm bounds ||theta_h||; sqrt(d) is what the definition of linear mixtures allows.
    """

    maps: Array
    which: NDArray[np.int64]
    block: NDArray[np.int64]
    parameter_norm: float

    @classmethod
    def from_array(cls, phi: ArrayLike, parameter_norm: float | None = None) -> MixtureFeatures:
        """The features in a table (S, A, S, d) of phi(s'|s,a), in the order s, a, s'."""
        table = validation.array("features", phi, (None, None, None, None))
        states, actions, following, size = table.shape
        if following != states or not table.size:
            raise validation.refusal("features-shape", "features", "of shape (S, A, S, d), none of them 0", table.shape)
        pairs = np.arange(states * actions).reshape(states, actions)
        norm = math.sqrt(size) if parameter_norm is None else validation.positive("parameter_norm", parameter_norm)
        return cls(table.reshape(-1, states, size), pairs, np.zeros_like(pairs), norm)

    @classmethod
    def from_function(
        cls, phi: Callable[[int, int, int], ArrayLike], states: int, actions: int, parameter_norm: float | None = None
    ) -> MixtureFeatures:
        """The features that a function phi(next state, state, action) gives, d numbers each."""
        states, actions = validation.integer("states", states, 1), validation.integer("actions", actions, 1)
        first = np.atleast_1d(np.asarray(phi(0, 0, 0), dtype=np.float64))
        size = 8 * states**2 * actions * first.size
        _fits(size, f"a table of {states} x {actions} x {states} x {first.size} features")
        table = [[[phi(t, s, a) for t in range(states)] for a in range(actions)] for s in range(states)]
        try:
            numbers = np.asarray(table, dtype=np.float64).reshape(states, actions, states, first.size)
        except (TypeError, ValueError):
            raise InvalidInput(
                "features-function",
                f"The function must give {first.size} numbers for every triple, as for the first. It does not.",
            ) from None
        return cls.from_array(numbers, parameter_norm)

    @classmethod
    def one_hot(cls, states: int, actions: int) -> MixtureFeatures:
        """A table as a mixture: d = S^2 A, and theta_h holds S A distributions, so its norm is at most sqrt(S A)."""
        states, actions = validation.integer("states", states, 1), validation.integer("actions", actions, 1)
        pairs = np.arange(states * actions).reshape(states, actions)
        return cls(np.eye(states)[None], np.zeros_like(pairs), pairs, math.sqrt(states * actions))

    @classmethod
    def embedding(cls, phi: ArrayLike, psi: ArrayLike, parameter_norm: float | None = None) -> MixtureFeatures:
        """P_h(s'|s,a) = phi(s,a)' M_h psi(s'): phi (S, A, d1), psi (S, d2); theta_h is M_h, row by row, d = d1 d2."""
        pair_features = validation.array("phi", phi, (None, None, None))
        next_features = validation.array("psi", psi, (pair_features.shape[0], None))
        _fits(
            8 * pair_features.size * next_features.size,
            f"features of dimension {pair_features.shape[2] * next_features.shape[1]}",
        )
        table = np.einsum("sai,tj->satij", pair_features, next_features)
        return cls.from_array(table.reshape(*table.shape[:3], -1), parameter_norm)

    @property
    def states(self) -> int:
        """The number of states, S."""
        return int(self.which.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return int(self.which.shape[1])

    @property
    def size(self) -> int:
        """The size m of a block."""
        return int(self.maps.shape[2])

    @cached_property
    def blocks(self) -> int:
        """The number of blocks of coordinates."""
        return int(self.block.max()) + 1

    @property
    def dimension(self) -> int:
        """The number of coordinates in all blocks, d."""
        return self.blocks * self.size

    @cached_property
    def disjoint(self) -> bool:
        """Whether no coordinate is used by two pairs."""
        used = np.zeros((self.blocks, self.size), dtype=np.int64)
        np.add.at(used, self.block.ravel(), (self.maps != 0).any(axis=1)[self.which.ravel()])
        return bool(used.max() <= 1)

    @cached_property
    def acute(self) -> bool:
        """Whether no two features have a negative inner product; False also where that is too much to try."""
        if self.maps.min() >= 0:
            return True
        rows = self.maps.reshape(-1, self.size)
        return len(rows) <= 1 << 12 and bool((rows @ rows.T).min() >= 0)

    def dense(self) -> MixtureFeatures:
        """The same features in one block of all coordinates."""
        if self.blocks == 1:
            return self
        _fits(
            8 * self.block.size * self.states * self.dimension, f"features of dimension {self.dimension} in one block"
        )
        table = np.zeros((self.states, self.actions, self.states, self.blocks, self.size))
        for s, a in np.ndindex(self.which.shape):
            table[s, a, :, self.block[s, a]] = self.maps[self.which[s, a]]
        return MixtureFeatures.from_array(table.reshape(*table.shape[:3], -1), self.parameter_norm)

    def weighted(self, values: Array) -> Array:
        """phi_V(s,a) of every pair, in the coordinates of its block: (S, A, m)."""
        return np.asarray((values @ self.maps)[self.which])

    def probabilities(self, theta: ArrayLike) -> Array:
        """(L, S, A, S) transition probabilities of parameters (L, d); says where they are none."""
        kernel = self._mixed(validation.array("theta", theta, (None, self.dimension)))
        kernel = np.where((kernel < 0) & (kernel > -SPANNED), 0.0, kernel)
        way_out = "Rows are (layer, state, action): correct the features or theta there."
        return validation.probabilities("<phi(s'|s,a), theta>", kernel, way_out)

    def parameters(self, model: Model) -> Array:
        """(L, d) the least parameters that give the model's probabilities; says where there are none."""
        layers = model.transitions.shape[0]
        if (self.states, self.actions) != (model.spec.states, model.spec.actions):
            sizes = f"{self.states} states and {self.actions} actions"
            raise validation.refusal("features-of-other-model", "features", f"those of {model.spec}", sizes)
        theta = np.zeros((layers, self.blocks, self.size))
        for number in range(self.blocks):
            where = self.block == number
            rows = self.maps[self.which[where]].reshape(-1, self.size)
            wanted = model.transitions[:, where].reshape(layers, -1)
            theta[:, number] = np.linalg.lstsq(rows, wanted.T, rcond=None)[0].T
        off = np.abs(self._mixed(theta) - model.transitions)
        if off.max() > SPANNED:
            layer, s, a, t = (int(i) for i in np.unravel_index(off.argmax(), off.shape))
            raise InvalidInput(
                "features-cannot-express",
                f"The features must be able to express the model. At state {s}, action {a}, next state {t} of layer "
                f"{layer} the nearest mixture is off by {off.max():.2g}. Add features, or use one_hot.",
            )
        return theta.reshape(layers, -1)

    def _mixed(self, theta: Array) -> Array:
        """(L, S, A, S) inner products, pair by pair: maps are shared, and never copied for each pair."""
        parts = theta.reshape(-1, self.blocks, self.size)
        mixed = np.empty((len(parts), self.states, self.actions, self.states))
        for s, a in np.ndindex(self.which.shape):
            mixed[:, s, a] = parts[:, self.block[s, a]] @ self.maps[self.which[s, a]].T
        return mixed

    def norms(self, low: float, high: float) -> tuple[float, float]:
        """The largest ||phi_V(s,a)||^2, and the largest sum of fourth powers, over pairs and V with low <= V <= high.

        Both are convex in V, so a corner of the cube is worst: all corners are tried over the next states whose
        features are not zero, if these are few. Otherwise each coordinate is bounded by itself, which is exact where
        one V is worst in all of them (features that are nowhere negative, or one-hot).
        """
        square = quartic = 0.0
        for table in self.maps:
            rows = table[np.abs(table).max(axis=1) > 0]
            if len(rows) <= VERTICES:
                corners = np.array(np.meshgrid(*[(low, high)] * len(rows))).reshape(len(rows), -1)
                reached = corners.T @ rows if len(rows) else np.zeros((1, self.size))
            else:
                above = np.maximum(low * rows, high * rows).sum(axis=0)
                below = np.minimum(low * rows, high * rows).sum(axis=0)
                reached = np.maximum(np.abs(above), np.abs(below))[None]
            squares = reached**2
            square = max(square, float(squares.sum(axis=1).max()))
            quartic = max(quartic, float((squares**2).sum(axis=1).max()))
        return square, quartic

    def check_memory(self, steps: int) -> None:
        """Refuse Gram matrices that would not fit, and say what they would take."""
        size = 3 * 8 * steps * self.blocks * self.size**2
        shape = f"{steps} x {self.blocks} Gram matrices of size {self.size}"
        _fits(size, f"{shape} (dimension {self.dimension}), with their noise and factors,")

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        shapes = [list(self.maps.shape), list(self.which.shape)]
        tables = [
            self.maps.astype("<f8").tobytes(),
            *(table.astype("<i8").tobytes() for table in (self.which, self.block)),
        ]
        body: bytes = msgpack.packb([FORMAT, shapes, self.parameter_norm, zlib.compress(b"".join(tables), 1)])
        return body

    @classmethod
    def from_bytes(cls, data: bytes) -> MixtureFeatures:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, (maps, pairs), norm, packed = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
            if name != FORMAT or len(maps) != 3 or len(pairs) != 2:
                raise ValueError(f"it is {name!r}")
            sizes = [math.prod(maps), math.prod(pairs), math.prod(pairs)]
            _fits(8 * sum(sizes), "a table of features")
            engine = zlib.decompressobj()
            raw = engine.decompress(packed, 8 * sum(sizes) + 1)
            if len(raw) != 8 * sum(sizes) or not engine.eof:
                raise ValueError("it has more or fewer numbers than its shapes say")
            numbers = np.frombuffer(raw, dtype="<f8", count=sizes[0]).reshape(maps)
            which, block = np.frombuffer(raw, dtype="<i8", offset=8 * sizes[0]).reshape(2, *pairs)
            if (which < 0).any() or (which >= maps[0]).any() or (block < 0).any() or (block >= which.size).any():
                raise ValueError("it names a map or a block that is not there")
            table = validation.array("features", numbers.astype(np.float64), (None, pairs[0], None))
            norm = validation.positive("parameter_norm", norm)
            return cls(table, which.astype(np.int64), block.astype(np.int64), norm)
        except (ConfideError, ValueError, TypeError, zlib.error, msgpack.UnpackException) as error:
            raise FormatError(
                "features-bytes-unreadable", f"These bytes are not features this version knows: {error}"
            ) from error


def _fits(size: int, what: str) -> None:
    if size > MOST_BYTES:
        raise InvalidInput(
            "features-too-large",
            f"{what[0].upper()}{what[1:]} must fit into {MOST_BYTES / 1e9:.1f} GB. It would take {size / 1e9:,.1f} GB. "
            "Use fewer features, or features with blocks.",
        )
