"""Attacks on what is claimed of shuffling succeed; attacks on what is guaranteed of it do not, unless noise is left out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from confide import Local, Shuffle
from confide.data.privatizers import respond
from confide.data.trajectories import Trajectory
from confide.lab.audit import audit, pairs
from confide.lab.audit.shuffle_attacks import FLIP, Breach, shuffled_history, visible_report
from confide.lab.audit.shufflers import shuffle_target
from confide.mdp import Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.privacy import Act, Schedule
from confide.privacy.shuffled_bits import calibrated
from confide.privacy.shuffling import ShuffledCrowd
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import DROPPED
from confide.protocol.releases.shuffler import ShuffledReports
from confide.protocol.trusts.mixing import Mixing


def test_others_actions_break_the_claim_of_shuffled_obi() -> None:
    breach = shuffled_history(300_000)
    assert breach.claimed.epsilon == pytest.approx(0.040, abs=2e-4) and breach.claimed.delta == 1e-6
    assert 0.40 < breach.log_ratio < 0.70
    assert breach.least_epsilon(1e-6) > 0.2
    assert breach.least_delta(breach.claimed.epsilon or 0) > 3e-4
    finding = breach.finding()
    assert not finding.ok and finding.lower_bound > 4 * finding.certified_epsilon
    # The local guarantee, which does hold, is not touched.
    assert breach.least_epsilon(0.0) < math.log((1 - FLIP) / FLIP)


@pytest.mark.parametrize(("people", "least"), [(200, 0.19), (1000, 0.9), (5000, 0.96)])
def test_a_whole_report_is_visible(people: int, least: float) -> None:
    (crowd,) = calibrated((people,), 10, 1.0, 1e-6)
    breach = visible_report(crowd.flip, people, 10, Shuffle(1.0, 1e-6), trials=1000)
    seen = (breach.hits - math.e * breach.other_hits) / breach.trials
    assert seen > {200: 0.26, 1000: 0.93, 5000: 0.99}[people]
    assert breach.least_delta(1.0) > least  # with confidence
    assert not breach.finding().ok


def test_the_same_attack_on_real_reports() -> None:
    """Few people and little noise: the report that is unlike the others is found among shuffled ones."""
    question = CountQuestion(Spec(3, 1, 2), last=DROPPED)
    honest, noise = (
        make(Request(question, Local(30.0), Schedule.every(1), mechanism="randomised-response")),
        ReplayableNoise(4),
    )
    question = honest.question
    design = replace(honest, act=Act(RandomizedResponse(3.0), honest.act.sensitivity))
    usual, first, second = (Trajectory(np.full(3, s), np.zeros(2, dtype=int), np.ones(2)) for s in range(3))
    where = {s: [question.slices[part].start + s for part in ("visits", "rewards")] for s in range(3)}
    caught = {1: 0, 2: 0}
    for person, label in ((first, 1), (second, 2)):
        for _ in range(60):
            reports = [respond(design, None, one, noise, simulated=True) for one in [usual] * 15 + [person]]
            mixed = ShuffledReports.of(reports, design, noise).reports
            scores = {s: max(float(report.cells[where[s]].sum()) for report in mixed) for s in (1, 2)}
            caught[label] += scores[1] > scores[2]
    breach = Breach("real", "", Shuffle(1.0, 1e-6), caught[1], caught[2], 60, 0.0)
    assert breach.least_delta(1.0) > 0.2


def design_of(batch: int = 10, epsilon: float = 1.0) -> Design:
    question = CountQuestion(Spec(2, 2, 1), last=DROPPED)
    schedule = Schedule.sized(2 * batch, batch)
    return make(Request(question, Shuffle(epsilon, 0.01), schedule, "sound", "shuffled-bits", mixing=Mixing(batch)))


def test_sums_keep_their_promise() -> None:
    design = design_of()
    targets = [shuffle_target("shuffle", design, people) for people in pairs(Spec(2, 2, 1))]
    finding = audit(targets, samples=25_000, delta=0.01, noise=ReplayableNoise(1))
    assert finding.ok and finding.trust == "shuffle"
    assert finding.lower_bound > 0.5  # the attack is not blind


@pytest.mark.parametrize("scale", [0.25, 4.0])
def test_half_the_noise_is_flagged_and_twice_is_not(scale: float) -> None:
    honest = design_of()
    crowd = honest.mechanism.crowds[0]
    other = replace(honest.mechanism, crowds=(ShuffledCrowd.of(scale * crowd.variance, crowd.people),))
    mutant = replace(honest, act=replace(honest.act, mechanism=other))
    targets = [
        replace(shuffle_target("mutant", mutant, people), loss=honest.act.loss) for people in pairs(Spec(2, 2, 1))
    ]
    finding = audit(targets, samples=25_000, delta=0.01, noise=ReplayableNoise(1))
    assert finding.ok == (scale > 1)
