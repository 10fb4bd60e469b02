"""The joint trust model, a curator who learns online: continual counters over public batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import validation
from ...errors import InvalidInput
from ...mdp import STATIONARY
from ...mechanisms.buffered import BufferedToeplitzCounter
from ...mechanisms.counter import LARGEST_TOTAL, Counter
from ...mechanisms.gaussian import FINE, grid_for, sigma_for
from ...mechanisms.toeplitz import ToeplitzCounter, square_root_coefficients
from ...mechanisms.tree import TreeCounter
from ...privacy import Act, Guarantee
from ...privacy.guarantee import JOINT
from ..design import AUTO, PAPER, SOUND, TIGHT, Design, Request, check_noise
from ..kinds import CountQuestion, bandit, counts
from ..kinds.bandit import BanditQuestion
from ..kinds.budgeted import BudgetedQuestion
from ..kinds.counts import average_visits
from ..kinds.kind import DesignMaker
from ..laws import CounterNoise, Law
from .budgets import budgeted_form
from .local_counts import least_scale, printed_noise, rule_of, tight_form
from .trust import People, Trust, register

if TYPE_CHECKING:
    from ...protocol.kinds.question import Question

MECHANISMS = ("tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz")
# Up to this many cells times releases the plain Toeplitz counter keeps its history; beyond, the buffered one.
PLAIN_TOEPLITZ = 1 << 17

ASSUMPTIONS = (
    "batch boundaries are public and fixed beforehand; nobody acts on a release about their own batch",
    "the curator keeps the episodes to itself",
)


def design_joint(request: Request) -> Design:
    """Counts under a continual counter: the named one, or the one that is best for the promise."""
    name = request.mechanism
    if name != AUTO:
        validation.choice("mechanism", name, MECHANISMS)
    if request.calibration == TIGHT:
        single = request.question.kind == bandit.KIND
        form: Any = request.question if single else tight_form(request.question, name)
        if name == AUTO:
            plain = request.schedule.releases * form.cells <= PLAIN_TOEPLITZ
            name = "tree-laplace" if request.promise.pure else "toeplitz" if plain else "buffered-toeplitz"
        form, remarks = (form, ()) if single else budgeted_form(form, name != "tree-laplace", request)
        return request.design(form, Act(_counter(name, form, request), form.price()), remarks=remarks)
    if name == AUTO:  # as printed it is a Laplace tree; made sound, it spends the delta that it is given
        name = "tree-gaussian" if request.calibration == SOUND and not request.promise.pure else "tree-laplace"
    rule = rule_of(request, JOINT, name)
    counter = _counter(name, request.question, request, printed_noise(rule, request, name))
    return request.design(
        request.question, Act(counter, request.question.price()), paper="" if rule is None else request.paper
    )


def first_batch(question: CountQuestion, promise: Guarantee) -> int:
    """How many people the first batch of a joint schedule has: as many as it takes to show the average pair.

    Their visits of it, H/(S A) each (1/(S A) a step), then equal the noise of one count after 200 releases.
    """
    spec = question.spec
    single = spec.horizon == 1
    form: Any = BanditQuestion.of(spec) if single else question.tight()
    if promise.pure:
        noise = math.sqrt(2) * 8 * form.price().l1 / promise.pure_epsilon()
    else:
        if spec.dynamics == STATIONARY and not single:
            budgeted = BudgetedQuestion.of(form)
            form = budgeted if budgeted.price().l2 < form.price().l2 else form
        noise = form.price().l2 / promise.mu() * math.sqrt(float((square_root_coefficients(200) ** 2).sum()))
    people: int = round(noise / average_visits(spec))
    return max(1, people)


def _counter(name: str, question: Question, request: Request, noise: float | None = None) -> Counter:
    """The continual counter with the least noise for the promise, or with the noise a paper prints."""
    promise, schedule, size = request.promise, request.schedule, question.price()
    unit, releases = 1 / question.resolution, schedule.releases
    levels, finest = releases.bit_length(), _finest(question, schedule.users)
    if unit < finest:
        raise InvalidInput(
            "joint-too-many-people",
            f"{schedule.users:,} people are too many to count exactly. Use fewer levels, or fewer people.",
        )
    if name == "tree-laplace":
        least = least_scale(size, promise.pure_epsilon(), levels)
        scale = least if noise is None else noise if request.calibration == PAPER else max(noise, least)
        return TreeCounter(releases, "laplace", scale, unit)
    if name == "tree-gaussian":
        together = math.sqrt(levels) * size.l2
        grid = grid_for(max(sigma_for(promise, together, 0.0), 8 * FINE * finest), unit)
        return TreeCounter(releases, "gaussian", sigma_for(promise, together, grid), grid)
    mu = promise.mu()
    # Rounding costs grid * sqrt(releases * cells) of sensitivity: keep that below a thousandth, if totals still fit.
    grid = unit
    while grid > max(1e-3 * size.l2 / math.sqrt(releases * size.cells), 2 * finest):
        grid /= 2
    kind = ToeplitzCounter if name == "toeplitz" else BufferedToeplitzCounter
    return kind(releases, kind.sigma_for(mu, size, releases, grid), grid)


def _finest(question: Question, users: int) -> float:
    """The finest grid on which no total of a cell can outgrow a counter, whatever people do."""
    most = users * (question.spec.horizon if question.spec.layers == 1 else 1)
    return most / LARGEST_TOTAL


class CountedTrust(Trust):
    """A curator's running sums over public batches: what joint trust and none have in common."""

    episodes = True
    continual = True

    def law(self, design: Design, people: People) -> Law:
        """The noise of a release. One about nobody is before the first; one about more than are due is as noisy as the next."""
        after = np.searchsorted(design.schedule.ends, people) + 1
        return CounterNoise(design.mechanism, np.where(people > 0, np.minimum(after, design.schedule.releases), 0))

    def check(self, design: Design) -> None:
        """Refuse a mechanism that is no counter where one is needed; without a promise Gram sums need none."""
        if design.kind.own_noise:
            return
        check_noise(design, "next", design.mechanism)
        most = design.schedule.users * design.question.range.furthest
        if design.requested.private and most > LARGEST_TOTAL * design.mechanism.grid:
            raise InvalidInput(
                "joint-grid-fine",
                f"On a grid of {design.mechanism.grid:g} what some people do could be too large to count, and the refusal would "
                "tell. Make it coarser.",
            )


class JointTrust(CountedTrust):
    """A curator learns online: what others see of a person are the policies."""

    name = JOINT
    attack = JOINT
    scheduled = True
    mechanisms = MECHANISMS

    def designers(self) -> Mapping[str, DesignMaker]:
        """Counts, of whole episodes or of a single step, under a continual counter."""
        return {counts.KIND: design_joint, bandit.KIND: design_joint}

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """Those of the question, that batches are public, and that the curator tells nobody."""
        first, *rest = design.question.assumptions
        return (f"{first}, in one batch", *rest, *ASSUMPTIONS)


register(JointTrust())
