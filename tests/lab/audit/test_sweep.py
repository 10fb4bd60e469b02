"""The table of what is accepted: every row has an attack and a sweep, and no two people are less hidden than is said."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from confide.lab.audit import AuditEntry, entries
from confide.lab.audit.catalogue import FITTED, _ours
from confide.lab.audit.settings import FITS, PROBLEMS, SETTINGS
from confide.lab.audit.sweep import swept
from confide.mdp import PER_STEP, Spec
from confide.mdp.linear import LinearFeatures
from confide.privacy import Act, Guarantee, Schedule
from confide.privacy.guarantee import CENTRAL, NONE
from confide.protocol import accepted
from confide.protocol.accepted import PAIRS, STEPS, Combination
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion, bandit
from confide.protocol.kinds.budgeted import BudgetedQuestion
from confide.protocol.kinds.gram import GramForm
from confide.protocol.kinds.judged import GAIN, GROUPS, PARTS, JudgedQuestion
from confide.protocol.kinds.returns import ReturnsQuestion
from confide.protocol.kinds.values import ValuesForm

ROWS = [row for row in accepted.rows() if row.trust != NONE and accepted.case_of(row) is None]
SLACK = 1e-4
"""Tables of losses are rounded up, by less than this."""
DELTA = 0.01


@cache
def entry_of(row: Combination) -> AuditEntry:
    """The entry of the audit that attacks a row on a world in which visits are repeated and pairs differ."""
    for entry in _ours():
        if entry.calibration == "tight" and entry.trust == row.trust:
            design = entry.design(Guarantee(entry.trust, 1.0, entry.delta(None)))
            spec = design.question.spec
            long = spec.horizon >= STEPS or row.kind == bandit.KIND  # which is about single steps
            if accepted.row_of(design) == row and long and spec.states * spec.actions >= PAIRS:
                return entry
    raise AssertionError(f"nothing attacks {row}")


def case(row: Combination) -> Design:
    """The design of a row that is swept."""
    if row not in FITTED:
        entry = entry_of(row)
        return entry.design(Guarantee(row.trust, 1.0, entry.delta(None)))
    features = LinearFeatures(np.eye(4).reshape(2, 2, 4), 1.0)
    asked = {
        "budgeted": BudgetedQuestion.of(CountQuestion(Spec(2, 2, 3)), 4),
        "returns": ReturnsQuestion.of(3, row.mechanism == "laplace"),
        "judged": JudgedQuestion(GAIN),
        "values": ValuesForm(GramForm(features, 3)),
    }[row.kind]
    promise = Guarantee(CENTRAL, 1.0, 0.0 if row.mechanism == "laplace" else DELTA)
    return make(Request(asked, promise, Schedule.every(1), mechanism=row.mechanism))


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_every_row_is_attacked(row: Combination) -> None:
    if row in FITTED:
        assert f"fit/{FITTED[row]}" in {entry.name for entry in entries()}
    else:
        assert entry_of(row) in entries()


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=pytest.mark.law if row.kind == "gram" else ()) for row in ROWS], ids="-".join
)
def test_no_two_people_are_less_hidden_than_is_said(row: Combination) -> None:
    if row.kind == "gram":
        targets = FITS[FITTED[row]](Guarantee(CENTRAL, 1.0, DELTA), "gram")
        assert max(target.exact.delta(1.0) for target in targets) <= DELTA + SLACK
        return
    design = case(row)
    assert accepted.row_of(design) == row
    assert swept(design) <= design.requested.delta + SLACK


@pytest.mark.parametrize("row", [row for row in ROWS if row not in FITTED], ids="-".join)
def test_a_row_is_read_back_from_its_bytes(row: Combination) -> None:
    design = case(row)
    assert Design.from_bytes(design.to_bytes()).digest == design.digest


POOLED_ONLY = {"bandit", "budgeted"}
LONG = {"bounded", "shuffled-step"}
"""Calibrated, or added up over all that can be seen, for minutes."""
STEPWISE = [row for row in ROWS if row not in FITTED and row.kind not in POOLED_ONLY and row.mechanism not in LONG]


@pytest.mark.parametrize("row", STEPWISE, ids="-".join)
def test_nor_where_every_step_has_cells_of_its_own(row: Combination) -> None:
    entry = entry_of(row)
    setting = next(each for each in SETTINGS[row.trust] if each.label == entry.setting)
    asked = PROBLEMS[entry.kind](replace(setting, spec=Spec(2, 2, 3, PER_STEP)))
    promise = Guarantee(row.trust, 1.0, entry.delta(None))
    design = make(Request(asked, promise, setting.schedule, mechanism=entry.mechanism, **setting.changes))
    assert accepted.row_of(design) == row and design.question.spec.layers == 3
    assert swept(design) <= promise.delta + SLACK


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_nor_in_any_part_of_what_judging_people_are_asked(part: str, mechanism: str) -> None:
    promise = Guarantee(CENTRAL, 1.0, 0.0 if mechanism == "laplace" else DELTA)
    question = JudgedQuestion(part, 3 if part == GROUPS else 0)
    design = make(Request(question, promise, Schedule.every(1), mechanism=mechanism))
    assert swept(design) <= promise.delta + SLACK
    name = "scale" if mechanism == "laplace" else "sigma"
    less = replace(design.mechanism, **{name: getattr(design.mechanism, name) / 1.5})
    assert swept(replace(design, act=Act(less, design.act.sensitivity))) > 1.5 * promise.delta + SLACK


NOTICED = [Combination("counts", "gaussian", "local"), Combination("counts", "toeplitz", "joint")]


@pytest.mark.parametrize("row", NOTICED, ids="-".join)
def test_a_price_that_is_too_small_is_noticed(row: Combination) -> None:
    """The same noise for a statistic that moves 1.2 times as far."""
    design = case(row)
    name = "sigma"
    less = replace(design.mechanism, **{name: getattr(design.mechanism, name) / 1.2})
    assert swept(replace(design, act=Act(less, design.act.sensitivity))) > 1.5 * DELTA
