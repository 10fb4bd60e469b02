"""From sums to releases: one function for each kind of question. Public post-processing, run by any server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ..design import Design
from ..reading import Noise
from . import mixture, release_bytes
from .mixture import MixtureRadius, MixtureRelease
from .release import CountRelease, Radius, unpack

Array = NDArray[np.float64]
ReleaseMaker = Callable[[Design, Array, int, Array, Noise], Any]


def _counts(design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
    question = design.question.counts
    radius = Radius(*radii.tolist())
    return CountRelease(
        question, users, unpack(question, cells), radius, design.release_failure, design.guarantee, noise
    )


def _partial(design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
    """The release of counts of a part of what people did."""
    return replace(_counts(design, cells, users, radii, noise), complete=False)


def _budgeted(design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
    """The release of counts under a budget."""
    return replace(_partial(design, cells, users, radii, noise), budget=design.question.budget)


def _asked(design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> CountRelease:
    """The release of asked pairs: after the counts comes how many people were asked about each pair."""
    question = design.question.counts
    release = _partial(design, cells[: question.cells], users, radii, noise)
    people = np.ascontiguousarray(cells[question.cells :].reshape(release.counts.visits.shape))
    return replace(release, counts=release.counts._replace(people=people))


def _mixture(design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> MixtureRelease:
    form = design.question
    gram, vector = form.unpack(cells)
    radius = MixtureRadius(*radii.tolist())
    return MixtureRelease(form, users, gram, vector, radius, design.release_failure, design.guarantee, noise)


_MAKERS: dict[str, ReleaseMaker] = {
    "counts": _counts,
    "bits": _counts,
    "step": _counts,
    "budgeted": _budgeted,
    "asked": _asked,
    "bandit": _counts,
    "mixture": _mixture,
}


def register(kind: str, maker: ReleaseMaker) -> None:
    """Enter the function that makes releases about a kind of question: maker(design, cells, users, radii, noise)."""
    _MAKERS[kind] = maker


def release_about(design: Design, cells: Array, users: int) -> Any:
    """The release of estimated cells about so many people, with the errors that the design states."""
    maker = _MAKERS.get(design.question.kind)
    if maker is None:
        raise InvalidInput(
            "kind-without-release",
            f"Nothing makes releases about {design.question.kind!r}. Enter it with releases.reading.register.",
        )
    radii, noise = design.errors_at(users)
    return maker(design, cells, users, radii, noise)


def release_of(design: Design, summed: NDArray[np.int64], people: NDArray[np.int64]) -> Any:
    """The release of sums (rows, width) of so many people's reports (rows,), each randomised by the design's device."""
    mechanism = design.devices[0]
    cells = design.reading.estimate(design.question, mechanism, summed * mechanism.grid, people)
    return release_about(design, cells, int(people.sum()))


def from_bytes(design: Design, data: bytes) -> Any:
    """The release by this design whose `to_bytes` wrote this; anything else is refused."""
    reader = _READERS.get(design.question.kind)
    return release_bytes.from_bytes(data) if reader is None else reader(data, design)


_READERS: dict[str, Callable[[bytes, Design], Any]] = {"mixture": mixture.from_bytes}
"""The readers of releases that are not about counts."""
