"""Limits of connections: silent, slow and greedy clients are cut off or refused, and all others are served meanwhile."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from confide.service.http import connections
from confide.service.http.application import read_body
from confide.service.http.connections import protocol
from confide.service.http.problems import Refused
from tests.service.collector.services import listening

GREEDY, OTHER = "127.0.0.2", "127.0.0.3"
ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Reasons(list[str]):
    """What was refused, in order."""

    def answer(self, error: Refused) -> Response:
        self.append(error.reason)
        problem = {"type": f"urn:confide:problem:{error.reason}", "status": error.status}
        headers = {} if error.wait is None else {"Retry-After": str(error.wait)}
        return Response(json.dumps(problem), error.status, headers, "application/problem+json")


async def hello(request: Request) -> Response:
    return PlainTextResponse("hello")


async def take(request: Request) -> Response:
    return PlainTextResponse(str(len(await read_body(request, 1000))))


async def much(request: Request) -> Response:
    return PlainTextResponse(bytes(1 << 26))


APP = Starlette(routes=[Route("/", hello), Route("/take", take, methods=["POST"]), Route("/much", much)])


@contextlib.contextmanager
def served(**limits: Any) -> Iterator[tuple[str, int, Reasons]]:
    reasons = Reasons()
    with listening(APP, protocol(reasons.answer, **limits)) as url:
        host, port = url.removeprefix("http://").split(":")
        yield host, int(port), reasons


def connected(port: int, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(source, 0))


def answer_to(port: int, source: str, sent: bytes = ASK) -> bytes:
    with connected(port, source) as line:
        line.sendall(sent)
        return line.recv(4096)


@pytest.fixture
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < 4096:
        pytest.skip("this system does not let a process open 4,096 files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 4096), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_1010_silent_connections_of_one_client_take_nothing_from_another(many_files: None) -> None:
    with served() as (_, port, reasons), contextlib.ExitStack() as held:
        for _ in range(1010):
            with contextlib.suppress(OSError):
                held.enter_context(connected(port, GREEDY))
        for _ in range(20):
            assert answer_to(port, OTHER).startswith(b"HTTP/1.1 200")
        assert not reasons
        with contextlib.suppress(ConnectionError):  # refused, or cut at once
            assert answer_to(port, GREEDY)[:12] in (b"HTTP/1.1 429", b"")


def test_silent_connections_of_many_clients_make_room(many_files: None) -> None:
    with served() as (_, port, reasons), contextlib.ExitStack() as held:
        for number in range(1010):
            held.enter_context(connected(port, f"127.0.1.{1 + number % 8}"))
        for _ in range(20):
            assert answer_to(port, OTHER).startswith(b"HTTP/1.1 200")
        assert not reasons


def test_a_client_with_too_many_is_told_and_welcome_when_it_has_fewer() -> None:
    with served(most_of_one=3) as (_, port, reasons):
        lines = [connected(port, GREEDY) for _ in range(3)]
        for line in lines:
            line.sendall(ASK)
            assert line.recv(1000).startswith(b"HTTP/1.1 200")
        refusal = answer_to(port, GREEDY)
        assert refusal.startswith(b"HTTP/1.1 429") and b"retry-after" in refusal and reasons == ["rate"]
        assert answer_to(port, OTHER).startswith(b"HTTP/1.1 200")
        for line in lines:
            line.close()
        until = time.monotonic() + 5
        while not answer_to(port, GREEDY).startswith(b"HTTP/1.1 200"):
            assert time.monotonic() < until


@pytest.mark.parametrize("proxy", ["127.0.0.2", "127.0.0.0/30", "proxy.example, 127.0.0.2", "*"])
def test_a_proxy_brings_many(proxy: str) -> None:
    with served(most_of_one=1, proxy=proxy) as (_, port, reasons), contextlib.ExitStack() as held:
        for _ in range(5):
            line = held.enter_context(connected(port, GREEDY))
            line.sendall(ASK)
            assert line.recv(1000).startswith(b"HTTP/1.1 200")
        assert not reasons


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        b"POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n",
        ASK + b"POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nab",
    ],
)
def test_a_request_that_dribbles_ends_in_time(begun: bytes) -> None:
    with served(receipt=0.6) as (_, port, reasons), connected(port, GREEDY) as line:
        line.sendall(begun)
        line.settimeout(0.1)
        heard, began = b"", time.monotonic()
        while time.monotonic() - began < 5:
            with contextlib.suppress(OSError):
                if begun:
                    line.sendall(b"a")
            try:
                part = line.recv(4096)
            except TimeoutError:
                continue
            except ConnectionError:
                break
            if not part:
                break
            heard += part
        assert time.monotonic() - began < 3 and reasons == ["slow"]
        assert b"HTTP/1.1 408" in heard and (b"HTTP/1.1 200" in heard) == begun.startswith(ASK)
        assert answer_to(port, GREEDY).startswith(b"HTTP/1.1 200")


def test_who_reads_nothing_of_an_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALL", 0.3)
    with served() as (_, port, _), connected(port, GREEDY) as line:
        line.sendall(b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(1.0)
        with pytest.raises(ConnectionError):
            read = 1
            while read:
                read = len(line.recv(1 << 20))
            raise ConnectionError  # the end of the stream before that of the answer
