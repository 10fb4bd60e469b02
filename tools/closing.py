"""How many episodes arrive of pages that are closed in the middle: real ones, in a real Chromium.

python -m tools.closing --trust shuffle --pages 200 --stay 30 starts a service with the default window, opens pages that stay that
long, each of another user (an origin of its own), closes them, waits until their batch is closed, and prints as JSON how many
people are in it. A page takes its last step just before it is closed, and sends nothing by itself: its time lies minutes ahead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.protocol.releases import Sum, release_bytes
from confide.service.collector.founding import WINDOW, make_service
from confide.service.contract import Contract, SignedClosing
from confide.service.contract.folder import Folder
from confide.service.device.transport import Transport, Unreachable
from confide.service.intermediary.held import spool_of
from tools.chromium import Browser
from tools.crowd import free_port

SPEC = Spec(3, 2, 2)
DIST = Path(__file__).parents[1] / "js" / "dist"
PAGE = """<!doctype html><title>waiting</title><script type="module">
import {{ Device }} from "/confide-device.js";
const events = [];
const device = await Device.join("{url}", {{ pin: "{pin}", onevent: ({{ message }}) => events.push(message) }});
const episode = await device.begin();
const step = (state) => (episode.act(state), episode.observe(1, state + 1));
step(0);
setTimeout(() => (step(1), (document.title = device.refusal ?? events[0] ?? "lived")), {stay} * 980);
</script>"""
VERBS = {JOINT: ("curate", "--curator"), SHUFFLE: ("shuffle", "--shuffler")}


def made(trust: str, path: Path, pages: int, window: float) -> Folder:
    """A service whose first batch has as many tickets as there are pages, and which four in five of them would close."""
    times = {"deadline": window, "publication": 0.5, "patience": 1.0}
    if trust == JOINT:
        weak = Guarantee(JOINT, 1e6, 1e-6)  # its noise rounds away: counts are exact
        schedule = Schedule.batches(4 * pages, 4)
        return make_service(
            path, SPEC, weak, 4 * pages, name="closing", schedule=schedule, window=window, between=times
        )
    between = {**times, "tickets": pages}
    how: dict[str, Any] = {"mechanism": "shuffled-bits", "batch": 4 * pages // 5, "window": window, "between": between}
    return make_service(path, SPEC, Guarantee(trust, 4.0, 1e-3), 4 * pages, name="closing", **how)


class Pages(BaseHTTPRequestHandler):
    """The page and what it loads."""

    page = b""

    def do_GET(self) -> None:
        """The page, or a piece of the package."""
        piece = DIST / self.path.strip("/")
        body = piece.read_bytes() if piece.suffix == ".js" and piece.parent == DIST else self.page
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if piece.suffix == ".js" else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def arrived(contract: Contract, line: Transport, seconds: float) -> int:
    """How many people are in the first batch, once it is closed."""
    until = time.monotonic() + seconds
    place = "releases" if contract.design.trust == JOINT else "sums"
    while time.monotonic() < until:
        try:
            closing, body = line.get("/v1/closings/1"), line.get(f"/v1/{place}/1")
        except Unreachable:
            continue
        if closing.status == body.status == 200:
            if contract.design.trust == JOINT:
                return round(float(release_bytes.from_bytes(body.body).counts.transitions[..., 0, :, 1].sum()))
            assert contract.intermediary is not None
            signed = SignedClosing.from_json(closing.body, contract.intermediary.key)
            return min(signed.closing.people, Sum.from_bytes(body.body, contract.design).users)
        time.sleep(0.5)
    return 0


def visits(url: str, contract: Contract, pages: int, stay: float, at_once: int) -> list[str]:
    """Opens and closes the pages; what each said of itself when it was closed."""
    handler = type("Own", (Pages,), {"page": PAGE.format(url=url, pin=contract.pin, stay=stay).encode()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    said: list[str] = []

    def visit(browser: Browser, number: int) -> None:
        page = browser.open(f"http://p{number}.localhost:{server.server_port}/")
        said.append(page.until("document.title !== 'waiting' && document.title", stay + 120))
        page.close()

    try:
        with Browser() as browser, ThreadPoolExecutor(at_once) as pool:
            list(pool.map(partial(visit, browser), range(pages)))
            time.sleep(2)  # the browser goes on sending what was handed to it
    finally:
        server.shutdown()
        server.server_close()
    return said


def measured(trust: str, pages: int, stay: float, window: float = WINDOW, at_once: int = 25) -> dict[str, Any]:
    """One service, and its pages."""
    began = time.monotonic()
    verb, option = VERBS[trust]
    with tempfile.TemporaryDirectory(prefix="confide-closing-") as name:
        folder = made(trust, Path(name) / "service", pages, window)
        contract = folder.contract()
        between = Process(folder.path, free_port(), log=Path(name) / "between.log", command=verb)
        collector = Process(folder.path, free_port(), options=(option, between.url), log=Path(name) / "collector.log")
        try:
            between.start(180)
            collector.start(180)
            said = visits(collector.url, contract, pages, stay, at_once)
            people = arrived(contract, Transport(between.url, 10.0), window + 120)
        finally:
            collector.stop()
            between.stop()
            about = contract.intermediary
            spool = None if about is None else spool_of(folder.path, contract.digest, about.role)
            if spool is not None:
                shutil.rmtree(spool, ignore_errors=True)
    row = {"trust": trust, "pages": pages, "stay": stay, "window": window, "lived": said.count("lived")}
    return {**row, "arrived": people, "share": round(people / pages, 4), "seconds": round(time.monotonic() - began)}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tools.closing", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trust", choices=sorted(VERBS), default=JOINT)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--stay", type=float, default=30.0, help="seconds that a page is open")
    parser.add_argument("--window", type=float, default=WINDOW)
    parser.add_argument("--at-once", type=int, default=25)
    row = measured(**vars(parser.parse_args()))
    print(json.dumps(row))
    sys.exit(0 if row["share"] >= 0.95 else 1)


if __name__ == "__main__":
    main()
