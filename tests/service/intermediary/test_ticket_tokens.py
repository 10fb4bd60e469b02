"""One token, one place: at once, later, after a restart, and from many threads."""

from __future__ import annotations

import contextlib
import http.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .offices import SetClock, contract_of, joint_design, office_of
from .services import serving


def test_a_token_has_one_place_whenever_it_is_shown(tmp_path: Path) -> None:
    made, clock = contract_of(joint_design(4, 2)), SetClock()
    office = office_of(tmp_path, made, clock)
    one, other, third = (bytes([number]) * 32 for number in range(3))
    first = office.issue([one, other, one])
    assert first[0] == first[2] and first[0] is not None and first[0] != first[1]
    assert office.issue([other, one]) == [first[1], first[0]], "the same places again"
    fresh = office.issue([third])[0]
    assert fresh is not None and fresh not in first
    again = office_of(tmp_path, made, clock)
    assert again.issue([one])[0] is not None
    with again.store._engine.begin() as connection:
        from sqlalchemy import func, select

        from confide.service.intermediary.schema import spent

        assert connection.execute(select(func.count()).select_from(spent)).scalar() == 3


def test_many_threads_with_one_token_take_one_place(tmp_path: Path) -> None:
    office = office_of(tmp_path, contract_of(joint_design(4, 2)), SetClock())
    with ThreadPoolExecutor(16) as pool:
        places = {ticket.to_bytes() for (ticket,) in pool.map(office.issue, [[b"x" * 32]] * 32) if ticket is not None}
    assert len(places) == 1


def test_without_tokens_one_address_takes_no_more_than_its_share(tmp_path: Path) -> None:
    made = contract_of(joint_design(100, 2))
    with serving(tmp_path, made) as pair:
        port = int(pair.url.rsplit(":", 1)[1])
        assert [asked(port, "127.0.0.2") for _ in range(25)] == 20 * [201] + 5 * [429]
        assert asked(port, "127.0.0.3") == 201, "there is room for others"
        assert pair.doors.manager.store.desk().place == 21


def asked(port: int, source: str) -> int:
    """The answer to a user at an address who asks for a ticket."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(source, 0))
    with contextlib.closing(connection):
        connection.request("POST", "/v1/tickets", b"", {"Content-Type": "application/octet-stream"})
        return connection.getresponse().status
