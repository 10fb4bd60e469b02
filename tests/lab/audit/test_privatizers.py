"""Whole privatizers: what leaves the wall keeps what is certified, and planted mistakes in it are seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.data.privatizers import CuratorAggregate, DatasetAggregate, respond
from confide.data.statistics import count
from confide.data.trajectories import Trajectory
from confide.lab.audit import audit, central_target, curators, devices, joint_target, local_target, pairs
from confide.lab.audit.catalogue import SPEC, AuditEntry
from confide.lab.audit.likelihood import exact_loss
from confide.lab.audit.people import exact_message
from confide.mdp import Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.mechanisms.unary import SampledStep
from confide.privacy import Act, Central, Joint, Local, Pure, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion

FALSE_ALARM = 1e-6


def local(mechanism: str = "laplace", spec: Spec = SPEC, calibration: str = "tight") -> Design:
    return make(Request(CountQuestion(spec), Local(1.0), Schedule.every(1), calibration, mechanism))


def joint(batches: int = 2) -> Design:
    return make(Request(CountQuestion(SPEC), Joint(1.0), Schedule.batches(batches, batches)))


def central() -> Design:
    return make(Request(CountQuestion(SPEC), Central(1.0), Schedule.batches(2, 1)))


def counts(question: CountQuestion, person: Trajectory) -> NDArray[np.float64]:
    return np.asarray(count(question, person, person.rewards.astype(np.int64) * question.levels) / question.resolution)


def changed(design: Design, mechanism: Any) -> Design:
    """The same design with another mechanism in it."""
    return replace(design, act=Act(mechanism, design.act.sensitivity))


def test_the_local_laplace_privatizer_is_seen_through() -> None:
    finding = AuditEntry("laplace", "local", "tight").audit(1.0, samples=50_000, noise=ReplayableNoise(2))
    assert 0.85 < finding.lower_bound <= finding.certified_epsilon == 1


def test_a_paper_that_promises_one_is_shown_to_give_more() -> None:
    """Scale 3H/epsilon on visits, rewards and transitions per step: truly twice the epsilon."""
    finding = AuditEntry("laplace", "local", "paper", "private-ucb").audit(
        1.0, samples=50_000, noise=ReplayableNoise(3)
    )
    assert finding.certified_epsilon == pytest.approx(2)
    assert 1.2 < finding.lower_bound <= 2
    assert finding.ok


def test_the_two_worst_pairs_reach_the_sensitivity() -> None:
    """One for visits, rewards and transitions, the other for transitions with centred rewards."""
    for horizon in (1, 2, 3):
        for model in ("stationary", "per-step"):
            spec = Spec(3, 2, horizon, model)
            plain = CountQuestion(spec)
            tight = local(spec=spec).question
            reached = [
                max(np.abs(counts(question, first) - counts(question, second)).sum() for first, second in pairs(spec))
                for question in (plain, tight)
            ]
            assert reached == [plain.price().l1, tight.price().l1]


@pytest.mark.parametrize("mechanism", ["laplace", "unary", "k-ary"])
@pytest.mark.parametrize("model", ["stationary", "per-step"])
def test_longer_episodes_are_audited_too(mechanism: str, model: str) -> None:
    """Which step a report tells of is known per step, and one of two if steps are pooled."""
    privatizer = local(mechanism, Spec(2, 2, 2, model))
    targets = [local_target("longer", privatizer, people) for people in pairs(privatizer.question.spec)[:2]]
    # Of reports that take a call each a quarter is made.
    finding = audit(targets, 4000 if mechanism == "laplace" else 8000, 1 - FALSE_ALARM, noise=ReplayableNoise(4))
    assert finding.ok
    assert finding.lower_bound > 0.05


@pytest.mark.parametrize("mechanism", ["laplace", "randomised-response", "k-ary"])
def test_many_messages_a_call_have_the_law_of_one_a_call(mechanism: str) -> None:
    privatizer, noise = local(mechanism), ReplayableNoise(5)
    person = pairs(SPEC)[0][0]
    one = devices._one_a_call(privatizer, person, 1000, noise)
    many = devices._many_a_call(privatizer, person, 1000, noise)
    assert many is not None and many.shape == one.shape
    spread = np.maximum(one.std(axis=0), 1e-9)
    assert np.abs(one.mean(axis=0) - many.mean(axis=0)).max() < 6 * spread.max() * math.sqrt(2 / 1000)
    assert many.std(axis=0) == pytest.approx(one.std(axis=0), abs=0.2 * spread.max())


def leaky(design: Design, question: Any, person: Trajectory, *noise: Any, **choices: Any) -> Any:
    """Sends what its mechanism said, but for one cell, which it sends as it is."""
    honest = respond(design, question, person, *noise, **choices)
    bare = honest.cells.copy()
    bare[0] = person.states[0]
    return replace(honest, cells=bare)


def test_a_device_that_does_not_send_what_its_mechanism_says_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "respond", leaky)
    people = pairs(SPEC)[0]
    assert devices._many_a_call(local(), people[0], 100, ReplayableNoise(6)) is None
    finding = audit(local_target("leaky", local(), people), 2000, 1 - FALSE_ALARM, noise=ReplayableNoise(6))
    assert finding.lower_bound > 3


@dataclass(frozen=True)
class SharedNoise(Laplace):
    """One draw for all cells, as in code that was once published with a paper."""

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        return cells + self.grid * noise.discrete_laplace(self.scale / self.grid, 1)


def test_a_device_that_shares_noise_between_cells_is_caught() -> None:
    true = local()
    assert isinstance(true.mechanism, Laplace)
    shared = SharedNoise(true.mechanism.scale, true.mechanism.grid)
    mutant = changed(true, shared)
    targets = [local_target("shared", mutant, people) for people in pairs(SPEC)]
    assert audit(targets, 3000, 1 - FALSE_ALARM, noise=ReplayableNoise(7)).lower_bound > 3


def test_a_device_with_half_the_noise_is_caught() -> None:
    true = local()
    assert isinstance(true.mechanism, Laplace)
    half = changed(true, replace(true.mechanism, scale=true.mechanism.scale / 2))
    targets = [
        replace(local_target("half", true, people), sample=local_target("half", half, people).sample)
        for people in pairs(SPEC)
    ]
    assert audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(8)).lower_bound > 1.2


def test_a_device_that_forgets_the_horizon_is_caught() -> None:
    """Noise for one step, on the counts of three."""
    spec = Spec(2, 2, 3)
    true = local(spec=spec)
    forgetful = changed(true, Laplace(3.0, 0.5))
    targets = [
        replace(local_target("forgetful", true, people), sample=local_target("forgetful", forgetful, people).sample)
        for people in pairs(spec)
    ]
    assert audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(9)).lower_bound > 1.2


class Absent(SampledStep):
    """Says nothing of the truth: every user is absent."""

    def encoded(self, category: int, noise: NoiseSource) -> NDArray[np.int64]:
        return super().encoded(self.categories - 1, noise)


def test_a_device_that_says_nothing_shows_nothing() -> None:
    true = local("k-ary")
    assert isinstance(true.mechanism, SampledStep)
    silent = changed(true, Absent(1.0, true.mechanism.categories, true.mechanism.encoding))
    finding = audit(local_target("silent", silent, pairs(SPEC)[0]), 2000, 1 - FALSE_ALARM, noise=ReplayableNoise(10))
    assert finding.lower_bound == 0


def test_a_report_with_secure_noise_is_audited() -> None:
    target = local_target("secure", local(), pairs(SPEC)[1])
    finding = audit(target, 1000, 1 - FALSE_ALARM, noise=SecureNoise())
    assert finding.ok


def test_the_exact_loss_of_two_people_is_below_the_certified_one() -> None:
    privatizer = local()
    for people in pairs(SPEC):
        inputs = (exact_message(privatizer, people[0], 0.5), exact_message(privatizer, people[1], 0.5))
        exact = exact_loss(privatizer.mechanism, inputs, privatizer.question.trials)
        assert exact is not None
        assert exact.epsilon(0.0) <= privatizer.act.loss.epsilon(0.0) + 1e-3
        for epsilon in (0.1, 0.5, 0.9):
            assert exact.delta(epsilon) <= privatizer.act.loss.delta(epsilon) + 1e-3


class Unnoised(CuratorAggregate):
    """Publishes the number of people's visits to one cell as it is."""

    def take(self, message: Trajectory, question: Any = None) -> None:
        super().take(message, question)
        self.first = float(message.states[0] == 0)

    def close(self, question: Any = None) -> Any:
        release = super().close(question)
        release.counts.transitions[0, 0, 0, 0] = self.first
        return release


def test_a_curator_who_does_not_publish_what_the_counter_says_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curators, "open_aggregate", Unnoised)
    target = joint_target("unnoised", joint(), pairs(SPEC)[0])
    assert audit(target, 1000, 1 - FALSE_ALARM, noise=ReplayableNoise(11)).lower_bound > 2


def test_a_curator_with_half_the_noise_is_caught() -> None:
    true = joint(1)
    half = changed(true, replace(true.mechanism, scale=true.mechanism.scale / 2))
    targets = [
        replace(joint_target("half", true, people), sample=joint_target("half", half, people).sample)
        for people in pairs(SPEC)
    ]
    assert audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(12)).lower_bound > 1.2


def test_a_person_in_a_later_batch_is_audited() -> None:
    target = joint_target("later", joint(3), pairs(SPEC)[1], batch=2)
    assert isinstance(target.loss, Pure)
    finding = audit(target, 20_000, 1 - FALSE_ALARM, noise=ReplayableNoise(13))
    assert 0.1 < finding.lower_bound <= 1


def test_a_data_set_released_once_is_seen_through() -> None:
    """Most of what this many samples can show: outputs are the aggregate's own."""
    targets = [central_target("once", central(), people) for people in pairs(SPEC)]
    finding = audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(14))
    assert finding.trust == "central" and 0.8 * finding.ideal_bound < finding.lower_bound
    assert finding.lower_bound <= finding.certified_epsilon == pytest.approx(1)


def test_a_data_set_released_with_half_the_noise_is_caught() -> None:
    true = central()
    half = changed(true, replace(true.mechanism, scale=true.mechanism.scale / 2))
    targets = [
        replace(central_target("half", true, people), sample=central_target("half", half, people).sample)
        for people in pairs(SPEC)
    ]
    assert audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(15)).lower_bound > 1.2


class Bare(DatasetAggregate):
    """Publishes the number of people's visits to one cell as it is."""

    def close(self, question: Any = None) -> Any:
        true = float(self._cells[-1])
        release = super().close(question)
        release.counts.transitions[-1, -1, -1, -1] = true
        return release


def test_a_data_set_released_with_a_bare_cell_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curators, "open_aggregate", Bare)
    target = central_target("bare", central(), pairs(SPEC)[0])
    assert audit(target, 1000, 1 - FALSE_ALARM, noise=ReplayableNoise(16)).lower_bound > 2
