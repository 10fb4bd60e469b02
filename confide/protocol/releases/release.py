"""Releases, which are all that a learner sees: estimated counts, their error radii, and the guarantee they were made under.

From sums to releases, for whatever kind of question. Public post-processing, run by any server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...privacy import Guarantee
from ..design import Design

if TYPE_CHECKING:
    from ..kinds.counts import CountQuestion


def release_about(design: Design, cells: Array, users: int) -> Any:
    """The release of estimated cells about n users, with the errors that the design states."""
    radii, noise = design.errors_at(users)
    return design.kind.release(design, cells, users, radii, noise)


def release_of(design: Design, summed: NDArray[np.int64], people: NDArray[np.int64]) -> Any:
    """The release of sums (rows, width) of the reports (rows,) of n users, each randomised by the design's device."""
    mechanism = design.devices[0]
    cells = design.kind.estimate(
        design.question, mechanism, np.asarray(summed * mechanism.grid, dtype=np.float64), people
    )
    return release_about(design, cells, int(people.sum()))


def read_release(design: Design, data: bytes) -> Any:
    """The release by this design whose `to_bytes` wrote this; anything else is refused."""
    return design.kind.read_release(data, design)


Array = NDArray[np.float64]

CURATORS, PEOPLES, BATCHES = 0.0, 1.0, 2.0
"""Whose noise it is: one curator's; each user's own, and so independent from person to person; or that and as much as a batch
needs, so that later people have less of it than earlier ones where batches widen.
"""


class Noise(NamedTuple):
    """The noise of a release, for learners that are Bayesian about it.

    own: 1 if each user's noise is their own, 2 if batches that widen need less and less of it, 0 if it is one curator's.
    transitions, centred: variance of a cell of transitions, and of centred rewards. `luck`: by how much the sampling error of the
    people who were heard exceeds that of all. visits: variance of a pair's visits.
    """

    own: float
    transitions: float
    centred: float
    luck: float
    visits: float


NO_NOISE = Noise(0.0, 0.0, 0.0, 1.0, 0.0)
"""Exact counts: no noise was added."""


NOBODY = np.zeros((0, 0, 0))


class Counts(NamedTuple):
    """Estimated counts. visits, rewards, squares: (L, S, A); transitions: (L, S, A, S), or (L, S, A, 0) of a single step.

    With privacy they may be negative or fractional, and rows of transitions need not add up to visits.
    people: (L, S, A), how many people were asked about each pair, whose first visits are counted; empty if every user reported
    of all visits. A pair's noise is that of this many people.
    """

    visits: Array
    rewards: Array
    squares: Array
    transitions: Array
    people: Array = NOBODY


class Radius(NamedTuple):
    """Error radii: with the stated confidence no count of that kind is off by more, all cells at once.

    `rows` bounds the error of a row of transitions summed over next states. Radius 0 means no privacy.
    """

    visits: float
    rewards: float
    squares: float
    transitions: float
    rows: float

    @classmethod
    def zero(cls) -> Radius:
        """The radius of exact counts: 0 everywhere."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0)


class VisitCounts(NamedTuple):
    """How often each pair was counted, (L, S, A), from a query of its own; and the variance of its noise."""

    counts: Array
    variance: float


class Returned(NamedTuple):
    """The estimated sum of the returns of those who reported them, by one randomised bit each, and how many these are."""

    total: float
    people: int


class Estimates(NamedTuple):
    """The input of a plan: estimated counts, their error radius and noise, and how many users they cover."""

    counts: Counts
    radius: Radius
    noise: Noise
    users: float


@dataclass(frozen=True, eq=False)
class CountRelease:
    """Counts over `users` people, their error radius (failing with probability `failure`), the true guarantee, and the
    noise that they carry: how large, and whose. complete: whether everything that people did is counted; under a budget, and of
    an asked pair, it is not, and what is counted tells of rows and mean rewards only. budget: within which repeated visits are
    counted, 0 if there is none. visited: the same visits by a question of their own, where they were asked for. episodes: up to how
    many of one person are one history; came: (episodes,) the law of how many they are, where it was asked for. lost: who
    was lost to follow-up after each pair, whose last transition is not counted, where users may be. returned: the returns
    of those who reported them in place of counts, where some do."""

    question: CountQuestion
    users: int
    counts: Counts
    radius: Radius
    failure: float
    guarantee: Guarantee
    noise: Noise = NO_NOISE
    complete: bool = True
    budget: int = 0
    visited: VisitCounts | None = None
    episodes: int = 1
    came: Array | None = None
    lost: VisitCounts | None = None
    returned: Returned | None = None

    def with_visits(self, visited: CountRelease | None) -> CountRelease:
        """The release together with another about how often each pair was counted, if there is one."""
        if visited is None:
            return self
        return replace(self, visited=VisitCounts(visited.counts.visits, visited.noise.transitions))

    def require_complete(self, what: str) -> None:
        """Refuse to read off it what needs complete counts: how often people are where, what they earn."""
        if not self.complete:
            raise InvalidInput(
                "budget-hides-part",
                f"{what} cannot be read off counts of a part of what people did, as under a budget. Ask for all of it.",
            )

    @property
    def centred(self) -> Array:
        """(L, S, A): the sums of rewards as they got their noise, minus c a visit."""
        return self.counts.rewards - self.reward_centre * self.counts.visits

    @property
    def visits_apart(self) -> float | None:
        """By what the noise of visits that are read apart from transitions exceeds that of a cell; None where they are sums."""
        return self.question.visits_apart

    @property
    def reward_centre(self) -> float:
        """c, at which rewards are centred: 0 where they are asked for as they are."""
        return self.question.reward_centre

    @property
    def estimates(self) -> Estimates:
        """The input of a compiled plan: all numbers are floats, so that it is compiled once."""
        radius, noise, counts = Radius(*map(float, self.radius)), Noise(*map(float, self.noise)), self.counts
        if not counts.transitions.size:  # of a single step: plans have room for next states
            counts = counts._replace(transitions=np.zeros((*counts.visits.shape, self.question.spec.states)))
        return Estimates(counts, radius, noise, float(self.users))

    def to_bytes(self) -> bytes:
        """Versioned bytes, from which `release_bytes.from_bytes` makes it again."""
        from .release_bytes import to_bytes

        return to_bytes(self)
