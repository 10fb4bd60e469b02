"""A policy as a formula: the action whose features score highest, by public weights of every step."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import ConfideError, FormatError
from .described import Array, DescribedFeatures
from .policies import apart, together
from .policy import Policy

FORMAT = "confide.feature-policy/1"
MAGIC = b"cfw1"
HEADER = struct.Struct("<4sIII")
"""What published weights begin with, H, blocks and d; then the weights, float64, all of it little-endian."""


@dataclass(frozen=True, eq=False)
class FeaturePolicy:
    """weights: (H, blocks, d). At step h the action a with the largest <x(s, a), weights[h, block of a]> is taken, the first
    of equals."""

    features: DescribedFeatures = field(repr=False)
    weights: Array

    def __post_init__(self) -> None:
        shape = (None, self.features.blocks, self.features.dimension)
        object.__setattr__(self, "weights", validation.array("weights", self.weights, shape))

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.weights)

    def chosen(self, step: int, features: Array) -> NDArray[np.int64]:
        """(n,) the actions taken at a step in states with these features (`DescribedFeatures.all_x`)."""
        return np.asarray(self.features.scores(features, self.weights[step]).argmax(axis=1))

    def act(self, step: int, observed: Mapping[str, Any]) -> str:
        """The action for one person, by name: `policy.act(0, {"age": 41, "plan": "pro"})`."""
        step = validation.integer("step", step, 0, self.horizon - 1)
        rows = self.features.all_x(self.features.encode(observed)[None])
        return self.features.actions_named[int(self.chosen(step, rows)[0])]

    def table(self) -> Array:
        """(H, S, A) the same policy where one category is all that is observed, else in the points of the public cloud."""
        rows = self.features.all_x(self.features.cloud)
        chosen = np.stack([self.chosen(step, rows) for step in range(self.horizon)])
        return np.eye(self.features.actions)[chosen]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Arrays for a file: its bytes."""
        return {"features": np.frombuffer(self.to_bytes(), dtype=np.uint8)}

    def to_bytes(self) -> bytes:
        """Versioned bytes."""
        raw = self.weights.astype("<f8").tobytes()
        return bytes(msgpack.packb([FORMAT, self.features.to_bytes(), self.horizon, raw]))

    @classmethod
    def from_bytes(cls, data: bytes) -> FeaturePolicy:
        """Read what `to_bytes` wrote; refuse anything else."""
        try:
            name, described, horizon, raw = msgpack.unpackb(data, max_array_len=8, max_str_len=64)
            if name != FORMAT:
                raise ValueError(f"its format is {name!r}, not {FORMAT!r}")
            features = DescribedFeatures.from_bytes(described)
            shape = (validation.integer("horizon", horizon, 1), features.blocks, features.dimension)
            return cls(features, np.frombuffer(raw, dtype="<f8").reshape(shape).astype(np.float64))
        except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
            raise FormatError(
                "feature-policy-unreadable", f"These bytes are not a policy by features this version knows: {error}"
            ) from error


Followed = Policy | FeaturePolicy
"""What a device can follow."""


def published(policies: Sequence[FeaturePolicy]) -> bytes:
    """The weights of one policy or of several, for those who hold the description of their features."""
    return together(
        [HEADER.pack(MAGIC, *each.weights.shape) + each.weights.astype("<f8").tobytes() for each in policies]
    )


def read_published(data: bytes, features: DescribedFeatures, horizon: int) -> tuple[FeaturePolicy, ...]:
    """The policies that `published` wrote, about these features; refuse anything else."""
    shape = (horizon, features.blocks, features.dimension)
    header = HEADER.pack(MAGIC, *shape)
    policies = []
    for raw in apart(data):
        if len(raw) != HEADER.size + 8 * int(np.prod(shape)) or raw[: HEADER.size] != header:
            raise FormatError(
                "published-weights-unreadable",
                "These bytes are not weights of the features that the contract describes.",
            )
        weights = np.frombuffer(raw, "<f8", offset=HEADER.size).reshape(shape).astype(np.float64)
        policies.append(FeaturePolicy(features, weights))
    return tuple(policies)
