"""Slots of visits: what tokens allow is no denser than what the design is priced for, by trying all there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from confide.mechanisms.toeplitz import ToeplitzCounter
from confide.privacy import Guarantee, Participation, Schedule
from confide.privacy.guarantee import JOINT, LOCAL, SHUFFLE
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.trusts.mixing import Mixing
from confide.service.contract import Contract, weaker
from confide.service.contract.contract import keys_needed
from confide.service.contract.slots import MOST_SLOTS, Slots, may_come
from tests.service.contract.example import SPEC, changed, contract
from tests.service.intermediary.offices import contract_of


def returning(trust: str, times: int, apart: int = 1, batches: int = 6) -> Design:
    """A design for people who come again."""
    schedule = Schedule.sized(400 * batches, 400) if trust == SHUFFLE else Schedule.batches(5 * batches, batches)
    mixing = Mixing(400, 0.5) if trust == SHUFFLE else None
    taken = Participation(times, apart)
    return make(Request(CountQuestion(SPEC), Guarantee(trust, 1.0, 1e-6), schedule, mixing=mixing, participation=taken))


def contract_for(trust: str, times: int, apart: int = 1) -> Contract:
    design = returning(trust, times, apart)
    return contract(design) if trust == LOCAL else contract_of(design)


def patterns(slots: Slots, batches: int) -> set[tuple[int, ...]]:
    """All sets of batches that one person's tokens allow, in whatever order they were issued."""
    found: set[tuple[int, ...]] = set()
    for many in range(1, slots.times + 1):
        for chosen in itertools.permutations(range(slots.many), many):
            if all(slots.allows(chosen[:one], chosen[one]) for one in range(many)):
                ranges = [[one for one in slots.batches(slot) if one <= batches] for slot in chosen]
                found |= {tuple(sorted(each)) for each in itertools.product(*ranges)}
    return found


def price(counter: ToeplitzCounter, pattern: tuple[int, ...]) -> float:
    """By how much one who adds a unit in each of these batches moves the counter's factored state."""
    columns = np.zeros(counter.releases)
    for batch in pattern:
        columns[batch - 1 :] += counter.column()[: counter.releases - batch + 1]
    return float(np.linalg.norm(columns))


@pytest.mark.parametrize("batches", [5, 8])
@pytest.mark.parametrize(("times", "apart"), [(2, 1), (2, 2), (3, 2), (2, 3), (3, 3), (2, 4)])
@pytest.mark.parametrize("keys", [MOST_SLOTS, 3])
def test_no_pattern_that_tokens_allow_costs_more_than_the_price(
    batches: int, times: int, apart: int, keys: int
) -> None:
    """All orders of tokens, all batches of their slots, full and banded. With one key a batch the price is reached where a
    person's visits fit."""
    design = returning(JOINT, times, apart, batches)
    slots = Slots.of(design, batches, keys)
    found = patterns(slots, batches)
    assert found and all(len(set(one)) == len(one) for one in found)
    assert all(later - before >= apart for one in found for before, later in itertools.pairwise(one))
    for bands in (0, apart):
        counter = ToeplitzCounter(batches, 1.0, 1.0, participations=times, separation=apart, bands=bands)
        assert max(price(counter, one) for one in found) <= counter.columns_norm * (1 + 1e-12)


def test_a_slot_too_close_or_one_too_many_is_refused() -> None:
    """What a mistake in the rule would allow: neighbours, the same slot, a slot too many."""
    slots = Slots(times=2, many=6, width=2, gap=2)
    assert slots.allows((), 0) and slots.allows((0,), 2)
    assert not slots.allows((0,), 1) and not slots.allows((0,), 0) and not slots.allows((0, 2), 4)
    assert not slots.allows((), 6) and not slots.allows((), -1)
    assert list(slots.batches(1)) == [3, 4] and slots.of_batch(4) == 1


def test_a_device_keeps_its_batches_apart() -> None:
    taken = Participation(3, 2)
    assert may_come(taken, [], 1) and may_come(taken, [1], 3) and may_come(taken, [5], 3)
    assert not may_come(taken, [1], 2) and not may_come(taken, [3], 2) and not may_come(taken, [1, 3, 5], 9)


@pytest.mark.parametrize("trust", [LOCAL, SHUFFLE, JOINT])
def test_a_contract_says_how_often(trust: str) -> None:
    made = contract_for(trust, 3, 2 if trust == JOINT else 1)
    assert made.document["reports_per_person"] == 3 == made.participation.times
    assert made.slots is not None and made.slots.times == 3
    words = str(made.design.certificate("secure"))
    assert "up to 3 times" in words and "takes part once has" in words
    once = contract_for(trust, 1)
    assert once.slots is None and keys_needed(once.design) == 1
    for number in (1, 2, 4):
        with pytest.raises(Exception, match="number of reports"):
            Contract.from_bytes(changed(made, reports_per_person=number))


def test_one_who_may_come_once_is_not_asked_to_come_again() -> None:
    assert "more reports" in weaker(contract_for(LOCAL, 2), contract_for(LOCAL, 1))
    assert not weaker(contract_for(LOCAL, 1), contract_for(LOCAL, 2))


def test_local_reports_of_a_person_compose_to_the_guarantee() -> None:
    """Each of several is noisier: as many as are allowed keep what one alone keeps."""
    several, once = returning(LOCAL, 4), returning(LOCAL, 1)
    assert several.guarantee.epsilon is not None and several.guarantee.epsilon <= 1.0
    one = several.guarantee_once.epsilon
    assert one is not None and 0.2 < one < 0.5 and once.guarantee.epsilon is not None
