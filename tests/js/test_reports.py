"""The device in JavaScript against the package: the same vectors, and reports that Python reads, sums and learns from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.data.statistics.answers import category, first_visit
from confide.data.statistics.tabular import count
from confide.data.trajectories.trajectory import Trajectory
from confide.errors import FormatError
from confide.lab.audit import browsers
from confide.mdp import Spec
from confide.privacy import Guarantee, Local, Schedule
from confide.privacy.guarantee import SHUFFLE
from confide.protocol.accepted import row_of
from confide.protocol.defaults import request_for
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import Report, ReportAggregate
from confide.protocol.releases.report import check_range
from confide.service.contract import Contract, Ticket
from tests.refusals import refused
from tools import accepted

from . import featured, golden

NODE = browsers.node()
PEOPLE = 3000
ALARM = 1e-6
"""How often a true implementation fails one of these tests, at most."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.service,
    pytest.mark.skipif(NODE is None, reason="there is no Node 20 here"),
]


def node(script: Path | str, *arguments: str, given: str = "") -> str:
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(script), *arguments], input=given, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout[-4000:]
    return done.stdout


def walks(spec: Spec, people: int) -> list[Trajectory]:
    """Episodes in which some states and rewards are likelier than others, some of them short. The same every time."""
    rng = np.random.default_rng(5)
    results = []
    for _ in range(people):
        steps = int(rng.integers(1, spec.horizon + 1)) if rng.random() < 0.3 else spec.horizon
        states = rng.choice(
            spec.states, steps + 1, p=np.arange(1, spec.states + 1) / (spec.states * (spec.states + 1) / 2)
        )
        actions = rng.integers(0, spec.actions, steps)
        results.append(Trajectory(states, actions, (rng.random(steps) < 0.2 + 0.2 * actions).astype(np.float64)))
    return results


def told_by_node(design: Design, people: list[Trajectory]) -> list[bytes]:
    return browsers.reports(json.dumps(golden.contract(design)).encode(), people)


def test_golden_vectors_are_what_the_package_does_now() -> None:
    assert golden.PATH.read_text(encoding="utf-8") == golden.text(), "run: python -m tests.js.golden"


def test_bad_vectors_are_refused_here_too() -> None:
    document = json.loads(golden.PATH.read_text(encoding="utf-8"))
    shuffled = [made.design for made in golden.ticketed() if made.design.trust == SHUFFLE]
    rows = [*document["designs"], *document["shuffled"]]
    for design, row in zip([*golden.designs(), *golden.returning(), *shuffled], rows, strict=True):
        for data in row["bad"]:
            with refused("report-unreadable"):
                Report.from_bytes(bytes.fromhex(data), design)
    for row in document["parcels"]:
        *broken, other = map(bytes.fromhex, row["bad"])
        for data in broken:
            with pytest.raises(FormatError, match="no ticket"):
                Ticket.from_bytes(data)
        assert Ticket.from_bytes(other).contract.hex() not in (
            Ticket.from_bytes(bytes.fromhex(one["ticket"])).contract.hex() for one in row["parcels"]
        )


def test_contracts_that_are_refused_there_are_refused_here_too() -> None:
    for text in json.loads(golden.PATH.read_text(encoding="utf-8"))["refused"]:
        with refused("contract-unreadable", match="what is accepted"):
            Contract.from_bytes(text.encode())


def test_a_page_has_the_table_of_the_package() -> None:
    """Without what it cannot do; its golden contracts are of these rows, and all rows are among them."""
    assert accepted.PATH.read_text(encoding="utf-8") == accepted.text(), "run: python -m tools.accepted"
    contracts = (*golden.ticketed(), *featured.contracts(), *featured.shuffled(), *featured.curated())
    made = [*golden.designs(), *golden.returning(), *(one.design for one in contracts)]
    known = {
        (trust, kind, name)
        for trust, kinds in accepted.table().items()
        for kind, names in kinds.items()
        for name in names
    }
    seen = {(row.trust, row.kind, row.mechanism) for row in map(row_of, made)}
    assert seen <= known and {row for row in known if row[0] != "joint"} <= seen | {("local", "asked", "k-ary")}


def test_npm_test() -> None:
    node("--test", str(golden.PATH.with_name("run.test.js")))


CASES: list[Any] = [
    pytest.param(Local(epsilon=2.0), "unary", "stationary", id="unary"),
    pytest.param(Local(epsilon=3.0), "k-ary", "per-step", id="k-ary"),
    pytest.param(Local(epsilon=1.5), "subset", "stationary", id="subset"),
    pytest.param(Local(epsilon=2.0), "asked-unary", "stationary", id="asked-unary"),
    pytest.param(Local(epsilon=2.0), "asked-k-ary", "per-step", id="asked-k-ary"),
    pytest.param(Local(epsilon=1.0), "asked-subset", "stationary", id="asked-subset"),
    pytest.param(Local(epsilon=2.0), "laplace", "stationary", id="laplace"),
    pytest.param(Local(epsilon=2.0, delta=1e-6), "gaussian", "per-step", id="gaussian"),
    pytest.param(Local(epsilon=6.0), "randomised-response", "per-step", id="response"),
]


def designed(promise: Guarantee, name: str, model: str) -> Design:
    spec = Spec(3, 2, 3, model)
    return make(Request(CountQuestion(spec), promise, Schedule.every(PEOPLE), mechanism=name, failure=ALARM, budget=0))


@pytest.mark.parametrize(("promise", "name", "model"), CASES)
def test_reports_are_read_summed_and_give_estimates_within_their_radius(
    promise: Guarantee, name: str, model: str
) -> None:
    """Every count of the release is within the design's radius, which fails with probability ALARM."""
    design = designed(promise, name, model)
    people = walks(design.question.spec, PEOPLE)
    aggregate = ReportAggregate(design)
    rows = []
    for data in told_by_node(design, people):
        report = Report.from_bytes(data, design)
        assert report.to_bytes(design) == data
        rows.append(report.row)
        aggregate.take(data)
    assert aggregate.users == PEOPLE
    release = aggregate.close()
    for part, exact in (_first_visits if design.question.kind == "asked" else _whole)(design, people, rows).items():
        given = getattr(release.counts, part).reshape(-1)[: exact.size]
        assert np.abs(given - exact).max() <= getattr(release.radius, part), part
        assert np.abs(given - exact).max() > 0, part


def _whole(design: Design, people: list[Trajectory], rows: list[int]) -> dict[str, np.ndarray]:
    """What every user did."""
    asked = design.question.counts.having(parts=("visits", "rewards", "transitions"))
    exact = sum(count(asked, one, one.rewards.astype(np.int64)) for one in people) / asked.resolution
    return {part: exact[where] for part, where in asked.slices.items()}


def _first_visits(design: Design, people: list[Trajectory], rows: list[int]) -> dict[str, np.ndarray]:
    """What those did who were asked about each pair, at their first visit of it."""
    question = design.question
    seen = np.zeros((question.rows, question.width))
    for one, row in zip(people, rows, strict=True):
        seen[row, first_visit(question, one, one.rewards.astype(np.int64), row)] += 1
    moves = seen[:, :-1].reshape(question.rows, question.counts.next_states, 2)
    return {
        "visits": moves.sum(axis=(1, 2)),
        "rewards": moves[:, :, 1].sum(axis=1),
        "transitions": moves.sum(axis=2).reshape(-1),
    }


@pytest.mark.parametrize(("promise", "name", "model"), CASES)
def test_reports_have_the_mechanisms_mean_and_variance(promise: Guarantee, name: str, model: str) -> None:
    """Cells about one episode, by hand: each mean and variance within six standard errors (1e-8), and not those of 3/2."""
    design = designed(promise, name, model)
    one = walks(design.question.spec, 1)[0]
    decoded = [Report.from_bytes(data, design) for data in told_by_node(design, [one] * PEOPLE)]
    mechanism, asked = design.mechanism, design.question.counts
    if design.question.kind != "counts":
        sums, chances = _by_category(design, one, decoded)
        errors = np.sqrt(np.maximum(PEOPLE * chances * (1 - chances), 1.0))
        assert (np.abs(sums - PEOPLE * chances) <= 6 * errors + 12).all()
        return
    cells = np.array([report.cells for report in decoded]) * mechanism.grid
    exact = count(asked, one, one.rewards.astype(np.int64)) / asked.resolution
    estimated = np.array([mechanism.estimate(cells.sum(axis=0), PEOPLE, design.question.trials)]) / PEOPLE
    wanted = np.array([mechanism.variance(trials) for trials in design.question.trials])
    assert (np.abs(estimated - exact) <= 6 * np.sqrt(wanted / PEOPLE)).all()
    if name == "randomised-response":
        wanted = wanted * (1 - 2 * mechanism.flip) ** 2
    spread = (cells.var(axis=0) / wanted).mean()
    assert 0.9 < spread < 1.1  # 2/3 and 3/2 of the scale would be 0.44 and 2.25


def _by_category(design: Design, one: Trajectory, told: list[Report]) -> tuple[np.ndarray, np.ndarray]:
    """How often each row and category was reported, and how likely that is."""
    question, mechanism = design.question, design.mechanism
    spec = question.spec
    sums = np.zeros((question.rows, question.width))
    for report in told:
        check_range(design, report.cells, 1)
        sums[report.row] += report.cells
    chances = np.zeros_like(sums)
    levels, asked = one.rewards.astype(np.int64), question.kind == "asked"
    drawn = question.rows if asked else spec.horizon
    for at in range(drawn):
        row = chances[at if question.rows > 1 else 0]
        truth = first_visit(question, one, levels, at) if asked else category(question.counts, one, levels, at)
        row += mechanism.miss / drawn
        row[truth] += (mechanism.hit - mechanism.miss) / drawn
    return sums, chances


def test_what_services_choose_is_what_a_device_in_a_page_knows() -> None:
    for promise in (Local(epsilon=1.0), Local(epsilon=1.0, delta=1e-6), Local(rho=0.5)):
        made = make(request_for(CountQuestion(Spec(4, 2, 10)), promise, 100))
        (data,) = told_by_node(made, walks(made.question.spec, 1))
        assert Report.from_bytes(data, made).to_bytes(made) == data


def test_a_report_of_another_design_is_refused() -> None:
    first, second = (
        designed(Local(epsilon=2.0), "unary", "stationary"),
        designed(Local(epsilon=1.9), "unary", "stationary"),
    )
    (data,) = told_by_node(first, walks(first.question.spec, 1))
    with refused("report-unreadable", match="another design"):
        Report.from_bytes(data, second)
