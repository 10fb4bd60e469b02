"""A user between a page and its collector, who passes on, keeps back, cuts off or forges, and notes what was sent."""

from __future__ import annotations

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SKIPPED = {"transfer-encoding", "connection", "content-length", "date", "server"}


class Between:
    """A server of its own address before another. mode: `pass`, `swallow` (answers to submissions are lost), `forge`, `stall`."""

    def __init__(self, port: int) -> None:
        self.port, self.mode = port, "pass"
        self.letters: list[bytes] = []
        self.answers: list[int] = []
        self._server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.between = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def asked(self, verb: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, list[Any], bytes]:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            line.request(verb, path, body or None, headers)
            answer = line.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            line.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        between: Between = self.server.between  # type: ignore[attr-defined]
        if self.path == "/dashboard/events":
            return self._answer(503, [], b"")
        if between.mode == "stall" and (self.path.startswith("/v1") or self.path.endswith(".json")):
            time.sleep(3)
        try:
            status, headers, body = between.asked("GET", self.path, {}, b"")
        except OSError:
            self.close_connection = True
            return None
        if between.mode == "forge" and self.path.startswith("/v1/policies/"):
            body = body[:-1] + bytes([body[-1] ^ 1])
        if between.mode == "forge-release" and self.path.startswith("/v1/releases/"):
            body = body[:-1] + bytes([body[-1] ^ 1])
        return self._answer(status, headers, body)

    def do_POST(self) -> None:
        between: Between = self.server.between  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        between.letters.append(body)
        try:
            status, headers, answered_headers = between.asked(
                "POST", self.path, {"content-type": self.headers["content-type"]}, body
            )
        except OSError:
            self.close_connection = True
            return None
        between.answers.append(status)
        if between.mode == "swallow":
            self.close_connection = True
            return None
        return self._answer(status, headers, answered_headers)

    def _answer(self, status: int, headers: list[Any], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in SKIPPED:
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""
