"""The joint trust model, a curator who learns online: continual counters over public batches.

**Users who come again.** The price of a counter (`mechanisms.toeplitz`) is that of a user whose episodes differ, not of one whose
batches do: both worlds have her in the same batches. Coming again may depend on what happened to her, so either the batches are
fixed before her first episode, and one to which she does not come holds an empty episode of hers (which is priced: neighbours may
be of any length), or the guarantee is conditional on when people came. The certificate says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ... import validation
from ...errors import InvalidInput
from ...mdp import STATIONARY
from ...mechanisms import registry
from ...mechanisms.buffered import BufferedToeplitzCounter
from ...mechanisms.counter import LARGEST_TOTAL, Counter
from ...mechanisms.gaussian import FINE, grid_for, sigma_for
from ...mechanisms.toeplitz import FactoredCounter, ToeplitzCounter, best_bands
from ...mechanisms.tree import TreeCounter
from ...privacy import ONCE, Act, Guarantee, Participation
from ...privacy.guarantee import JOINT
from ..design import AUTO, PAPER, SOUND, TIGHT, Design, Request, check_noise
from ..kinds import CountQuestion, bandit, counts
from ..kinds.bandit import BanditQuestion
from ..kinds.budgeted import BudgetedQuestion
from ..kinds.counts import average_visits
from ..kinds.kind import DesignMaker
from ..laws import CounterNoise, Law
from .budgets import budgeted_form
from .local import least_scale, printed_noise, rule_of, tight_form
from .trust import People, Trust, register

if TYPE_CHECKING:
    from ...mechanisms.mechanism import NoiseMechanism
    from ...protocol.kinds.question import Question

MECHANISMS = ("tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz")
GAUSSIAN = MECHANISMS[1:]
# Up to this many cells times releases the plain Toeplitz counter keeps its history; beyond, the buffered one. Where users come
# again up to this many, as only the plain one has bands.
PLAIN_TOEPLITZ, PLAIN_BANDS = 1 << 17, 1 << 21

ASSUMPTIONS = (
    "batch boundaries are public and fixed beforehand; no user acts on a release about their own batch",
    "the curator keeps the episodes to itself",
)


def design_joint(request: Request) -> Design:
    """Counts under a continual counter: the named one, or the one that is best for the guarantee."""
    name = request.mechanism
    if name != AUTO:
        validation.choice("mechanism", name, (*MECHANISMS, *registry.counters()))
    if request.calibration == TIGHT:
        single = request.question.kind == bandit.KIND
        form: Question = request.question if single else tight_form(request.counted, name)
        if name == AUTO:
            most = PLAIN_TOEPLITZ if request.participation == ONCE else PLAIN_BANDS
            plain = request.schedule.releases * form.cells <= most
            name = "tree-laplace" if request.promise.pure else "toeplitz" if plain else "buffered-toeplitz"
        remarks: tuple[str, ...] = ()
        if not single:
            form, remarks = budgeted_form(tight_form(request.counted, name).counts, name in GAUSSIAN, request)
        return request.design(form, Act(_counter(name, form, request), form.price()), remarks=remarks)
    if name == AUTO:  # as printed it is a Laplace tree; made sound, it spends the delta that it is given
        name = "tree-gaussian" if request.calibration == SOUND and not request.promise.pure else "tree-laplace"
    rule = rule_of(request, JOINT, name)
    counter = _counter(name, request.question, request, printed_noise(rule, request, name))
    return request.design(
        request.question, Act(counter, request.question.price()), paper="" if rule is None else request.paper
    )


def first_batch(question: CountQuestion, promise: Guarantee, participation: Participation = ONCE) -> int:
    """How many people the first batch of a joint schedule has: as many as it takes to show the average pair.

    Their visits of it, H/(S A) each (1/(S A) a step), then equal the noise of one count after 200 releases.
    """
    spec = question.spec
    single = spec.horizon == 1
    tight = question.tight()
    form: Question = BanditQuestion.of(spec) if single else tight
    usual = 200
    if promise.pure:
        noise = math.sqrt(2) * 8 * participation.within(usual) * form.price().l1 / promise.pure_epsilon()
    else:
        if spec.dynamics == STATIONARY and not single:
            budgeted = BudgetedQuestion.of(tight)
            form = budgeted if budgeted.price().l2 < form.price().l2 else form
        counter = ToeplitzCounter(usual, 1.0, 1.0, **_shape(ToeplitzCounter, usual, participation))
        noise = form.price().l2 / promise.mu() * counter.columns_norm
    people: int = round(noise / average_visits(spec))
    return max(1, people)


def _counter(name: str, question: Question, request: Request, noise: float | None = None) -> Counter:
    """The continual counter with the least noise for the guarantee, or with the noise a paper prints."""
    promise, schedule, size = request.promise, request.schedule, question.price()
    unit, releases = 1 / question.resolution, schedule.releases
    finest = _finest(question, schedule.users)
    if unit < finest:
        raise InvalidInput(
            "joint-too-many-people",
            f"{schedule.users:,} people are too many to count exactly. Use fewer levels, or fewer people.",
        )
    if name in registry.counters():
        return registry.make_counter(name, size, promise, releases, unit)
    taken = request.participation
    if name in ("tree-laplace", "tree-gaussian"):
        nodes = TreeCounter(releases, "laplace", 1.0, unit, participations=taken.times, separation=taken.apart)
        l1, l2 = nodes.nodes_moved
        if name == "tree-laplace":
            least = least_scale(size, promise.pure_epsilon(), l1)
            scale = least if noise is None else noise if request.calibration == PAPER else max(noise, least)
            return replace(nodes, scale=scale)
        together = l2 * size.l2
        grid = grid_for(max(sigma_for(promise, together, 0.0), 8 * FINE * finest), unit)
        return replace(nodes, node="gaussian", scale=sigma_for(promise, together, grid), grid=grid)
    mu = promise.mu()
    # Rounding costs grid * sqrt(releases * cells) of sensitivity: keep that below a thousandth, if totals still fit.
    grid = unit
    while grid > max(1e-3 * size.l2 / math.sqrt(releases * size.cells * taken.within(releases)), 2 * finest):
        grid /= 2
    kind = ToeplitzCounter if name == "toeplitz" else BufferedToeplitzCounter
    shape = _shape(kind, releases, taken)
    return kind(releases, kind.sigma_for(mu, size, releases, grid, **shape), grid, **shape)


def _shape(kind: type[FactoredCounter], releases: int, taken: Participation) -> dict[str, int]:
    """How a factored counter is shaped for users who take part so often: with the bands that add least, if it has any."""
    shape = {"participations": taken.times, "separation": taken.apart}
    return {**shape, "bands": best_bands(releases, taken)} if kind is ToeplitzCounter else shape


def _finest(question: Question, users: int) -> float:
    """The finest grid on which no total of a cell can outgrow a counter, whatever people do."""
    most = users * (question.spec.horizon if question.spec.layers == 1 else 1)
    return most / LARGEST_TOTAL


class CountedTrust(Trust):
    """A curator's running sums over public batches: what joint trust and none have in common."""

    episodes = True
    continual = True

    def law(self, design: Design, people: People) -> Law:
        """The noise of a release. One about no users is before the first; one about more than are due is as noisy as the next."""
        after = np.searchsorted(design.schedule.ends, people) + 1
        return CounterNoise(design.counter, np.where(people > 0, np.minimum(after, design.schedule.releases), 0))

    def check(self, design: Design) -> None:
        """Refuse a mechanism that is no counter where one is needed; without a guarantee Gram sums need none."""
        if design.kind.own_noise:
            return
        check_noise(design, design.counter)
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
    returning = (
        "the batches in which a person takes part are fixed before their first episode, and one without an episode counts as "
        "empty; where coming again depends on what happened, the guarantee is given when people came"
    )

    def designers(self) -> Mapping[str, DesignMaker]:
        """Counts, of whole episodes or of a single step, under a continual counter."""
        return {counts.KIND: design_joint, bandit.KIND: design_joint}

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """Those of the question, that batches are public, that the curator reveals nothing, and how often people take part."""
        first, *rest = design.question.assumptions
        if design.participation == ONCE:
            return (f"{first}, in one batch", *rest, *ASSUMPTIONS)
        return (f"{first}, in each batch they take part in", *rest, *ASSUMPTIONS)

    def participation(self, design: Design) -> Participation:
        """How often the counter lets one person take part."""
        return Participation(design.counter.participations, design.counter.separation)

    def visited(self, design: Design, times: int) -> Act[NoiseMechanism]:
        """The act by which a person loses who takes part this many times: of the same counter. Of a counter of one's own each
        further time costs what the first did."""
        counter = design.counter.visited(times)
        if counter is None:
            return replace(design.act, sensitivity=design.act.sensitivity.scaled(float(times)))
        return replace(design.act, mechanism=counter)


register(JointTrust())
