"""Periods: guarantees that are given anew, by a signed clock; what they cost together, by formula and by trying all patterns."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from confide.errors import ConfideError
from confide.mechanisms.gaussian import gaussian_loss
from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.privacy.guarantee import JOINT, LOCAL, SHUFFLE
from confide.service.collector.learning import RoundLearner
from confide.service.collector.promises import over_periods
from confide.service.contract import Contract, keys, weaker
from confide.service.contract.periods import MOST_SECONDS, Periods, SignedPeriod
from confide.service.contract.slots import Slots, may_come
from confide.service.device.store import SpentMark, blank, is_spent
from tests.refusals import refused
from tests.service.contract.example import PRIVATE, changed, contract
from tests.service.contract.example import design as one_of_four
from tests.service.contract.test_slots import price, returning
from tests.service.intermediary.offices import contract_of
from tests.service.intermediary.slotted import admitting

HOUR = Periods(3600)


def renewing(trust: str, times: int = 1, apart: int = 1, batches: int = 6, seconds: int = 3600) -> Contract:
    """A contract whose guarantee is renewed every so often."""
    design = returning(trust, times, apart, batches)
    about = None if trust == LOCAL else contract_of(design).intermediary
    return contract(design, intermediary=about, window=60.0, period=Periods(seconds))


def test_a_period_is_counted_from_1970_on() -> None:
    assert [HOUR.at(time) for time in (0.0, 3599.9, 3600.0, 7.5 * 3600)] == [0, 0, 1, 7]
    assert [Periods(one).words for one in (86400, 30 * 86400, 7200, 90, 60)] == [
        "1 day",
        "30 days",
        "2 hours",
        "90 seconds",
        "1 minute",
    ]


@pytest.mark.parametrize(
    "entry", [{}, {"seconds": 0}, {"seconds": 1.5}, {"seconds": MOST_SECONDS + 1}, {"seconds": 60, "more": 1}, None, 60]
)
def test_a_contract_says_its_period_rightly_or_is_refused(entry: Any) -> None:
    made = renewing(LOCAL)
    assert Contract.from_bytes(made.data).period == HOUR and made.slots is not None
    with pytest.raises(ConfideError):
        Contract.from_bytes(changed(made, period=entry))


def test_a_statement_is_signed_and_of_one_contract() -> None:
    made = renewing(LOCAL)
    signed = SignedPeriod.signed(made.digest, 7, PRIVATE)
    public = keys.public_key(PRIVATE)
    read = SignedPeriod.from_json(signed.to_json(), public)
    assert read.number_for(made.digest) == 7
    with refused("period-of-other-contract"):
        read.number_for(bytes(32))
    with pytest.raises(ConfideError):
        SignedPeriod.from_json(signed.to_json(), keys.public_key(bytes(32)))
    for document in ({"number": -1}, {"number": 1.5}, {"schema": "confide.head/1"}, {"more": 1}):
        data = json.dumps({"schema": "confide.period/1", "contract": "", "number": 1, **document}).encode()
        with refused("period-unreadable"):
            SignedPeriod.from_json(SignedPeriod.of(data, PRIVATE).to_json(), public)


def test_one_that_renews_sooner_is_weaker() -> None:
    never = contract(returning(LOCAL, 1), window=60.0)
    hourly, daily = renewing(LOCAL), renewing(LOCAL, seconds=86400)
    assert "sooner" in weaker(hourly, never) and "sooner" in weaker(hourly, daily)
    assert not weaker(daily, hourly) and not weaker(never, hourly) and not weaker(hourly, hourly)


@pytest.mark.parametrize(("times", "apart", "periods"), [(1, 1, 2), (2, 1, 2), (2, 2, 2), (1, 1, 3), (2, 2, 3)])
def test_no_pattern_of_several_periods_costs_more_than_is_stated(times: int, apart: int, periods: int) -> None:
    """All sets of batches in which one may be who keeps to the rule in each of several periods, wherever these begin."""
    batches = 8
    design = returning(JOINT, times, apart, batches)
    counter = design.counter
    assert isinstance(counter, ToeplitzCounter)
    worst = 0.0
    for cuts in itertools.combinations(range(1, batches), periods - 1):
        period = np.searchsorted(cuts, np.arange(1, batches + 1), side="left")
        for many in range(1, times * periods + 1):
            for pattern in itertools.combinations(range(1, batches + 1), many):
                may = all(
                    may_come(
                        design.participation,
                        pattern[:one],
                        pattern[one],
                        sum(period[before - 1] == period[pattern[one] - 1] for before in pattern[:one]),
                    )
                    for one in range(many)
                )
                worst = max(worst, price(counter, pattern)) if may else worst
    stated = design.guarantee_of(periods * times)
    size = design.act.sensitivity.l2 * worst
    delta = design.requested.delta
    assert stated.epsilon is not None
    least = gaussian_loss(size, counter.sigma, counter.grid).epsilon(delta)
    assert least <= stated.epsilon <= least * 1.01
    assert over_periods(renewing(JOINT, times, apart, batches), periods) == stated


def test_reports_of_several_periods_compose() -> None:
    """Of pure epsilon 4, three periods are 12; otherwise more than one and at most as many times as much, and a shuffle without
    tokens keeps what its reports do."""
    assert one_of_four().guarantee_of(3).epsilon == pytest.approx(12.0)
    for trust in (LOCAL, SHUFFLE):
        design = returning(trust, 2)
        two = design.guarantee_of(4).epsilon
        assert two is not None and design.guarantee.epsilon is not None
        assert 1.2 * design.guarantee.epsilon < two <= 2.5 * design.guarantee.epsilon
    made = renewing(SHUFFLE, 2)
    alone = made.design.local_guarantee.epsilon
    assert alone is not None and over_periods(made, 3).epsilon == pytest.approx(3 * alone)


@pytest.mark.parametrize("trust", [LOCAL, SHUFFLE, JOINT])
def test_a_certificate_says_what_several_periods_keep(trust: str) -> None:
    made = renewing(trust, 2)
    document = json.loads(RoundLearner(made).certificate()[0])
    over = document["period"]["over"]
    assert document["period"]["seconds"] == 3600 and list(over) == ["1", "2", "12"]
    epsilons = [over[many]["epsilon"] for many in over]
    assert epsilons == sorted(epsilons) and epsilons[0] < epsilons[2]
    text = " ".join(document["says"])
    assert "one period of 1 hour" in text and "over 12 periods" in text and "1970-01-01" in text


def test_tokens_of_a_period_are_as_many_as_are_priced_and_slots_stay_apart() -> None:
    slots = Slots(times=2, many=9, width=2, gap=2)
    assert slots.allows((0, 2), 4, recent=1) and not slots.allows((0, 2), 4, recent=2)
    assert not slots.allows((0,), 1, recent=0), "the last batch of one period and the first of the next"
    assert not slots.allows((0,), 9, recent=0)


def mark(period: int, batch: int = 1, contract: str = "pin", seconds: int = 3600) -> SpentMark:
    who = {"operator": "Tea Ltd", "key": "key", "url": "https://tea.example"}
    return {**who, "contract": contract, "batch": batch, "period": period, "seconds": seconds}  # type: ignore[typeddict-item]


def test_what_a_device_remembers_of_earlier_periods() -> None:
    taken = returning(JOINT, 2, 2).participation
    document = blank()
    document["spent"] = [mark(6, 1), mark(6, 3)]
    assert is_spent(document, mark(6), taken) and not is_spent(document, mark(7), taken)
    assert is_spent(document, mark(7), taken, 4), "too close to one of the period before"
    assert not is_spent(document, mark(7), taken, 5)
    other = mark(7, contract="next")
    assert not is_spent(document, other, taken, 1), "another contract, in a later period"
    assert is_spent(document, mark(6, contract="next"), taken), "in the same period"
    assert is_spent(document, mark(7, contract="next", seconds=60), taken), "of other periods"
    forever = {name: other[name] for name in ("operator", "key", "url", "contract")}  # type: ignore[literal-required]
    assert is_spent(document, forever, taken), "a guarantee that is never renewed"  # type: ignore[arg-type]


def test_slots_of_a_contract_that_renews() -> None:
    made = admitting(JOINT, 1, 1)
    assert made.slots is None
    again = renewing(JOINT)
    assert again.slots is not None and again.slots.times == 1 and again.slots.gap == 1
