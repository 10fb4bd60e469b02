"""What a shuffler and a curator answer, and what they show: tickets, the schedule and what is closed, and nothing else."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import Response

from confide.service.contract import Contract, Ticket
from confide.service.contract.encoding import from_base64
from confide.service.contract.tickets import MEDIA_TYPE, parcel
from confide.service.device import Device, MemoryStore, Transport
from confide.service.intermediary.app import PUBLIC_METRICS, IntermediaryServer, routes
from tests.service.collector.services import wait_for

from .offices import contract_of, episode, joint_design, message, shuffle_design
from .services import Pair, serving

pytestmark = pytest.mark.service
BATCH = 8


def made_of(trust: str) -> Contract:
    return contract_of(joint_design(BATCH, 2) if trust == "joint" else shuffle_design(BATCH, 2))


@pytest.fixture(params=["joint", "shuffle"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with serving(tmp_path, made_of(request.param)) as instance:
        yield instance


def door(pair: Pair) -> str:
    return "/v1/episodes" if pair.doors.role == "curator" else "/v1/reports"


def take_ticket(pair: Pair) -> Ticket:
    answer = pair.line.post("/v1/tickets", b"", MEDIA_TYPE)
    assert answer.status == 201
    return Ticket.from_bytes(from_base64(json.loads(answer.body)["ticket"]))


def body_of(pair: Pair, ticket: Ticket, seed: int = 0) -> bytes:
    return parcel(ticket.to_bytes(), message(pair.doors.manager.contract.design, episode(seed)))


def names(page: bytes) -> set[str]:
    return set(re.findall(r"^([a-z_]+)(?:\{.*\})? \S+$", page.decode(), re.M))


def test_every_answer(pair: Pair) -> None:
    ticket = take_ticket(pair)
    body, line = body_of(pair, ticket), pair.line
    answer = line.post(door(pair), body, MEDIA_TYPE)
    assert answer.status == 202 and json.loads(answer.body) == {"epoch": 1}
    assert line.post(door(pair), body, MEDIA_TYPE).status == 202
    other = Ticket(bytes(32), 1, 0, 1, bytes(16)).to_bytes()
    forged = Ticket(ticket.contract, 1, 1, 1, bytes(16)).to_bytes()
    for bad, status in (
        (b"", 422),
        (parcel(forged, body[len(forged) :]), 422),
        (parcel(other, body[len(other) :]), 409),
        (body_of(pair, take_ticket(pair))[:-1], 422),
        (body + bytes(1000), 413),
    ):
        assert line.post(door(pair), bad, MEDIA_TYPE).status == status
    assert line.post(door(pair), body, "text/plain").status == 415
    assert line.get("/v1/batches/1").status == 200 and line.get("/v1/batches/2").status == 404
    assert line.get("/v1/closings/1").status == 404 and line.get("/v1/nothing").status == 404
    assert line.post("/v1/rounds", b"{}", "application/json").status == 422
    for _ in range(pair.doors.manager.contract.tickets(1) - 2):
        later = take_ticket(pair)
        line.post(door(pair), body_of(pair, later), MEDIA_TYPE)
    pair.close_batch(1)
    assert line.post(door(pair), body, MEDIA_TYPE).status == 410
    assert line.get("/v1/closings/1").status == 200


def test_routes_are_those_of_the_document(pair: Pair) -> None:
    document = json.loads(pair.line.get("/v1/openapi.json").body)["paths"]
    assert {route.path for route in routes(pair.doors)} == set(document)
    verbs: dict[str, set[str]] = {}
    for route in routes(pair.doors):
        verbs.setdefault(route.path, set()).update(route.methods - {"HEAD"})
    assert verbs == {path: {verb.upper() for verb in methods} for path, methods in document.items()}


class Chatty(IntermediaryServer):
    """The mutant: counts what it received, where every user can see it."""

    async def metrics_page(self, request) -> Response:  # type: ignore[no-untyped-def]
        page = await super().metrics_page(request)
        return Response(bytes(page.body) + b"confide_episodes_received %d\n" % self._inside["taken"])


BATCH_SHOWN = {"batch", "issued", "deadline", "closing", "epoch"}
DASHBOARD = {
    "round",
    "head",
    "ended",
    "rounds",
    "closes",
    "people",
    "users",
    "live",
    "refusals",
    "rate",
    "certified",
    "alarm",
    "period",
}
STORY = {"schema", "guarantee", "objective", "confidence", "ends", "rounds", "outlook", "demo"}
ROUND = {"round", "people", "since", "bytes", "mean_return", "error"}
LOGGED = {"batch closed", "round opened"}
"""By name, all that pages and logs may hold: tickets issued, the schedule, releases, people of closed batches."""


def pages(pair: Pair) -> bytes:
    """Everything that both show to anyone."""
    results = [pair.line.get(path).body for path in ("/metrics", "/v1/batches/1", "/readyz", "/healthz")]
    public = ("/metrics", "/v1/rounds/current", "/readyz", "/v1/intermediary", "/", "/dashboard/standing.json")
    return b"\n".join([*results, *(pair.collector.get(path)[1] for path in (*public, "/dashboard/story.json"))])


def check_names(pair: Pair, closed: int) -> None:
    """What is shown has the names of the list, and the numbers that may not be shown are not there."""
    assert names(pair.line.get("/metrics").body) == set(PUBLIC_METRICS)
    assert names(pair.collector.get("/metrics")[1]) == {"confide_round", "confide_alarm"}
    assert set(json.loads(pair.line.get("/v1/batches/1").body)) == BATCH_SHOWN
    seen = lambda: json.loads(pair.collector.get("/dashboard/standing.json")[1])  # noqa: E731
    wait_for(lambda: seen()["round"] == closed + 1)  # what is shown is looked at now and then
    given = seen()
    assert set(given) == DASHBOARD and given["refusals"] is None and given["live"] is False
    assert given["alarm"] is None  # a curator's sums are never judged; those of a shuffler are honest here
    assert given["people"] == (pair.doors.manager.contract.tickets(1) if closed else 0) and given["rate"] in (None, 0.0)
    story = json.loads(pair.collector.get("/dashboard/story.json")[1])
    assert set(story) == STORY and all(set(row) == ROUND for row in story["rounds"])
    assert len(story["rounds"]) == closed


def shows(pair: Pair, came: int, listed: bool = False) -> tuple[bytes, str]:
    """What is shown and logged when this many of the ticket holders come, and one sends garbage. listed: look at the names too."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    for name in ("confide.batches", "confide.collector", "confide.http"):
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO)
    for number in range(pair.doors.manager.contract.tickets(1)):
        ticket = take_ticket(pair)
        if number < came:
            pair.line.post(door(pair), body_of(pair, ticket, number), MEDIA_TYPE)
        elif number == came:
            pair.line.post(door(pair), b"garbage" * 9, MEDIA_TYPE)
    shown = pages(pair)
    if listed:
        check_names(pair, 0)
    pair.close_batch(1)
    for name in ("confide.batches", "confide.collector", "confide.http"):
        logging.getLogger(name).removeHandler(handler)
    return shown, log.getvalue()


def without_addresses(shown: bytes) -> bytes:
    """Without what differs between two services for any user: ports, keys, what is drawn, and whether two seconds passed."""
    drawn = rb"127\.0\.0\.1:\d+|\"head\": \"[^\"]*\"|\"signature\": \"[^\"]*\"|\"rate\": (null|0\.0)"
    return re.sub(drawn, b"", shown)


@pytest.mark.parametrize("trust", ["joint", "shuffle"])
def test_nothing_shown_depends_on_who_came(tmp_path: Path, trust: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a batch is open its pages, counters and log are the same whether 8 or 10 came; the mutant's are not."""
    results = []
    for came in (BATCH - (trust == "joint"), made_of(trust).tickets(1)):
        with serving(tmp_path / str(came), made_of(trust)) as pair:
            everybody = came == made_of(trust).tickets(1)
            results.append(shows(pair, came, everybody))
            if everybody:
                check_names(pair, 1)
    (first, first_log), (second, second_log) = results
    assert without_addresses(first) == without_addresses(second)
    assert first_log == second_log and set(first_log.splitlines()) == LOGGED
    from . import services

    monkeypatch.setattr(services, "IntermediaryServer", Chatty)
    with serving(tmp_path / "chatty", made_of(trust)) as pair:
        chatty, _ = shows(pair, BATCH)
        assert without_addresses(chatty) != without_addresses(first)
        with pytest.raises(AssertionError):
            check_names(pair, 1)


def test_a_dashboard_that_shows_what_local_ones_do_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutants: pages of trust joint that show refusals, and one that adds a count of what came."""
    from confide.service.dashboard import pages as dashboard
    from confide.service.dashboard import story

    with serving(tmp_path, made_of("joint")) as pair:
        take_ticket(pair)
        check_names(pair, 0)
        monkeypatch.setattr(story, "LIVE_TRUSTS", {"local", "joint"})
        wait_for(lambda: json.loads(pair.collector.get("/dashboard/standing.json")[1])["live"])
        with pytest.raises(AssertionError):
            check_names(pair, 0)
        monkeypatch.undo()
        plain = dashboard.standing
        monkeypatch.setattr(dashboard, "standing", lambda *given: {**plain(*given), "received": 7})
        wait_for(lambda: "received" in json.loads(pair.collector.get("/dashboard/standing.json")[1]))
        with pytest.raises(AssertionError):
            check_names(pair, 0)


def test_the_operator_sees_more_by_a_token(pair: Pair) -> None:
    pair.line.post(door(pair), body_of(pair, take_ticket(pair)), MEDIA_TYPE)
    token = pair.doors.manager.keys.token
    for shown, more in ((token, {"inside_taken"}), ("0" * 64, set())):
        import http.client

        connection = http.client.HTTPConnection(pair.url.removeprefix("http://"), timeout=10)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {shown}"})
        seen = names(connection.getresponse().read())
        assert {*PUBLIC_METRICS, *more} <= seen and (more or seen == set(PUBLIC_METRICS))
        connection.close()


def test_devices_take_a_ticket_send_at_their_time_and_send_again_in_another_epoch(pair: Pair) -> None:
    """The five calls are the same; a restarted process gets the same bytes once more; a second episode gets no ticket."""
    store = MemoryStore()
    device = Device(
        Transport(pair.collector.url), pair.collector.contract, store=store, background=False, clock=pair.clock
    )
    device.refresh()
    began = device.begin()
    assert began.reports and began.followed == 1
    action = began.act(0)
    began.observe(1.0, 1)
    assert action in (0, 1)
    memory = lambda: store.read()["services"][pair.collector.url]  # noqa: E731
    due = memory()["open"]["due"]
    assert pair.clock.now <= due <= pair.clock.now + pair.collector.contract.window
    office = pair.doors.manager
    device.flush()
    assert 1 not in office._seen or due == pair.clock.now
    pair.clock.now = due  # not finished: what happened so far is sent at the time that was drawn
    assert device.flush()
    body, epoch = memory()["letter"]["body"], memory()["letter"]["epoch"]
    assert epoch == 1 and office._seen[1][0] == 1
    began.finish()
    assert memory()["letter"]["body"] == body
    assert not device.begin().reports  # one person, once
    office.begin()  # as a restart would
    wait_for(lambda: office.confirmed)
    pair.clock.now += office.about.patience
    assert device.flush() and memory()["letter"]["epoch"] == 2 and memory()["letter"]["body"] == body
    assert office._seen[1][0] == 1
    for number in range(1, office.contract.tickets(1)):
        pair.line.post(door(pair), body_of(pair, take_ticket(pair), number), MEDIA_TYPE)
    pair.close_batch(1)
    pair.clock.now += office.about.patience
    assert device.flush() and memory()["letter"] is None and memory()["answer"] == 202


def test_no_ticket_no_report_and_nothing_spent(tmp_path: Path) -> None:
    """Where no one issues tickets a person gets the policy, and may report another time."""
    with serving(tmp_path, made_of("joint")) as pair:
        url, contract = pair.collector.url, pair.collector.contract
        store = MemoryStore()
        device = Device(Transport(url), contract, store=store, background=False, clock=pair.clock)
        device.refresh()
        pair.doors.manager.holds = False
        assert not device.begin().reports and store.read()["spent"] == []
        pair.doors.manager.holds = True
        assert device.begin().reports and len(store.read()["spent"]) == 1
