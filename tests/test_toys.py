"""A question, a mechanism and a trust model of one's own work everywhere, without a change to the package.

Each stands in one file under tests/toys. What is asked of them here is what the package asks of its own.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from confide import Local, NoPrivacy, fit
from confide.cli import run as command
from confide.data.privatizers import DatasetAggregate, open_aggregate, respond
from confide.data.trajectories import Trajectory, read
from confide.errors import FormatError, PrivacyError, UnknownName, UnsafeNoise
from confide.lab.audit import audit, entries, targets_of
from confide.lab.audit.sweep import swept
from confide.lab.environments import make as world
from confide.lab.simulation import prepare, simulate
from confide.lab.simulation.play import walk
from confide.lab.simulation.simulate import choose_engine
from confide.lab.staging import visit
from confide.lab.testing import DesignConformance, MechanismConformance
from confide.mdp import Policy, Spec
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.privacy import Act, Central, Certificate, Guarantee, Schedule
from confide.protocol import accepted
from confide.protocol.accepted import accept
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import open_aggregate as open_reports
from confide.protocol.releases.release import read_release
from confide.service.collector.founding import make_service
from tests.everyday import first_of
from tests.refusals import refused
from tests.service.collector.services import running

from .toys.arms import KIND, Arms, ArmsQuestion, Chooser
from .toys.blurred import Blurred
from .toys.blurred import case as blurred_counts
from .toys.witness import QUORUM, WITNESS, WitnessAggregate

# Seeds are fixed. If both sides have one law, a test rejects with this probability.
FALSE_ALARM = 1e-6
RIVER = world("riverswim/3", 4)
SPEC = RIVER.spec
ROOT = Path(__file__).parents[1]

CASES: dict[str, dict[str, Any]] = {
    "question": {"learner": Chooser(), "privacy": Local(20.0)},
    "question, exact": {"learner": Chooser(), "privacy": NoPrivacy()},
    "question and mechanism": {"learner": Chooser(), "privacy": Local(20.0), "mechanism": "blurred"},
    "mechanism": {"learner": "obi", "privacy": Local(20.0), "mechanism": "blurred"},
    "trust": {"learner": "obi", "privacy": Guarantee(WITNESS, 20.0)},
    "trust and mechanism": {"learner": "obi", "privacy": Guarantee(WITNESS, 20.0), "mechanism": "blurred"},
}


@pytest.mark.parametrize("name", first_of(CASES))
def test_they_are_simulated_by_both_engines_in_one_law(name: str) -> None:
    choices = {"environment": world("random/3x3", 3), "episodes": 24, "schedule": "batches:4", **CASES[name]}
    plain = simulate(seeds=40, seed=1, engine="plain", **choices)
    quick = simulate(seeds=80, seed=2, engine="batched", **choices)
    assert (plain.engine, quick.engine) == ("plain", "batched")
    left, right = plain.regret[:, -1], quick.regret[:, -1]
    assert np.isfinite(left).all() and len(set(left.round(6))) > 3
    assert stats.ks_2samp(left.round(6), right.round(6)).pvalue > FALSE_ALARM
    assert abs(left.mean() - right.mean()) < 5 * np.sqrt(left.var() / 40 + right.var() / 80)
    assert plain.certificate.as_json() == quick.certificate.as_json()
    assert plain.trust == choices["privacy"].trust


def test_they_are_learned_from() -> None:
    """With so little noise the chooser finds the action that pays: swimming upstream."""
    run = simulate(Chooser(), RIVER, Local(200.0), 400, 5, schedule="batches:4", engine="batched")
    random = prepare(Chooser(), RIVER).value_of(Policy.uniform(4, 3, 2).probabilities)
    assert (run.final_value > random).all()


def designs() -> dict[str, Design]:
    schedule = Schedule.batches(40, 1)
    return {
        "question": make(Request(ArmsQuestion(SPEC), Local(2.0), schedule)),
        "question and mechanism": make(Request(ArmsQuestion(SPEC), Local(2.0), schedule, mechanism="blurred")),
        "mechanism": make(Request(CountQuestion(SPEC), Local(2.0), schedule, mechanism="blurred")),
        "trust": make(Request(CountQuestion(SPEC), Guarantee(WITNESS, 2.0), schedule)),
        "trust and mechanism": make(
            Request(CountQuestion(SPEC), Guarantee(WITNESS, 2.0), schedule, mechanism="blurred")
        ),
    }


@pytest.mark.parametrize("name", designs())
def test_devices_and_a_server_exchange_bytes(name: str) -> None:
    """The server's design crosses as bytes, reports come back as bytes, and both sides compute the guarantee."""
    asked = designs()[name]
    on_device, on_server = (Design.from_bytes(asked.to_bytes()) for _ in range(2))
    assert on_device.guarantee == on_server.guarantee == asked.guarantee
    assert on_device.guarantee.epsilon == pytest.approx(2.0) and on_device.guarantee.trust == asked.trust
    aggregate, luck = open_reports(on_server), np.random.default_rng(1)
    for _ in range(40):
        person = walk(RIVER, Policy.uniform(4, 3, 2).probabilities, luck)
        aggregate.take(respond(on_device, None, person).to_bytes(on_device))
    raw = respond(on_device, None, person).to_bytes(on_device)
    for bad in (b"", raw[:-1], raw + b"x", b"x" + raw[1:]):
        with pytest.raises(FormatError):
            aggregate.take(bad)
    release = aggregate.close()
    assert release.users == aggregate.users == 40 and release.guarantee == asked.guarantee
    assert (np.asarray(asked.radii(40)) > 0).all()


@pytest.mark.service
def test_a_mechanism_is_served_by_a_collector_over_http(tmp_path: Path) -> None:
    """The contract names it, devices draw it, and the collector learns from what they send: all three by its bytes."""
    promise, schedule = Local(20.0), Schedule.batches(10, 2)
    folder = make_service(tmp_path / "tea", SPEC, promise, 10, schedule=schedule, mechanism="blurred")
    with running(folder) as service:
        assert visit(service.url, "riverswim/3", 10).as_json()["counted"] == 10
        service.until_round(3)
        served = service.contract.design
        assert isinstance(served.mechanism, Blurred) and served.guarantee == served.requested == promise
        for number in (1, 2):
            status, body = service.get(f"/v1/releases/{number}")
            release = read_release(served, body)
            assert status == 200 and release.users == 5 * number and release.guarantee == promise


def test_what_a_service_and_a_fit_do_not_know_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """Services have trust models with a server, and learners from counts; a data set is released by noise on its sums."""
    with refused("service-trust"):
        make_service(tmp_path / "tea", SPEC, Guarantee(WITNESS, 2.0), 10)
    assert not (tmp_path / "tea").exists()
    log = {"user": [0, 0], "step": [0, 1], "state": [0, 1], "action": [0, 1], "reward": [0.0, 1.0]}
    data = read(log, states=3, actions=2, horizon=2)
    with refused("unknown-name"):
        fit(data, privacy=Central(rho=1.0), mechanism="blurred", out=tmp_path / "policy")
    assert not (tmp_path / "policy").exists()


@pytest.mark.parametrize("name", designs())
def test_noise_that_can_be_replayed_is_refused_on_a_device(name: str) -> None:
    person = walk(RIVER, Policy.uniform(4, 3, 2).probabilities, np.random.default_rng(1))
    with pytest.raises(UnsafeNoise, match="secure noise"):
        respond(designs()[name], None, person, ReplayableNoise(1))


@pytest.mark.parametrize("name", first_of(designs()))
def test_the_audit_finds_no_more_than_is_certified_and_half_the_noise(name: str) -> None:
    spec = Spec(2, 2, 1)
    given = designs()[name]
    question = ArmsQuestion(spec) if given.question.kind == KIND else CountQuestion(spec)
    mechanism = "blurred" if given.mechanism.name == "blurred" else "auto" if question.kind == KIND else "laplace"
    true = make(Request(question, replace(given.requested, epsilon=1.0), Schedule.every(1), mechanism=mechanism))
    samples = 60_000 if question.kind == KIND else 12_000  # a small question is quickly answered, and tells little
    finding = audit(targets_of(name, true), samples, 1 - FALSE_ALARM, noise=ReplayableNoise(1))
    assert finding.ok and finding.trust == given.trust and finding.lower_bound > 0.1
    less = replace(true, act=Act(replace(true.mechanism, scale=true.mechanism.scale / 8), true.act.sensitivity))
    pairs = zip(targets_of(name, true), targets_of(name, less), strict=True)
    mutants = [replace(honest, sample=mutant.sample) for honest, mutant in pairs]
    assert not audit(mutants, 8_000, 1 - FALSE_ALARM, noise=ReplayableNoise(2)).ok


def test_a_question_of_ones_own_is_released_once_and_audited_at_a_curator() -> None:
    asked = make(Request(ArmsQuestion(Spec(2, 2, 1)), Central(1.0), Schedule.batches(2, 1)))
    aggregate = open_aggregate(asked, SecureNoise())
    aggregate.take(Trajectory(np.array([0, 1]), np.array([1]), np.array([1.0])))
    assert aggregate.close().users == 1
    finding = audit(targets_of("arms", asked), 12_000, 1 - FALSE_ALARM, noise=ReplayableNoise(3))
    assert finding.ok and finding.trust == "central" and finding.lower_bound > 0.1


def test_a_question_may_have_a_curators_book_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class OwnAggregate(DatasetAggregate):
        pass

    monkeypatch.setattr(Arms, "curators_aggregate", lambda kind, *given: OwnAggregate(*given))
    schedule = Schedule.batches(2, 1)
    assert type(open_aggregate(make(Request(ArmsQuestion(SPEC), Central(1.0), schedule)))) is OwnAggregate
    assert type(open_aggregate(make(Request(CountQuestion(SPEC), Central(1.0), schedule)))) is DatasetAggregate


def blurred_arms(promise: Guarantee) -> Design:
    return make(Request(ArmsQuestion(Spec(2, 2, 3)), promise, Schedule.every(1), mechanism="blurred"))


accept("counts", "blurred", WITNESS, blurred_counts)
accept(KIND, "blurred", "local", blurred_arms)
TOYS = {KIND, "blurred", WITNESS}  # examples are entered too, where they were imported, and have tests of their own
OWN = [row for row in accepted.rows() if TOYS & set(row) and row.trust != "none"]


@pytest.mark.parametrize("row", OWN, ids="-".join)
def test_each_enters_the_table_with_a_case_that_is_attacked_and_swept(row: accepted.Combination) -> None:
    case = accepted.case_of(row)
    assert case is not None
    design = case(Guarantee(row.trust, 1.0))
    assert accepted.row_of(design) == row and Design.from_bytes(design.to_bytes()).digest == design.digest
    spec = design.question.spec
    assert spec.horizon >= accepted.STEPS and spec.states * spec.actions >= accepted.PAIRS
    assert swept(design) <= 1e-4  # tables of losses are rounded up
    assert (row.kind, row.mechanism, row.trust) in {(entry.kind, entry.mechanism, entry.trust) for entry in entries()}


def test_what_was_not_entered_is_refused_on_reading() -> None:
    other = make(Request(ArmsQuestion(SPEC), Local(2.0), Schedule.every(1), mechanism="blurred"))
    forged = replace(other, requested=Guarantee(WITNESS, 2.0))
    with refused("design-unreadable", match="what is accepted"):
        Design.from_bytes(forged.to_bytes())


class TestWitness(DesignConformance):
    def make(self) -> Design:
        return make(
            Request(CountQuestion(Spec(2, 2, 3), last="dropped"), Guarantee(WITNESS, 2.0), Schedule.batches(60, 2))
        )


class TestBlurred(MechanismConformance):
    def make(self) -> Any:
        return Blurred(2.0, 1.0)


def test_the_price_of_arms_is_reached_and_never_exceeded() -> None:
    from confide.lab.audit.people import exact_message

    asked = make(Request(ArmsQuestion(Spec(2, 2, 2)), Local(1.0), Schedule.every(1)))
    people = [
        Trajectory(np.array([0, 0, 0]), np.array([first, 0]), np.array(paid))
        for first in (0, 1)
        for paid in ([0.0, 0.0], [1.0, 0.0], [1.0, 1.0])
    ]
    cells = [exact_message(asked, person, 1.0) for person in people]
    far = max(np.abs(one - other).sum() for one in cells for other in cells)
    assert far == asked.question.price().l1 == 6


def test_a_witness_waits_for_its_quorum() -> None:
    asked = designs()["trust"]
    aggregate = open_aggregate(asked)
    assert isinstance(aggregate, WitnessAggregate)
    for number in range(QUORUM):
        with pytest.raises(PrivacyError, match="waits for"):
            aggregate.close()
        assert aggregate.users == number
        aggregate.take(
            respond(asked, None, walk(RIVER, Policy.uniform(4, 3, 2).probabilities, np.random.default_rng(1)))
        )
    assert aggregate.close().users == QUORUM


def test_no_compiled_loop_stands_in_for_a_book_it_does_not_know() -> None:
    """Under local trust reports after every user are played stepwise; a witness would be passed over."""
    ours = prepare("obi", RIVER, Local(2.0), 24, schedule="every", mechanism="laplace")
    theirs = prepare("obi", RIVER, Guarantee(WITNESS, 2.0), 24, schedule="every", mechanism="laplace")
    assert choose_engine(ours, None) == "stepwise" and choose_engine(theirs, None) == "batched"
    with refused("engine-unfit"):
        choose_engine(theirs, "stepwise")


def test_a_promise_names_known_trust_models_only() -> None:
    with pytest.raises(UnknownName, match="trust"):
        Guarantee("nobody-entered-this", 1.0)
    stated = designs()["trust"].certificate("opendp")
    assert Certificate.from_json(stated.as_json()) == stated and "witness waits" in str(stated)


def test_a_command_takes_them_by_their_words(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"simulate riverswim/3 --horizon 4 --learner obi --trust {WITNESS} --epsilon 9 --mechanism blurred"
    assert command([*words.split(), "--episodes", "60", "--seeds", "1", "--schedule", "batches:4"]) == 0
    assert "9-DP, witness" in capsys.readouterr().out
    assert command([*words.replace(WITNESS, "wittness").split(), "--episodes", "60", "--seeds", "1"]) == 2
    assert "trust" in capsys.readouterr().err


def test_the_package_knows_nothing_of_them() -> None:
    """What these tests rest on: no file of the package names a toy."""
    process = subprocess.run(
        [sys.executable, "-c", "import confide.lab.simulation.simulate, sys; print([m for m in sys.modules if 'toys' in m])"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout.strip() == "[]"
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "confide").rglob("*.py")))
    assert not any(
        word in sources for word in ("ArmsQuestion", "Blurred(", "WitnessAggregate", '"witness"', '"blurred"')
    )
