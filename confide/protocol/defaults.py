"""The choices that were left open: when releases are made, how people are mixed, and what their devices can do.

Simulations, services, forecasts and tuning all ask here, so that what is simulated is what is deployed. Which mechanism adds
least, of those that devices can do, is decided by the makers (`protocol.trusts`), from the request that is made here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from .. import validation
from ..errors import InvalidInput
from ..mdp import Spec
from ..privacy import ONCE, Guarantee, Participation, Schedule
from ..privacy.guarantee import JOINT, LOCAL, SHUFFLE
from ..privacy.schedule import WIDENING
from ..validation import Json
from .accepted import ANY, BROWSERS, DEVICES, rows, rows_in_pages
from .design import AUTO, PAPER, TIGHT, Request
from .kinds import CountQuestion, Question, counts, moments, targets
from .kinds.bandit import BanditQuestion
from .kinds.counts import DROPPED, SINGLE_STEP
from .trusts.joint import first_batch
from .trusts.mixing import HONEST, Mixing
from .trusts.shuffle import SHARES, STEP, first_of
from .trusts.shuffle import first_batch as first_shuffled_batch

# Up to this many users `paper` and `sound` plan after every one of them; beyond, at every 1 % of growth.
EVERY_LIMIT = 10**6
GROWTH_FACTOR = 1.01
MOST_RELEASED, LARGEST_FACTOR = 7e7, 1.2
# Without privacy, learners that send exploration users plan at every 5 % of growth.
EXPLORING_FACTOR = 1.05
ONE_IN = 10
"""Where devices are asked about pairs, under local privacy and `tight`, one in this many users reports its return instead."""
# The most equal batches of shufflers; and the options of shufflers that choose their sizes.
MOST_BATCHES = 1000
SIZES = {"batch", "tree", "local_epsilon", "burn_in", "widening"}
ENDLESS = 10**9
"""How many users a schedule without an end is made for. Its rule is public, its length is not known: batches widen, so that joint
counters for this many have few hundred releases, and their noise is 1.1 times that of a counter for a hundred thousand users."""
SHUFFLING = frozenset(field.name for field in fields(Mixing))
"""The options of shufflers."""


_OF_FEATURES: dict[str, Callable[[Any, Guarantee], tuple[int, float]]] = {
    moments.KIND: lambda question, promise: (moments.first_batch(question, promise), moments.WIDENING),
    targets.KIND: lambda question, promise: targets.first_batch(promise),
}
"""How many people the first batch has where sums of features are asked for, and which share of all before them later ones."""


def request_for(
    question: Any,
    promise: Guarantee,
    users: int,
    *,
    schedule: Schedule | None = None,
    shuffling: Mapping[str, Json] | None = None,
    calibration: str = TIGHT,
    mechanism: str = AUTO,
    devices: str = BROWSERS,
    scouts: bool = False,
    participation: Participation = ONCE,
    endless: bool = False,
    claimed: bool = True,
    **others: Any,
) -> Request:
    """The request for a design with everything chosen that was left open.

    schedule: None for what suits the guarantee. shuffling: options of shufflers, fields of `Mixing`; one half of the users is
    assumed to be honest unless they say otherwise. devices: one of `DEVICES`. exploration users: whether the learner sends some.
    participation: how often one user takes part; how far apart matters to continual counters alone. endless: `users` are expected,
    and more or fewer may come.
    claimed: whether the guarantee of shufflers can be claimed, as with an issuer of tokens and a shuffler of another operator;
    if not, devices keep a guarantee by themselves. others: of `Request`.
    """
    if endless and (calibration != TIGHT or schedule is not None or not promise.private):
        raise InvalidInput(
            "endless-needs-default",
            "A service without an end has the default schedule of calibration tight, under a guarantee. Leave out --expected, or "
            "the calibration and the schedule.",
        )
    expected, planned = (users, max(users, ENDLESS)) if endless else (None, users)
    widening = calibration == TIGHT and mechanism != STEP
    rule = _OF_FEATURES.get(question.kind)
    shown = None if rule is None else rule(question, promise)
    mixing = mixing_for(promise, question.spec, users, shuffling or {}, widening=widening, shown=shown and shown[0])
    taken = participation if promise.trust == JOINT else replace(participation, apart=1)
    if taken != ONCE:
        promise = replace(promise, unit=taken.unit)
    if schedule is None and shown is not None and mixing is None:
        schedule = Schedule.widening(planned, *shown)
    when = schedule or schedule_for(promise, calibration, question.spec, planned, mixing, scouts)
    if mixing is not None and calibration == PAPER and mixing.burn_in > when.burn_in:
        when = replace(when, burn_in=mixing.burn_in)
    if schedule is None and taken != ONCE and when.kind == WIDENING:  # where one person moves more, noise is larger
        when = Schedule.widening(planned, first_batch(CountQuestion(question.spec), promise, taken))
    anywhere = others.get("budget") or question.kind == targets.KIND  # which no page answers
    able = abilities(promise.trust, ANY if anywhere else devices)
    if able is not None and not claimed:
        able = frozenset(row for row in able if row[1] != SHARES)
    if calibration == TIGHT and mechanism == AUTO and not others.get("budget"):
        question = asked_for(question, promise)
    if calibration == TIGHT and promise.trust == LOCAL:
        others.setdefault("one_in", ONE_IN)
    chosen = {"mixing": mixing, "able": able, "participation": taken, "expected": expected, **others}
    return Request(question, promise, when, calibration, mechanism, **chosen)


def asked_for(question: Question, promise: Guarantee) -> Question:
    """What people are asked where a learner asks for counts: of a single step, which nothing follows, no transition."""
    single = question.kind == counts.KIND and question.spec.horizon == 1
    able = promise.trust == JOINT or (promise.trust == LOCAL and promise.rho is None)
    if question.counted is None or not (single and able and promise.private):
        return question
    told = question.counted.having(parts=SINGLE_STEP, last=DROPPED, expected=None)
    return told if promise.trust == LOCAL else BanditQuestion(told)  # devices tell it as one category


def abilities(trust: str, devices: str = BROWSERS) -> frozenset[tuple[str, str]] | None:
    """The kinds of question with the mechanisms by which devices can answer them under a trust model; None (no limit) where the
    table has no row for it, as for a trust model of one's own.
    """
    validation.choice("devices", devices, DEVICES)
    known = rows_in_pages() if devices == BROWSERS else rows()
    return frozenset((row.kind, row.mechanism) for row in known if row.trust == trust) or None


def schedule_for(
    promise: Guarantee,
    calibration: str,
    spec: Spec,
    users: int,
    mixing: Mixing | None = None,
    scouts: bool = False,
) -> Schedule:
    """The schedule where none is chosen.

    Joint and tight: widening batches. Local and tight: growth. Otherwise after every user, up to a limit. Shufflers have their
    batches, or, as the paper would have it, a burn-in. Without privacy, exploration users have room.
    """
    if not promise.private and scouts:
        return Schedule.exploring(users, EXPLORING_FACTOR)
    if mixing is not None and calibration != PAPER:
        return mixing.schedule(users)
    if mixing is not None and mixing.burn_in:
        return replace(schedule_for(promise, calibration, spec, users), burn_in=mixing.burn_in)
    if promise.private and calibration == TIGHT:
        if promise.trust == JOINT:
            return Schedule.widening(users, first_batch(CountQuestion(spec), promise))
        return Schedule.growth(users, growth_for(spec, users))
    return Schedule.every(users) if users <= EVERY_LIMIT else Schedule.growth(users, GROWTH_FACTOR)


def growth_for(spec: Spec, users: int) -> float:
    """By which factor the number of people grows between two releases: 1.01, or more in worlds so large that a release takes long.

    All releases together then have about `MOST_RELEASED` transitions.
    """
    releases = max(1.0, MOST_RELEASED / (spec.layers * spec.states**2 * spec.actions))
    return max(GROWTH_FACTOR, min(LARGEST_FACTOR, round(math.exp(math.log(max(users, 2)) / releases), 3)))


def mixing_for(
    promise: Guarantee,
    spec: Spec,
    users: int,
    shuffling: Mapping[str, Any],
    *,
    widening: bool = True,
    shown: int | None = None,
) -> Mixing | None:
    """How shufflers mix users, None under another trust model.

    Without a choice of sizes batches widen, where they may; else there are H S A log2 K, a thousand at most. The noise of a
    batch hardly depends on its size, so that fewer are less noisy, while the first is lost. shown: how many people show
    something, where that is known.
    """
    chosen = {name: value for name, value in sorted(shuffling.items()) if value is not None}
    if promise.trust != SHUFFLE:
        if chosen:
            raise InvalidInput(
                "shuffle-options-without-shuffle",
                f"Only trust shuffle takes {', '.join(chosen)}. Choose it, or leave that out.",
            )
        return None
    share = chosen.setdefault("honest", HONEST)
    least = math.ceil(2 / share) if 0 < share < 1 else 2
    if widening and promise.delta > 0 and not chosen.keys() & SIZES:
        first = first_shuffled_batch(spec, promise, users) if shown is None else first_of(users, shown)
        chosen = {"batch": max(least, first), "widening": True, **chosen}
    size = spec.horizon * spec.states * spec.actions
    batches = max(1, min(MOST_BATCHES, math.ceil(size * math.log2(max(users, 2)))))
    mixing = Mixing(**{"batch": max(least, users // batches), **chosen})
    if max(mixing.batch, mixing.burn_in) > users:
        excess, size = ("batch", mixing.batch) if mixing.batch > users else ("burn_in", mixing.burn_in)
        raise validation.refusal("mixing-above-episodes", excess, f"at most the number of episodes, {users:,}", size)
    return mixing
