"""Linear decision processes: P_h(s'|s,a) = <phi(s,a), nu_h(s')>, r_h(s,a) = <phi(s,a), theta_h>, with phi known to all.

Features come in blocks, so that Gram matrices are block diagonal: a table phi (S, A, d) is one block; a state that is a
vector x has one for each action, phi(x, a) = x in the block of a. Functions of features are evaluated at `Points`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import FormatError, InvalidInput
from ..validation import Plain

Array = NDArray[np.float64]

SPANNED = 1e-8
"""How far a combination of features may lie from one and still count as constant."""

ROUNDING = 1e-12
"""By which part a norm may exceed its bound, since floats round."""


class Points(Protocol):
    """States, each with the features of all its actions."""

    @property
    def allowed(self) -> NDArray[np.bool_] | bool:
        """(n, A) which actions may be taken, or True for all."""
        ...

    def each(self, function: Callable[[Array, int], Array]) -> Array:
        """(n, A): what `function` makes of feature rows (m, d) in a block, for every state and action."""
        ...


class Features(Protocol):
    """Features phi(s, a) as questions and sensitivities need them: their block structure. No norm exceeds 1."""

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        ...

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        ...

    @property
    def dimension(self) -> int:
        """The size d of a block."""
        ...

    @property
    def constant(self) -> bool:
        """Whether some combination of features is one everywhere; then targets may be centred."""
        ...

    @property
    def assumption(self) -> str:
        """A sentence for certificates about the norms of the features."""
        ...

    def plain(self) -> list[Plain]:
        """The kind of features for `read_features`, and plain values from which they are made again."""
        ...


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    """phi: (S, A, d), divided by its declared bound, so that no norm exceeds 1: sensitivities rely on it.

    allowed: (S, A) which actions may be taken, or True for all.
    """

    phi: Array
    bound: float = 1.0
    allowed: NDArray[np.bool_] | bool = True

    @classmethod
    def declared(cls, phi: ArrayLike, bound: float | None = None, clip: bool = False) -> LinearFeatures:
        """The features of a public table. Norms above the declared bound are refused, or scaled down to it if `clip`.

        Without a bound it is the largest norm of the table, which is public like the table itself.
        """
        table = validation.array("features", phi, (None, None, None))
        if not table.size:
            raise validation.refusal(
                "linear-features-shape", "features", "of shape (S, A, d), none of them 0", table.shape
            )
        norms = np.linalg.norm(table, axis=-1)
        most = float(norms.max())
        if bound is None:
            bound = most or 1.0
        bound = validation.positive("norm bound of the features", bound)
        if most > bound * (1 + ROUNDING):
            if not clip:
                state, action = (int(i) for i in np.argwhere(norms > bound * (1 + ROUNDING))[0])
                raise InvalidInput(
                    "feature-too-long",
                    f"No feature vector may be longer than {bound:g}. State {state}, action {action} has length "
                    f"{norms[state, action]:.4g}. Raise the bound, scale the features, or clip them.",
                )
            table = table * np.minimum(1.0, bound / np.maximum(norms, 1e-300))[..., None]
        scaled = table / bound
        # Division may leave a norm above 1 in its last digit.
        return cls(scaled / np.maximum(1.0, np.linalg.norm(scaled, axis=-1).max()), bound)

    @property
    def states(self) -> int:
        """The number of states, S."""
        return int(self.phi.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return int(self.phi.shape[1])

    @property
    def blocks(self) -> int:
        """1: all actions share one block."""
        return 1

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return int(self.phi.shape[2])

    @property
    def assumption(self) -> str:
        """A sentence for certificates: norms were checked on the table."""
        return f"feature norms at most {self.bound:g}: checked on the public table"

    def plain(self) -> list[Plain]:
        """`table`, its shape, numbers and bound, and which actions may be taken."""
        allowed = None if self.allowed is True else np.packbits(np.asarray(self.allowed)).tobytes()
        return ["table", list(self.phi.shape), self.phi.astype("<f8").tobytes(), self.bound, allowed]

    @classmethod
    def from_plain(cls, shape: Sequence[int], raw: bytes, bound: float, allowed: bytes | None) -> LinearFeatures:
        """The features that `plain` wrote down. Norms above 1 are refused: sensitivities rely on it."""
        states, actions, size = (validation.integer("sizes of features", length, 1) for length in shape)
        phi = np.frombuffer(raw, dtype="<f8").reshape(states, actions, size).astype(np.float64)
        if not (
            np.linalg.norm(validation.array("features", phi, (states, actions, size)), axis=-1) <= 1 + ROUNDING
        ).all():
            raise ValueError("a feature vector is longer than 1")
        permitted: NDArray[np.bool_] | bool = True
        if allowed is not None:
            bits = np.unpackbits(np.frombuffer(allowed, dtype=np.uint8))
            if len(bits) != -(-states * actions // 8) * 8:
                raise ValueError("it says of more or fewer actions than there are whether they may be taken")
            permitted = bits[: states * actions].astype(np.bool_).reshape(states, actions)
        return cls(phi, validation.positive("norm bound of the features", bound), permitted)

    def each(self, function: Callable[[Array, int], Array]) -> Array:
        """(S, A): what `function` makes of the features of every state and action."""
        return np.asarray(function(self.phi.reshape(-1, self.dimension), 0)).reshape(self.states, self.actions)

    @cached_property
    def constant(self) -> bool:
        """Whether some combination of features is one everywhere; then targets may be centred."""
        rows = self.phi.reshape(-1, self.dimension)
        best = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
        return bool(np.abs(rows @ best - 1).max() < SPANNED)


@dataclass(frozen=True)
class BlockFeatures:
    """States are vectors x of `width` numbers: phi(x, a) = x/bound in the block of a, and zeros elsewhere.

    With an intercept it is (x/bound, 1)/sqrt 2. `clip`: a longer x is scaled down to the bound instead of refused.
    """

    actions: int
    width: int
    bound: float
    intercept: bool = False
    clip: bool = False

    def __post_init__(self) -> None:
        validation.integer("state columns", self.width, 1)
        way_out = "Say how long a vector of state columns can be: --norm BOUND."
        object.__setattr__(self, "bound", validation.positive("norm bound", self.bound, way_out))

    @property
    def blocks(self) -> int:
        """One for each action."""
        return self.actions

    @property
    def dimension(self) -> int:
        """The size d of a block: the vector's width, and an intercept."""
        return self.width + self.intercept

    @property
    def constant(self) -> bool:
        """Whether there is an intercept: some combination of features is then one everywhere."""
        return self.intercept

    @property
    def assumption(self) -> str:
        """A sentence for certificates: norms were checked, or clipped, on every row."""
        done = "longer ones were scaled down" if self.clip else "checked on every row"
        return f"states are vectors of {self.width} numbers, of length at most {self.bound:g}: {done}"

    def plain(self) -> list[Plain]:
        """`vectors`, and the numbers that they are declared with."""
        return ["vectors", self.actions, self.width, self.bound, self.intercept, self.clip]

    @classmethod
    def from_plain(cls, actions: int, width: int, bound: float, intercept: bool, clip: bool) -> BlockFeatures:
        """The features that `plain` wrote down."""
        if not isinstance(intercept, bool) or not isinstance(clip, bool):
            raise ValueError("a truth value is none")
        return cls(validation.integer("actions", actions, 1), width, bound, intercept, clip)

    def long(self, x: Array) -> NDArray[np.bool_]:
        """(n,) which of the vectors (n, width) exceed the bound."""
        return np.asarray(np.linalg.norm(x, axis=-1) > self.bound * (1 + ROUNDING))

    def scaled(self, x: Array) -> Array:
        """(n, d) the coordinates in the block of the action taken: of length at most 1, whatever x is."""
        rows = x / self.bound
        rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=-1, keepdims=True))
        if not self.intercept:
            return np.asarray(rows)
        return np.asarray(np.concatenate([rows, np.ones((len(rows), 1))], axis=1) * np.sqrt(0.5))

    def at(self, x: ArrayLike) -> BlockPoints:
        """The features of one vector, or refuse it as the log's rows were."""
        vector = validation.array("state", x, (self.width,))[None]
        if not self.clip and self.long(vector)[0]:
            raise InvalidInput(
                "state-too-long",
                f"No state may be longer than {self.bound:g}, the declared norm. This one is. Check it.",
            )
        return BlockPoints(self.scaled(vector), self.actions)


@dataclass(frozen=True, eq=False)
class BlockPoints:
    """States that are vectors, scaled: rows (n, d), the same in the block of every action."""

    rows: Array = field(repr=False)
    actions: int
    allowed: bool = True

    def each(self, function: Callable[[Array, int], Array]) -> Array:
        """(n, A): what `function` makes of the features of every vector and action."""
        return np.stack([function(self.rows, action) for action in range(self.actions)]).T


_READERS: dict[str, Callable[..., Features]] = {
    "table": LinearFeatures.from_plain,
    "vectors": BlockFeatures.from_plain,
}


def read_features(description: Sequence[Plain]) -> Features:
    """The features described by what `plain` wrote down: kind and values; anything else is refused."""
    kind, *values = description
    if kind not in _READERS:
        raise FormatError(
            "features-kind-unknown", f"Features are {' or '.join(_READERS)}. Got {kind!r}. Declare them again."
        )
    return _READERS[kind](*values)
