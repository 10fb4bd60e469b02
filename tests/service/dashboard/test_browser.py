"""Both pages in a real Chromium: played by clicks, watched live, cut off, lied to, small, keyboard, screen reader, print."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide import cli
from confide.lab.environments import make
from confide.lab.staging import visit
from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.privacy import Guarantee, Local, Schedule
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.service.collector.founding import make_service
from confide.service.contract import tokens
from confide.service.dashboard.pages import PAUSE
from tests.service.collector.services import running, wait_for
from tools.chromium import Browser, Page, executable

from .between import Between

pytestmark = [
    pytest.mark.browser,
    pytest.mark.service,
    pytest.mark.skipif(executable() is None, reason="there is no Chromium here"),
]

HORIZON, PEOPLE, ROUNDS = 6, 400, 4
ROOT = Path(__file__).parents[3]
AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = [(1280, False), (375, True), (375, False), (1280, True)]
LABELS = {"states": ["bank", "middle", "spring"], "actions": ["drift", "swim"]}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # noqa: RUF012

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def new_service(path: Path, mechanism: str = "unary") -> Process:
    schedule = Schedule.batches(PEOPLE, ROUNDS)
    words = {"name": "tea", "operator": "Tea Ltd", "mechanism": mechanism}
    folder = make_service(path, Spec(3, 2, HORIZON), Local(2.0), PEOPLE, schedule=schedule, labels=LABELS, **words)
    return Process(folder.path, options=["--demo-page"]).start()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One in its second round."""
    process = new_service(tmp_path_factory.mktemp("service") / "tea")
    assert visit(process.url, "riverswim/3", 120).as_json()["counted"] == 120
    yield process
    process.stop()


@pytest.fixture(scope="module")
def one_browser() -> Iterator[Browser]:
    with Browser() as instance:
        yield instance


@pytest.fixture
def browser(one_browser: Browser) -> Iterator[Browser]:
    """The same for many tests; its tabs are closed after each."""
    yield one_browser
    one_browser.close_pages()


@pytest.fixture
def fresh() -> Iterator[Browser]:
    """A browser that has never been anywhere: that of another user."""
    with Browser() as instance:
        yield instance


@pytest.fixture
def between(service: Process) -> Iterator[Between]:
    instance = Between(int(service.url.rpartition(":")[2]))
    yield instance
    instance.close()


def counted(url: str) -> int:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        match = re.search(r"^confide_reports_counted_total (\S+)", answer.read().decode(), flags=re.MULTILINE)
    assert match
    return int(float(match[1]))


def standing(url: str) -> int:
    """How many people are counted; asked after a pause, since for a moment all users get the same."""
    time.sleep(2 * PAUSE)
    with urllib.request.urlopen(f"{url}/dashboard/standing.json", timeout=10) as answer:
        return int(json.load(answer)["people"])


def play(page: Page) -> str:
    """A visit by clicks; the bytes that wait to be sent."""
    for stroke in range(HORIZON):
        page.until(f"document.querySelector('#clock').textContent === 'Stroke {stroke + 1} of {HORIZON}'")
        page.click("#swim" if stroke % 3 else "#drift")
    page.until("!document.querySelector('#letter').hidden")
    return str(page.run("document.querySelector('#bytes').dataset.hex"))


def test_a_person_plays_sends_and_is_counted_once(service: Process, fresh: Browser) -> None:
    before = counted(service.url)
    board = fresh.open(f"{service.url}/")
    board.until("document.querySelector('#live').dataset.state === 'live'")
    people = int(board.text("#people").replace(",", ""))
    page = fresh.open(f"{service.url}/demo")
    sent = play(page)
    assert [verb for verb, _ in page.requests if verb != "GET"] == [] and counted(service.url) == before
    assert (
        page.text("#bytes").replace(" ", "").replace("\n", "") == sent and len(bytes.fromhex(sent)) == 56 + 42 + 5
    )  # 37 bits
    assert "7.39 times" in page.text("#bound") and "drift" in page.text("#fact") + page.text("#truth") + page.text(
        "main"
    )
    assert page.run("document.querySelectorAll('#lives .bar').length") == 4
    page.click("#send")
    page.until("document.querySelector('#sent').textContent.includes('Counted')")
    page.until(f"document.querySelector('#count').textContent.replace(',', '') === '{people + 1}'")
    board.show()
    assert [path for verb, path in page.requests if verb == "POST"] == [f"{service.url}/v1/reports"]
    board.until(f"document.querySelector('#people').textContent.replace(',', '') === '{people + 1}'")
    assert counted(service.url) == before + 1 and standing(service.url) == people + 1
    page.show()
    page.go(f"{service.url}/demo")
    page.click("#follow")
    page.until("document.querySelector('#nothing').textContent.includes('has sent a report before')")
    assert counted(service.url) == before + 1
    assert page.errors == board.errors == []


def test_a_report_with_a_token_is_explained_without_it(tmp_path: Path, fresh: Browser) -> None:
    words = f"service new {tmp_path / 'tea'} --states 3 --actions 2 --horizon {HORIZON} --trust local --epsilon 4 --people 50"
    assert cli.run(words.split()) == 0
    process = Process(tmp_path / "tea", options=["--demo-page"]).start()
    try:
        page = fresh.open(f"{process.url}/demo", width=390, dark=True)
        sent = bytes.fromhex(play(page))
        report = sent[56 : -tokens.TOKEN_BYTES]
        assert page.text("#bytes mark").replace(" ", "") == report[42:].hex()
        assert "54.6 times" in page.text("#bound") and "a token" in page.text("#parts")
        assert page.run("document.querySelectorAll('#lives .bar').length") == 4 and page.errors == []
        page.go(f"{process.url}/")
        page.until("document.querySelector('#schedule').childElementCount > 30")
        assert page.run(
            "document.querySelector('#schedule').scrollWidth <= document.querySelector('#schedule').clientWidth"
        )
    finally:
        process.stop()


def test_a_hundred_people_play(service: Process, browser: Browser) -> None:
    before = counted(service.url)
    page = browser.open(f"{service.url}/demo")
    page.until("!document.querySelector('#swim').disabled")
    page.click("#crowd")
    page.until("document.querySelector('#crowd-result').textContent", 120)
    assert page.text("#crowd-result") == "100 of 100 were counted."
    assert counted(service.url) == before + 100 and page.errors == []


def test_killed_between_draw_and_acknowledgement_the_same_bytes_count_once(tmp_path: Path, fresh: Browser) -> None:
    """The report is counted, its answer lost; collector and page are gone; both come back, and the same bytes are sent."""
    process = new_service(tmp_path / "tea")
    port = int(process.url.rpartition(":")[2])
    between = Between(port)
    try:
        page = fresh.open(f"{between.url}/demo")
        sent = play(page)
        between.mode = "swallow"
        page.click("#send")
        page.until("document.querySelector('#sent').textContent.includes('sent again by themselves')")
        process.kill()
        page.go("about:blank")
        assert between.answers[0] == 201
        process = Process(tmp_path / "tea", port, options=["--demo-page"]).start()
        between.mode = "pass"
        page.go(f"{between.url}/demo")
        page.until("!document.querySelector('#letter').hidden")
        assert page.run("document.querySelector('#bytes').dataset.hex") == sent
        page.click("#send")
        page.until("document.querySelector('#sent').textContent.includes('Counted')")
        assert len(between.letters) >= 2 and {letter.hex() for letter in between.letters} == {sent}
        assert between.answers[0] == 201 and set(between.answers[1:]) == {200}
        assert standing(process.url) == 1
    finally:
        between.close()
        process.stop()


WINDOW = 3.0
TIMES = {"deadline": WINDOW, "publication": 0.1, "patience": 2.0}
NOTES = (
    "window.sent = []; const ask = fetch; const hex = (bytes) => Array.from(bytes, one => one.toString(16).padStart(2, '0'));"
    "fetch = (url, init) => { if (init?.method === 'POST') sent.push([url, hex(init.body).join('')]); return ask(url, init); }"
)
"""Notes what a page posts."""


@contextmanager
def ticketed(path: Path, promise: Guarantee, **batches: Any) -> Iterator[Process]:
    """A service whose devices take tickets, with all its processes."""
    words = {"name": "tea", "operator": "Tea Ltd", "labels": LABELS, "window": WINDOW, "between": TIMES}
    make_service(path, Spec(3, 2, HORIZON), promise, 64, **words, **batches)
    options, started = ["--demo-page"], list[Process]()
    try:
        if promise.trust == SHUFFLE:
            started.append(Process(path, command="shuffle").start())
            options += ["--shuffler", started[0].url]
        started.append(Process(path, options=options).start())
        yield started[-1]
    finally:
        for process in reversed(started):
            process.stop()


def take_part(browser: Browser, url: str, width: int = 1280) -> tuple[Page, str]:
    """Take a ticket, swim until the report has left; the page, and the bytes."""
    page = browser.open(f"{url}/dashboard/icon.svg", width=width)
    page.send("Page.addScriptToEvaluateOnNewDocument", source=NOTES)
    page.go(f"{url}/demo")
    page.click("#start")
    page.click("#swim")
    page.until("document.querySelector('#sent').textContent.includes('has it')", 60)
    return page, str(page.run("document.querySelector('#bytes').dataset.hex"))


def test_under_trust_joint_a_visit_is_handed_to_the_curator_and_counts_once(tmp_path: Path, fresh: Browser) -> None:
    """Two tickets fill a batch. The curator is killed in between: the next one gets the same bytes."""
    with ticketed(tmp_path / "tea", Guarantee(JOINT, 1.0, 1e-6), schedule=Schedule.batches(64, 32)) as process:
        page, sent = take_part(fresh, process.url)
        posted = page.run("sent")
        assert [url.rpartition("/")[2] for url, _ in posted] == ["tickets", "episodes"] and posted[1][1] == sent
        assert not any(url.startswith(process.url) for url, _ in posted)  # they go to the curator
        sealing = 16 + 32 + 16  # when it is opened, half of a key, and what shows that nothing was changed
        assert len(bytes.fromhex(sent)) == 64 + sealing + 16 + 16 * HORIZON
        assert "sealed so that only the curator can read them" in page.text("#bytes-note")
        assert re.search(
            "bank: swim|Nothing yet", page.text("#fact")
        )  # its moment may have come before the first stroke
        assert "Tea Ltd, is trusted with it" in page.text("#truth") and "2.72 times" in page.text("#bound")
        page.until("document.querySelector('#departure').textContent.includes('1 ticket is issued')")
        check_view(page, 1280)
        curators = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        for curator in curators:
            os.kill(int(curator), signal.SIGKILL)
        page.until("sent.length > 2 && document.querySelector('#sent').textContent.includes('has it')", 60)
        again = fresh.open(f"{process.url}/demo", width=375, dark=True)  # the same person
        again.click("#start")
        again.click("#follow")
        again.until("document.querySelector('#nothing').textContent.includes('has sent a report before')")
        check_view(again, 375)
        assert visit(process.url, "riverswim/3", 1).as_json()["counted"] == 1  # another user fills the batch
        page.show()
        page.until("document.querySelector('#sent').textContent.includes('Its batch is closed')", 60)
        assert {body for url, body in page.run("sent") if url.endswith("/v1/episodes")} == {sent}
        assert sum(url.endswith("/v1/tickets") for url, _ in page.run("sent")) == 1
        board = fresh.open(f"{process.url}/")
        board.until("document.querySelector('#people').textContent === '2'", 60)
        board.click("#verify")
        board.until("document.querySelector('#verify-result.ok')")
        assert board.errors == again.errors == []


def test_under_trust_shuffle_a_randomised_report_goes_to_the_shuffler(tmp_path: Path, fresh: Browser) -> None:
    promise = Guarantee(SHUFFLE, 6.0, 1e-6)
    with ticketed(tmp_path / "tea", promise, batch=16, mechanism="shuffled-bits") as process:
        page, sent = take_part(fresh, process.url, 375)
        assert [url.rpartition("/")[2] for url, _ in page.run("sent")] == ["tickets", "reports"]
        assert "after each was flipped with a chance of" in page.text("#fact")
        assert "403.43 times" in page.text("#bound") and "forgets every report" in page.text("#bound")
        assert page.run("document.querySelectorAll('#lives .bar').length") == 3
        check_view(page, 375)
        assert visit(process.url, "riverswim/3", 19).as_json()["counted"] == 19
        page.until("document.querySelector('#sent').textContent.includes('Its batch is closed')", 60)
        assert [body for url, body in page.run("sent") if url.endswith("/v1/reports")] == [sent]
        page.until("document.querySelector('#count').textContent === '20'", 60)
        assert [text for text in page.errors if "favicon" not in text] == []


def test_a_collector_that_is_away_gets_the_report_when_it_is_back(tmp_path: Path, fresh: Browser) -> None:
    """Killed after the draw, before anything was sent: the page sends by itself once a user answers. It is asked about a pair."""
    process = new_service(tmp_path / "tea", "asked-k-ary")
    port = int(process.url.rpartition(":")[2])
    try:
        page = fresh.open(f"{process.url}/demo")
        sent = play(page)
        given = r"“What comes of (drift|swim) at (bank|middle|spring): (the first time, it|I was never)"
        assert re.match(given, page.text("#fact")) and "one of 6 other facts" in page.text("#truth")
        assert "7.39 times" in page.text("#bound")
        process.kill()
        page.click("#send")
        page.until("document.querySelector('#sent').textContent.includes('sent again by themselves')")
        process = Process(tmp_path / "tea", port, options=["--demo-page"]).start()
        page.until("document.querySelector('#sent').textContent.includes('Counted')", 90)
        assert page.run("document.querySelector('#bytes').dataset.hex") == sent
        assert standing(process.url) == 1
    finally:
        process.stop()


def test_a_policy_with_another_hash_is_refused_in_a_sentence(between: Between, fresh: Browser) -> None:
    between.mode = "forge"
    page = fresh.open(f"{between.url}/demo")
    page.until("!document.querySelector('#alert').hidden")
    assert page.text("#alert") == "The service sent a policy that is not the one it signed; it is not followed."
    assert between.letters == []


def test_a_page_that_is_not_secure_says_so(service: Process, browser: Browser) -> None:
    """As on plain http elsewhere: there is no `crypto.subtle`."""
    page = browser.open(f"{service.url}/dashboard/icon.svg")
    hide = "Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })"
    page.send("Page.addScriptToEvaluateOnNewDocument", source=hide)
    page.go(f"{service.url}/demo")
    page.until("!document.querySelector('#alert').hidden")
    assert "neither on https nor on this computer" in page.text("#alert")
    page.go(f"{service.url}/")
    page.click("#verify")
    page.until("document.querySelector('#verify-result.wrong')")
    assert "neither on https nor on this computer" in page.text("#verify-result")


def test_the_dashboard_tells_everything(service: Process, browser: Browser) -> None:
    page = browser.open(f"{service.url}/")
    page.until("document.querySelectorAll('#policy-picture td').length")
    page.until("document.querySelector('#certificate-body li')", 90)
    assert "the operator of this service" in page.text("h1") and page.text("#odds-value") == "88.1 %"
    assert page.text("#name") == "tea" and "Tea Ltd" in page.text("#footer")
    assert page.run("document.querySelectorAll('#policy-picture td').length") == 3 * HORIZON
    words = set(page.run("[...document.querySelectorAll('#policy-picture td')].map(cell => cell.title.split(' ')[0])"))
    assert words <= {"drift", "swim"} and "spring" in page.text("#policy-picture")
    assert page.run("document.querySelectorAll('#return-chart circle').length") >= 1
    assert "with 95 % confidence" in page.text("#return-note") and "exceed" in page.text("#sure-note")
    shown = int(page.text("#policy-note").split(",")[0].removeprefix("Round "))
    page.click("#policy-back")
    page.until(f"document.querySelector('#policy-note').textContent.startsWith('Round {shown - 1},')")
    page.click("#verify")
    page.until("document.querySelector('#verify-result.ok')")
    assert "every signature, policy and release is the signed one" in page.text("#verify-result")
    link = page.run("document.querySelector('#release-rows a[download=release-1]').href")
    with urllib.request.urlopen(link, timeout=10) as answer:
        assert len(answer.read()) > 100
    assert page.errors == []
    assert {re.sub(r"^(https?://[^/]+).*", r"\1", url) for _, url in page.requests} == {service.url}


def test_a_chain_that_does_not_hold_is_seen(between: Between, browser: Browser) -> None:
    between.mode = "forge-release"
    page = browser.open(f"{between.url}/")
    page.click("#verify")
    page.until("document.querySelector('#verify-result.wrong')")
    assert page.text("#verify-result") == "This does not hold: The release of round 1 is not the signed one."


def test_the_first_paint_does_not_wait_for_data(between: Between, browser: Browser) -> None:
    between.mode = "stall"
    page = browser.open(f"{between.url}/")
    page.until("performance.getEntriesByName('first-contentful-paint').length")
    assert page.text("#people") == "–" and page.text("h1")
    assert page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime") < 3000


def check_view(page: Page, width: int) -> None:
    """It fits, also with all details open, and axe-core finds nothing."""
    assert page.run("document.documentElement.scrollWidth") <= width
    page.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.run("document.documentElement.scrollWidth") <= width
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm ci in js/")
    page.run(AXE.read_text(encoding="utf-8") + ";0")
    given = page.run("axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations))")
    assert {(one["id"], one["nodes"][0]["html"][:80]) for one in json.loads(given)} == set()


@pytest.mark.parametrize(("width", "dark"), VIEWS)
@pytest.mark.parametrize("path", ["/", "/demo"])
def test_it_fits_and_nothing_serious_is_found(
    service: Process, browser: Browser, path: str, width: int, dark: bool
) -> None:
    page = browser.open(f"{service.url}{path}", width=width, height=800, dark=dark)
    page.until("document.querySelector('#policy-picture td, #swim:enabled, #again')")
    check_view(page, width)


def test_everything_can_be_reached_by_keyboard(service: Process, browser: Browser) -> None:
    page = browser.open(f"{service.url}/demo")
    page.until("!document.querySelector('#swim').disabled")
    page.key("ArrowRight")
    page.until(f"document.querySelector('#clock').textContent === 'Stroke 2 of {HORIZON}'")
    page = browser.open(f"{service.url}/")
    page.until("document.querySelectorAll('#policy-picture td').length")
    reached = []
    for _ in range(40):
        page.key("Tab")
        reached.append(
            page.run("document.activeElement.id || document.activeElement.className || document.activeElement.tagName")
        )
        if reached[-1] == "verify":
            break
    assert reached[0] == "skip" and reached[-1] == "verify", reached
    page.key("Enter")
    page.until("document.querySelector('#verify-result.ok')")


def test_it_prints(service: Process, browser: Browser, tmp_path: Path) -> None:
    page = browser.open(f"{service.url}/")
    page.until("document.querySelectorAll('#policy-picture td').length")
    page.print(tmp_path / "dashboard.pdf")
    data = (tmp_path / "dashboard.pdf").read_bytes()
    assert data.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type /Page\b", data)) <= 8


def test_sigterm_with_an_open_dashboard(tmp_path: Path, browser: Browser) -> None:
    process = new_service(tmp_path / "tea")
    page = browser.open(f"{process.url}/")
    page.until("document.querySelector('#live').dataset.state === 'live'")
    assert process.stop() < 3
    page.until("document.querySelector('#live').dataset.state === 'lost'")
    assert page.text("#live-text") == "reconnecting"


def test_the_tutorials_page_works_on_another_origin(tmp_path: Path, fresh: Browser) -> None:
    """The ten lines as they stand in the tutorial, with the address and the pin filled in."""
    labels = {"states": ["thirsty", "cold", "tired"], "actions": ["green", "black"]}
    when = Schedule.batches(100, 5)  # by default the first report ends a round
    folder = make_service(tmp_path / "tea", Spec(3, 2, HORIZON), Local(2.0), 100, labels=labels, schedule=when)
    match = re.search(
        r"```html\n(.*?)```", (ROOT / "docs" / "service" / "web.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert match
    with running(folder) as service:
        text = match[1].replace("SERVICE", service.url).replace("PIN", service.contract.pin)
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "index.html").write_text(f"<!doctype html><title>Tea</title>{text}", encoding="utf-8")
        shutil.copytree(ROOT / "js" / "dist", tmp_path / "site" / "confide-device")
        site = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "site")))
        threading.Thread(target=site.serve_forever, daemon=True).start()
        try:
            page = fresh.open(f"http://127.0.0.1:{site.server_address[1]}/index.html")
            assert page.until("document.querySelector('#advice').textContent") in labels["actions"]
            assert service.collector.store.tally().people == 0
            page.click("#yes")
            wait_for(lambda: service.collector.store.tally().people == 1)
            assert [text for text in page.errors if "favicon" not in text] == []
        finally:
            site.shutdown()
            site.server_close()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here")
def test_the_river_is_the_world_of_that_name() -> None:
    script = (
        "import { moves, pay } from '{}'; const told = [];"
        "for (const places of [2, 3, 6]) for (let place = 0; place < places; place++) for (const action of [0, 1])"
        " told.push([places, place, action, moves(places, place, action), pay(places, place, action)]);"
        "console.log(JSON.stringify(told));"
    )
    game = ROOT / "confide" / "service" / "dashboard" / "static" / "game.js"
    words = ["node", "--input-type=module", "-e", script.replace("{}", game.as_uri(), 1)]
    document = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert len(document) == 22
    for places, place, action, chances, pays in document:
        model = make(f"riverswim/{places}", 6).model
        assert model is not None
        row = np.zeros(places)
        for where, chance in chances:
            row[where] += chance
        assert np.allclose(row, model.transitions[0, place, action]) and pays == model.rewards[0, place, action]
