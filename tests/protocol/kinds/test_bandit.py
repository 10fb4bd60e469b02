"""What a single step tells: its price by brute force, its bytes, and the noise that its visits are read with."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from confide.data.privatizers import open_aggregate
from confide.data.statistics.answers import answer
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput
from confide.lab.audit import audit, targets_of
from confide.mdp import Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Central, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion, read
from confide.protocol.kinds.bandit import BanditQuestion
from confide.protocol.kinds.counts import CENTRED, DROPPED, HALVES, TRANSITIONS
from confide.protocol.releases.release_bytes import from_bytes

LEVELS = 4
CENTRES = (0.5, 0.375, 0.25, 0.125, 0.0, 0.75, 1.0)
REACH = 5.0
"""Standard errors within which a statistic must lie; seeds are fixed, so this says how special they are."""


def person(state: int, action: int, reward: float) -> Trajectory:
    return Trajectory(np.array([state, state]), np.array([action]), np.array([reward]))


def all_episodes(spec: Spec) -> list[Trajectory]:
    """Every user who took a step, with rewards on the grid, and a user who took none."""
    paid = [level / LEVELS for level in range(LEVELS + 1)]
    taken = itertools.product(range(spec.states), range(spec.actions), paid)
    return [
        *(person(*step) for step in taken),
        Trajectory(np.array([0]), np.array([], dtype=np.int64), np.array([])),
    ]


def cells_of(question: BanditQuestion, one: Trajectory) -> np.ndarray:
    def zeros(high: int, many: int) -> np.ndarray:
        return np.zeros(many, dtype=np.int64)

    row, cells = answer(question.kind, question, one, 1 / question.resolution, zeros)
    assert row == 0
    return cells / question.resolution


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize(("states", "actions"), [(2, 2), (3, 1), (1, 2)])
def test_no_two_people_are_further_apart_than_the_price(states: int, actions: int, centre: float) -> None:
    question = BanditQuestion.of(Spec(states, actions, 1), LEVELS, centre)
    cells = np.array([cells_of(question, one) for one in all_episodes(question.spec)])
    assert (cells >= question.range.low).all() and (cells <= question.range.high).all()
    gaps, price = np.abs(cells[:, None] - cells[None]), question.price()
    assert (gaps**2).sum(axis=-1).max() == pytest.approx(price.l2**2)
    assert gaps.sum(axis=-1).max() == pytest.approx(price.l1)
    assert (gaps > 0).sum(axis=-1).max() <= price.cells


def test_the_price_by_hand() -> None:
    # In one pair rewards of 0 and 1 are 1 apart; in two, 1/4 + 1/4 each. Centred at 0: 1 + 1/4 each.
    assert BanditQuestion.of(Spec(5, 3, 1)).price().l2 == 1.0
    assert BanditQuestion.of(Spec(5, 3, 1), 2, 0.0).price().l2 ** 2 == pytest.approx(2.5)
    assert BanditQuestion.of(Spec(5, 3, 1), 16, 5 / 16).price().l2 ** 2 == pytest.approx(0.5 + 2 * (11 / 16) ** 2)


def test_the_cells_by_hand() -> None:
    question = BanditQuestion.of(Spec(2, 2, 1), LEVELS, 0.25)
    assert cells_of(question, person(1, 0, 0.75)).tolist() == [0, 0, 0.5, 0, 0, 0, 0.5, 0]


def test_bytes_survive_and_others_are_refused() -> None:
    for centre in (0.5, 0.25):
        question = BanditQuestion.of(Spec(3, 2, 1), LEVELS, centre)
        again = read("bandit", question.to_bytes())
        assert again == question and again.digest == question.digest and again.counts.centre == centre
        assert question.digest != question.counts.digest
    other = BanditQuestion.of(Spec(3, 2, 1), LEVELS)
    assert other.digest != question.digest and len(other.to_bytes()) < len(question.to_bytes())
    for bad in (b"", question.to_bytes()[:-1], CountQuestion(Spec(3, 2, 1)).to_bytes()):
        with pytest.raises((FormatError, InvalidInput)):
            read("bandit", bad)
    design = make(Request(question, Central(rho=1.0), Schedule.every(1)))
    kept = Design.from_bytes(design.to_bytes())
    assert kept.digest == design.digest and kept.question == question
    assert design.digest != make(Request(other, Central(rho=1.0), Schedule.every(1))).digest


@pytest.mark.parametrize(
    "made",
    [
        lambda: BanditQuestion.of(Spec(2, 2, 2)),
        lambda: BanditQuestion(CountQuestion(Spec(2, 2, 1))),
        lambda: BanditQuestion.of(Spec(2, 2, 1), LEVELS, 0.3),
        lambda: BanditQuestion.of(Spec(2, 2, 1), LEVELS, 1.5),
        lambda: CountQuestion(Spec(2, 2, 1), (CENTRED, HALVES), DROPPED).price(),
        lambda: CountQuestion(Spec(2, 2, 1), (HALVES, TRANSITIONS)),
    ],
)
def test_what_is_no_single_step_is_refused(made) -> None:
    with pytest.raises(InvalidInput):
        made()


@pytest.mark.parametrize("centre", [0.5, 0.0625])
def test_visits_and_rewards_are_read_with_the_noise_that_they_have(centre: float) -> None:
    spec = Spec(60, 20, 1)
    design = make(Request(BanditQuestion.of(spec, 16, centre), Central(rho=0.02), Schedule.every(1), failure=0.05))
    aggregate = open_aggregate(design, ReplayableNoise(3), simulated=True)
    aggregate.take(person(2, 1, 1.0))
    release = aggregate.close()
    truth = np.zeros((1, 60, 20))
    truth[0, 2, 1] = 1.0
    sigma = math.sqrt(design.mechanism.variance())
    assert release.noise.centred == pytest.approx(sigma**2) and release.noise.visits == pytest.approx(4 * sigma**2)
    assert release.counts.transitions.shape == (1, 60, 20, 0) and release.complete
    sizes = {"visits": 2 * sigma, "rewards": sigma * math.sqrt(1 + 4 * centre**2)}
    for name, size in sizes.items():
        errors = (getattr(release.counts, name) - truth).ravel() / size
        assert abs(float((errors**2).mean()) - 1) < REACH * math.sqrt(2 / errors.size)
        for wrong in (2 / 3, 3 / 2):
            assert abs(float((errors**2).mean()) * wrong**2 - 1) > REACH * math.sqrt(2 / errors.size)
        assert np.abs(errors).max() * size < getattr(release.radius, name)
    again = from_bytes(release.to_bytes())
    assert again.question == release.question and again.noise == release.noise
    for one, other in zip(again.counts, release.counts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_audit_passes_and_catches_half_the_noise() -> None:
    from dataclasses import replace

    design = make(Request(BanditQuestion.of(Spec(2, 2, 1)), Central(1.0, 0.01), Schedule.every(1)))
    honest = audit(targets_of("bandit", design), 20_000, delta=0.01)
    assert honest.ok and honest.lower_bound > 0.8 * honest.ideal_bound
    half = replace(design.mechanism, sigma=design.mechanism.sigma / 2)
    mutant = replace(design, act=replace(design.act, mechanism=half))
    claimed = [replace(target, loss=design.act.loss) for target in targets_of("half", mutant)]
    assert not audit(claimed, 20_000, delta=0.01).ok
