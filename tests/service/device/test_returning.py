"""People who come again, under local trust: as many reports as the contract prices, and not one more."""

from __future__ import annotations

from pathlib import Path

from confide.privacy.guarantee import LOCAL
from confide.service.contract.uploads import Upload
from confide.service.device import Device, FileStore
from tests.service.contract.example import contract
from tests.service.contract.test_slots import returning

from .services import Fake, serving


def visit(fake: Fake, folder: Path) -> bool:
    """Whether a visit, in a process of its own, is reported."""
    device = Device.join(fake.url, fake.contract.pin, store=FileStore(folder), background=False)
    episode = device.begin()
    episode.finish()
    return episode.reports


def test_as_many_reports_as_are_priced(tmp_path: Path) -> None:
    with serving(contract(returning(LOCAL, 3))) as fake:
        fake.open_round(1)
        assert [visit(fake, tmp_path) for _ in range(5)] == [True, True, True, False, False]
        assert len({Upload.from_bytes(body).id for body in fake.sent}) == 3


def test_one_at_a_time(tmp_path: Path) -> None:
    """While a report waits no other episode is reported; when it was counted, the next is."""
    with serving(contract(returning(LOCAL, 3))) as fake:
        fake.open_round(1)
        fake.answers = [503]
        assert visit(fake, tmp_path)
        assert not visit(fake, tmp_path) and len(fake.sent) == 1, "it is not due again yet"
        store = FileStore(tmp_path)
        with store.changing() as document:
            document["services"][fake.url]["letter"]["again"] = 0.0
        assert visit(fake, tmp_path) and len(fake.sent) == 3 and fake.sent[0] == fake.sent[1] != fake.sent[2]
        device = Device.join(fake.url, fake.contract.pin, store=store, background=False)
        first, second = device.begin(), device.begin()
        assert first.reports and not second.reports


def test_visits_to_a_contract_end_with_it(tmp_path: Path) -> None:
    """One who took part in a contract takes part in no other of the operator, whatever is left."""
    before, after = contract(returning(LOCAL, 3)), contract(returning(LOCAL, 2), version=2)
    with serving(before) as first, serving(after) as second:
        first.open_round(1)
        second.open_round(1)
        assert visit(first, tmp_path) and not visit(second, tmp_path) and visit(first, tmp_path)
