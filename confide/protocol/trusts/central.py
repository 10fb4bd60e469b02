"""The central trust model, a curator with a whole data set: counts of all users, released once.

Several questions may be answered from the same data. They are priced together before the first is answered: each takes a
share of the guarantee, and the shares add up to it: of rho, of mu^2 under epsilon with delta, of epsilon for Laplace noise. Noise
is drawn on every cell that any user could fill; cells that public knowledge rules out are zero and stay so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp.knowledge import Knowledge
from ...mechanisms.gaussian import ROUNDING, Gaussian, grid_for, sigma_for
from ...mechanisms.laplace import Laplace
from ...privacy import Act, Guarantee, compose, keeps
from ...privacy.calibration import calibration_failed
from ...privacy.guarantee import CENTRAL
from ..design import AUTO, PAPER, Design, Request, check_noise
from ..kinds import CountQuestion, bandit, budgeted, counts, judged, returns, values
from ..kinds.budgeted import BudgetedQuestion, grouped
from ..kinds.counts import TRANSITIONS
from ..kinds.kind import DesignMaker
from ..laws import CURATORS, Law, PeoplesNoise
from ..papers import printed
from .budgets import lowers
from .trust import People, Trust, register

GAUSSIAN, LAPLACE = "gaussian", "laplace"
MECHANISMS = (AUTO, GAUSSIAN, LAPLACE)

RETURNS_SHARE = 0.03
"""Of the guarantee, spent on the mean of people's returns and on its spread."""

SLACKS = (0.0, 1e-15, 1e-14, 1e-12)
"""What noise is raised by, as little as will do, where floats round the sum of all shares above the guarantee."""


def design_central(request: Request, slack: float = 1.0) -> Design:
    """Counts of a whole data set, once, with noise for a share of the guarantee."""
    validation.choice("mechanism", request.mechanism, MECHANISMS)
    pure = takes_laplace(request.mechanism, request.promise)
    question, promise = request.question, request.promise
    if request.budget:  # never by itself: from a data set one reads how people act and what they earn, too
        if pure:
            raise InvalidInput(
                "budget-needs-gaussian", "A budget lowers Gaussian noise. Give a delta or rho, or leave it out."
            )
        budgeted = BudgetedQuestion(request.counted, request.budget)
        question = budgeted if lowers(budgeted) else question
    size = grouped(question.price(), request.episodes)
    unit = 1 / question.resolution
    noise: Laplace | Gaussian
    if pure:
        noise = Laplace(size.l1 / promise.pure_epsilon(request.share) * slack, unit)
    else:
        noise = shared_gaussian(size.l2, request.share, promise, unit, slack)
    rule = printed(request.paper, CENTRAL, LAPLACE if pure else GAUSSIAN) if request.calibration == PAPER else None
    if rule is None:
        return request.design(question, Act(noise, size), remarks=question.remarks)
    amount = rule.noise(question.spec, promise, request.schedule.users)
    stated = Laplace(amount, unit) if pure else Gaussian(amount, min(noise.grid, grid_for(amount, unit)))
    return request.design(question, Act(stated, size), paper=request.paper)


def takes_laplace(mechanism: str, promise: Guarantee) -> bool:
    """Whether a data set is released with Laplace noise: where it is named, or a guarantee without delta leaves no other."""
    return mechanism == LAPLACE or (mechanism == AUTO and promise.pure)


def together(requests: Sequence[Request]) -> tuple[Design, ...]:
    """A design for each request; together they keep the guarantee that all of them name."""
    promise = require_central(requests[0].promise)
    for slack in SLACKS:
        designs = tuple(design_central(request, 1 + slack) for request in requests)
        if requests[0].calibration == PAPER or keeps(compose([design.act.loss for design in designs]), promise):
            return designs
    raise calibration_failed(promise)


def require_central(promise: Guarantee) -> Guarantee:
    """The guarantee, refused if it is made for anything but a data set."""
    if promise.trust != CENTRAL:
        raise InvalidInput(
            "central-only", f"A data set is released under central privacy. Got {promise}. Use Central(...)."
        )
    return promise


def _alone(request: Request) -> Design:
    return together([request])[0]


def shared_gaussian(l2: float, share: float, promise: Guarantee, unit: float, slack: float = 1.0) -> Gaussian:
    """The least sigma for a share of rho, or of mu^2, on a grid that is fine for it."""
    exact = sigma_for(promise, l2, 0.0, share)
    grid = grid_for(exact, unit)
    sigma = exact if promise.rho is not None else math.hypot(exact, ROUNDING * grid)
    return Gaussian(sigma * slack, grid)


def possible_cells(question: CountQuestion, knowledge: Knowledge) -> NDArray[np.bool_]:
    """Which cells a user could fill: allowed actions, possible transitions, and nothing in the end state."""
    pairs = knowledge.allowed.copy()
    if knowledge.end is not None:
        pairs[knowledge.end] = False
    moves = pairs[:, :, None] & (knowledge.support if knowledge.spec.horizon > 1 else True)
    tables = [np.broadcast_to(moves if part == TRANSITIONS else pairs, question.shape(part)) for part in question.parts]
    return np.concatenate([table.ravel() for table in tables])


def std(design: Design) -> float:
    """Standard deviation of the noise of one cell, in counts."""
    return math.sqrt(design.randomizer.variance())


class CentralTrust(Trust):
    """A curator holds all episodes, and releases once."""

    name = CENTRAL
    attack = CENTRAL
    episodes = True
    mechanisms = (GAUSSIAN, LAPLACE)

    def designers(self) -> Mapping[str, DesignMaker]:
        """All that is counted or summed over a data set."""
        return dict.fromkeys((counts.KIND, budgeted.KIND, bandit.KIND, returns.KIND, values.KIND, judged.KIND), _alone)

    def law(self, design: Design, people: People) -> Law:
        """One draw by the curator, however many people there are."""
        return PeoplesNoise(design.randomizer, np.ones(people.shape), own=CURATORS)

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """Those of the question, and that the curator answers once."""
        return (
            *design.question.assumptions,
            "the curator keeps the episodes to itself; each statistic is released once",
        )

    def check(self, design: Design) -> None:
        """Refuse noise that does not belong to the question; Gram sums have noise of their own, made with their form."""
        if not design.kind.own_noise:
            check_noise(design, design.randomizer)


register(CentralTrust())
