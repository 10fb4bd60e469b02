"""Whole privatizers: what leaves the wall keeps what is certified, and planted mistakes in it are seen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from confide.privatizers.central import Progress
from numpy.typing import NDArray

from confide.audit import audit, central_target, devices, local_target, pairs
from confide.audit.catalogue import SPEC, Entry
from confide.audit.likelihood import exact_loss
from confide.audit.people import counts
from confide.mdp import Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.mechanisms.unary import SampledStep
from confide.privacy import Act, Joint, Local, Pure, Schedule
from confide.privatizers import CentralPrivatizer, LocalPrivatizer, design
from confide.questions import CountQuestion
from confide.questions.sensitivity import sensitivity
from confide.releases import CountRelease, Report
from confide.releases.reading import trials
from confide.trajectories import Trajectory

FALSE_ALARM = 1e-6


def local(mechanism: str = "laplace", spec: Spec = SPEC, calibration: str = "tight") -> LocalPrivatizer:
    made = design(CountQuestion(spec), Local(1.0), Schedule.every(1), calibration, mechanism)
    assert isinstance(made, LocalPrivatizer)
    return made


def joint(batches: int = 2) -> CentralPrivatizer:
    made = design(CountQuestion(SPEC), Joint(1.0), Schedule.batches(batches, batches))
    assert isinstance(made, CentralPrivatizer)
    return made


def test_the_local_laplace_privatizer_is_seen_through() -> None:
    found = Entry("laplace", "local", "tight").audit(1.0, noise=ReplayableNoise(2))
    assert 0.85 < found.lower_bound <= found.certified_epsilon == 1
    assert found.seconds < 20


def test_a_paper_that_promises_one_is_shown_to_give_more() -> None:
    """Scale 3H/epsilon on visits, rewards and transitions per step: truly twice the epsilon."""
    found = Entry("laplace", "local", "paper", "private-ucb").audit(1.0, samples=50_000, noise=ReplayableNoise(3))
    assert found.certified_epsilon == pytest.approx(2)
    assert 1.2 < found.lower_bound <= 2
    assert found.ok


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
            assert reached == [sensitivity(plain).l1, sensitivity(tight).l1]


@pytest.mark.parametrize("mechanism", ["laplace", "unary", "k-ary"])
@pytest.mark.parametrize("model", ["stationary", "per-step"])
def test_longer_episodes_are_audited_too(mechanism: str, model: str) -> None:
    """Which step a report tells of is known per step, and one of two if steps are pooled."""
    privatizer = local(mechanism, Spec(2, 2, 2, model))
    targets = [local_target("longer", privatizer, people) for people in pairs(privatizer.question.spec)[:2]]
    found = audit(targets, 4000, 1 - FALSE_ALARM, noise=ReplayableNoise(4))
    assert found.ok
    assert found.lower_bound > 0.05


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


class Leaky(LocalPrivatizer):
    """Sends what its mechanism said, but for one cell, which it sends as it is."""

    def report(self, trajectory: Trajectory, noise: NoiseSource | None = None, *, simulated: bool = False) -> Report:
        honest = super().report(trajectory, noise, simulated=simulated)
        bare = honest.cells.copy()
        bare[0] = trajectory.states[0]
        return replace(honest, cells=bare)


def fields(privatizer: LocalPrivatizer | CentralPrivatizer) -> dict[str, object]:
    return {name: getattr(privatizer, name) for name in privatizer.__dataclass_fields__}


def test_a_privatizer_that_does_not_send_what_its_mechanism_says_is_caught() -> None:
    people = pairs(SPEC)[0]
    leaky = Leaky(**fields(local()))  # type: ignore[arg-type]
    assert devices._many_a_call(leaky, people[0], 100, ReplayableNoise(6)) is None
    found = audit(local_target("leaky", leaky, people), 2000, 1 - FALSE_ALARM, noise=ReplayableNoise(6))
    assert found.lower_bound > 3


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
    mutant = replace(true, act=Act(shared, true.act.sensitivity))
    targets = [local_target("shared", mutant, people) for people in pairs(SPEC)]
    assert audit(targets, 2000, 1 - FALSE_ALARM, noise=ReplayableNoise(7)).lower_bound > 3


def test_a_device_with_half_the_noise_is_caught() -> None:
    true = local()
    assert isinstance(true.mechanism, Laplace)
    half = replace(true, act=Act(replace(true.mechanism, scale=true.mechanism.scale / 2), true.act.sensitivity))
    targets = [
        replace(local_target("half", true, people), sample=local_target("half", half, people).sample)
        for people in pairs(SPEC)
    ]
    assert audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(8)).lower_bound > 1.2


def test_a_device_that_forgets_the_horizon_is_caught() -> None:
    """Noise for one step, on the counts of three."""
    spec = Spec(2, 2, 3)
    true = local(spec=spec)
    forgetful = replace(true, act=Act(Laplace(3.0, 0.5), true.act.sensitivity))
    targets = [
        replace(local_target("forgetful", true, people), sample=local_target("forgetful", forgetful, people).sample)
        for people in pairs(spec)
    ]
    assert audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(9)).lower_bound > 1.2


class Absent(SampledStep):
    """Says nothing of the truth: everybody is absent."""

    def randomize(self, category: int, noise: NoiseSource) -> NDArray[np.int64]:
        return super().randomize(self.categories - 1, noise)


def test_a_device_that_says_nothing_shows_nothing() -> None:
    true = local("k-ary")
    assert isinstance(true.mechanism, SampledStep)
    silent = replace(
        true, act=Act(Absent(1.0, true.mechanism.categories, true.mechanism.encoding), true.act.sensitivity)
    )
    found = audit(local_target("silent", silent, pairs(SPEC)[0]), 2000, 1 - FALSE_ALARM, noise=ReplayableNoise(10))
    assert found.lower_bound == 0


def test_a_report_with_secure_noise_is_audited() -> None:
    target = local_target("secure", local(), pairs(SPEC)[1])
    found = audit(target, 1000, 1 - FALSE_ALARM, noise=SecureNoise())
    assert found.ok


def test_the_exact_loss_of_two_people_is_below_the_certified_one() -> None:
    privatizer = local()
    for people in pairs(SPEC):
        inputs = (counts(privatizer.question, people[0]), counts(privatizer.question, people[1]))
        exact = exact_loss(privatizer.mechanism, inputs, trials(privatizer.question))
        assert exact is not None
        assert exact.epsilon(0.0) <= privatizer.act.loss.epsilon(0.0) + 1e-3
        for epsilon in (0.1, 0.5, 0.9):
            assert exact.delta(epsilon) <= privatizer.act.loss.delta(epsilon) + 1e-3


class Unnoised(CentralPrivatizer):
    """Publishes the number of people's visits to one cell as it is."""

    def answer(
        self,
        progress: Progress,
        batch: Iterable[Trajectory],
        failure: float,
        noise: NoiseSource | None = None,
        *,
        simulated: bool = False,
    ) -> tuple[Progress, CountRelease]:
        people = list(batch)
        state, release = super().answer(progress, people, failure, noise, simulated=simulated)
        release.counts.transitions[0, 0, 0, 0] = sum(float(person.states[0] == 0) for person in people)
        return state, release


def test_a_curator_who_does_not_publish_what_the_counter_says_is_caught() -> None:
    target = central_target("unnoised", Unnoised(**fields(joint())), pairs(SPEC)[0])  # type: ignore[arg-type]
    assert audit(target, 1000, 1 - FALSE_ALARM, noise=ReplayableNoise(11)).lower_bound > 2


def test_a_curator_with_half_the_noise_is_caught() -> None:
    true = joint(1)
    counter = true.counter
    half = replace(true, act=Act(replace(counter, scale=counter.scale / 2), true.act.sensitivity))  # type: ignore
    targets = [
        replace(central_target("half", true, people), sample=central_target("half", half, people).sample)
        for people in pairs(SPEC)
    ]
    assert audit(targets, 30_000, 1 - FALSE_ALARM, noise=ReplayableNoise(12)).lower_bound > 1.2


def test_a_person_in_a_later_batch_is_audited() -> None:
    target = central_target("later", joint(3), pairs(SPEC)[1], batch=2)
    assert isinstance(target.loss, Pure)
    found = audit(target, 20_000, 1 - FALSE_ALARM, noise=ReplayableNoise(13))
    assert 0.1 < found.lower_bound <= 1
