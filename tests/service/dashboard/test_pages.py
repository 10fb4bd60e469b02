"""The pages as they are served: small, from here only, live, and let go of when the collector ends."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from confide.errors import InvalidInput
from confide.lab.staging.processes import Process
from confide.mdp import Spec
from confide.service.contract.uploads import MEDIA_TYPE
from confide.service.dashboard import device_folder
from confide.service.dashboard import routes as dashboard
from confide.service.dashboard.pages import STATIC, check_game
from confide.service.http.origins import OPEN
from tests.refusals import refused
from tests.service.collector.services import Service, folder_of, running
from tests.service.contract.example import contract, design, letter
from tests.service.intermediary.offices import contract_of, joint_design

LARGEST = 150_000
"""Bytes that the dashboard loads in all."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = contract(design(people=10_000, rounds=2))
    with running(folder_of(tmp_path_factory.mktemp("tea"), made), pages=partial(dashboard, demo=True)) as instance:
        yield instance


def imported(path: Path) -> set[Path]:
    """A script and all that it imports, directly or not."""
    result, left = set(), [path]
    while left:
        one = left.pop()
        if one not in result:
            result.add(one)
            for name in re.findall(r'(?:from|import)[ (]"(\.[^"]+)"', one.read_text(encoding="utf-8")):
                inside = name.startswith("./device/")
                left.append(
                    device_folder() / name.removeprefix("./device/") if inside else (one.parent / name).resolve()
                )
    return result


def test_the_dashboard_is_small_and_loads_from_nowhere_else() -> None:
    files = {STATIC / "index.html", STATIC / "style.css", STATIC / "icon.svg", *imported(STATIC / "dashboard.js")}
    assert len(files) > 8 and sum(path.stat().st_size for path in files) < LARGEST
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < LARGEST
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text and not re.search(r"\son\w+=", text) and "style=" not in text, path


def test_no_game_where_it_cannot_be_played() -> None:
    check_game(contract())
    with refused("demo-page-sizes", match="2 actions"):
        check_game(contract(design(spec=Spec(3, 3, 4))))
    check_game(contract_of(joint_design()))
    with pytest.raises(InvalidInput, match="2 to 40 horizon"):
        check_game(contract(design(spec=Spec(3, 2, 41))))


@pytest.mark.service
def test_pages_and_what_they_load(service: Service) -> None:
    for path in ("/", "/demo", "/dashboard/style.css", "/dashboard/dashboard.js", "/dashboard/device/src/wire.js"):
        status, headers, body = service.raw("GET", path)
        assert status == 200 and "default-src 'none'" in headers["content-security-policy"], path
        assert "set-cookie" not in headers and len(gzip.compress(body)) > 50
        assert service.raw("GET", path, If_None_Match=headers["etag"])[0] == 304
    for path in ("/dashboard/", "/dashboard/../pages.py", "/dashboard/%2e%2e/pages.py", "/dashboard/pages.py"):
        assert service.raw("GET", path)[0] == 404
    assert service.raw("POST", "/", b"")[0] == 405


@pytest.mark.service
def test_without_the_game_there_is_no_page_for_it(tmp_path: Path) -> None:
    with running(folder_of(tmp_path), pages=dashboard) as plain:
        assert plain.get("/")[0] == 200 and plain.get("/demo")[0] == 404
        assert json.loads(plain.get("/dashboard/story.json")[1])["demo"] is False


def events(service: Service) -> Iterator[dict[str, object]]:
    """What the stream says, as it arrives."""
    line = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=20)
    line.request("GET", "/dashboard/events")
    answer = line.getresponse()
    assert answer.status == 200 and answer.getheader("content-type", "").startswith("text/event-stream")
    try:
        for raw in answer:
            if raw.startswith(b"data: "):
                yield json.loads(raw[6:])
    finally:
        line.close()


@pytest.mark.service
def test_a_report_moves_the_count_by_one_while_somebody_watches(service: Service) -> None:
    stream = events(service)
    before = next(stream)
    assert service.send(letter(service.contract, 7)) == 201
    after = next(one for one in stream if one["people"] != before["people"])
    assert after["people"] == before["people"] + 1 and after["live"] is True  # type: ignore[operator]
    assert service.raw("POST", "/v1/reports", b"x", Content_Type=MEDIA_TYPE)[0] == 422
    assert next(one for one in stream if one["refusals"]["garbage"] == 1)  # type: ignore[index]
    stream.close()


@pytest.mark.service
def test_pages_of_other_origins_may_use_what_is_public_and_nothing_else(service: Service) -> None:
    origin = {"Origin": "https://shop.example"}
    asks = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "content-type, authorization"}
    status, headers, _ = service.raw("OPTIONS", "/v1/reports", **origin, **asks)
    assert status == 204 and headers["access-control-allow-origin"] == "*"
    assert headers["access-control-allow-headers"] == "content-type"  # no operator's token
    body = letter(service.contract, 8)
    status, headers, _ = service.raw("POST", "/v1/reports", body, Content_Type=MEDIA_TYPE, **origin)
    assert status == 201 and headers["access-control-allow-origin"] == "*"
    assert headers["access-control-expose-headers"] == "retry-after"
    assert "access-control-allow-credentials" not in headers
    for path in ("/v1/contract", "/v1/rounds/current", "/v1/rounds/99", "/v1/certificate"):
        assert service.raw("GET", path, **origin)[1]["access-control-allow-origin"] == "*"
    for path in ("/metrics", "/healthz", "/readyz", "/", "/dashboard/standing.json", "/v1/operator"):
        assert "access-control-allow-origin" not in service.raw("GET", path, **origin)[1], path
        assert "access-control-allow-origin" not in service.raw("OPTIONS", path, **origin, **asks)[1], path
    assert all(path.startswith("/v1/") for path in OPEN)


@pytest.mark.service
def test_sigterm_with_open_dashboards_ends_the_collector_in_time(tmp_path: Path) -> None:
    """Three seconds; half a minute's work of a busy machine may stand between signal and handler, so the best of two counts."""
    took = []
    for attempt in range(2):
        process = Process(folder_of(tmp_path / str(attempt), contract(design(people=1000))).path).start()
        service = Service.__new__(Service)
        service.url = process.url
        streams = [events(service) for _ in range(5)]
        for stream in streams:
            assert next(stream)["round"] == 1
        took.append(process.stop())
        assert [list(stream) for stream in streams] == [[]] * 5  # they ended, and said nothing more
        if took[-1] < 3:
            return
    pytest.fail(f"it took {took} seconds")


def test_serving_pages_loads_nothing_that_holds_episodes() -> None:
    program = (
        "import sys\nimport confide.service.dashboard.pages, confide.service.dashboard.story\n"
        "print([name for name in ('privatizers', 'statistics', 'trajectories') if f'confide.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
