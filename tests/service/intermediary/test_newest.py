"""A user who takes a ticket follows the newest round: one that was learned from closed batches, never from their own."""

from __future__ import annotations

import hashlib
from pathlib import Path

from confide.service.contract import Head, SignedHead
from tests.service.contract.example import PRIVATE

from .offices import DEADLINE, PUBLICATION, SetClock, confirm, contract_of, first_head, joint_design, office_of


def test_tickets_of_an_open_batch_name_the_newest_round(tmp_path: Path) -> None:
    made, clock = contract_of(joint_design(5, 3)), SetClock()
    office = office_of(tmp_path, made, clock)
    early = [office.issue([None])[0] for _ in range(7)]
    assert [(ticket.batch, ticket.round) for ticket in early] == [(1, 1)] * 5 + [(2, 1)] * 2
    clock.now += DEADLINE
    assert office.step()
    clock.now += PUBLICATION
    confirm(office)
    before = first_head(made)
    release = hashlib.sha256(b"").hexdigest()
    second = Head(made.digest.hex(), 2, "0" * 64, before.digest, release, 5, ended=False)
    confirm(office, SignedHead.signed(second, PRIVATE))
    late = [office.issue([None])[0] for _ in range(4)]
    assert [(ticket.batch, ticket.round) for ticket in late] == [(2, 2)] * 3 + [(3, 2)]
