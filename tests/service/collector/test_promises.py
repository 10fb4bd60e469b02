"""What a certificate says of a service with a shuffler or a curator: who is trusted with what, and what more reports cost."""

from __future__ import annotations

import json

import pytest

from confide.mdp import Spec
from confide.privacy import Local, Participation, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.trusts.shuffle import local_guarantee
from confide.service.collector.learning import RoundLearner
from confide.service.collector.promises import grouped, with_reports
from confide.service.contract import Contract
from tests.service.contract.example import contract
from tests.service.contract.test_slots import contract_for
from tests.service.intermediary.offices import contract_of, joint_design, shuffle_design


def said(made: Contract) -> dict:
    return json.loads(RoundLearner(made).certificate()[0])


def test_a_curator() -> None:
    """Gaussian noise of epsilon 1 at delta 1e-6: twice and five times the sensitivity are epsilon 2.12 and 5.92."""
    document = said(contract_of(joint_design()))
    assert [row["epsilon"] for row in document["with_reports"]] == pytest.approx([1.0, 2.1221, 5.9228], abs=1e-3)
    text = " ".join(document["says"])
    assert "each of which refuses the other if it is behind" in text and "without either it goes unnoticed" in text
    for words in (
        "Between Ltd",
        "trusted with episodes",
        "empty episode",
        "who takes a ticket, when",
        "one ticket",
        "witness",
    ):
        assert words in text
    pure = said(contract_of(joint_design(mechanism="tree-laplace")))
    assert [row["epsilon"] for row in pure["with_reports"]] == pytest.approx([1.0, 2.0, 5.0])


def test_nobody() -> None:
    """Pure epsilon 4: twice and five times as much. What is not hidden, and against whom it holds, is said."""
    document = said(contract())
    assert [row["epsilon"] for row in document["with_reports"]] == pytest.approx([4.0, 8.0, 20.0])
    text = " ".join(document["says"])
    for words in (
        "against the operator",
        "one report",
        "only a witness",
        "takes part is not hidden",
        "not hidden; a window",
    ):
        assert words in text
    assert "inside a window of 60 s" in " ".join(said(contract(window=60.0))["says"])
    assert "without either it goes unnoticed" in " ".join(said(contract())["says"])


def test_a_shuffler_run_by_the_same_operator_keeps_the_local_promise() -> None:
    made = shuffle_design(40)
    apart, same = said(contract_of(made)), said(contract_of(made, operator="Tea Ltd"))
    alone = str(local_guarantee(made))
    assert sum(alone in line for line in apart["says"]) == 2 and alone in apart["says"][1]  # it is open
    assert any("one operator, Tea Ltd" in line and alone in line for line in same["says"][:3])
    assert not any("one operator" in line for line in apart["says"])
    assert any("at least 40 people each, of whom 20 are honest" in line for line in apart["says"])
    assert [promise["trust"] for promise in apart["certificate"]["guarantees"]] == ["shuffle", "local"]
    one, two, five = (row["epsilon"] for row in apart["with_reports"])
    assert one <= 1.0 and 2.0 < two < 2.5 and five > 5.0


def test_a_group_pays_for_each() -> None:
    """By hand: epsilon 1 at every delta; two reports cost 2 with d (1 + e), so epsilon is 2 at any delta; if epsilon grows as delta
    falls, that of a smaller delta is charged."""
    assert grouped(lambda delta: 1.0, 1e-6, 2) == 2.0
    falling = {True: 1.0, False: 1.5}
    assert grouped(lambda delta: falling[delta > 0.5e-6], 1e-6, 2) == 3.0


@pytest.mark.parametrize("trust", ["local", "joint", "shuffle"])
def test_where_people_come_again_as_many_reports_as_are_priced_keep_the_guarantee(trust: str) -> None:
    """And of a Gaussian one twice as many have the root of two times its mu under local trust, twice its mu at a curator."""
    made = contract_for(trust, 3)
    document = said(made)
    first, second, _ = document["with_reports"]
    assert (first["reports"], first["epsilon"]) == (3, made.design.guarantee.epsilon)
    assert second["reports"] == 6 and second["epsilon"] > first["epsilon"]
    if trust == "joint":
        assert second["epsilon"] == pytest.approx(2.1221, abs=1e-3)
    text = " ".join(document["says"])
    assert f"up to 3 {'reports' if trust == 'local' else 'tickets'} of an operator, all under one contract" in text


def test_local_reports_compose_one_by_one() -> None:
    """Three that keep rho .5 together: six have twice that, and four a third more."""
    design = make(
        Request(
            CountQuestion(Spec(3, 2, 4)),
            Local(rho=0.5),
            Schedule.batches(30, 3),
            mechanism="gaussian",
            participation=Participation(3),
        )
    )
    assert (
        with_reports(design, 3).rho == pytest.approx(0.5) and with_reports(design, 2).rho == with_reports(design, 1).rho
    )
    assert with_reports(design, 6).rho == pytest.approx(1.0) and with_reports(design, 4).rho == pytest.approx(2 / 3)
