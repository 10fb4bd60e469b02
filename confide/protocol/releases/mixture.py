"""Releases of Gram sums of linear mixtures, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import ConfideError, FormatError
from ...privacy import Guarantee
from ..design import Design
from ..kinds.mixture import MixtureForm
from ..reading import NO_NOISE, Noise

Array = NDArray[np.float64]
FORMAT = "confide.mixture-release/1"


class MixtureRadius(NamedTuple):
    """Error radii: no Gram matrix is off by more than `gram` in its largest eigenvalue, signs dropped, and no vector by
    more than `vector` in its norm, all layers at once, with the stated confidence. 0 means no privacy."""

    gram: float
    vector: float


@dataclass(frozen=True, eq=False)
class MixtureRelease:
    """Summed X X' (L, blocks, m, m) and X Y (L, blocks, m) of `users` people, with their error."""

    form: MixtureForm
    users: int
    gram: Array
    vector: Array
    radius: MixtureRadius
    failure: float
    guarantee: Guarantee
    noise: Noise = NO_NOISE

    def to_bytes(self) -> bytes:
        """Versioned bytes: cells, whom they are about, and their error; the form and the promise are the design's."""
        cells = self.form.pack(self.gram, self.vector).astype("<f8").tobytes()
        errors = [[float(number) for number in part] for part in (self.radius, self.noise)]
        return bytes(msgpack.packb([FORMAT, self.form.digest, self.users, self.failure, *errors, cells]))


def from_bytes(data: bytes, design: Design) -> MixtureRelease:
    """Read what `to_bytes` wrote of a release by this design; refuse anything else."""
    form: Any = design.question
    try:
        name, digest, users, failure, radius, noise, raw = msgpack.unpackb(data, max_array_len=64, max_str_len=64)
        if name != FORMAT or digest != form.digest:
            raise ValueError("it is of another format, or about another form of question")
        cells = validation.array("cells", np.frombuffer(raw, dtype="<f8").astype(np.float64), (form.cells,))
        radii = MixtureRadius(*(validation.between("radius", value, 0.0, 1e300) for value in radius))
        gram, vector = form.unpack(cells)
        return MixtureRelease(
            form,
            validation.integer("users", users, 0),
            gram,
            vector,
            radii,
            validation.between("failure", failure, 0.0, 1.0),
            design.guarantee,
            Noise(*(validation.number("noise", value) for value in noise)),
        )
    except (ConfideError, ValueError, TypeError, msgpack.UnpackException) as error:
        raise FormatError(
            "release-unreadable", f"These bytes are not a release this version can read: {error}"
        ) from error
