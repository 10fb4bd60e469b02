"""Which answers a device believes: its one report is dropped for what the service itself says, and for nothing else."""

from __future__ import annotations

import json

import pytest

from confide.service.contract import answers
from confide.service.contract.answers import COUNTED, FINAL, PROBLEM, PROBLEM_TYPE, REFUSED, UNKNOWN, verdict
from confide.service.device import Device, MemoryStore
from confide.service.device.sending import LONGEST_WAIT, patience
from confide.service.http.problems import STATUSES, Refused
from tests.service.contract.example import contract
from tests.service.intermediary.offices import contract_of, joint_design

from .services import Answer, Fake, problem, serving

MADE = contract()
PAGE = b"<html>not here</html>"
FOREIGN: list[Answer] = [
    *((status, "text/html", PAGE) for status in (200, 201, 202, 204, 302, 400, 403, 404, 409, 410, 413, 415, 422, 451)),
    (404, PROBLEM_TYPE, b'{"type": "about:blank", "title": "Not Found", "status": 404}'),
    (410, PROBLEM_TYPE, b'{"type": "https://proxy.example/gone", "status": 410}'),
    (410, "application/json", problem(MADE, 410, "ended")[2]),
    (404, PROBLEM_TYPE, problem(MADE, 410, "ended")[2]),
    (410, PROBLEM_TYPE, b"[]"),
    (410, PROBLEM_TYPE, b"{"),
    (200, "application/json", b'{"outcome": "fine"}'),
    (200, "application/json", b"[1]"),
    problem(MADE, 410, "ended", contract="f" * 64),
    problem(MADE, 410, "ended", contract=None),
    problem(MADE, 409, "contract", contract=MADE.digest.hex()),
    problem(MADE, 404, "path"),
    problem(MADE, 400, "http"),
    problem(MADE, 415, "type"),
    problem(MADE, 422, "round"),
    problem(MADE, 429, "rate"),
    problem(MADE, 503, "busy"),
]
OWN = [(STATUSES[reason], reason) for reason in FINAL]


def waiting(fake: Fake, device: Device) -> bool:
    return device.store.read()["services"][fake.url]["letter"] is not None


def reported(fake: Fake, answer: Answer) -> Device:
    """A device whose report was answered once."""
    fake.answers = [answer]
    now = [1000.0]
    device = Device(
        Device.join(fake.url, store=MemoryStore(), background=False).transport,
        fake.contract,
        store=MemoryStore(),
        background=False,
        clock=lambda: now[0],
    )
    device.refresh()
    device.begin().finish()
    now[0] += 4 * LONGEST_WAIT
    return device


@pytest.mark.parametrize("answer", FOREIGN, ids=lambda answer: f"{answer[0]}-{len(answer[2])}")
def test_what_the_service_did_not_say_is_tried_again(answer: Answer) -> None:
    assert verdict(*answer, MADE.digest.hex()) == UNKNOWN


@pytest.mark.parametrize(
    "answer", [FOREIGN[5], FOREIGN[7], FOREIGN[0], FOREIGN[-5]], ids=["400", "404", "200", "own-404"]
)
def test_a_proxys_answer_does_not_cost_the_one_report(answer: Answer) -> None:
    with serving(MADE) as fake:
        fake.open_round(1)
        device = reported(fake, answer)
        assert waiting(fake, device)
        assert device.flush() and len(fake.sent) == 2 and fake.sent[0] == fake.sent[1]
        assert not waiting(fake, device)


@pytest.mark.parametrize(("status", "reason"), OWN)
def test_what_the_service_refuses_for_good_is_dropped(status: int, reason: str) -> None:
    assert verdict(*problem(MADE, status, reason), MADE.digest.hex()) == REFUSED
    with serving(MADE) as fake:
        fake.open_round(1)
        device = reported(fake, problem(MADE, status, reason))
        assert device.flush() and len(fake.sent) == 1 and not waiting(fake, device)


def test_refusals_are_what_devices_read() -> None:
    """The collector's own problem, for each reason: final where the table says so."""
    for reason, status in STATUSES.items():
        written = json.dumps(Refused(reason, "a-code", "A sentence.").problem(MADE)).encode()
        wanted = REFUSED if reason in FINAL and reason != "contract" else UNKNOWN
        assert verdict(status, PROBLEM_TYPE, written, MADE.digest.hex()) == wanted
        other = verdict(status, PROBLEM_TYPE, written, "0" * 64)
        assert other == (REFUSED if reason == "contract" else UNKNOWN)
    assert set(FINAL) <= set(STATUSES) and PROBLEM == "urn:confide:problem:"


@pytest.mark.parametrize("status", [200, 201])
def test_counted_is_what_the_service_says_is_counted(status: int) -> None:
    for outcome in answers.OUTCOMES:
        body = json.dumps({"outcome": outcome}).encode()
        assert verdict(status, "application/json", body, "") == COUNTED
        assert verdict(404, "application/json", body, "") == UNKNOWN


def test_a_ticket_holders_parcel_survives_a_proxy_too() -> None:
    """202 without an epoch is no one's answer, and a batch whose state no one tells is asked about again."""
    made = contract_of(joint_design())
    with serving(made) as fake:
        fake.open_round(1)
        fake.ticket_round = 1
        fake.pages["/v1/intermediary"] = json.dumps({"address": fake.url}).encode()
        now = [1e9]
        device = Device(
            Device.join(fake.url, store=MemoryStore(), background=False).transport,
            made,
            store=MemoryStore(),
            background=False,
            clock=lambda: now[0],
        )
        device.refresh()
        device.begin().finish()
        for answer in ((202, "text/html", PAGE), (404, "text/html", PAGE), (202, "application/json", b'{"epoch": 3}')):
            fake.answers = [answer]
            now[0] += 4 * LONGEST_WAIT
            device.flush()
            assert waiting(fake, device)
        assert len(fake.sent) == 3 and len(set(fake.sent)) == 1
        for page in (PAGE, b"{}", b'{"closing": 1}'):
            fake.pages["/v1/batches/1"] = page
            now[0] += LONGEST_WAIT
            assert device.flush() and waiting(fake, device)
        fake.pages["/v1/batches/1"] = b'{"closing": 1, "epoch": 3}'
        now[0] += LONGEST_WAIT
        assert device.flush() and not waiting(fake, device) and len(fake.sent) == 3


def test_nobody_can_ask_a_device_to_wait_for_ever() -> None:
    assert patience(1, 1e12) <= LONGEST_WAIT + 1.5
