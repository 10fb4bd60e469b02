"""What a certificate says beyond its design: about people who send several reports, and about shufflers and curators."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ...privacy import ONCE, Act, Guarantee, true_guarantee
from ...privacy.guarantee import JOINT, LOCAL, SHUFFLE
from ...protocol.design import Design
from ..contract.admission import held_guarantee, once
from ..contract.contract import Contract
from ..contract.intermediary import CURATOR, Intermediary

STEP, SMALLEST = 1.2, 1e-30
STORIES = "a server may show each device its own policy: signatures make that provable, and only a witness shows it"
"""What no part can show: two stories."""
ALONE = (
    "a collector that is restored from a backup of all it has is noticed by a device or a witness that saw a later round; without "
    "either it goes unnoticed"
)


def over_periods(contract: Contract, periods: int) -> Guarantee:
    """The guarantee that may be printed of all visits of a user in this many periods, in each as often as is priced.

    Reports of their own noise compose, as do disjoint batches; at a curator the visits of all periods are one pattern of the
    counter, whose sensitivity is known. Of a shuffle without tokens it is what the reports keep by themselves.
    """
    design = contract.design
    if held_guarantee(contract) == design.guarantee:
        return design.guarantee_of(periods * design.participation.times)
    alone = design.local_guarantee
    return alone if alone.epsilon is None else replace(alone, epsilon=periods * alone.epsilon)


def with_reports(design: Design, many: int) -> Guarantee:
    """The guarantee of one person who sends this many reports: that of the contract up to as many as it prices."""
    return design.guarantee if many <= design.participation.times else _REPEATED[design.trust](design, many)


def _times(design: Design, many: int) -> int:
    """How many devices send this many reports, where each sends as many as one person may and keeps its own batches apart."""
    return -(-many // design.participation.times)


def _apart(design: Design, many: int) -> Guarantee:
    """The guarantee where each report has noise of its own: they compose."""
    return true_guarantee(replace(design.act, times=many).loss, design.requested)


def _together(design: Design, many: int) -> Guarantee:
    """The guarantee at a curator: what all batches move by is at most that of each device, added up."""
    scaled = design.act.sensitivity.scaled(float(_times(design, many)))
    act = Act(design.mechanism, scaled, design.act.times)
    return true_guarantee(act.loss, design.requested)


def _mixed(design: Design, many: int) -> Guarantee:
    """The guarantee where reports may fall into one batch of a shuffler: the bound of a group, or the devices' own."""
    alone = _local(design).epsilon or math.inf
    most = grouped(design.act.loss.epsilon, design.requested.delta, _times(design, many))
    return replace(design.requested, epsilon=min(most, many * alone))


def _local(design: Design) -> Guarantee:
    from ...protocol.trusts.shuffle import local_guarantee

    return local_guarantee(design)


_REPEATED: dict[str, Callable[[Design, int], Guarantee]] = {LOCAL: _apart, JOINT: _together, SHUFFLE: _mixed}


def grouped(epsilon: Callable[[float], float], delta: float, many: int) -> float:
    """The epsilon at this delta for this many reports at once, each of which keeps epsilon(d) at every d.

    Changing them one after the other costs m e with d (1 + exp(e) + ... + exp((m-1) e)); of the d for which that is at most
    delta, `STEP` apart, the one with the least e is taken.
    """
    delta_each, least = delta, math.inf
    while delta_each > delta * SMALLEST:
        epsilon_each = epsilon(delta_each)
        delta_spent = delta_each * sum(math.exp(min(place * epsilon_each, 700.0)) for place in range(many))
        if delta_spent <= delta:
            least = min(least, many * epsilon_each)
        delta_each /= STEP
    return least


def how_often(contract: Contract, what: str) -> str:
    """How many tickets or reports a device takes or sends, in words."""
    taken, period = contract.participation, contract.period
    many = f"one {what}" if taken == ONCE else f"up to {taken.times:,} {what}s"
    if period is not None:
        return f"{many} of an operator in each period of {period.words}, all of a period under one contract"
    return f"{many} of an operator, ever" if taken == ONCE else f"{many} of an operator, all under one contract"


SHOWN_PERIODS = 1, 2, 12
"""Over how many periods the guarantee is stated."""


def renewed(contract: Contract) -> list[str]:
    """What a certificate says of periods, in plain sentences; empty where a contract has none."""
    period = contract.period
    if period is None:
        return []
    over = [f"{over_periods(contract, many)} over {many}" for many in SHOWN_PERIODS[1:]]
    counted = "" if contract.issuer is None else "; a token counts for the period in which it was issued"
    return [
        f"the guarantee is of what a user does in one period of {period.words}, and is given anew in the next: for one who "
        f"takes part in each it is {' and '.join(over)} periods",
        "a period has begun when the collector has signed so and the device's own clock says so too; periods are counted from "
        f"1970-01-01 UTC{counted}",
    ]


def assumptions(contract: Contract, about: Intermediary) -> list[str]:
    """What the guarantee of a service with a shuffler or a curator assumes beyond its mechanism, in plain sentences."""
    sentences = _curated(about) if about.role == CURATOR else _shuffled(contract, about)
    return [
        *sentences,
        f"who takes a ticket, when, and in which batch is public; a batch closes {about.deadline:g} s after its last ticket and is "
        f"published {about.publication:g} s later, however many came",
        "the time at which a device sends is drawn before the episode begins, inside a window of "
        f"{contract.window:g} s; it sends what happened so far, finished or not",
        f"a device that runs this package takes {how_often(contract, 'ticket')}; {once(contract)}",
        STORIES,
        f"what was published is stored by collector and {about.role}, each of which refuses the other if it is behind; if both are "
        "restored together, a device or a witness that saw a later round refuses, and without either it goes unnoticed",
    ]


def _curated(about: Intermediary) -> list[str]:
    return [
        f"the curator ({about.operator}) is trusted with episodes: it holds the open batch in memory and gives out releases only; "
        "the guarantee holds against everyone else, the collector included",
        "a user who has a ticket and does not come, or sends what cannot have happened, counts as an empty episode",
    ]


def _shuffled(contract: Contract, about: Intermediary) -> list[str]:
    """What is assumed of a shuffler: which of two guarantees holds depends on who runs it."""
    mixing = contract.design.mixing
    assert mixing is not None
    alone = _local(contract.design)
    return [
        f"the shuffler ({about.operator}) is trusted to give out nothing but sums of closed batches, of at least "
        f"{mixing.batch:,} people each, of whom {mixing.honest_in(mixing.batch):,} are honest; a batch to which fewer come is "
        "joined to the people who come next",
        f"against the operator of the shuffler, and those it works with, {alone} holds: what devices keep by themselves",
    ]
