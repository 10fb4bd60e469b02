"""From sums to releases, for whatever kind of question. Public post-processing, run by any server."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..design import Design

Array = NDArray[np.float64]


def release_about(design: Design, cells: Array, users: int) -> Any:
    """The release of estimated cells about so many people, with the errors that the design states."""
    radii, noise = design.errors_at(users)
    return design.kind.release(design, cells, users, radii, noise)


def release_of(design: Design, summed: NDArray[np.int64], people: NDArray[np.int64]) -> Any:
    """The release of sums (rows, width) of so many people's reports (rows,), each randomised by the design's device."""
    mechanism = design.devices[0]
    cells = design.kind.estimate(design.question, mechanism, summed * mechanism.grid, people)
    return release_about(design, cells, int(people.sum()))


def from_bytes(design: Design, data: bytes) -> Any:
    """The release by this design whose `to_bytes` wrote this; anything else is refused."""
    return design.kind.read_release(data, design)
