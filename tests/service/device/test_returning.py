"""People who come again, under local trust: as many reports as the contract prices, and not one more."""

from __future__ import annotations

from pathlib import Path

from confide.privacy.guarantee import LOCAL
from confide.service.contract.periods import Periods, SignedPeriod
from confide.service.contract.uploads import Upload
from confide.service.device import Device, FileStore, Transport
from tests.service.contract.example import PRIVATE, contract
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


def renewed(fake: Fake, folder: Path, clock: list[float]) -> bool:
    """Whether a visit is reported, in a process whose clock is set."""
    device = Device(
        Transport(fake.url), fake.contract, store=FileStore(folder), background=False, clock=lambda: clock[0]
    )
    device.refresh()
    episode = device.begin()
    episode.finish()
    device.flush()
    return episode.reports


def test_a_guarantee_is_renewed_when_service_and_device_say_so(tmp_path: Path) -> None:
    """Twice an hour: by the earlier of the two clocks, and by none that went back."""
    made = contract(returning(LOCAL, 2), period=Periods(3600))
    with serving(made) as fake:
        fake.open_round(1)
        clock = [7.5 * 3600]

        def visits(own: float, signed: int | None) -> list[bool]:
            clock[0] = own * 3600
            if signed is not None:
                fake.pages["/v1/period"] = SignedPeriod.signed(made.digest, signed, PRIVATE).to_json()
            return [renewed(fake, tmp_path, clock) for _ in range(3)]

        assert visits(7.5, 7) == [True, True, False]
        assert visits(7.9, 1000) == [False] * 3, "the service's clock was put forward"
        assert visits(8.1, None) == [True, True, False], "what was signed is believed up to this device's clock"
        assert visits(7.1, None) == [False] * 3, "a clock that went back"
        assert visits(6.1, None) == [False] * 3, "and to a period in which there was no visit"
        fake.pages["/v1/period"] = SignedPeriod.signed(made.digest, 2000, bytes(32)).to_json()
        store = FileStore(tmp_path)
        assert store.read()["services"][fake.url]["period"]["number"] == 1000
        assert visits(1001.5, None) == [True, True, False] and visits(1002.5, None) == [False] * 3, "by another key"
        assert len(fake.sent) == len(set(fake.sent)) == 6


def test_a_period_that_cannot_be_asked_for_is_one_that_was_signed_before(tmp_path: Path) -> None:
    made = contract(returning(LOCAL, 1), period=Periods(3600))
    with serving(made) as fake:
        fake.open_round(1)
        fake.pages["/v1/period"] = SignedPeriod.signed(made.digest, 7, PRIVATE).to_json()
        assert renewed(fake, tmp_path, [7.5 * 3600])
        del fake.pages["/v1/period"]
        assert not renewed(fake, tmp_path, [8.5 * 3600])
