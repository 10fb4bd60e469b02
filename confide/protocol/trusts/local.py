"""The local trust model, which trusts only the user's own device: every person sends one randomised report.

For counts: which question a device answers, by which mechanism, with how much noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ... import validation
from ...errors import InvalidInput
from ...mechanisms import registry
from ...mechanisms.bounded import Bounded, BoundedByPart
from ...mechanisms.gaussian import Gaussian, grid_for
from ...mechanisms.laplace import Laplace
from ...mechanisms.randomized_response import RandomizedResponse
from ...mechanisms.randomizer import Randomizer
from ...mechanisms.unary import KARY, SUBSET, UNARY, SampledStep
from ...privacy import Act, Guarantee, Sensitivity, one_of, settled
from ...privacy.guarantee import LOCAL
from ..design import AUTO, PAPER, SOUND, TIGHT, Design, Request, check_noise
from ..kinds import CountQuestion, Question, StepQuestion, find
from ..kinds.asked import AskedQuestion
from ..kinds.asked_return import AskedReturnQuestion
from ..kinds.budgeted import BudgetedQuestion
from ..kinds.categories import CategoryQuestion
from ..kinds.counts import CENTRED, DROPPED, REWARDS, SINGLE_STEP, SQUARES, TRANSITIONS, VISITS
from ..kinds.kind import DesignMaker
from ..papers import Printed, fairest, printed, transitions_widened
from .budgets import budgeted_form
from .trust import People, Trust, register

if TYPE_CHECKING:
    from ..laws import Law
    from ..releases.aggregates import Aggregate

RESPONSE = "randomised-response"
ENCODINGS = {"unary": UNARY, "k-ary": KARY, "subset": SUBSET}
ASKED = "asked-"
"""The prefix of a mechanism's name if devices are asked about a pair, not about a step."""
CATEGORIES = (*ENCODINGS, *(ASKED + name for name in ENCODINGS))
MECHANISMS = ("laplace", "gaussian", RESPONSE, "bounded", *CATEGORIES)
LocalForm = CountQuestion | CategoryQuestion | BudgetedQuestion
"""What devices may be asked where counts are wanted."""
MOST_NAMED = 1 << 14
"""`auto` leaves subset selection out where categories times names exceed this: groups of people take long to draw then."""
LARGEST = 2.0**46
"""The most that an honest device sends in one cell, in grids: sums of many reports, and floats, then hold it exactly."""

DEVICES_DRAW = "every device draws its own noise and sends one report once"
DEVICES_DRAW_AGAIN = "every device draws its own noise, anew for each episode, and sends one report about each once"


class LocalTrust(Trust):
    """Devices randomise, and a server adds up what is public."""

    name = LOCAL
    attack = LOCAL
    mechanisms = MECHANISMS

    def designers(self) -> Mapping[str, DesignMaker]:
        """Counts, by the mechanism that adds least."""
        return {"counts": design_local}

    def law(self, design: Design, people: People) -> Law:
        """Each user's own noise."""
        from ..laws import PeoplesNoise

        return PeoplesNoise(design.randomizer, people.astype(np.float64))

    def devices(self, design: Design) -> tuple[Randomizer, ...]:
        """One report, by the design's mechanism."""
        return (design.randomizer,)

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """Those of the question, and that devices draw their noise."""
        return (*design.question.assumptions, DEVICES_DRAW if design.act.times == 1 else DEVICES_DRAW_AGAIN)

    def check(self, design: Design) -> None:
        """Refuse noise that does not belong to the question, and reports that could be too large to add up."""
        check_noise(design, design.randomizer)
        if design.question.range.furthest + design.randomizer.reach() > LARGEST * design.mechanism.grid:
            raise InvalidInput(
                "local-grid-fine",
                f"On a grid of {design.mechanism.grid:g} numbers of reports are too large. Make it coarser.",
            )

    def open_aggregate(self, design: Design) -> Aggregate:
        """A server's aggregate, which may be closed at any time."""
        from ..releases.aggregates import ReportAggregate

        return ReportAggregate(design)


def design_local(request: Request) -> Design:
    """The design of counts: by the mechanism that was named, or under `tight` the one that adds least to a backed-up value."""
    name, promise = request.mechanism, request.promise
    if name not in (AUTO, *MECHANISMS):
        validation.choice("mechanism", name, (*MECHANISMS, *registry.names()))
    if request.counted.parts == SINGLE_STEP:
        return _design_single(request)
    if request.calibration == TIGHT:
        chosen = name == AUTO
        names = [each for each in MECHANISMS if _worth_trying(each, promise)] if chosen else [name]
        if request.budget and "gaussian" not in names:
            raise InvalidInput(
                "budget-needs-gaussian",
                "A budget lowers Gaussian noise. Give a delta or rho, and leave the mechanism to auto.",
            )
        options = [option for each in names for option in _options(each, request)]
        if chosen:
            options = [option for option in options if request.can(*option[:2]) and not _slow(option[1])]
        form, mechanism, remarks = min(
            options, key=lambda option: find(option[0].kind).backup_variance(option[0], option[1])
        )
        return request.design(form, _act(mechanism, form, request), remarks=remarks)
    name = "laplace" if name == AUTO else name
    # Categories are reported in one form only; no paper prescribes another.
    question = tight_form(request.counted, name) if name in CATEGORIES else request.counted
    rule = rule_of(request, LOCAL, name)
    noise = printed_noise(rule, request, name)
    mechanism = calibrated(name, question, one_report(name, request), noise, request.calibration)
    return request.design(question, _act(mechanism, question, request), paper="" if rule is None else request.paper)


def _act(mechanism: Randomizer, question: Question, request: Request) -> Act[Randomizer]:
    """A report for each time that a user takes part: each with noise of its own, all of them charged."""
    return Act(mechanism, question.price(), request.participation.times)


def one_report(name: str, request: Request) -> Guarantee:
    """The guarantee that each report of a user is calibrated to: all of them together keep the guarantee."""
    pure = name in (*CATEGORIES, RESPONSE, "laplace")
    return one_of(request.promise, request.participation.times, gaussian=name == "gaussian", pure=pure)


def _design_single(request: Request) -> Design:
    """The design of a single step: context, action and reward as one category."""
    form = StepQuestion(request.counted.having(levels=1))
    names = ENCODINGS if request.mechanism == AUTO else (validation.choice("mechanism", request.mechanism, ENCODINGS),)
    options = [calibrated(name, form, one_report(name, request)) for name in names]
    if request.mechanism == AUTO:
        options = [option for option in options if request.can(form, option) and not _slow(option)]
    mechanism = min(options, key=lambda option: find(form.kind).backup_variance(form, option))
    return request.design(form, _act(mechanism, form, request), remarks=form.remarks)


def rule_of(request: Request, trust: str, name: str) -> Printed | None:
    """The paper's prescription: as printed under `paper`; under `sound` the printing with the least noise, to be raised."""
    if request.calibration == SOUND:
        return fairest(request.paper, trust, name, request)
    return printed(request.paper, trust, name, request.printing)


def printed_noise(rule: Printed | None, request: Request, name: str) -> float | None:
    """The noise a paper prints; none is needed in `sound`, but `paper` cannot do without."""
    if rule is not None:
        return rule.noise(request.question.spec, request.promise, request.schedule.users)
    if request.calibration == PAPER:
        raise InvalidInput(
            "paper-without-noise",
            f"No paper prescribes {name} noise here, so there is nothing to reproduce. Use sound or tight.",
        )
    return None


def _worth_trying(name: str, promise: Guarantee) -> bool:
    """Whether `auto` should look at a mechanism: rho is for Gaussian noise, which bounded noise never beats."""
    if name == "gaussian":
        return not promise.pure
    return name != "bounded" and promise.rho is None


def _options(name: str, request: Request) -> list[tuple[LocalForm, Randomizer, tuple[str, ...]]]:
    """The forms of a question that one mechanism can answer, each with its noise and with sentences for certificates. Gaussian
    noise also answers under a budget, or says why there is none.
    """
    form = tight_form(request.counted, name, request.one_in)
    forms: list[tuple[LocalForm, tuple[str, ...]]] = [(form, form.remarks)]
    if name == "gaussian" and request.budget != 0:
        budgeted = budgeted_form(request.counted.tight(form.counts.levels), True, request)
        forms = [budgeted] if request.budget or budgeted[0] == form else [*forms, budgeted]
    return [(each, calibrated(name, each, one_report(name, request)), remarks) for each, remarks in forms]


def _slow(mechanism: Randomizer) -> bool:
    """Whether groups of people who use a mechanism take long to draw."""
    naming = mechanism.naming()
    named = None if naming is None else naming.ones
    return named is not None and named > 1 and named * mechanism.categories > MOST_NAMED


def tight_form(question: CountQuestion, name: str, one_in: int = 0) -> CountQuestion | CategoryQuestion:
    """The question that needs least noise, and from which everything else can be derived. one_in: of whom one reports a return
    where devices are asked about pairs; 0 if none does.

    Centred rewards and transitions, or for randomised response, which takes only bits, visits, rewards and transitions.
    Squares are derived from rewards of 0 and 1. `end` stays: the state after the last step may be unknown.
    """
    if name in CATEGORIES:
        if not name.startswith(ASKED):
            return StepQuestion.of(question)
        pairs = AskedQuestion.of(question)
        return AskedReturnQuestion(pairs.counts, one_in=one_in) if one_in else pairs
    levels = 1 if SQUARES in question.parts or name == RESPONSE else question.levels
    if name == RESPONSE:
        return question.having(parts=(VISITS, REWARDS, TRANSITIONS), last=DROPPED, levels=levels)
    return question.tight(levels)


def calibrated(
    name: str,
    question: LocalForm,
    promise: Guarantee,
    noise: float | None = None,
    calibration: str = SOUND,
) -> Randomizer:
    """The mechanism with the least noise for the guarantee, or with a paper's noise (raised, in `sound`, if need be)."""
    size = question.price()
    if name in CATEGORIES:
        return SampledStep(promise.pure_epsilon(), question.width, ENCODINGS[name.removeprefix(ASKED)])
    unit = 1 / question.counts.resolution
    if name not in MECHANISMS:
        return registry.make(name, size, promise, unit)
    if name == "gaussian":
        needed = Gaussian.keeping(promise, size, unit)
        if noise is None or (calibration == SOUND and needed.sigma >= noise):
            return needed
        return Gaussian(noise, min(needed.grid, grid_for(noise, unit)))
    if name == "bounded":
        if noise is None or calibration == SOUND:
            return Bounded.keeping(promise, size, unit)
        form = question.counts
        if form.before_transitions is None:  # no transition changes, and one radius is enough
            return Bounded(noise, unit)
        first = form.cells - math.prod(form.shape(TRANSITIONS))
        return BoundedByPart(noise, transitions_widened(form.spec) * noise, first, unit)
    epsilon = promise.pure_epsilon()
    if name == RESPONSE:
        if CENTRED in question.counts.parts or question.counts.levels > 1:
            raise InvalidInput(
                "response-needs-bits",
                "Randomised response needs counts of bits. Ask for visits, rewards and transitions at one level.",
            )
        least = settled(epsilon / size.l1, lambda bit: bit * size.l1 <= epsilon, 0.0)
        return RandomizedResponse(least if noise is None else noise if calibration == PAPER else min(noise, least))
    least = least_scale(size, epsilon)
    return Laplace(least if noise is None else noise if calibration == PAPER else max(noise, least), unit)


def least_scale(size: Sensitivity, epsilon: float, times: int = 1) -> float:
    """The least scale b with times l1/b <= epsilon, in floats."""
    change = times * size.l1
    return settled(change / epsilon, lambda scale: change / scale <= epsilon, math.inf)


register(LocalTrust())
