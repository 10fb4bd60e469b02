"""Reports: their bytes, golden vectors good and bad, sizes, limits; and what is hostile is refused and changes nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.errors import ConfideError, FormatError, InvalidInput
from confide.mdp import PER_STEP, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Local, Schedule
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import DROPPED
from confide.protocol.releases import Report, Submission, Sum, open_aggregate
from confide.protocol.releases.report import HEADER, clamped, limits
from tests.protocol.making import design

GOLDEN = Path(__file__).parent / "golden"
SPEC = Spec(2, 2, 3)
WHOLE = ("laplace", "gaussian", "randomised-response", "bounded")
MECHANISMS = (*WHOLE, "unary", "k-ary")
PERSON = Trajectory(np.array([0, 1, 1, 0]), np.array([1, 0, 1]), np.array([1.0, 0.0, 1.0]))


@cache
def made(mechanism: str, epsilon: float = 2.0, spec: Spec = SPEC) -> Design:
    question = CountQuestion(spec, last=DROPPED)
    return design(question, Local(epsilon, 1e-5), Schedule.every(20), "tight", mechanism)


def one_report(by: Design, seed: int = 0) -> Report:
    sent = respond(by, None, PERSON, ReplayableNoise(seed), simulated=True)
    assert isinstance(sent, Report)
    return sent


def same(first: Report, second: Report) -> bool:
    kept = ("design", "question", "row", "level")
    return all(getattr(first, key) == getattr(second, key) for key in kept) and np.array_equal(
        first.cells, second.cells
    )


# Golden vectors.


def golden(name: str, kind: str) -> list[Any]:
    """Vectors that were written once; a change of the format needs a new version, not new vectors."""
    rows = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))[kind]
    return [pytest.param(row, id=row["name"]) for row in rows]


def design_of(row: dict[str, Any]) -> Design:
    return Design.from_bytes(bytes.fromhex(row["design"]))


@pytest.mark.parametrize("row", golden("reports", "good"))
def test_golden_reports(row: dict[str, Any]) -> None:
    by = design_of(row)
    cells = np.array(row["cells"], dtype=np.int64)
    report = Report(by.digest, by.question.digest, cells, row["row"], row["level"])
    assert report.to_bytes(by).hex() == row["bytes"]
    decoded = Report.from_bytes(bytes.fromhex(row["bytes"]), by)
    assert same(decoded, report)
    assert decoded.cells.dtype == np.int64
    assert decoded.cells.flags.writeable  # a copy, not a view of what arrived


@pytest.mark.parametrize("row", golden("reports", "bad"))
def test_golden_bad_reports(row: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=row["says"]) as caught:
        Report.from_bytes(bytes.fromhex(row["bytes"]), design_of(row))
    assert "not a report that can be counted here" in str(caught.value)


@pytest.mark.parametrize("row", golden("sums", "good"))
def test_golden_sums(row: dict[str, Any]) -> None:
    by = design_of(row)
    decoded = Sum.from_bytes(bytes.fromhex(row["bytes"]), by)
    assert decoded.to_bytes().hex() == row["bytes"]
    assert (decoded.cells.tolist(), decoded.people.tolist(), decoded.level) == (
        row["cells"],
        row["people"],
        row["level"],
    )


@pytest.mark.parametrize("row", golden("sums", "bad"))
def test_golden_bad_sums(row: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=row["says"]):
        Sum.from_bytes(bytes.fromhex(row["bytes"]), design_of(row))


@pytest.mark.parametrize("row", golden("submissions", "good"))
def test_golden_submissions(row: dict[str, Any]) -> None:
    by = design_of(row)
    decoded = Submission.from_bytes(bytes.fromhex(row["bytes"]), by)
    assert decoded.to_bytes(by).hex() == row["bytes"]
    assert (decoded.first, decoded.id.hex(), decoded.report.level) == (row["first"], row["id"], row["level"])
    assert decoded.report.cells.tolist() == row["cells"]


@pytest.mark.parametrize("row", golden("submissions", "bad"))
def test_golden_bad_submissions(row: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=row["says"]):
        Submission.from_bytes(bytes.fromhex(row["bytes"]), design_of(row))


# Whatever else may arrive.


@pytest.mark.parametrize("data", [None, 7, "text", [1], b""])
def test_what_are_no_bytes_is_refused(data: Any) -> None:
    for read in (Report.from_bytes, Sum.from_bytes, Submission.from_bytes):
        with pytest.raises(FormatError):
            read(data, made("laplace"))  # type: ignore[operator]


@given(st.binary(max_size=200), st.sampled_from(MECHANISMS))
def test_any_bytes_are_refused_politely(data: bytes, name: str) -> None:
    for read in (Report.from_bytes, Sum.from_bytes, Submission.from_bytes):
        with pytest.raises(FormatError):
            read(data, made(name))  # type: ignore[operator]


@given(st.sampled_from(MECHANISMS), st.data())
def test_a_changed_byte_is_read_or_refused(name: str, data: st.DataObject) -> None:
    by = made(name)
    whole = bytearray(one_report(by).to_bytes(by))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        decoded = Report.from_bytes(bytes(whole), by)
    except FormatError:
        return
    assert same(Report.from_bytes(decoded.to_bytes(by), by), decoded)
    assert same(decoded.checked(by), decoded)


@given(st.sampled_from(MECHANISMS), st.integers(0, 1000))
def test_reports_survive_their_bytes(name: str, seed: int) -> None:
    by = made(name)
    report = one_report(by, seed)
    assert same(Report.from_bytes(report.to_bytes(by), by), report)


# Sizes.


@pytest.mark.parametrize("states", [2, 20, 300])
def test_reports_of_sampled_steps_are_small(states: int) -> None:
    """k-ary: at most 100 bytes at any number of categories; unary: at most ceil(k/8) + 128."""
    spec = Spec(states, 3, 3, PER_STEP)
    for mechanism in ("k-ary", "unary"):
        by = made(mechanism, spec=spec)
        categories = by.question.width
        assert categories == 2 * states * 3 * states + 1
        size = len(one_report(by).to_bytes(by))
        assert size <= (100 if mechanism == "k-ary" else -(-categories // 8) + 128)


# Limits.


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_honest_report_lies_within_the_limits_which_are_those_of_question_and_noise(mechanism: str) -> None:
    by = made(mechanism)
    low, high = limits(by)
    grid, asked = by.mechanism.grid, by.question.range
    reach = by.mechanism.reach()
    assert (low * grid <= asked.low - reach).all() and (low * grid > asked.low - reach - grid).all()
    assert (high * grid >= asked.high + reach).all() and (high * grid < asked.high + reach + grid).all()
    for seed in range(20):
        cells = one_report(by, seed).cells
        assert ((low <= cells) & (cells <= high)).all()


class Flood(ReplayableNoise):
    """Noise far beyond all likelihood."""

    def discrete_laplace(self, scale: float, size: Any) -> Any:
        return np.where(np.arange(np.prod(size)) % 2, 1, -1) * (1 << 40)

    discrete_gaussian = discrete_laplace


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_a_device_clamps_its_report_at_the_limits(mechanism: str) -> None:
    by = made(mechanism)
    low, high = limits(by)
    sent = respond(by, None, PERSON, Flood(0), simulated=True)
    assert np.array_equal(sent.cells, np.where(np.arange(len(low)) % 2, high, low))
    aggregate = open_aggregate(by)
    aggregate.take(sent.to_bytes(by))
    assert aggregate.users == 1
    inside = (low + high) // 2
    assert np.array_equal(clamped(by, inside), inside)


def raw(by: Design, kind: int, numbers: bytes, row: int = 0, level: int = 0) -> bytes:
    return HEADER.pack(b"cfr2", by.digest, by.question.digest, level, kind, row) + numbers


def hostile(mechanism: str) -> list[bytes | Report]:
    """What no honest device sends, in bytes and as objects."""
    by = made(mechanism)
    width, (low, high) = by.question.width, limits(by)
    plain = one_report(by)
    whole = [
        np.full(width, 1 << 52),
        np.where(np.arange(width) == 1, high + 1, high),
        np.where(np.arange(width), low, low - 1),
    ]
    if mechanism == "k-ary":
        whole += [np.eye(width, dtype=np.int64)[:2].sum(axis=0), np.zeros(width, dtype=np.int64)]
    if mechanism in ("k-ary", "unary"):
        whole += [np.where(np.arange(width) == 3, 2, 0), np.where(np.arange(width) == 3, -1, 0)]
    results: list[bytes | Report] = [replace(plain, cells=cells) for cells in whole]
    results += [
        replace(plain, cells=np.zeros(width + 1, dtype=np.int64)),
        replace(plain, cells=np.zeros((1, width), dtype=np.int64)),
        replace(plain, cells=plain.cells * 0.5),
        replace(plain, row=by.question.rows),
        replace(plain, row=-1),
        replace(plain, level=1),
        replace(plain, level=-1),
        replace(plain, question=bytes(16)),
        replace(plain, question=bytes(16)).to_bytes(by),
        replace(plain, row=9).to_bytes(by),
    ]
    results += [raw(by, 5, cells.astype("<i8").tobytes()) for cells in whole]
    if mechanism == "k-ary":
        results += [raw(by, 0, number.to_bytes(4, "little")) for number in (width, 1 << 31)]
        results += [raw(by, 1, bytes([3]) + bytes(-(-width // 8) - 1)), raw(by, 0, bytes(8))]  # two ones, two indices
    if mechanism == "unary":
        results += [raw(by, 1, b"\xff" * -(-width // 8)), raw(by, 1, bytes(-(-width // 8) + 1)), raw(by, 0, bytes(4))]
    return results


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_hostile_report_is_refused_and_changes_nothing(mechanism: str) -> None:
    by = made(mechanism)
    aggregate = open_aggregate(by)
    aggregate.take(one_report(by))
    before = aggregate.to_bytes()
    for message in hostile(mechanism):
        with pytest.raises((FormatError, InvalidInput)):
            aggregate.take(message)
    for message in (None, 7, "text", PERSON):
        with pytest.raises(FormatError):
            aggregate.take(message)
    assert aggregate.to_bytes() == before and aggregate.users == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_report_of_another_design_is_refused(mechanism: str) -> None:
    """However alike: of another mechanism, or of the same one with less noise."""
    by = made(mechanism)
    aggregate = open_aggregate(by)
    before = aggregate.to_bytes()
    for other in (made(mechanism, 2.5), *(made(name) for name in MECHANISMS if name != mechanism)):
        for message in (one_report(other), one_report(other).to_bytes(other)):
            with pytest.raises(ConfideError, match="another design"):
                aggregate.take(message)
        with pytest.raises(InvalidInput, match="another design"):
            aggregate.take_sum(Sum.empty(other))
    assert aggregate.to_bytes() == before and aggregate.users == 0
