"""Every mechanism behind the wall, in every calibration that it has, keeps what a privatizer must."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from confide.privatizers.design import CENTRAL_MECHANISMS, LOCAL_MECHANISMS

from confide.mdp import PER_STEP, Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import NoiseSource, ReplayableNoise
from confide.privacy import Act, Guarantee, Joint, Local, Schedule
from confide.privatizers import PAPER, SOUND, TIGHT, CentralPrivatizer, LocalPrivatizer, design
from confide.questions import CountQuestion
from confide.questions.counts import DROPPED
from confide.releases import Report
from confide.testing import CentralPrivatizerConformance, LocalPrivatizerConformance
from confide.trajectories import Trajectory

# Episodes may stop early, and nobody knows what would have come after: the last transition is not counted on.
POOLED = CountQuestion(Spec(2, 2, 3), last=DROPPED)
STEPWISE = CountQuestion(Spec(2, 2, 3, PER_STEP), last=DROPPED)
PURE, APPROXIMATE = Local(2.0), Local(2.0, 1e-6)
SCHEDULE = Schedule.batches(60, 2)


def local(mechanism: str, question: CountQuestion, calibration: str = TIGHT, paper: str = "") -> LocalPrivatizer:
    promise = APPROXIMATE if mechanism in ("gaussian", "bounded") else PURE
    made = design(question, promise, SCHEDULE, calibration, mechanism, paper)
    assert isinstance(made, LocalPrivatizer)
    return made


def central(
    mechanism: str, promise: Guarantee, calibration: str = TIGHT, paper: str = "", question: CountQuestion = POOLED
) -> CentralPrivatizer:
    made = design(question, promise, SCHEDULE, calibration, mechanism, paper)
    assert isinstance(made, CentralPrivatizer)
    return made


LOCAL: dict[str, Callable[[], LocalPrivatizer]] = {
    **{f"tight {name}": lambda name=name: local(name, POOLED) for name in LOCAL_MECHANISMS},  # type: ignore[misc]
    "tight k-ary per step": lambda: local("k-ary", STEPWISE),
    "tight gaussian per step": lambda: local("gaussian", STEPWISE),
    "auto": lambda: local("auto", POOLED),
    "sound laplace": lambda: local("laplace", POOLED, SOUND, "ldp-obi"),
    "paper laplace": lambda: local("laplace", STEPWISE, PAPER, "private-ucb"),
}
CENTRAL: dict[str, Callable[[], CentralPrivatizer]] = {
    **{
        f"tight {name}": lambda name=name: central(name, Joint(1.0, 0.0 if "laplace" in name else 1e-6))  # type: ignore[misc]
        for name in CENTRAL_MECHANISMS
    },
    "sound tree": lambda: central("auto", Joint(1.0), SOUND, "private-ucb"),
    "paper tree": lambda: central("auto", Joint(1.0), PAPER, "private-ucb", STEPWISE),
}


@pytest.mark.parametrize("name", LOCAL)
class TestOurLocalPrivatizers(LocalPrivatizerConformance):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> LocalPrivatizer:
        return LOCAL[self.name]()


@pytest.mark.parametrize("name", CENTRAL)
class TestOurCentralPrivatizers(CentralPrivatizerConformance):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> CentralPrivatizer:
        return CENTRAL[self.name]()


@dataclass(frozen=True)
class Repeating(LocalPrivatizer):
    """Draws its noise from a seed of its own."""

    def report(self, trajectory: Trajectory, noise: NoiseSource | None = None, *, simulated: bool = False) -> Report:
        return super().report(trajectory, ReplayableNoise(0), simulated=True)


@dataclass(frozen=True)
class Undecided(LocalPrivatizer):
    """Adds a constant to what it sends."""

    def report(self, trajectory: Trajectory, noise: NoiseSource | None = None, *, simulated: bool = False) -> Report:
        honest = super().report(trajectory, noise, simulated=simulated)
        return Report(honest.question, honest.mechanism, honest.grid, honest.cells + 100, honest.step)


def broken(kind: type[LocalPrivatizer], scale: float = 1.0) -> LocalPrivatizerConformance:
    class Suite(LocalPrivatizerConformance):
        def make(self) -> LocalPrivatizer:
            fine = local("laplace", POOLED)
            noise = Laplace(fine.mechanism.describe()["scale"] * scale, fine.mechanism.describe()["grid"])
            return kind(fine.question, Act(noise, fine.act.sensitivity), fine.asked, fine.calibration, fine.episodes)

    return Suite()


def test_a_broken_privatizer_is_noticed() -> None:
    for suite, test in (
        (broken(Repeating), LocalPrivatizerConformance.test_refuses_noise_that_can_be_replayed),
        (broken(Repeating), LocalPrivatizerConformance.test_two_reports_of_one_person_differ),
        (broken(Undecided), LocalPrivatizerConformance.test_a_release_is_within_its_radius),
        (broken(LocalPrivatizer, 2 / 3), LocalPrivatizerConformance.test_keeps_the_promise_it_was_asked_for),
    ):
        with pytest.raises(AssertionError):
            test(suite)


def test_what_is_broken_is_whole_without_the_break() -> None:
    broken(LocalPrivatizer).test_a_release_is_within_its_radius()
    broken(LocalPrivatizer).test_keeps_the_promise_it_was_asked_for()
    assert np.isfinite(broken(LocalPrivatizer).make().radii(10, 0.1)).all()
