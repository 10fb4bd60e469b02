"""Alarms: rounds whose sums honest devices cannot have sent, seen when one closes and before what it taught is published.

Where they are unlikely to have sent them, what was learned waits: policy and question stay as they are for a round, so that the
next one adds to what is known by the same law, and the doubt becomes an alarm or goes away. A few hostile devices cannot hide
behind what they taught that way; an honest service loses about a round in fifty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...protocol.design import Design
from ...protocol.kinds.question import asked_by
from ...protocol.releases import Sum
from ...protocol.releases.plausibility import doubtful_rows, excess, implausible, implausible_rows
from .store import LATE_ROUNDS, CollectorStore

FALSE_ALARMS = 1e-3
"""The probability that a service without hostile reports ever raises an alarm, at most: half of it for rounds by themselves, half
for all of them together."""
DOUBTS = 0.02
"""The probability, about, that what a round of honest reports taught waits for the next one."""
REMARKABLE = 1.0
"""Standard deviations. Where a row with an alarm exceeded its expectation by more than this when the published policy was learned,
that policy is not trusted."""


class Alarm(NamedTuple):
    """round: the last that it is about. sound: whether what is published may be trusted. text: what was seen. raised: whether
    honest devices cannot have sent it; else they are unlikely to have, and what was learned waits."""

    round: int
    sound: bool
    text: str
    raised: bool = True


def batch_alarm(design: Design, number: int, rounds: int, batch: bytes) -> Alarm | None:
    """What honest devices cannot have sent to a shuffler, by the sum of a batch that it closed; None if they can have sent it."""
    sentence = implausible(design, Sum.from_bytes(batch, design), None, FALSE_ALARMS / rounds)
    return Alarm(number, number > 1, sentence) if sentence else None


def round_alarm(store: CollectorStore, number: int) -> Alarm | None:
    """What honest devices cannot have sent in a round, or in all up to it, or are unlikely to have sent; None if there is nothing
    of either.

    Reports are judged by the law of the round that they followed. Of those who followed one too old to be distinguished, the law is
    not known.
    """
    design, rounds = store.contract.design, len(store.contract.ends)
    failure = FALSE_ALARMS / 2 / rounds
    people, expected = store.rows_so_far(number, design.question.rows)
    for followed, total in store.sums_of(number).items():
        merged = followed == number - LATE_ROUNDS + 1 and followed > 1
        law = None if merged else _law(store, followed)
        sentence = implausible(design, total, law, failure / LATE_ROUNDS)
        if sentence:
            return Alarm(number, store.trusted_rows() is not None, sentence)
        people = people + total.people
        expected = expected + (total.people if law is None else total.users * law / law.sum())
    store.keep_rows(number, people, expected)
    sentence = implausible_rows(people, expected, failure)
    if sentence:
        return Alarm(number, _unremarkable(store, people, expected), sentence)
    doubt = doubtful_rows(people, expected, DOUBTS) if number < rounds else ""  # after the last nothing clears it up
    if doubt:
        return Alarm(number, True, doubt, raised=False)
    store.trust_rows(people, expected)
    return None


def _unremarkable(store: CollectorStore, people: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    """Whether the row that is most beyond what is expected was not so when the published policy was learned."""
    trusted = store.trusted_rows()
    return trusted is not None and excess(*trusted)[int(excess(people, expected).argmax())] < REMARKABLE


def _law(store: CollectorStore, number: int) -> NDArray[np.float64] | None:
    """The law by which devices that follow a round draw the row they answer; None where there is one row, or none is drawn."""
    signed = store.head(number)
    question = None if signed is None or signed.head.question is None else store.question(signed.head.question)
    family = store.contract.design.question
    law = family.law_of(asked_by(family, question))
    return None if law is None else np.asarray(law, dtype=np.float64)
