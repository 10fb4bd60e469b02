"""The judge of shufflers and curators sees what it is there to see; and a small version of what it judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.service.contract.sealed import upload
from confide.service.intermediary import BatchManager
from confide.service.intermediary.curator import EpisodeBatches
from confide.service.intermediary.folder import RoleFolder
from confide.service.intermediary.shuffler import ReportBatches
from tools import chaos_batches
from tools.chaos import Row
from tools.chaos_batches import HALF, SIZE, TIMES, Holders, Reader, judge, made, message, rehearse
from tools.postgres import new_database

from .offices import SetClock, confirm, tickets

ROLES = {"joint": ("curator", EpisodeBatches), "shuffle": ("shuffler", ReportBatches)}


@pytest.mark.parametrize("trust", ["joint", "shuffle"])
def test_the_judge_sees_what_is_lost_double_and_changed(tmp_path: Path, trust: str) -> None:
    """Of twenty ticket holders 18 hand in their own cell, one that of cell 4 once more, one nothing although answered."""
    folder, clock = made(trust, tmp_path / "service"), SetClock()
    contract, (role, hold) = folder.contract(), ROLES[trust]
    office = BatchManager(RoleFolder(folder.path, role), hold(contract.design), None, clock)
    office.begin()
    confirm(office, private=folder.key(contract))
    for cell, ticket in enumerate(tickets(office, SIZE)):
        if cell != 7:
            body = upload(office.about, ticket.to_bytes(), message(contract, 4 if cell == 11 else cell))
            office.take(*office.read(body))
    clock.now += TIMES["deadline"] + TIMES["patience"] + TIMES["publication"]
    assert office.step()
    office.store.close_connections()
    holders, reader = Holders(contract, "http://127.0.0.1:1"), Reader("http://127.0.0.1:1", "sums")
    holders.sent |= set(range(SIZE))
    holders.acknowledged |= set(range(SIZE)) - {11}
    reader.seen["/v1/closings/1"] = "another"
    row = Row("judged", trust, "sqlite")
    judge(row, holders, reader, folder, None)
    assert (row.lost, row.double, row.changed, row.misfits, row.rounds) == (1, 1, 1, 0, 1)
    assert not row.good


def test_the_judge_sees_a_batch_that_is_not_as_scheduled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A curator that leaves absentees out has fewer people than its schedule."""
    folder, clock = made("joint", tmp_path / "service"), SetClock()
    contract = folder.contract()
    office = BatchManager(RoleFolder(folder.path, "curator"), EpisodeBatches(contract.design), None, clock)
    office.begin()
    confirm(office, private=folder.key(contract))
    tickets(office, SIZE)
    clock.now += TIMES["deadline"] + TIMES["patience"]
    assert office.step()
    office.store.close_connections()
    real = chaos_batches._counted

    def fewer(*given):  # type: ignore[no-untyped-def]
        cells, people = real(*given)
        return cells, people - 1

    monkeypatch.setattr(chaos_batches, "_counted", fewer)
    row = Row("judged", "joint", "sqlite")
    judge(row, Holders(contract, "http://127.0.0.1:1"), Reader("http://127.0.0.1:1", "releases"), folder, None)
    assert row.misfits == 1 and not row.good


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.parametrize("trust", ["joint", "shuffle"])
def test_killed(tmp_path: Path, trust: str) -> None:
    row = rehearse(Row("small", trust, "sqlite"), 2, tmp_path, None, 1)
    assert row.good and row.kills == 2 and row.acknowledged >= 2 * SIZE, row


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.postgres
@pytest.mark.parametrize("trust", ["joint", "shuffle"])
def test_two_that_race_are_killed(tmp_path: Path, trust: str, postgres: str) -> None:
    row = rehearse(Row("small", trust, "postgres"), 2, tmp_path, new_database(postgres), 2)
    assert row.good and row.kills == 2 and row.acknowledged >= 2 * SIZE, row


@pytest.mark.slow
@pytest.mark.service
def test_half_are_absent_and_it_is_killed(tmp_path: Path) -> None:
    row = rehearse(Row("small", "shuffle", "sqlite"), 2, tmp_path, None, 1, HALF)
    assert row.good and row.kills == 2 and row.tickets > 1.5, row
