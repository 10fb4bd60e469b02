"""Groups of reports: what is accepted and what it adds up to is what single reports would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.errors import ConfideError, FormatError
from confide.mdp import PER_STEP, Spec
from confide.privacy import Local, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import Report, Sum
from confide.protocol.releases.report import HEADER, limits
from confide.protocol.releases.sums import Pile

SPEC = Spec(3, 2, 4)
DESIGNS = {
    "unary": make(Request(CountQuestion(SPEC), Local(1.0), Schedule.every(100), mechanism="unary")),
    "k-ary": make(Request(CountQuestion(SPEC), Local(6.0), Schedule.every(100), mechanism="k-ary")),
    "rows": make(
        Request(CountQuestion(SPEC.with_dynamics(PER_STEP)), Local(1.0), Schedule.every(100), mechanism="unary")
    ),
    "laplace": make(Request(CountQuestion(SPEC), Local(1.0), Schedule.every(100), mechanism="laplace")),
}


def honest(name: str, rng: np.random.Generator) -> bytes:
    """A report such as a device could send."""
    design = DESIGNS[name]
    question = design.question
    cells = np.zeros(question.width, dtype=np.int64)
    if name == "k-ary":
        cells[rng.integers(question.width)] = 1
    elif name == "laplace":
        low, high = limits(design)
        cells = rng.integers(low, high + 1)
    else:
        cells = rng.integers(0, 2, question.width)
    return Report(design.digest, question.digest, cells, int(rng.integers(question.rows))).to_bytes(design)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_group_adds_up_to_what_its_reports_do(name: str) -> None:
    design, rng = DESIGNS[name], np.random.default_rng(1)
    pile, one_by_one = Pile(design), Sum.empty(design)
    reports = [honest(name, rng) for _ in range(40)]
    for data in reports:
        one_by_one.add(Report.from_bytes(data, design))
    total = pile.total([pile.check(data) for data in reports])
    assert np.array_equal(total.cells, one_by_one.cells) and np.array_equal(total.people, one_by_one.people)
    assert pile.total([]).users == 0


def accepted(data: bytes, name: str) -> bool:
    try:
        report = Report.from_bytes(data, DESIGNS[name])
    except ConfideError:
        return False
    return report.question == DESIGNS[name].question.digest


@pytest.mark.parametrize("name", DESIGNS)
@given(data=st.data())
def test_what_is_accepted_is_what_a_single_report_would_be(name: str, data: st.DataObject) -> None:
    """Bytes of an honest report with some of them changed, cut or added."""
    body = bytearray(honest(name, np.random.default_rng(data.draw(st.integers(0, 5)))))
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(-2, 2))
    changed = bytes(body[:cut]) if cut < 0 else bytes(body) + b"\x00" * cut
    try:
        Pile(DESIGNS[name]).check(changed)
        result = True
    except FormatError:
        result = False
    assert result == accepted(changed, name)


def test_bits_beyond_the_last_are_refused() -> None:
    body = bytearray(honest("unary", np.random.default_rng(0)))
    assert DESIGNS["unary"].question.width % 8
    body[-1] |= 0x80
    with pytest.raises(FormatError, match="beyond"):
        Pile(DESIGNS["unary"]).check(bytes(body))


def test_another_question_is_refused() -> None:
    body = bytearray(honest("k-ary", np.random.default_rng(0)))
    body[20] ^= 1
    assert HEADER.size == 42
    with pytest.raises(FormatError, match="another statistic"):
        Pile(DESIGNS["k-ary"]).check(bytes(body))
