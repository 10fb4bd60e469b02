"""What is drawn where: reports of devices in Python and of pages, releases of curators; and that an audit draws the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from confide.cli.audit import false_alarm
from confide.data.privatizers import respond
from confide.data.trajectories import trajectory
from confide.lab.audit import AuditEntry, Finding, audit, browsers, find
from confide.lab.audit.browsers import reports
from confide.lab.audit.people import exact_message, pairs
from confide.lab.audit.sources import SOURCES, source_of
from confide.mdp import Spec
from confide.mechanisms import noise as noises
from confide.mechanisms import plain
from confide.mechanisms.noise import LightNoise, ReplayableNoise, SecureNoise
from confide.privacy import Guarantee, Schedule
from confide.privacy.guarantee import CENTRAL, JOINT, LOCAL, SHUFFLE
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import Report, release_bytes
from confide.service.contract.contract import Contract
from confide.service.contract.uploads import Upload
from confide.service.device.messages import message
from confide.service.intermediary.curator import EpisodeBatches
from tests.mechanisms.laws import Integers, binned, folded, grouped, looks_like, mistaken_laws, noise_law
from tests.refusals import refused

FALSE_ALARM = 1e-6
SPEC = Spec(2, 2, 1)
PERSON = pairs(SPEC)[0][0]
OPENED = {"token": "00" * 16, "round": 0}
MISTAKES = ("two thirds of the scale", "three halves of the scale", "nothing beyond two scales")

needs_node = pytest.mark.skipif(bool(browsers.missing()), reason="there is no Node 20 here")


@cache
def agreed(trust: str, mechanism: str, delta: float = 0.0) -> Design:
    promise = Guarantee(trust, 1.0, delta)
    return make(Request(CountQuestion(SPEC), promise, Schedule.batches(1, 1), mechanism=mechanism))


@cache
def contract(design: Design) -> Contract:
    learner = {"name": "ucbvi", "options": {}}
    return Contract.written(design, name="tea", operator="tea", key=bytes(32), learner=learner)


def of_devices(design: Design, many: int) -> list[bytes]:
    letters = (message(contract(design), OPENED, PERSON, None) for _ in range(many))
    return [Upload.from_bytes(letter).report for letter in letters]


def of_pages(design: Design, many: int) -> list[bytes]:
    return reports(contract(design).data, [PERSON], 10 * many)


def of_whoever_asks(design: Design, many: int) -> list[bytes]:
    return [respond(design, None, PERSON).to_bytes(design) for _ in range(many)]


SENDERS: dict[str, Callable[[Design, int], list[bytes]]] = {
    "device": of_devices,
    "page": of_pages,
    "respond": of_whoever_asks,
}
SENT = [
    pytest.param(sender, law, marks={"page": needs_node, "respond": pytest.mark.law}.get(sender, ()))
    for sender in SENDERS
    for law in ("laplace", "gaussian")
]


def assert_noise(drawn: Integers, law: str, scale: float) -> None:
    counts = grouped(binned(drawn, law, scale), scale)
    assert looks_like(counts, grouped(folded(noise_law(law, scale), law, scale), scale))
    for mistake in MISTAKES:
        chances = grouped(folded(mistaken_laws(law, scale)[mistake], law, scale), scale)
        assert not looks_like(counts, chances), mistake


@pytest.mark.parametrize(("sender", "law"), SENT)
def test_a_report_that_is_sent_has_the_noise_that_is_priced(sender: str, law: str) -> None:
    design = agreed(LOCAL, law, 0.01 if law == "gaussian" else 0.0)
    mechanism: Any = design.mechanism
    sent = [Report.from_bytes(data, design) for data in SENDERS[sender](design, 300)]
    exact = np.rint(exact_message(design, PERSON, mechanism.grid) / mechanism.grid).astype(np.int64)
    scale = mechanism.scale if law == "laplace" else mechanism.sigma
    assert_noise(np.stack([report.cells for report in sent]) - exact, law, scale / mechanism.grid)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_release_of_a_curator_has_the_noise_that_is_priced(law: str) -> None:
    design = agreed(JOINT, f"tree-{law}", 0.01 if law == "gaussian" else 0.0)
    counter: Any = design.mechanism
    exact = exact_message(design, PERSON, counter.grid)
    drawn = []
    for _ in range(300):
        batches = EpisodeBatches(design)
        batches.take(1, trajectory.to_bytes(PERSON, SPEC))
        release = release_bytes.from_bytes(batches.close(1, 1, b"").body)
        drawn.append(np.rint((design.kind.packed(release) - exact) / counter.grid).astype(np.int64))
    assert_noise(np.stack(drawn), law, counter.scale / counter.grid)


def fixed(make_noise: Callable[[], Any], cells: int, patch: pytest.MonkeyPatch) -> Integers:
    """What is drawn where the operating system's randomness is known."""
    generator = np.random.default_rng(0)
    patch.setattr(os, "urandom", generator.bytes)
    return np.asarray(make_noise().discrete_laplace(1000.0, cells))


@pytest.mark.parametrize(("trust", "cells"), [(LOCAL, 50), (JOINT, noises.PLAIN_CELLS + 1)])
def test_noise_comes_from_the_operating_system_alone(trust: str, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its randomness is known draws are the same, so nothing else goes into them; where other seeds are, they differ."""
    drawn = []
    for _ in range(2):
        np.random.seed(1)
        random.seed(1)
        drawn.append(SOURCES[trust]().discrete_laplace(1000.0, cells))
    assert (drawn[0] != drawn[1]).any()
    known = [fixed(SOURCES[trust], cells, monkeypatch) for _ in range(2)]
    assert (known[0] == known[1]).all()


# The audit.


def test_who_draws_under_which_trust() -> None:
    assert {trust: type(source_of(trust)) for trust in (LOCAL, SHUFFLE, JOINT, CENTRAL, "witness")} == {
        LOCAL: LightNoise,
        SHUFFLE: LightNoise,
        JOINT: SecureNoise,
        CENTRAL: SecureNoise,
        "witness": LightNoise,
    }
    assert all(source_of(trust).secure for trust in SOURCES)


def attacked(name: str, samples: int = 1500, **more: Any) -> Finding:
    entry = next(one for one in find() if one.name == name)
    return entry.audit(1.0, samples=samples, confidence=1 - FALSE_ALARM, **more)


@pytest.mark.parametrize(
    ("name", "drawn_by"),
    [
        ("local/laplace", "plain"),
        ("joint/tree-laplace", "compiled"),
        ("laplace", "simulator"),
        ("discrete-laplace", "plain"),
        pytest.param("local/k-ary/browser", "browser", marks=needs_node),
        pytest.param("shuffle/shuffled-bits", "plain", marks=pytest.mark.law),
        pytest.param("central/laplace", "compiled", marks=pytest.mark.law),
        pytest.param("fit/laplace", "compiled", marks=pytest.mark.law),
    ],
)
def test_a_row_says_whose_noise_it_drew(name: str, drawn_by: str) -> None:
    finding = attacked(name)
    assert finding.drawn_by == finding.as_json()["drawn_by"] == drawn_by
    assert finding.ok and finding.lower_bound > 0


def test_replayable_noise_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    first, again = (attacked("local/laplace", noise=ReplayableNoise(3)) for _ in range(2))
    assert first.drawn_by == "replayable" and first.lower_bound == again.lower_bound


def test_noise_that_only_devices_lack_is_seen_in_their_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    true = plain.draw
    monkeypatch.setattr(plain, "draw", lambda words, cells, law, scale: true(words, cells, law, scale / 3))
    assert not attacked("local/laplace").ok
    assert attacked("central/laplace").ok


def test_noise_that_only_servers_lack_is_seen_in_their_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    true = SecureNoise._draw
    monkeypatch.setattr(SecureNoise, "_draw", lambda self, law, scale, shape: true(self, law, scale / 3, shape))
    assert not attacked("central/laplace").ok
    assert attacked("local/laplace").ok


@needs_node
def test_a_page_that_draws_too_little_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports for three times the guarantee are read as if they were for one."""
    entry = AuditEntry("k-ary", LOCAL, "tight", device=browsers.BROWSER)
    wrong = contract(
        make(Request(CountQuestion(SPEC), Guarantee(LOCAL, 3.0), Schedule.batches(1, 1), mechanism="k-ary"))
    )
    targets = entry.targets(1.0)
    assert audit(targets, 2000, 1 - FALSE_ALARM).ok

    def drawn(_: bytes, people: Any, times: int) -> list[bytes]:
        read = (Report.from_bytes(data, wrong.design) for data in reports(wrong.data, people, times))
        design = entry.design(Guarantee(LOCAL, 1.0))
        return [Report(design.digest, design.question.digest, one.cells, one.row).to_bytes(design) for one in read]

    monkeypatch.setattr(browsers, "reports", drawn)
    assert not audit(targets, 2000, 1 - FALSE_ALARM).ok


def test_every_mechanism_of_pages_has_its_row() -> None:
    rows = {entry.mechanism for entry in find() if entry.device == browsers.BROWSER}
    assert rows == set(browsers.MECHANISMS)


def test_rows_of_pages_are_skipped_without_node_and_with_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.cli.audit import _audited

    asked: dict[str, Any] = {"trust": LOCAL, "mechanism": "k-ary", "calibration": "tight", "everything": False}
    asked |= {"samples": 1000, "deep": False, "minutes": None, "workers": 1, "epsilon": 1.0, "delta": None}
    names = {"local/k-ary/browser", "local/k-ary/h3/browser"}
    found, skipped, _ = _audited(**asked, seed=1, confidence=1 - FALSE_ALARM)
    assert set(skipped) == names and "takes no seed" in skipped["local/k-ary/browser"]
    assert {one.drawn_by for one in found} == {"replayable"} and false_alarm(found) < 1e-5
    monkeypatch.setattr(browsers, "node", lambda: None)
    found, skipped, _ = _audited(**asked, seed=None, confidence=1 - FALSE_ALARM)
    assert set(skipped) == names and "Node 20 or newer is not on the PATH" in skipped["local/k-ary/browser"]
    assert {one.drawn_by for one in found} == {"plain"}
    with refused("node-missing"):
        reports(b"", [])
