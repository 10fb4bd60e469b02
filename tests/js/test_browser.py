"""The tests of `npm test`, the same ones, in a headless Chromium."""

from __future__ import annotations

import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tools.chromium import executable, page

PACKAGE = Path(__file__).parents[2] / "js"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.service,
    pytest.mark.skipif(executable() is None, reason="there is no Chromium here"),
]


class Pages(SimpleHTTPRequestHandler):
    """Serves the package, and takes what the page found."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # noqa: RUF012

    def do_POST(self) -> None:
        server: Any = self.server
        server.told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(204)
        self.end_headers()
        server.done.set()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def test_npm_test_in_a_browser() -> None:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(PACKAGE)))
    server.done, server.told = threading.Event(), {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with page(f"http://127.0.0.1:{server.server_address[1]}/test/browser.html"):
            assert server.done.wait(240), "the page did not finish"
    finally:
        server.shutdown()
        server.server_close()
    given = server.told
    assert len(given["results"]) >= 40
    assert {name: error for name, error in given["results"].items() if error} == {}
    assert all(time < 1 for time in given["times"].values()) and len(given["times"]) == 2
    print(given["agent"], given["times"])
