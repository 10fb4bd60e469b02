"""What people earned: the price of asking is proved by all pairs, the noise is what it says, both ways."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import confide as cf
from confide.designs import Design
from confide.errors import FormatError, InvalidInput, PrivacyError, UnsafeNoise
from confide.fitting.engines import Engine, count
from confide.fitting.plan import RETURNS, RETURNS_SHARE, VISITED, CountPlan
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.planning.practice import practice_of
from confide.privacy import Schedule
from confide.privatizers import Total, open_book
from confide.questions.returns import ReturnsQuestion
from confide.releases.returns import ReturnsRelease
from confide.trajectories import Trajectory
from tests.designs.making import design
from tests.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes

FALSE_ALARM = 1e-6


def returns(promise: cf.Guarantee, most: int = 1, rounded: float = 0.0) -> Design:
    """The design of H = 8 and rewards in sixteenths."""
    question = replace(ReturnsQuestion.of(8, 16, promise.pure), rounded=rounded)
    return design(question, promise, Schedule.every(1), share=RETURNS_SHARE, episodes=most)


def answered(made: Design, sums: list[int], users: int, noise: NoiseSource) -> ReturnsRelease:
    book = open_book(made, noise)
    book.take_sum(Total(np.array(sums), users))
    release: ReturnsRelease = book.close()
    return release


def asked(question: ReturnsQuestion, units: int) -> np.ndarray:
    """The three numbers of an episode that earned so many units, as they are asked for; of none, zeros."""
    centred = units - question.horizon * question.grain // 2
    return np.array(question.units((centred, centred**2, 1))) * question.grid


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 20])
def test_no_replaced_episode_moves_the_sums_by_more_than_is_charged(horizon: int, pure: bool) -> None:
    question = ReturnsQuestion.of(horizon, 4, pure)
    everyone = [asked(question, units) for units in range(horizon * question.grain + 1)]
    moved = [one - other for one, other in product(everyone, everyone)] + everyone  # replaced, or taken away
    l1, l2 = (max(float(np.linalg.norm(change, order)) for change in moved) for order in (1, 2))
    assert l2 <= question.sensitivity.l2 * (1 + 1e-12) and l1 <= question.sensitivity.l1 * (1 + 1e-12)
    assert l2 == pytest.approx(horizon)  # no more than the mean alone would cost, and no less
    if pure:
        assert l1 == pytest.approx(horizon)


def test_the_numbers_that_are_asked_for() -> None:
    """Worked out by hand: H = 4, a return of 3 makes g = 1, c = 1/2, e = 1."""
    question = ReturnsQuestion.of(4, 16)
    assert question.square_scale == 0.5 and question.count_scale == 1.0
    np.testing.assert_allclose(asked(question, 48), [1.0, 0.5, 1.0])
    assert ReturnsQuestion.of(20, None).grain == 1024 and ReturnsQuestion.of(1000, None).grain == 64


def test_sums_are_those_of_the_log_and_the_mean_and_spread_come_out() -> None:
    log = episodes(300, seed=4)
    # Rewards of 0 and 1 in a range from -1 to 3 are 1/4 and 1/2 to a learner, and steps after the end pay 1/4.
    data = cf.trajectories.read(columns(log), states=STATES, actions=ACTIONS, horizon=HORIZON, reward_range=(-1, 3))
    plan = CountPlan.of(data, cf.Central(rho=1e9))
    counted = count(data, plan.question, Engine(workers=1)).checked()
    earned = np.array([0.25 * HORIZON + 0.25 * sum(one.rewards) for one in log])
    centred = (earned - HORIZON / 2) * plan.designs[RETURNS].question.grain
    np.testing.assert_array_equal(counted.returns, [centred.sum(), (centred**2).sum(), 300])
    result = practice_of(plan.release(counted, SecureNoise())[RETURNS])  # type: ignore[arg-type]
    assert result.mean == pytest.approx(earned.mean(), abs=1e-3)
    assert result.spread == pytest.approx(earned.std(), abs=1e-2)
    assert result.luck == pytest.approx(earned.var() / 300, rel=1e-2)


def test_known_rewards_are_summed_from_their_table() -> None:
    log = episodes(200, seed=5)
    table = np.random.default_rng(0).random((STATES, ACTIONS))
    options = {name: values for name, values in columns(log).items() if name != "reward"}
    data = cf.trajectories.read(options, states=STATES, actions=ACTIONS, horizon=HORIZON, rewards=table)
    plan = CountPlan.of(data, cf.Central(rho=1e9))
    released = plan.release(count(data, plan.question, Engine(workers=1)).checked(), SecureNoise())[RETURNS]
    assert isinstance(released, ReturnsRelease)
    earned = np.array([sum(table[one.states[h], a] for h, a in enumerate(one.actions)) for one in log])
    result = practice_of(released)
    assert 0 < result.off <= HORIZON / 2048
    assert abs(result.mean - earned.mean()) <= result.off + 1e-3


@pytest.mark.parametrize("promise", [cf.Central(rho=0.5), cf.Central(1.0, 1e-6), cf.Central(2.0)], ids=str)
def test_noise_is_what_it_says_both_ways(promise: cf.Guarantee) -> None:
    """The mean square of n independent noises is tested by its own standard error, at a false alarm of 1e-6."""
    from scipy.stats import norm

    laplace, draws = promise.pure, 1500
    made = returns(promise)
    results = [answered(made, [0, 0, 0], 10, SecureNoise()) for _ in range(draws)]
    for number, name in enumerate(("centred", "squares", "episodes")):
        sample = np.array([getattr(one, name) for one in results]) / results[0].noise[number]
        # The variance of a square is 2 for a normal number of variance 1, and 5 for a Laplace one.
        reach = -norm.ppf(FALSE_ALARM / 6) * math.sqrt((5 if laplace else 2) / draws)
        assert abs(float((sample**2).mean()) - 1) < reach
        for wrong in (2 / 3, 3 / 2):
            assert abs(float(((wrong * sample) ** 2).mean()) - 1) > reach


def test_the_price_is_paid_out_of_the_promise() -> None:
    data = cf.trajectories.read(columns(episodes(50)), states=STATES, actions=ACTIONS, horizon=HORIZON)
    for promise in (cf.Central(rho=0.5), cf.Central(1.0, 1e-6), cf.Central(1.0)):
        plan = CountPlan.of(data, promise)
        # Counts, first states and returns; and visits, where Gaussian noise takes a budget.
        assert len(plan.acts) == (3 if promise.pure else 4) and (VISITED in plan.designs) != promise.pure
        given, asked = (one.rho or one.epsilon or 0.0 for one in (plan.guarantee, promise))
        assert asked * 0.99 < given <= asked


def test_a_person_with_several_episodes_is_charged_for_all() -> None:
    one, three = (returns(cf.Central(rho=0.5), most) for most in (1, 3))
    assert three.mechanism.variance() == pytest.approx(9 * one.mechanism.variance())


def test_bytes_and_refusals() -> None:
    made = returns(cf.Central(rho=0.5), rounded=0.125)
    given = answered(made, [5, 25, 3], 3, SecureNoise())
    assert given.rounded == 0.125
    assert ReturnsRelease.from_bytes(given.to_bytes()) == given
    for body in (b"", b"\x93\x01\x02\x03", given.to_bytes()[:-3], given.to_bytes().replace(b"returns/1", b"returns/9")):
        with pytest.raises(FormatError):
            ReturnsRelease.from_bytes(body)
    with pytest.raises(UnsafeNoise):
        answered(made, [0, 0, 0], 3, ReplayableNoise(0))
    with pytest.raises(InvalidInput, match="too many to add up"):
        answered(made, [1 << 60, 1 << 60, 1 << 40], 3, SecureNoise())


def test_a_book_takes_episodes_one_by_one_and_is_closed_once() -> None:
    """Sums of u, u^2 and 1 of returns 2 and 8 of H = 8 in sixteenths, worked out by hand: u = -32 and 64."""
    made = returns(cf.Central(rho=1e12))
    book = open_book(made, SecureNoise())
    for many in (2, 8):
        zeros = np.zeros(9, dtype=np.int64)
        book.take(Trajectory(zeros, zeros[:8], np.array([1.0] * many + [0.0] * (8 - many))))
    release = book.close()
    assert (release.users, release.most) == (2, 1)
    result = release.centred, release.squares, release.episodes
    assert result == pytest.approx((-2 + 4, 4 + 16, 2), abs=1e-3)
    with pytest.raises(PrivacyError, match="closed before"):
        book.close()
    with pytest.raises(PrivacyError, match="never stored"):
        book.to_bytes()
