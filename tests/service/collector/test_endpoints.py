"""What a collector answers: the right status, one problem+json sentence, a counter moved, and nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import time
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from confide.lab.staging import check_url
from confide.mdp import Policy
from confide.protocol.releases import release_bytes
from confide.service.collector.app import routes
from confide.service.contract import SignedHead
from confide.service.contract.uploads import MEDIA_TYPE
from confide.service.http.problems import STATUSES
from tests.service.contract.example import contract, design, letter

from .services import Service, folder_of, running, wait_for

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One that is not ended by any test that uses it."""
    made = contract(design(people=10_000, rounds=2))
    with running(folder_of(tmp_path_factory.mktemp("tea"), made)) as instance:
        yield instance


def refusals(service: Service, reason: str) -> float:
    page = service.get("/metrics")[1].decode()
    match = re.search(rf'confide_refused_total{{reason="{reason}"}} (\S+)', page)
    assert match
    return float(match[1])


def check_refused(service: Service, reason: str, *request: object, **headers: str) -> None:
    """The status of the reason, its problem, its counter; and the store is as it was."""
    before, where = refusals(service, reason), service.collector.store.tally()
    status, answered_headers, body = service.raw(*request, **headers)  # type: ignore[arg-type]
    assert status == STATUSES[reason] and answered_headers["content-type"] == "application/problem+json"
    problem = json.loads(body)
    assert set(problem) == {"type", "title", "status", "code", "detail", "contract"} and problem["status"] == status
    assert problem["contract"] == service.contract.digest.hex()
    assert problem["detail"].endswith(".") and "Traceback" not in problem["detail"]
    assert refusals(service, reason) == before + 1
    assert service.collector.store.tally() == where
    assert ("retry-after" in answered_headers) == (status in (429, 503))


def test_a_report_is_counted_once(service: Service) -> None:
    people = service.collector.store.tally().people
    body = letter(service.contract, 1, bucket=3)
    assert [service.send(body) for _ in range(3)] == [201, 200, 200]
    assert service.collector.store.tally().people == people + 1


def test_bad_letters(service: Service) -> None:
    good = letter(service.contract, 2)
    other = contract(design(people=10_000, rounds=2), name="coffee")
    post, kind = ("POST", "/v1/reports"), {"Content_Type": MEDIA_TYPE}
    check_refused(service, "garbage", *post, b"garbage", **kind)
    check_refused(service, "garbage", *post, b"", **kind)
    check_refused(service, "garbage", *post, good[:30], **kind)
    check_refused(service, "report", *post, good[:-1], **kind)
    check_refused(service, "report", *post, good[:-4] + b"\xff\xff\xff\xff", **kind)
    question = bytearray(good)
    question[56 + 20] ^= 1
    check_refused(service, "report", *post, bytes(question), **kind)
    check_refused(service, "contract", *post, letter(other, 2), **kind)
    check_refused(service, "round", *post, letter(service.contract, 2, followed=2), **kind)
    check_refused(service, "round", *post, letter(service.contract, 2, followed=0), **kind)
    check_refused(service, "type", *post, good, Content_Type="application/json")
    check_refused(service, "type", *post, good)
    check_refused(service, "length", *post, good + b"\x00", **kind)
    assert service.send(good) == 201


def test_bits_that_are_no_bits(tmp_path) -> None:
    with running(folder_of(tmp_path, contract(design(mechanism="unary", people=100)))) as bits:
        width = bits.contract.design.question.width
        assert width % 8
        body = letter(bits.contract, 1)
        check_refused(bits, "report", "POST", "/v1/reports", body[:-1] + b"\xff", Content_Type=MEDIA_TYPE)
        assert bits.send(body) == 201


def test_too_long_is_refused_before_it_is_read(service: Service) -> None:
    """Ten megabytes are announced and never sent; the answer comes all the same."""
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as line:
        head = f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: 10000000\r\n\r\n"
        line.sendall(head.encode())
        assert b"413" in line.recv(100)
    with socket.create_connection((host, int(port)), timeout=5) as line:
        head = (
            f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        line.sendall(head.encode() + b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
        assert b"413" in line.recv(100)


def test_other_addresses_and_verbs(service: Service) -> None:
    for path in (
        "/",
        "/v2/contract",
        "/v1/rounds/99",
        "/v1/rounds/-1",
        "/v1/rounds/x",
        "/v1/releases/1",
        "/v1/policies/x",
    ):
        check_refused(service, "path", "GET", path)
    check_refused(service, "path", "GET", "/v1/policies/" + "0" * 64)
    check_refused(service, "method", "POST", "/v1/contract")
    check_refused(service, "method", "GET", "/v1/reports")


def test_only_the_operator_sees_what_is_not_public(service: Service) -> None:
    token = service.collector._folder.token()
    for shown in ("", "Bearer", "Bearer ", f"Basic {token}", f"Bearer {token[:-1]}", f"Bearer {token}0", token):
        check_refused(service, "token", "GET", "/v1/operator", Authorization=shown)
    assert service.raw("GET", "/v1/operator")[1]["www-authenticate"] == "Bearer"
    status, _, body = service.raw("GET", "/v1/operator", Authorization=f"Bearer {token}")
    document = json.loads(body)
    assert status == 200 and document["people"] == document["ids"] == service.collector.store.tally().people
    assert document["database"] == "sqlite" and 10**7 < document["resident_bytes"] < 10**10


def test_what_is_no_http(service: Service) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    for garbage in (
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n bad\r\n: x\r\n\r\n",
    ):
        before = refusals(service, "http")
        with socket.create_connection((host, int(port)), timeout=5) as line:
            line.sendall(garbage)
            head, _, body = _all(line).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400") and b"application/problem+json" in head
        assert json.loads(body)["type"] == "urn:confide:problem:http" and refusals(service, "http") == before + 1


def _all(line: socket.socket) -> bytes:
    result = b""
    while part := line.recv(4096):
        result += part
    return result


def test_more_connections_than_there_is_room_for(tmp_path) -> None:
    with running(folder_of(tmp_path), connections=3) as small:
        host, port = small.url.removeprefix("http://").split(":")
        lines = [socket.create_connection((host, int(port)), timeout=5) for _ in range(3)]
        head = f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: 9\r\n\r\n"
        for line in lines:  # each has a request under way, and so keeps its place
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert line.recv(100).startswith(b"HTTP/1.1 200")
            line.sendall(head.encode())
        time.sleep(0.2)
        status, answered_headers, body = small.raw("GET", "/v1/contract")
        assert (
            status == 503
            and answered_headers["retry-after"]
            and answered_headers["content-type"] == "application/problem+json"
        )
        assert json.loads(body)["type"] == "urn:confide:problem:busy"
        for line in lines:
            line.close()
        wait_for(lambda: small.get("/v1/contract")[0] == 200)


def test_openapi_names_every_route_and_no_other(service: Service) -> None:
    status, body = service.get("/v1/openapi.json")
    document = json.loads(body)
    served = {(route.path, verb.lower()) for route in routes(service.collector) for verb in route.methods or ()}
    named = {(path, verb) for path, verbs in document["paths"].items() for verb in verbs}
    assert status == 200 and named == {pair for pair in served if pair[1] != "head"}
    (limit,) = [
        content["schema"]["maxLength"]
        for content in document["paths"]["/v1/reports"]["post"]["requestBody"]["content"].values()
    ]
    assert limit == service.collector.intake.longest


def test_public_documents(service: Service) -> None:
    assert service.get("/v1/contract")[1] == service.contract.data
    signed = SignedHead.from_json(service.get("/v1/rounds/current")[1], service.contract.key)
    policy = service.get(f"/v1/policies/{signed.head.policy}")[1]
    assert hashlib.sha256(policy).hexdigest() == signed.head.policy
    Policy.from_bytes(policy, service.contract.design.question.spec)
    assert "immutable" in service.raw("GET", f"/v1/policies/{signed.head.policy}")[1]["cache-control"]
    assert service.get("/healthz")[0] == service.get("/readyz")[0] == 200
    document = json.loads(service.get("/v1/certificate")[1])
    assert [row["epsilon"] for row in document["with_reports"]] == [4.0, 8.0, 20.0]
    assert "set-cookie" not in service.raw("GET", "/v1/contract")[1]


def everything(service: Service) -> str:
    """A hash of every row of every table, and of what is published."""
    from confide.service.collector import schema

    result = hashlib.sha256(service.collector.publisher.served)
    with service.collector.store.writing() as connection:
        for table in schema.TABLES.sorted_tables:
            for row in connection.execute(select(table).order_by(*table.primary_key.columns)):
                result.update(repr(tuple(row)).encode())
    return result.hexdigest()


WORDS = st.one_of(
    st.text("abc019%/?#.-é\x00", max_size=12), st.sampled_from(["1", "0", "2", "-1", "9" * 30, "0" * 64, "current"])
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    verb=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "X"]),
    place=st.integers(0, 10**6),
    word=WORDS,
    query=st.sampled_from(["", "?", "?a=1", "?number=1&x[]=\u00e9"]),
    body=st.one_of(st.binary(max_size=300), st.integers(0, 9).map(lambda bucket: bucket)),
    kind=st.sampled_from([MEDIA_TYPE, "text/plain", "", "application/json; charset=x"]),
    token=st.sampled_from(["", "Bearer x", "Bearer", "Basic eA=="]),
)
def test_no_request_breaks_it(
    service: Service, verb: str, place: int, word: str, query: str, body: bytes | int, kind: str, token: str
) -> None:
    """Every route and others, by any verb, with anything in it: no 5xx, no traceback; and unless it was a submission that counted,
    nothing is different. A number stands for a submission with one byte changed."""
    paths = ["/{word}", *(route.path for route in routes(service.collector))]
    path, before = paths[place % len(paths)], everything(service)
    if isinstance(body, int):
        raw = bytearray(letter(service.contract, 10**6 + body))
        raw[(7 * body + len(word)) % len(raw)] ^= 1 + body
        body = bytes(raw)
    where = quote(re.sub(r"{\w+}", lambda _: word, path), safe="/%?#") + quote(query, safe="?=&[]")
    status, answered_headers, answer = service.raw(verb, where or "/", body, Content_Type=kind, Authorization=token)
    assert status < 500 and b"Traceback" not in answer
    if status >= 400 and verb != "HEAD":
        assert answered_headers["content-type"] == "application/problem+json" and json.loads(answer)["status"] == status
    if status != 201:
        assert everything(service) == before


def test_too_many_at_once(tmp_path) -> None:
    with running(folder_of(tmp_path), rate=2.0) as slow:
        answers = [slow.raw("POST", "/v1/reports", b"", Content_Type="x")[0] for _ in range(6)]
        assert answers[:2] == [415, 415] and 429 in answers[2:]
        assert slow.get("/v1/contract")[0] == 200


def test_rounds_close_and_the_service_ends(tmp_path) -> None:
    """30 people in 3 rounds: releases about exactly those, a chain anyone can check, and 410 afterwards."""
    with running(folder_of(tmp_path)) as service:
        for number in range(30):
            followed = service.collector.current
            assert service.send(letter(service.contract, number, number % 7, followed)) == 201
        service.until_round(4)
        checks = check_url(service.url)
        assert (checks["heads"], checks["people"], checks["ended"]) == (4, 30, True)
        for number, people in ((1, 10), (2, 20), (3, 30)):
            assert release_bytes.from_bytes(service.get(f"/v1/releases/{number}")[1]).users == people
        check_refused(service, "ended", "POST", "/v1/reports", letter(service.contract, 99), Content_Type=MEDIA_TYPE)
        check_refused(service, "ended", "POST", "/v1/reports", letter(service.contract, 3), Content_Type=MEDIA_TYPE)


def test_one_hostile_report_moves_no_cell_by_more_than_an_honest_one(tmp_path) -> None:
    """Every submission that is accepted changes the sum by at most what the design's range and reach allow."""
    from confide.protocol.releases.report import limits

    made = contract(design(people=1000, mechanism="laplace"))
    with running(folder_of(tmp_path, made)) as service:
        low, high = limits(made.design)
        start, code = letter(made, 1)[: 56 + 42 - 5], letter(made, 1)[56 + 42 - 5]
        kind = {2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8"}[code]  # one for all reports of the contract
        width = made.design.question.width
        for place, (value, expected) in enumerate([(high, 201), (high + 1, 422), (low, 201), (low - 1, 422)]):
            body = bytearray(start + bytes([code]) + bytes(4) + value.astype(kind).tobytes())
            body[4] = 100 + place
            assert len(value) == width and service.send(bytes(body)) == expected
        state = service.collector.store
        assert state.tally().people == 2
        with state.writing() as connection:
            totals = state._totals(connection, state.tally())
        assert np.array_equal(totals[1].cells[0], low + high)
