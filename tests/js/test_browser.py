"""The tests of `npm test`, the same ones, in a headless Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PACKAGE = Path(__file__).parents[2] / "js"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.service,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
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


def test_npm_test_in_a_browser(tmp_path: Path) -> None:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(PACKAGE)))
    server.done, server.told = threading.Event(), {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = f"http://127.0.0.1:{server.server_address[1]}/test/browser.html"
    assert CHROMIUM is not None
    words = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path}", "--remote-debugging-port=0", page]
    browser = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert server.done.wait(240), "the page did not finish"
    finally:
        browser.terminate()
        browser.wait(30)
        server.shutdown()
        server.server_close()
    told = server.told
    assert len(told["results"]) >= 40
    assert {name: error for name, error in told["results"].items() if error} == {}
    assert all(time < 1 for time in told["times"].values()) and len(told["times"]) == 3
    print(told["agent"], told["times"])
