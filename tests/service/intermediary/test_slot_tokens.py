"""Tokens of slots: no place in another slot, no two of a person too close, a key for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.errors import ConfideError
from confide.privacy.guarantee import JOINT
from confide.service.contract.slots import Slots
from confide.service.issuer.app import IssuedStore
from confide.service.issuer.folder import IssuerKeys
from tests.service.issuer.issuers import LOGIN

from .offices import SetClock, office_of
from .slotted import KEYS, admitting


def test_a_token_of_a_slot_gets_no_place_in_another(tmp_path: Path) -> None:
    office = office_of(tmp_path, admitting(JOINT, 2, 3, KEYS), SetClock())
    first, second = b"a" * 32, b"b" * 32
    early, none = office.issue([first, second], {first: 0, second: 1})
    assert early is not None and early.batch == 1 and none is None
    tickets = office.issue([None] * 9)
    assert [one.batch for one in tickets if one is not None] == [1] * 4 + [2] * 5
    late, again = office.issue([b"c" * 32, second], {b"c" * 32: 0, second: 1})
    assert late is None and again is not None and again.batch == 3
    assert office.issue([first], {first: 0}) == [early], "shown again, it has the same place"


def test_an_issuer_gives_a_person_no_two_tokens_too_close(tmp_path: Path) -> None:
    slots = admitting(JOINT, 2, 3, KEYS).slots
    store = IssuedStore(f"sqlite:///{tmp_path / 'issuer.db'}", b"secret")
    store.prepare()
    grant = lambda name, blinded, slot: store.grant(bytes(32), name, blinded, slot, slots)  # noqa: E731
    assert grant("ada", b"x", 0) and grant("ada", b"x", 0), "the same bytes again"
    assert not grant("ada", b"y", 0) and not grant("ada", b"y", 1)
    assert grant("ada", b"y", 2) and not grant("ada", b"z", 1)
    assert grant("grace", b"z", 1) and not grant("grace", b"w", 2)


def test_two_keys_of_slots_are_not_one() -> None:
    twice = IssuerKeys(KEYS.pem, LOGIN, KEYS.login_public)
    twice.__dict__["publics"] = (KEYS.publics[0], KEYS.publics[0], KEYS.publics[2])
    with pytest.raises(ConfideError, match="one key"):
        admitting(JOINT, 2, 3, twice)


def test_an_issuer_gives_a_person_as_many_tokens_a_period_as_are_priced(tmp_path: Path) -> None:
    """Slots of any two of theirs stay apart, of whatever periods; visits of local trust are counted in each anew."""
    slots = admitting(JOINT, 1, 2, KEYS).slots or Slots(times=1, many=6, width=1, gap=2)
    store = IssuedStore(f"sqlite:///{tmp_path / 'issuer.db'}", b"secret")
    store.prepare()
    grant = lambda blinded, slot, period: store.grant(bytes(32), "ada", blinded, slot, slots, period)  # noqa: E731
    assert grant(b"x", 0, 7) and grant(b"x", 0, 7) and not grant(b"y", 2, 7)
    assert not grant(b"y", 1, 8) and grant(b"y", 2, 8) and not grant(b"z", 0, 9)
    visits = Slots(times=2, many=2, width=0, gap=1)
    local = lambda blinded, slot, period: store.grant(b"local", "ada", blinded, slot, visits, period)  # noqa: E731
    assert local(b"a", 0, 7) and local(b"b", 1, 7) and not local(b"c", 0, 7)
    assert local(b"c", 0, 8) and local(b"d", 1, 8) and not local(b"e", 1, 8)
