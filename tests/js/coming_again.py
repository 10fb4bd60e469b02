"""Golden vectors about people who come again: who may be in which batch, what is signed for which slot, what keeps a guarantee."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

from confide.privacy import Guarantee, Local, Participation, Pure, Schedule, repeat
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.service.contract import Contract
from confide.service.contract.periods import Periods
from confide.service.contract.slots import may_come
from confide.service.contract.tokens import TokenIssuer
from tests.service.contract.example import SPEC, contract
from tests.service.contract.test_slots import returning
from tests.service.intermediary.offices import contract_of
from tests.service.intermediary.slotted import KEYS

BATCHES, HOUR = 6, Periods(3600)

LOCAL = [
    (Local(epsilon=2.0), "k-ary"),
    (Local(epsilon=1.0, delta=1e-6), "subset"),
    (Local(epsilon=1.0), "laplace"),
    (Local(epsilon=2.0, delta=1e-6), "laplace"),
    (Local(rho=0.7), "laplace"),
    (Local(epsilon=1.0, delta=1e-6), "gaussian"),
    (Local(rho=0.5), "gaussian"),
]
ODDS = [(0.25, 1.0), (0.3, 1.0), (0.3, 0.5), (1.0, 2.5), (0.01, 0.02), (3.0, 1.0)]


def slotted(made: Contract, design: Design, period: Periods | None = None) -> Contract:
    """The same contract with an issuer of slots."""
    first, *later = KEYS.publics
    about = made.intermediary
    issuer = TokenIssuer("Doors Ltd", first, None, tuple(later))
    return contract(design, window=made.window, intermediary=about, issuer=issuer, period=period)


def contracts() -> Iterator[Contract]:
    """Of joint and shuffle, with slots and without."""
    for trust, apart in ((JOINT, 3), (JOINT, 1), (SHUFFLE, 1)):
        design = returning(trust, 2, apart, BATCHES)
        made = contract_of(design)
        yield made
        yield slotted(made, design)


def local(guarantee: Guarantee, mechanism: str, times: int) -> Design:
    schedule, taken = Schedule.batches(30, 3), Participation(times)
    return make(Request(CountQuestion(SPEC), guarantee, schedule, mechanism=mechanism, budget=0, participation=taken))


def renewing() -> Iterator[Contract]:
    """Contracts whose guarantee is renewed each hour: of every trust, once and twice a period, with slots and without."""
    for trust, times, apart in ((JOINT, 2, 2), (JOINT, 1, 1), (SHUFFLE, 1, 1)):
        made = contract_of(returning(trust, times, apart, BATCHES))
        yield Contract.written(made.design, **_parts(made))
        yield slotted(made, made.design, HOUR)
    for times in (1, 2):
        yield contract(local(*LOCAL[0], times), period=HOUR)


def _parts(made: Contract) -> dict[str, Any]:
    written = {name: made.document[name] for name in ("name", "operator", "learner")}
    return {**written, "key": made.key, "window": made.window, "intermediary": made.intermediary, "period": HOUR}


def _renewals(made: Contract) -> dict[str, Any]:
    """Of one who was in these batches, in these periods: whether they may be in another batch in period 7."""
    slots, taken, rows = made.slots, made.participation, []
    assert slots is not None
    spread = slots.width and made.issuer is not None
    for many in range(3):
        for had in combinations(range(1, BATCHES + 1), many):
            for when in product((6, 7), repeat=many):
                for batch in range(1, BATCHES + 1):
                    recent = when.count(7)
                    near = {slots.of_batch(one) for one in had} if spread else set()
                    allowed = not spread or slots.allows(near, slots.of_batch(batch), recent)
                    may = may_come(taken, had, batch, recent) if slots.width else recent < taken.times
                    rows.append([[list(one) for one in zip(had, when, strict=True)], batch, may and allowed])
    return {"contract": made.data.decode(), "rows": rows}


def vectors() -> dict[str, Any]:
    """All of it."""
    designs = [local(*one, times) for one in LOCAL for times in (2, 5)]
    return {
        "visits": [_visits(one) for one in contracts()],
        "renewals": [_renewals(one) for one in renewing()],
        "kept": [contract(one).data.decode() for one in designs],
        "weak": [_weaker(one) for one in designs],
        "deltas": [
            [pure, epsilon, times, repeat(Pure(pure), times).delta(epsilon)]
            for pure, epsilon in ODDS
            for times in (2, 3, 10)
        ],
    }


def _weaker(design: Design) -> str:
    """A contract that states a guarantee better than what all reports keep, by a part in a hundred thousand."""
    document = contract(design).document
    guarantee = dict(document["guarantee"])
    for name in ("epsilon", "delta", "rho"):
        guarantee[name] = guarantee[name] and guarantee[name] * (1 - 1e-5)
    return json.dumps({**document, "guarantee": guarantee})


def _visits(made: Contract) -> dict[str, Any]:
    """Who was in which batches may be in which other; and what is signed for a slot."""
    slots, taken = made.slots, made.participation
    assert slots is not None
    tokens, rows = made.issuer is not None, []
    for many in range(3):
        for had in combinations(range(1, BATCHES + 1), many):
            for batch in range(1, BATCHES + 1):
                allowed = slots.allows({slots.of_batch(one) for one in had}, slots.of_batch(batch))
                rows.append([list(had), batch, may_come(taken, had, batch) and (allowed or not tokens)])
    signed = []
    for slot in range(slots.many if tokens else 0):
        checker = made.checker(slot)
        assert checker is not None
        signed.append(checker.signed(bytes(range(32))).hex())
    return {"contract": made.data.decode(), "rows": rows, "signed": signed}
