"""Documents from memory: the same answer as from the store, for whole and plain requests only."""

from __future__ import annotations

import http.client
import socket

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from confide.service.http.connections import protocol
from confide.service.http.documents import DocumentCache
from confide.service.http.origins import AnyOrigin
from confide.service.http.problems import Refused
from tests.service.collector.services import listening

TAG = "ab" * 32
PATH = f"/v1/policies/{TAG}"
PLAIN = f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def kept(documents: DocumentCache | None = None) -> DocumentCache:
    documents = documents or DocumentCache()
    documents.keep(PATH, b"policy", "application/octet-stream", TAG)
    return documents


def test_a_whole_plain_request_is_answered_from_memory() -> None:
    documents = kept()
    line, rest = documents.answer(PLAIN) or (b"", b"")
    assert line == b"HTTP/1.1 200 OK\r\n" and rest.endswith(b"content-length: 6\r\n\r\npolicy")
    assert b"immutable" in rest and b"access-control-allow-origin: *" in rest
    for known in (f'"{TAG}"', f'W/"{TAG}"', f'"other", "{TAG}"'):
        asked = PLAIN[:-2] + f"If-None-Match: {known}\r\n\r\n".encode()
        line, rest = documents.answer(asked) or (b"", b"")
        assert line.startswith(b"HTTP/1.1 304") and rest.endswith(b"\r\n\r\n") and b"policy" not in rest
    line, _ = documents.answer(PLAIN[:-2] + b'If-None-Match: "other"\r\nX: 1\r\n\r\n') or (b"", b"")
    assert line.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"",
        PLAIN[:-1],
        PLAIN + b"GET",
        PLAIN + PLAIN,
        PLAIN.replace(b"GET", b"POST"),
        PLAIN.replace(b"GET", b"HEAD"),
        PLAIN.replace(b"1.1", b"1.0"),
        PLAIN.replace(TAG.encode(), b"cd" * 32),
        PLAIN.replace(b"Host: x\r\n", b""),
        PLAIN.replace(b"Host: x", b"Host: x\r\nContent-Length: 5"),
        PLAIN.replace(b"Host: x", b"Host: x\nContent-Length: 5"),
        PLAIN.replace(b"Host: x", b"Host: x\r\nTransfer-Encoding: chunked"),
        PLAIN.replace(b"Host: x", b"Host: x\r\n folded"),
        PLAIN.replace(b"Host: x", b"Host: x\r\nConnection: close"),
        PLAIN.replace(b"Host: x", b"Host: x\r\nUpgrade: h2c"),
        PLAIN.replace(b"Host: x", b"Host: x\r\nRange: bytes=0-1"),
    ],
)
def test_any_other_request_is_read_as_any_other(request_bytes: bytes) -> None:
    assert kept().answer(request_bytes) is None


def test_no_more_is_kept_than_it_may() -> None:
    documents = DocumentCache(most_bytes=2000)
    for number in range(10):
        documents.keep(f"/v1/policies/{number}", bytes(300), "application/octet-stream", str(number))
    ask = "GET /v1/policies/{} HTTP/1.1\r\nHost: x\r\n\r\n".format
    there = [number for number in range(10) if documents.answer(ask(number).encode()) is not None]
    assert there == list(range(10 - len(there), 10)) and 1 <= len(there) < 5
    documents.keep("/v1/policies/large", bytes(1500), "application/octet-stream", "large")
    assert documents.answer(ask("large").encode()) is None


def test_memory_and_application_answer_alike() -> None:
    documents = DocumentCache()
    asked: list[str] = []

    async def policy(request: Request) -> Response:
        asked.append(request.method)
        return documents.response(request, b"policy", "application/octet-stream")

    def refused(error: Refused) -> Response:
        return Response(status_code=error.status)

    app = Starlette(routes=[Route(PATH, policy)], middleware=[Middleware(AnyOrigin)])
    with listening(app, protocol(refused, documents=documents)) as url:
        host, port = url.removeprefix("http://").split(":")
        line = http.client.HTTPConnection(host, int(port), timeout=10)
        answers = []
        for headers in ({}, {}, {"If-None-Match": f'"{TAG}"'}, {"Connection": "keep-alive"}):
            line.request("GET", PATH, headers=headers)
            response = line.getresponse()
            answers.append(
                (response.status, response.read(), sorted(name.lower() for name, _ in response.getheaders()))
            )
        assert asked == ["GET"], "only the first was read from the store"
        assert (
            answers[0] == answers[1] == answers[3]
            and answers[0][:2] == (200, b"policy")
            and answers[2][:2] == (304, b"")
        )
        line.request("HEAD", PATH)
        assert line.getresponse().read() == b"" and asked == ["GET", "HEAD"]
        with socket.create_connection(
            (host, int(port)), timeout=5
        ) as raw:  # in two parts: the web server puts it together
            raw.sendall(PLAIN[:20])
            raw.sendall(PLAIN[20:])
            assert raw.recv(4096).startswith(b"HTTP/1.1 200")
        line.close()
