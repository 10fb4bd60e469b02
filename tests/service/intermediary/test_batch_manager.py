"""Who is in a batch, when it closes, and exactly once: each sentence of the rules, for a curator and for a shuffler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide.errors import FormatError
from confide.protocol.releases import Sum, release_bytes
from confide.service.contract import Contract, Ticket
from confide.service.intermediary.batch_manager import CLOSED, JOINED, LATE, SOON, TAKEN
from confide.service.intermediary.store import NotYet, Superseded

from .offices import (
    DEADLINE,
    PATIENCE,
    PUBLICATION,
    SetClock,
    confirm,
    contract_of,
    episode,
    hand_over,
    joint_design,
    message,
    office_of,
    published,
    shuffle_design,
    tickets,
)

BATCH = 40


@pytest.fixture(scope="module")
def joint() -> Contract:
    return contract_of(joint_design())


@pytest.fixture(scope="module")
def shuffled() -> Contract:
    return contract_of(shuffle_design(BATCH))


@pytest.fixture(params=["joint", "shuffled"])
def made(request: pytest.FixtureRequest) -> Contract:
    instance: Contract = request.getfixturevalue(request.param)
    return instance


def test_a_ticket_fixes_the_batch_and_the_next_person_gets_the_next_one(tmp_path: Path, made: Contract) -> None:
    office = office_of(tmp_path, made, SetClock())
    size = made.tickets(1)
    issued = tickets(office, size + 1)
    assert [ticket.batch for ticket in issued] == [1] * size + [2]
    assert [ticket.place for ticket in issued] == [*range(size), 0]
    assert all(ticket.valid(office.keys.tickets) for ticket in issued)
    assert size == (5 if made.design.mixing is None else BATCH * 5 // 4)


def test_a_forged_ticket_is_refused(tmp_path: Path, joint: Contract) -> None:
    office = office_of(tmp_path, joint, SetClock())
    (ticket,) = tickets(office, 1)
    other = Ticket(ticket.contract, 2, 0, 1, ticket.mac)
    with pytest.raises(FormatError, match="not issued here"):
        hand_over(office, other, episode(1))
    assert hand_over(office, ticket, episode(1)) == TAKEN


def test_a_batch_closes_at_its_deadline_and_never_before(tmp_path: Path, made: Contract) -> None:
    clock = SetClock()
    office = office_of(tmp_path, made, clock)
    for number, ticket in enumerate(tickets(office, made.tickets(1))):
        assert hand_over(office, ticket, episode(number)) == TAKEN
    assert not office.step() and office.status(1).deadline == clock.now + DEADLINE
    clock.now += DEADLINE - 0.001
    assert not office.step()  # complete, and never early because of that
    clock.now += 0.001
    assert hand_over(office, ticket, episode(0)) == SOON
    assert office.step() and office.public_closing(1) is None
    clock.now += PUBLICATION - 0.001
    assert office.public_closing(1) is None
    clock.now += 0.001
    signed = office.public_closing(1)
    assert office.public_body(1) is None  # before the collector has stored its closing
    confirm(office)
    assert office.public_body(1) is not None
    assert (signed.closing.batch, signed.closing.epoch, signed.closing.people) == (1, 1, made.tickets(1))
    assert hand_over(office, ticket, episode(0)) == CLOSED


def test_a_curator_closes_batches_in_their_order_though_a_clock_was_put_back(tmp_path: Path, joint: Contract) -> None:
    """Users who come again are priced by how many batches lie between theirs, as the counter counts them."""
    clock = SetClock()
    office = office_of(tmp_path, joint, clock)
    tickets(office, joint.tickets(1))
    clock.now -= 0.6 * DEADLINE
    tickets(office, joint.tickets(2))
    clock.now += DEADLINE
    assert not office.step()  # the second is due, and waits
    clock.now += 0.6 * DEADLINE + PUBLICATION
    assert office.step() and office.step()
    closings = [office.public_closing(number) for number in (1, 2)]
    assert [one and one.closing.batch for one in closings] == [1, 2]


def test_a_batch_is_closed_once_though_a_ticket_was_issued_meanwhile(
    tmp_path: Path, made: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that issues tickets reads which batches are full; a batch may be closed before that is noted."""
    clock = SetClock()
    office = office_of(tmp_path, made, clock)
    for number, ticket in enumerate(tickets(office, made.tickets(1))):
        hand_over(office, ticket, episode(number))
    before = office.store.open_batches()
    clock.now += DEADLINE
    assert [batch.number for batch in before] == [1] and office.step()
    monkeypatch.setattr(office.store, "open_batches", lambda: before)
    office.look()
    assert not office.step() and int(office.store.newest().number) == 1


def test_the_same_parcel_counts_once(tmp_path: Path, shuffled: Contract) -> None:
    clock = SetClock()
    office = office_of(tmp_path, shuffled, clock)
    for ticket in tickets(office, shuffled.tickets(1)):
        for _ in range(3):
            assert hand_over(office, ticket, episode(7)) == TAKEN
    clock.now += DEADLINE + PUBLICATION
    assert office.step()
    _, body = published(office, 1)
    assert Sum.from_bytes(body, shuffled.design).users == shuffled.tickets(1)


def test_absentees_and_garbage_count_as_empty_episodes(tmp_path: Path, joint: Contract) -> None:
    """Users follow from tickets: one of five came, one sent garbage, three did not come."""
    clock = SetClock()
    office = office_of(tmp_path, joint, clock)
    first, second, *_ = tickets(office, 5)
    hand_over(office, first, episode(1))
    with pytest.raises(FormatError):
        office.take(second, b"garbage" * 20)
    held = office.open_batches._sums[1].copy()
    clock.now += DEADLINE + PUBLICATION
    assert office.step()
    _, body = published(office, 1)
    release = release_bytes.from_bytes(body)
    assert release.users == 5 and release.guarantee == joint.design.guarantee
    assert held.sum() > 0 and 1 not in office.open_batches._sums


def test_a_batch_to_which_too_few_came_is_joined_to_the_next_and_others_go_on(
    tmp_path: Path, shuffled: Contract, caplog: pytest.LogCaptureFixture
) -> None:
    """39 of the 40 that the guarantee counts on: the sum is not given out; the batch behind it is; the next tickets, a quarter of
    those it had, are for it; it closes a deadline after the last of these, with who came late and who came new."""
    clock = SetClock()
    office = office_of(tmp_path, shuffled, clock)
    size = shuffled.tickets(1)
    issued = tickets(office, 2 * size)
    for number, ticket in enumerate([*issued[: BATCH - 1], *issued[size:]]):
        hand_over(office, ticket, episode(number))
    clock.now += DEADLINE + PUBLICATION
    assert office.step() and not office.step()
    assert office.public_closing(1).closing.batch == 2
    assert office.status(1).deadline is None and office.store.joined() == (1, 0)
    assert [record.getMessage() for record in caplog.records] == ["batch waits for more people"]
    assert hand_over(office, issued[BATCH], episode(1)) == TAKEN  # late, and its batch is not closed
    clock.now += DEADLINE
    assert not office.step()  # the batch has enough, and its time is that of its last ticket
    more = round(JOINED * size)
    later = tickets(office, more + 1)
    assert [(ticket.batch, ticket.place) for ticket in later] == [*((1, size + one) for one in range(more)), (3, 0)]
    assert office.status(1) == (1, size + more, clock.now + DEADLINE, None, 1)
    assert hand_over(office, later[more - 1], episode(2)) == TAKEN
    assert hand_over(office, later[more - 1], episode(2)) == TAKEN  # and counts once
    clock.now += DEADLINE + PUBLICATION
    assert office.step() and office.store.joined() == (0, more)
    signed, body = published(office, 2)
    assert signed.closing.batch == 1 and signed.closing.people == size + BATCH + 1
    assert Sum.from_bytes(body, shuffled.design).users == BATCH + 1
    assert office.status(1).issued == size + more


def test_a_joined_batch_goes_on_after_a_restart(tmp_path: Path, shuffled: Contract) -> None:
    """The tickets that it is given are stored: a new process takes up where the old one stood, and people send again."""
    clock = SetClock()
    office = office_of(tmp_path, shuffled, clock)
    issued = tickets(office, shuffled.tickets(1))[: BATCH - 2]
    clock.now += DEADLINE
    assert not office.step()
    issued += tickets(office, 1)
    again = office_of(tmp_path, shuffled, clock)
    assert again.store.joined() == (1, 1) and not again.step()
    issued += tickets(again, round(JOINED * shuffled.tickets(1)) - 1)
    assert issued[-1].batch == 1 and len({ticket.place for ticket in issued}) == len(issued)
    for number, ticket in enumerate(issued):
        assert hand_over(again, ticket, episode(number)) == TAKEN
    clock.now += DEADLINE + PUBLICATION
    assert again.step() and Sum.from_bytes(published(again, 1)[1], shuffled.design).users == len(issued)


def test_with_half_of_the_holders_absent_batches_close(tmp_path: Path) -> None:
    """At most 2.5 tickets a needed report, over the batches of a service; a coin decides who comes."""
    size, many = 400, 10
    made, clock, luck = contract_of(shuffle_design(size, many)), SetClock(), np.random.default_rng(5)
    office, issued = office_of(tmp_path, made, clock), 0
    report = message(made.design, episode(1))
    while office.store.newest() is None or office.store.newest().number < many:
        came = [ticket for ticket in office.issue([None] * 100) if ticket is not None]
        issued += len(came)
        for ticket in came:
            if luck.random() < 0.5:
                assert office.take(ticket, report) == TAKEN
        clock.now += DEADLINE / 4
        office.step()
    assert 2.0 < issued / (size * many) <= 2.5
    closings = [office.store.closing(number + 1) for number in range(many)]
    users = [Sum.from_bytes(bytes(closing.body), made.design).users for closing in closings]
    assert min(users) >= size and office.issue([None]) == [None]


def test_a_batch_that_cannot_be_closed_is_overdue(tmp_path: Path, made: Contract) -> None:
    clock = SetClock()
    office = office_of(tmp_path, made, clock)
    for number, ticket in enumerate(tickets(office, made.tickets(1))):
        hand_over(office, ticket, episode(number))
    clock.now += DEADLINE + LATE
    assert not office.overdue()
    clock.now += 1
    assert office.overdue()
    assert office.step() and not office.overdue()


def test_a_database_of_the_version_before_is_widened(tmp_path: Path, shuffled: Contract) -> None:
    office = office_of(tmp_path, shuffled, SetClock())
    tickets(office, 3)
    with office.store._writer.begin() as connection:
        for column in ("more", "given"):
            connection.exec_driver_sql(f"ALTER TABLE batches DROP COLUMN {column}")
        connection.exec_driver_sql("UPDATE desk SET version = 1")
    office.store.close_connections()
    again = office_of(tmp_path, shuffled, SetClock())
    assert again.status(1).issued == 3 and again.store.joined() == (0, 0)
    assert tickets(again, 1)[0].place == 3


def test_a_restart_begins_an_epoch_and_the_batch_waits_for_whoever_sends_again(tmp_path: Path, made: Contract) -> None:
    clock = SetClock()
    office = office_of(tmp_path, made, clock)
    issued = tickets(office, made.tickets(1))
    for number, ticket in enumerate(issued):
        hand_over(office, ticket, episode(number))
    clock.now += DEADLINE - 1
    again = office_of(tmp_path, made, clock)
    assert again.epoch == 2 and again.status(1).deadline == clock.now + PATIENCE
    clock.now += 1
    assert not again.step()
    for number, ticket in enumerate(issued):
        assert hand_over(again, ticket, episode(number)) == TAKEN
    clock.now += PATIENCE + PUBLICATION
    assert again.step()
    assert again.public_closing(1).closing.epoch == 2


def test_of_two_that_race_one_closes(tmp_path: Path, made: Contract) -> None:
    """The older one holds the members, the younger one the epoch: the older one commits nothing and says so."""
    clock = SetClock()
    old = office_of(tmp_path, made, clock)
    issued = tickets(old, made.tickets(1))
    young = office_of(tmp_path, made, clock)
    for number, ticket in enumerate(issued):
        hand_over(old, ticket, episode(number))
        hand_over(young, ticket, episode(number))
    clock.now += DEADLINE + PATIENCE + PUBLICATION
    with pytest.raises(Superseded):
        old.step()
    assert not old.holds and young.step()
    with pytest.raises(NotYet):
        old.issue([None])
    signed = young.public_closing(1)
    assert signed.closing.epoch == 2 and young.store.newest().number == 1


def test_members_are_the_same_whatever_one_of_them_does(tmp_path: Path, made: Contract) -> None:
    """One ticket holder's episode, duration and fate change; tickets, batches, deadlines and closings are the same."""
    size = made.tickets(1)

    def lives(name: str, fate: str) -> list[object]:
        clock = SetClock()
        office = office_of(tmp_path / name, made, clock)
        results: list[object] = []
        held: list[Ticket] = []
        for turn in range(2 * size):
            clock.now += 1
            (ticket,) = tickets(office, 1)
            results.append((ticket.batch, ticket.place, ticket.round))
            held.append(ticket)
            if turn != 3:
                hand_over(office, ticket, episode(turn))
            elif fate == "other":
                hand_over(office, ticket, episode(99, steps=1))
            elif fate == "same":
                hand_over(office, ticket, episode(3))
            if turn == size + 2 and fate == "late":
                hand_over(office, held[3], episode(3))
            office.step()
        results += [office.status(1), office.status(2)]
        clock.now += DEADLINE + PUBLICATION
        while office.step():
            pass
        for number in (1, 2):
            closing = office.public_closing(number).closing
            results.append((closing.number, closing.batch, closing.epoch, *([closing.people] if size == 5 else [])))
        return results

    first, *others = (lives(fate, fate) for fate in ("same", "other", "late", "never"))
    assert all(other == first for other in others)


def test_a_restored_older_database_is_refused(tmp_path: Path, joint: Contract) -> None:
    clock = SetClock()
    office = office_of(tmp_path, joint, clock)
    for _ in range(2):
        tickets(office, 5)
        clock.now += DEADLINE + PUBLICATION
        assert office.step()
        confirm(office)
        if not (tmp_path / "copy").exists():
            (tmp_path / "copy").write_bytes((tmp_path / "curator.db").read_bytes())
    office.store.close_connections()
    office_of(tmp_path, joint, clock).store.close_connections()
    (tmp_path / "curator.db").write_bytes((tmp_path / "copy").read_bytes())
    for name in ("curator.db-wal", "curator.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    with pytest.raises(FormatError, match="older copy"):
        office_of(tmp_path, joint, clock)


@pytest.mark.parametrize("mechanism", ["toeplitz", "tree-laplace", "tree-gaussian", "buffered-toeplitz"])
def test_a_counter_goes_on_after_a_restart_between_batches(tmp_path: Path, mechanism: str) -> None:
    """Each kind of counter: three batches, a new process for each, and releases about ever more people."""
    made, clock = contract_of(joint_design(mechanism=mechanism)), SetClock()
    users = []
    for number in (1, 2, 3):
        office = office_of(tmp_path, made, clock)
        for ticket in tickets(office, 5):
            hand_over(office, ticket, episode(ticket.place))
        clock.now += DEADLINE + PATIENCE + PUBLICATION
        assert office.step()
        users.append(release_bytes.from_bytes(published(office, number)[1]).users)
        office.store.close_connections()
    assert users == [5, 10, 15]
    assert office_of(tmp_path, made, clock).issue([None, None]) == [None, None]


def test_noise_that_was_not_committed_is_drawn_anew(
    tmp_path: Path, joint: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that fails changes nothing: the batch is held, and closed by the next attempt."""
    clock = SetClock()
    office = office_of(tmp_path, joint, clock)
    for ticket in tickets(office, 5):
        hand_over(office, ticket, episode(ticket.place))
    clock.now += DEADLINE + PUBLICATION
    bodies = []
    close = office.store.close

    def fails(*given: object) -> None:
        bodies.append(given[3])
        raise OSError("no disk")

    monkeypatch.setattr(office.store, "close", fails)
    for _ in range(2):
        with pytest.raises(OSError):
            office.step()
    assert bodies[0] != bodies[1] and office.store.newest() is None
    monkeypatch.setattr(office.store, "close", close)
    held = office.open_batches._sums[1].copy()
    assert office.step() and np.any(held)


def test_the_sum_of_a_batch_is_that_of_its_episodes(tmp_path: Path, joint: Contract) -> None:
    """What a curator holds in memory is what the aggregate would count: in the batch of the ticket, and in no other."""
    from confide.data.privatizers.curator import CuratorAggregate

    office = office_of(tmp_path, joint, SetClock())
    issued = tickets(office, 10)
    aggregate = CuratorAggregate(joint.design)
    for number in (6, 8):
        hand_over(office, issued[number], episode(number))
        aggregate.take(episode(number))
    assert list(office.open_batches._sums) == [2] and np.array_equal(office.open_batches._sums[2], aggregate._open)


def test_499_of_500_people(tmp_path: Path) -> None:
    """The release is about 500 all the same, at its time and with the guarantee of its design."""
    made, clock = contract_of(joint_design(500, 2)), SetClock()
    office = office_of(tmp_path, made, clock)
    for ticket in tickets(office, 500)[:-1]:
        assert hand_over(office, ticket, episode(ticket.place % 7)) == TAKEN
    clock.now += DEADLINE + PUBLICATION
    assert office.step()
    signed, body = published(office, 1)
    release = release_bytes.from_bytes(body)
    assert signed.closing.people == release.users == 500 and release.guarantee == made.design.guarantee
    assert tickets(office, 1)[0].batch == 2
