"""A service as a device sees it: a web server of a few lines whose answers a test decides."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from confide.mdp import Policy
from confide.service.contract import Contract, Head, SignedHead, Ticket
from confide.service.contract.answers import OUTCOMES, PROBLEM, PROBLEM_TYPE
from confide.service.contract.encoding import to_base64
from tests.service.contract.example import PRIVATE

Answer = tuple[int, str, bytes]
REASONS = {409: "contract", 410: "ended", 413: "length", 422: "report", 429: "rate", 503: "busy"}


def problem(made: Contract, status: int, reason: str, **changes: Any) -> Answer:
    """A refusal as a service writes it, or with something else in it."""
    named = "f" * 64 if reason == "contract" else made.digest.hex()
    document = {"type": PROBLEM + reason, "title": "", "status": status, "detail": "", "contract": named, **changes}
    return status, PROBLEM_TYPE, json.dumps(document).encode()


class Fake:
    """What is served: bytes by path; and what was sent, and how it is answered: by a status as the service does, or otherwise."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.pages: dict[str, bytes] = {"/v1/contract": contract.data}
        self.sent: list[bytes] = []
        self.answers: list[int | Answer] = []
        self.ticket_round: int | None = None
        self.drip = 0.0
        self.status = 200
        self.headers: dict[str, str] = {}
        self.url = ""
        self.cut = False
        self.heads: list[SignedHead] = []

    def answer(self, given: int | Answer) -> Answer:
        """What a service says with a status."""
        if isinstance(given, tuple):
            return given
        if given in (200, 201):
            return given, "application/json", json.dumps({"outcome": OUTCOMES[given == 200]}).encode()
        return problem(self.contract, given, REASONS.get(given, ""))

    def ticket(self, number: int) -> Answer:
        """A place in a batch whose people follow a round."""
        ticket = Ticket(self.contract.digest, 1, 0, number)
        return 201, "application/json", json.dumps({"ticket": to_base64(ticket.to_bytes())}).encode()

    def open_round(self, number: int, action: int = 1, private: bytes = PRIVATE, **changes: Any) -> SignedHead:
        """Publish a round whose policy always takes one action."""
        spec = self.contract.design.question.spec
        policy = Policy.deterministic(np.full((spec.horizon, spec.states), action), spec.actions)
        previous = self.heads[-1].digest if self.heads else "0" * 64
        options = {
            "contract": self.contract.digest.hex(),
            "round": number,
            "policy": policy.digest,
            "previous": previous,
            "release": None,
            "people": 0,
            "ended": False,
            **changes,
        }
        signed = SignedHead.signed(Head(**options), private)
        self.heads.append(signed)
        self.pages["/v1/rounds/current"] = self.pages[f"/v1/rounds/{number}"] = signed.to_json()
        self.pages[f"/v1/policies/{policy.digest}"] = policy.to_bytes()
        return signed


@contextlib.contextmanager
def serving(contract: Contract) -> Iterator[Fake]:
    fake = Fake(contract)

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status = fake.status if self.path in fake.pages or fake.status != 200 else 404
            self._answer(status, "text/plain", fake.pages.get(self.path, b""))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/tickets" and fake.ticket_round is not None:
                self._answer(*fake.ticket(fake.ticket_round))
                return
            fake.sent.append(body)
            self._answer(*fake.answer(fake.answers.pop(0) if fake.answers else 201))

        def _answer(self, status: int, media_type: str, body: bytes) -> None:
            if fake.cut and status == 200:  # guarantee more than is sent
                self.send_response(status)
                self.send_header("Content-Length", str(len(body) + 10))
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = True
                return
            if status == 0:  # cut the line
                self.close_connection = True
                self.connection.close()
                return
            if fake.drip:
                self._drip(status, body)
                return
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            for name, value in fake.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _drip(self, status: int, body: bytes) -> None:
            """The answer, one byte at a time."""
            self.close_connection = True
            for byte in b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body:
                self.wfile.write(bytes((byte,)))
                time.sleep(fake.drip)

        def log_message(self, *given: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    server.handle_error = lambda *given: None
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
