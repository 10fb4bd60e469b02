"""Every mechanism behind the wall, in every calibration that it has and under every trust, keeps what a design must."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.data.privatizers import respond
from confide.lab.testing import DesignConformance
from confide.lab.testing import design as suite
from confide.mdp import PER_STEP, Spec
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import NoiseSource, ReplayableNoise
from confide.mechanisms.tree import TreeCounter
from confide.privacy import Act, Central, Guarantee, Joint, Local, NoPrivacy, Schedule, Shuffle
from confide.protocol.design import PAPER, SOUND, TIGHT, Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import DROPPED
from confide.protocol.trusts import joint, local
from confide.protocol.trusts.mixing import Mixing

# Episodes may stop early, and no one knows what would have come after: the last transition is not counted on.
POOLED = CountQuestion(Spec(2, 2, 3), last=DROPPED)
STEPWISE = CountQuestion(Spec(2, 2, 3, PER_STEP), last=DROPPED)
SCHEDULE = Schedule.batches(60, 2)
ONCE = Schedule.batches(60, 1)


def designed(
    promise: Guarantee,
    mechanism: str = "auto",
    question: CountQuestion = POOLED,
    calibration: str = TIGHT,
    paper: str = "",
    schedule: Schedule = SCHEDULE,
    mixing: Mixing | None = None,
) -> Design:
    return make(Request(question, promise, schedule, calibration, mechanism, paper, mixing))


def at_home(mechanism: str, question: CountQuestion = POOLED, calibration: str = TIGHT, paper: str = "") -> Design:
    delta = 1e-6 if mechanism in ("gaussian", "bounded") else 0.0
    return designed(Local(2.0, delta), mechanism, question, calibration, paper)


def online(mechanism: str, question: CountQuestion = POOLED, calibration: str = TIGHT, paper: str = "") -> Design:
    delta = 0.0 if mechanism == "auto" or "laplace" in mechanism else 1e-6
    return designed(Joint(1.0, delta), mechanism, question, calibration, paper)


def mixed(calibration: str = TIGHT, question: CountQuestion = POOLED, **mixing: Any) -> Design:
    promise, schedule = Shuffle(30.0, 1e-3), Schedule.sized(60, 15)
    return designed(promise, "auto", question, calibration, schedule=schedule, mixing=Mixing(15, **mixing))


DESIGNS: dict[str, Callable[[], Design]] = {
    **{f"local {name}": lambda name=name: at_home(name) for name in local.MECHANISMS},  # type: ignore[misc]
    "local k-ary per step": lambda: at_home("k-ary", STEPWISE),
    "local gaussian per step": lambda: at_home("gaussian", STEPWISE),
    "local auto": lambda: at_home("auto"),
    "local sound laplace": lambda: at_home("laplace", POOLED, SOUND, "ldp-obi"),
    "local paper laplace": lambda: at_home("laplace", STEPWISE, PAPER, "private-ucb"),
    **{f"joint {name}": lambda name=name: online(name) for name in joint.MECHANISMS},  # type: ignore[misc]
    "joint sound tree": lambda: online("auto", POOLED, SOUND, "private-ucb"),
    "joint paper tree": lambda: online("auto", STEPWISE, PAPER, "private-ucb"),
    "central laplace": lambda: designed(Central(1.0), "laplace", schedule=ONCE),
    "central gaussian": lambda: designed(Central(rho=0.5), "gaussian", schedule=ONCE),
    "shuffle": mixed,
    "shuffle sound": lambda: mixed(SOUND),
    "shuffle per step": lambda: mixed(question=STEPWISE),
    "shuffle tree": lambda: mixed(tree=True),
    "none": lambda: designed(NoPrivacy()),
}


@pytest.mark.parametrize("name", DESIGNS)
class TestOurDesigns(DesignConformance):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> Design:
        return DESIGNS[self.name]()


@dataclass(frozen=True)
class Repeating(Laplace):
    """Draws its noise from a seed of its own."""

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        return super().randomize(cells, trials, ReplayableNoise(0))


@dataclass(frozen=True)
class Undecided(Laplace):
    """Adds a constant to what it sends."""

    def randomize(
        self, cells: NDArray[np.float64], trials: NDArray[np.int64], noise: NoiseSource
    ) -> NDArray[np.float64]:
        return super().randomize(cells, trials, noise) + 50


@dataclass(frozen=True)
class RepeatingTree(TreeCounter):
    """Draws its noise from a seed of its own."""

    def next(self, state: Any, increment: Any, noise: NoiseSource) -> Any:
        return super().next(state, increment, ReplayableNoise(0))


class Suite(DesignConformance):
    """The suite for one design, which may have another mechanism put in."""

    def __init__(self, design: Design, mechanism: Any = None) -> None:
        self.design = design if mechanism is None else replace(design, act=Act(mechanism, design.act.sensitivity))

    def make(self) -> Design:
        return self.design


def device(kind: type[Laplace] = Laplace, share: float = 1.0) -> Suite:
    fine = at_home("laplace")
    return Suite(fine, kind(share * fine.mechanism.scale, fine.mechanism.grid))


def curator(kind: type[TreeCounter] = TreeCounter, share: float = 1.0) -> Suite:
    fine = online("tree-laplace")
    noise = fine.mechanism
    return Suite(fine, kind(noise.releases, noise.node, share * noise.scale, noise.grid))


def test_a_broken_mechanism_is_noticed() -> None:
    for broken, test in (
        (device(Repeating), DesignConformance.test_two_reports_of_one_person_differ),
        (curator(RepeatingTree), DesignConformance.test_two_releases_about_the_same_people_differ),
        (device(Undecided), DesignConformance.test_releases_are_within_their_radius),
        (device(share=2 / 3), DesignConformance.test_keeps_the_promise_it_was_asked_for),
        (curator(share=2 / 3), DesignConformance.test_keeps_the_promise_it_was_asked_for),
    ):
        with pytest.raises(AssertionError):
            test(broken)


def test_what_is_broken_is_whole_without_the_break() -> None:
    for whole in (device(), curator()):
        whole.test_keeps_the_promise_it_was_asked_for()
        whole.test_two_reports_of_one_person_differ()
        whole.test_two_releases_about_the_same_people_differ()
        whole.test_releases_are_within_their_radius()
        assert np.isfinite(whole.make().radii(10, 0.1)).all()


def test_a_device_that_takes_any_noise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(*told: Any, **choices: Any) -> Any:
        return respond(*told, **{**choices, "simulated": True})

    device().test_refuses_noise_that_can_be_replayed()
    monkeypatch.setattr(suite, "respond", careless)
    with pytest.raises(AssertionError):
        device().test_refuses_noise_that_can_be_replayed()


def test_a_design_that_is_read_as_another_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that forget how much noise there is."""
    other = designed(Local(1.0), "laplace")
    written = other.to_bytes()
    monkeypatch.setattr(Design, "to_bytes", lambda design: written)
    with pytest.raises(AssertionError):
        device().test_is_made_again_from_its_bytes()
