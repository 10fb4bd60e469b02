"""The wall at a curator with a whole data set: counts of everybody in, one release out. Trust: the curator (central).

Several questions may be answered from the same data. They are priced together before the first is answered: each takes
a share of the promise, and the shares add up to it: of rho, of mu^2 under epsilon with delta, of a pure epsilon.
Noise is drawn on every cell that anybody could fill; cells that public knowledge rules out are zero and stay so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..errors import InvalidInput, PrivacyError
from ..mdp.knowledge import Knowledge
from ..mechanisms.gaussian import FINE, ROUNDING, Gaussian, sigma_for
from ..mechanisms.laplace import Laplace
from ..mechanisms.noise import NoiseSource, require_secure
from ..privacy import Act, Guarantee, Sensitivity, compose, keeps
from ..privacy.conversion import gaussian_mu
from ..privacy.guarantee import CENTRAL
from ..releases import CountQuestion, CountRelease, Radius, unpack
from ..releases.question import TRANSITIONS
from ..releases.reading import derived_radii
from ..statistics import sensitivity

AUTO, GAUSSIAN, LAPLACE = "auto", "gaussian", "laplace"
MECHANISMS = (AUTO, GAUSSIAN, LAPLACE)

SLACKS = (0.0, 1e-15, 1e-14, 1e-12)
"""What noise is raised by, as little as will do, where floats round the sum of all shares above the promise."""


@dataclass(frozen=True)
class Asked:
    """A question, the share of the promise that may be spent on it, and which of its cells can be filled at all."""

    question: CountQuestion
    share: float
    possible: NDArray[np.bool_] = field(repr=False, compare=False)


@dataclass(frozen=True)
class OncePrivatizer:
    """Answers one question about a whole data set, once."""

    question: CountQuestion
    act: Act
    possible: NDArray[np.bool_] = field(repr=False, compare=False)

    @property
    def mechanism(self) -> Gaussian | Laplace:
        """How cells are noised."""
        mechanism: Gaussian | Laplace = self.act.mechanism  # type: ignore[assignment]
        return mechanism

    @property
    def std(self) -> float:
        """Standard deviation of the noise of one cell, in counts."""
        return math.sqrt(self.mechanism.variance())

    @property
    def reach(self) -> int:
        """The most next states that any pair has."""
        where = self.question.slices.get(TRANSITIONS)
        if where is None:
            return 1
        return int(self.possible[where].reshape(self.question.shape(TRANSITIONS)).sum(axis=-1).max(initial=1))

    def answer(
        self, cells: NDArray[np.int64], users: int, failure: float, promise: Guarantee, noise: NoiseSource
    ) -> CountRelease:
        """The release of counts, given in units of the question. Replayable noise is refused: the people are real."""
        require_secure(noise, "a release about real people")
        if cells[~self.possible].any():
            raise InvalidInput("The counts contradict the public tables. Correct the tables or the data.")
        held = cells[self.possible] / self.question.resolution
        told = np.zeros(self.question.cells)
        told[self.possible] = self.mechanism.randomize(held, np.zeros(0, dtype=np.int64), noise)
        return CountRelease(self.question, users, unpack(self.question, told), self.radius(failure), failure, promise)

    def radius(self, failure: float) -> Radius:
        """The error radius of the release: all possible cells, all rows and all sums derived from them at once."""
        spec = self.question.spec
        share = failure / (int(self.possible.sum()) + 4 * spec.layers * spec.states * spec.actions)
        # No row has more next states than `reach`, so its noise is that of a question with so many states.
        narrow = self.question.having(spec=replace(spec, states=self.reach))
        found = derived_radii(narrow, lambda trials, cells: self.mechanism.radius(1.0, share, trials, cells))
        return Radius(*found.tolist())


def possible_cells(question: CountQuestion, knowledge: Knowledge) -> NDArray[np.bool_]:
    """Which cells anybody could fill: allowed actions, possible transitions, and nothing in the end state."""
    pairs = knowledge.allowed.copy()
    if knowledge.end is not None:
        pairs[knowledge.end] = False
    moves = knowledge.support & pairs[:, :, None]
    found = [np.broadcast_to(moves if part == TRANSITIONS else pairs, question.shape(part)) for part in question.parts]
    return np.concatenate([table.ravel() for table in found])


def design_once(
    asked: Sequence[Asked], promise: Guarantee, mechanism: str = AUTO, people: int = 1
) -> tuple[OncePrivatizer, ...]:
    """A privatizer for each question; together they keep the promise.

    people: how many episodes of one person count. So many times further a person moves the counts (group privacy).
    """
    validation.choice("mechanism", mechanism, MECHANISMS)
    if promise.trust != CENTRAL:
        raise InvalidInput(f"A data set is released under central privacy. Got {promise}. Use Central(...).")
    chosen = (LAPLACE if promise.pure else GAUSSIAN) if mechanism == AUTO else mechanism
    for slack in SLACKS:
        made = tuple(_designed(one, promise, chosen == LAPLACE, people, 1 + slack) for one in asked)
        if keeps(compose([one.act.loss for one in made]), promise):
            return made
    raise PrivacyError(f"Calibration failed to keep {promise}; nothing was released. Please report this.")


def _designed(one: Asked, promise: Guarantee, laplace: bool, people: int, slack: float) -> OncePrivatizer:
    size = _group(sensitivity(one.question), people)
    unit = 1 / one.question.resolution
    noise: Laplace | Gaussian
    if laplace:
        noise = Laplace(size.l1 / (one.share * _epsilon(promise)) * slack, unit)
    else:
        noise = shared_gaussian(size.l2, one.share, promise, unit, slack)
    return OncePrivatizer(one.question, Act(noise, size), one.possible)


def _group(size: Sensitivity, people: int) -> Sensitivity:
    return replace(size.scaled(float(people)), cells=size.cells * people)


def shared_gaussian(l2: float, share: float, promise: Guarantee, unit: float, slack: float = 1.0) -> Gaussian:
    """The least sigma for a share of rho, or of mu^2, on a grid that is fine for it."""
    if promise.rho is not None:
        exact = sigma_for(replace(promise, rho=promise.rho * share), l2, 0.0)
    elif promise.epsilon is not None and promise.delta > 0:
        exact = l2 / (gaussian_mu(promise.epsilon, promise.delta) * math.sqrt(share))
    else:
        raise InvalidInput("Gaussian noise needs delta above 0. Give a delta such as 1e-6, or use Laplace noise.")
    grid = unit
    while grid > exact / (4 * FINE):
        grid /= 2
    sigma = exact if promise.rho is not None else math.hypot(exact, ROUNDING * grid)
    return Gaussian(sigma * slack, grid)


def _epsilon(promise: Guarantee) -> float:
    """The epsilon that Laplace noise may spend; rho allows sqrt(2 rho), or rho if larger (Bun and Steinke 2016)."""
    if promise.rho is not None:
        return max(math.sqrt(2 * promise.rho), promise.rho)
    if promise.epsilon is None:
        raise InvalidInput("Laplace noise needs a promise to keep. Give epsilon.")
    return promise.epsilon
