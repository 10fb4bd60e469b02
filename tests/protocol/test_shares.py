"""Shufflers who add up counts with shares of noise: who may choose them, what the certificate says, and what reports are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from confide.data.privatizers import open_aggregate, respond
from confide.data.statistics.answers import answer
from confide.data.trajectories import Trajectory
from confide.errors import ConfideError
from confide.lab.simulation import prepare
from confide.mdp import Model, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.skellam import SkellamShares
from confide.privacy import Act, Shuffle
from confide.protocol.accepted import ANY, BROWSERS
from confide.protocol.defaults import request_for
from confide.protocol.design import Design, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases.report import Report, report_length
from confide.protocol.trusts.shuffle import remaining
from tests.refusals import refused

SPEC, PROMISE = Spec(3, 2, 5), Shuffle(1.0, 1e-6)


def design_of(spec: Spec = SPEC, **choices: object) -> Design:
    return make(request_for(CountQuestion(spec), PROMISE, 4000, devices=choices.pop("devices", ANY), **choices))


def lived(rng: np.random.Generator, spec: Spec = SPEC) -> Trajectory:
    states = rng.integers(spec.states, size=spec.horizon + 1)
    paid = rng.integers(2, size=spec.horizon).astype(np.float64)
    return Trajectory(states, rng.integers(spec.actions, size=spec.horizon), paid)


def test_they_are_chosen_where_the_guarantee_can_be_claimed_and_nowhere_else() -> None:
    assert design_of().mechanism.name == "skellam" and design_of().question.kind == "budgeted"
    assert design_of(Spec(3, 2, 1)).question.kind == "bandit"
    assert design_of(claimed=False).mechanism.name == "shuffled-bits"
    assert design_of(devices=BROWSERS).digest == design_of().digest  # a page can do what any device can
    assert design_of(Spec(3, 2, 5, "per-step")).mechanism.name == "shuffled-bits"
    assert design_of(shuffling={"tree": True, "batch": 500}).mechanism.name == "shuffled-bits"
    with refused("shares-need"):
        design_of(mechanism="skellam", shuffling={"tree": True, "batch": 500})


def test_a_service_chooses_them_with_tokens_and_a_shuffler_of_another_operator() -> None:
    from confide.service.collector.founding import ServiceChoices
    from tests.service.issuer.issuers import ISSUER

    def chosen(**more: object) -> str:
        return ServiceChoices(SPEC, PROMISE, 4000, operator="one", devices=ANY, **more).design().mechanism.name

    other = {"between": {"operator": "another"}}
    assert chosen(issuer=ISSUER, **other) == "skellam"
    deployed = ServiceChoices(SPEC, PROMISE, 4000, operator="one", issuer=ISSUER, **other).design()
    model = Model(np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)), np.full(3, 1 / 3), 5)
    for claimed in (False, True):
        simulated = prepare("ucbvi", model, PROMISE, 4000, claimed=claimed).design
        assert (simulated.digest == deployed.digest) is claimed
    assert (
        chosen(**other)
        == chosen(issuer=ISSUER)
        == chosen(issuer=ISSUER, between={"operator": "one"})
        == "shuffled-bits"
    )


def test_the_certificate_says_none_of_a_shuffler_that_looks() -> None:
    design = design_of()
    text = str(design.certificate("secure"))
    assert "the guarantee is none" in text and not design.local_guarantee.private
    assert len(design.certificate("secure").promises) == 1
    assert design.guarantee.epsilon is not None and 0.99 < design.guarantee.epsilon <= 1.0
    fewer = remaining(design, design.mechanism.honest[0] // 2)
    assert fewer.epsilon is not None and 1.2 < fewer.epsilon < 2.0


def test_every_report_has_one_length_and_sums_are_what_was_counted() -> None:
    """The batch of the first size, person by person: released counts differ from true ones by the noise that is stated."""
    design, rng, noise = design_of(), np.random.default_rng(1), ReplayableNoise(2)
    mixing = design.mixing
    assert mixing is not None
    aggregate, lengths, truth = open_aggregate(design), set(), np.zeros(design.question.width)
    for _ in range(mixing.batch):
        person = lived(rng)
        grid = design.devices[0].grid
        truth += answer("budgeted", design.question, person, grid, noise.integers)[1] * grid
        message = respond(design, design.question, person, noise, batch=0, simulated=True)
        lengths.add(len(message[0].report.to_bytes(design)))
        again = Report.from_bytes(message[0].report.to_bytes(design), design)
        np.testing.assert_array_equal(again.cells, message[0].report.cells)
        aggregate.take(message)
    assert lengths == {report_length(design, 0)}
    release = aggregate.close(design.question)
    moved = release.counts.transitions.ravel() - truth[design.counts.slices["transitions"]]
    spread = release.noise.transitions
    shares, grid = design.mechanism, design.devices[0].grid
    assert spread == pytest.approx(2 * shares.rate * grid**2 * mixing.batch / shares.honest[0])
    assert abs(float((moved**2).mean()) / spread - 1) < 5 * np.sqrt(2 / moved.size)
    assert np.abs(moved).max() < release.radius.transitions
    assert release.budget == design.question.budget and not release.complete


def test_bytes_survive_and_shares_for_other_batches_are_refused() -> None:
    design = design_of()
    assert Design.from_bytes(design.to_bytes()).digest == design.digest
    shares = design.mechanism
    for wrong in (
        SkellamShares(shares.rate, tuple(2 * each for each in shares.honest), shares.width, shares.grid),
        SkellamShares(shares.rate, shares.honest, shares.width + 1, shares.grid),
        SkellamShares(shares.rate // 2, shares.honest, shares.width, shares.grid),
    ):
        with pytest.raises(ConfideError):
            replace(design, act=Act(wrong, design.act.sensitivity)).verified()
