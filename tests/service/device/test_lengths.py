"""What leaves a device has one length, whatever happened: for every question, mechanism and trust that a contract may have."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.data.trajectories import Trajectory
from confide.data.trajectories.observed import handed_length
from confide.lab.audit.people import audited_question
from confide.mdp import Spec
from confide.mechanisms.noise import LightNoise
from confide.privacy import Guarantee, Schedule
from confide.protocol.accepted import Combination
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases.report import report_length
from confide.protocol.trusts.mixing import Mixing
from confide.service.contract import Contract, Ticket
from confide.service.contract.encoding import to_base64
from confide.service.contract.sealed import OVERHEAD, public_key
from confide.service.contract.tickets import FORM
from confide.service.contract.uploads import HEADER, upload_length
from confide.service.device.messages import message
from tests.lab.audit.test_sweep import ROWS, case
from tests.service.contract.example import contract
from tests.service.intermediary.offices import contract_of

SEALING = public_key(bytes(range(32)))
SERVED = [row for row in ROWS if row.trust in ("local", "shuffle", "joint")]


@cache
def contract_for(row: Combination) -> Contract:
    design = case(row)
    return contract(design) if row.trust == "local" else contract_of(design, sealing=SEALING)


def sent(made: Contract, lived: Trajectory) -> bytes:
    """What a device of this contract sends about an episode."""
    ticket = Ticket(made.digest, 1, 0, 1).issued(bytes(32)).to_bytes()
    opened: dict[str, Any] = {"token": "00" * 16, "round": 1, "due": 1e9, "ticket": to_base64(ticket)}
    member = audited_question(made.design)
    if member is not None:
        opened["question"] = to_base64(member.to_bytes())
    return message(made, opened, lived, LightNoise())


def expected(made: Contract) -> int:
    """The length that follows from the contract alone, by which bodies are bounded before they are read."""
    if made.design.trust == "local":
        return upload_length(made.design)
    joint = made.design.trust == "joint"
    return FORM.size + OVERHEAD + (handed_length(made.design.question) if joint else report_length(made.design))


@st.composite
def episodes(draw: st.DrawFn, spec: Spec) -> Trajectory:
    steps = draw(st.integers(0, spec.horizon))
    states = draw(st.lists(st.integers(0, spec.states - 1), min_size=steps + 1, max_size=steps + 1))
    actions = draw(st.lists(st.integers(0, spec.actions - 1), min_size=steps, max_size=steps))
    rewards = draw(st.lists(st.floats(0, 1), min_size=steps, max_size=steps))
    return Trajectory(np.array(states), np.array(actions, dtype=np.int64), np.array(rewards, dtype=np.float64))


@pytest.mark.parametrize("row", SERVED, ids="-".join)
@settings(max_examples=25)
@given(data=st.data())
def test_every_episode_is_told_in_the_same_number_of_bytes(row: Combination, data: st.DataObject) -> None:
    made = contract_for(row)
    lived = data.draw(episodes(made.design.question.spec))
    assert len(sent(made, lived)) == expected(made)


STAYS = Trajectory(np.zeros(201, dtype=np.int64), np.zeros(200, dtype=np.int64), np.ones(200))
ROAMS = Trajectory(np.arange(201) % 2, np.arange(200) // 2 % 2, np.arange(200) % 3 / 2)


@pytest.mark.parametrize("trust", ["local", "shuffle"])
def test_who_stays_sends_no_more_than_who_roams(trust: str) -> None:
    """200 steps: counters of up to 200 do not fit into a byte, and those of who roams would."""
    question, promise = CountQuestion(Spec(2, 2, 200)), Guarantee(trust, 1.0, 1e-6)
    if trust == "local":
        design = make(Request(question, promise, Schedule.every(10), mechanism="randomised-response"))
        made = contract(design)
    else:
        schedule, mixing = Schedule.sized(400, 400), Mixing(400)
        made = contract_of(
            make(Request(question, promise, schedule, mechanism="shuffled-bits", mixing=mixing)), sealing=SEALING
        )
    lengths = {len(sent(made, lived)) for lived in (STAYS, ROAMS) for _ in range(10)}
    assert lengths == {expected(made)} and HEADER.size < min(lengths)
