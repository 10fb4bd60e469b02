"""A service as a device sees it: a web server of a few lines whose answers a test decides."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from confide.contracts import Contract, Head, SignedHead
from confide.mdp import Policy
from tests.contracts.example import PRIVATE


class Fake:
    """What is served: bytes by path; and what was sent, and how it is answered."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.pages: dict[str, bytes] = {"/v1/contract": contract.data}
        self.sent: list[bytes] = []
        self.answers: list[int] = []
        self.headers: dict[str, str] = {}
        self.url = ""
        self.cut = False
        self.heads: list[SignedHead] = []

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
            self._answer(200 if self.path in fake.pages else 404, fake.pages.get(self.path, b""))

        def do_POST(self) -> None:
            fake.sent.append(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(fake.answers.pop(0) if fake.answers else 201, b"{}")

        def _answer(self, status: int, body: bytes) -> None:
            if fake.cut and status == 200:  # promise more than is sent
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
            self.send_response(status)
            for name, value in fake.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

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
