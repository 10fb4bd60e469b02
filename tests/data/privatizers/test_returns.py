"""People's returns: the price of asking is proved by all pairs, the noise is what it says, both ways."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.plan import RETURNS, RETURNS_SHARE, VISITED, CountPlan
from confide.data.privatizers import Total, open_aggregate
from confide.data.statistics.tabular import summed_returns
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput, PrivacyError, UnsafeNoise
from confide.learning.planning.practice import practice_of
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.privacy import Schedule
from confide.protocol.design import Design
from confide.protocol.kinds.returns import ReturnsQuestion, ReturnsRelease
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes
from tests.protocol.making import design
from tests.refusals import refused

FALSE_ALARM = 1e-6


def returns(promise: cf.Guarantee, most: int = 1, within: tuple[float, float] | None = None) -> Design:
    """The design of H = 8."""
    question = ReturnsQuestion.of(8, promise.pure, within)
    return design(question, promise, Schedule.every(1), share=RETURNS_SHARE, episodes=most)


def answered(made: Design, sums: list[int], users: int, noise: NoiseSource) -> ReturnsRelease:
    aggregate = open_aggregate(made, noise)
    aggregate.take_sum(Total(np.array(sums), users))
    release: ReturnsRelease = aggregate.close()
    return release


def asked(question: ReturnsQuestion, earned: float) -> np.ndarray:
    """The three numbers of an episode with this return, as they are asked for."""
    sums = summed_returns(question, np.array([earned]), np.full(1, 0.5))
    return np.array(question.units((int(sums[0]), int(sums[1]), int(sums[2])))) * question.grid


RANGES = [None, (0.0, 1.0), (0.25, 0.5), (0.9, 17.3)]


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("within", RANGES, ids=str)
@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 20])
def test_no_replaced_episode_moves_the_sums_by_more_than_is_charged(
    horizon: int, within: tuple[float, float] | None, pure: bool
) -> None:
    """All pairs of returns that this many rewards in [0, 1] can have, whatever range was declared: also those outside of it."""
    bounds = None if within is None else (within[0], min(within[1], float(horizon)))
    question = replace(ReturnsQuestion.of(horizon, pure, bounds), points=16)
    everyone = [asked(question, earned) for earned in np.linspace(0, horizon, 16 * horizon + 1)]
    moved = [one - other for one, other in product(everyone, everyone)] + everyone  # replaced, or taken away
    l1, l2 = (max(float(np.linalg.norm(change, order)) for change in moved) for order in (1, 2))
    assert l2 <= question.sensitivity.l2 * (1 + 1e-12) and l1 <= question.sensitivity.l1 * (1 + 1e-12)
    assert l2 == pytest.approx(1.0)  # no more than the mean alone would cost, and no less
    if pure:
        assert l1 == pytest.approx(1.0)


def test_the_numbers_that_are_asked_for() -> None:
    """Worked out by hand: H = 4, a return of 3 makes g = 1/4, c g^2 = 1/8; in [2, 3] it is at the end, g = 1/2."""
    question = ReturnsQuestion.of(4)
    assert (question.points, question.squares) == (16_384, 2)
    np.testing.assert_allclose(asked(question, 3.0), [0.25, 0.125, 0.25])
    for earned in (3.0, 3.5, 4.0):
        np.testing.assert_allclose(asked(ReturnsQuestion.of(4, within=(2.0, 3.0)), earned), [0.5, 0.5, 0.25])
    np.testing.assert_allclose(asked(ReturnsQuestion.of(4, True, (2.0, 3.0)), 1.0), [-0.5, 0.25, 0.25])
    assert ReturnsQuestion.of(20).points == 16_640 and ReturnsQuestion.of(2000).points == 32_000
    for low, high in ((-0.5, 1.0), (2.0, 2.0), (0.0, 4.5), (math.nan, 1.0)):
        with pytest.raises(InvalidInput):
            ReturnsQuestion.of(4, within=(low, high))


def test_rounding_is_right_on_average() -> None:
    """By the standard error of n draws, at a false alarm of 1e-6: of a return that lies a third of the way between two points."""
    from scipy.stats import norm

    question, draws = replace(ReturnsQuestion.of(1), points=2), 20_000
    mean = summed_returns(question, np.full(draws, 2 / 3))[0] / (2 * draws) + 0.5
    reach = -norm.ppf(FALSE_ALARM / 2) * math.sqrt(2 / 9 / draws) / 2
    assert abs(mean - 2 / 3) < reach < 0.01


def test_sums_are_those_of_the_log_and_the_mean_and_spread_come_out() -> None:
    log = episodes(300, seed=4)
    # Rewards of 0 and 1 in a range from -1 to 3 are 1/4 and 1/2 to a learner, and steps after the end pay 1/4.
    data = cf.trajectories.read(columns(log), states=STATES, actions=ACTIONS, horizon=HORIZON, reward_range=(-1, 3))
    plan = CountPlan.of(data, cf.Central(rho=1e9))
    counted = count(data, plan.question, Engine(workers=1)).checked()
    earned = np.array([0.25 * HORIZON + 0.25 * sum(one.rewards) for one in log])
    centred = (earned / HORIZON - 0.5) * plan.designs[RETURNS].question.points
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
    assert abs(result.mean - earned.mean()) <= 1e-3


@pytest.mark.parametrize("pure", [False, True])
def test_a_narrow_range_has_noise_that_is_narrower_by_as_much(pure: bool) -> None:
    promise = cf.Central(1.0) if pure else cf.Central(rho=0.5)
    wide, narrow = (
        answered(returns(promise, within=within), [0, 0, 0], 10, SecureNoise()).noise for within in (None, (2.0, 3.0))
    )
    assert wide[0] == pytest.approx(8 * narrow[0]) and wide[1] == pytest.approx(64 * narrow[1])
    assert wide[2] == pytest.approx(narrow[2])  # how many episodes there are is no return


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
    made = returns(cf.Central(rho=0.5), within=(2.0, 3.0))
    given = answered(made, [5, 25, 3], 3, SecureNoise())
    assert (given.low, given.high) == (2.0, 3.0)
    assert ReturnsRelease.from_bytes(given.to_bytes()) == given
    for body in (b"", b"\x93\x01\x02\x03", given.to_bytes()[:-3], given.to_bytes().replace(b"returns/1", b"returns/9")):
        with pytest.raises(FormatError):
            ReturnsRelease.from_bytes(body)
    with pytest.raises(UnsafeNoise):
        answered(made, [0, 0, 0], 3, ReplayableNoise(0))
    with refused("returns-too-many"):
        answered(made, [1 << 60, 1 << 60, 1 << 40], 3, SecureNoise())


def test_a_book_takes_episodes_one_by_one_and_is_closed_once() -> None:
    """Sums over returns 2 and 8 of H = 8, worked out by hand: -2 and 4 from the middle."""
    made = returns(cf.Central(rho=1e12))
    aggregate = open_aggregate(made, SecureNoise())
    for many in (2, 8):
        zeros = np.zeros(9, dtype=np.int64)
        aggregate.take(Trajectory(zeros, zeros[:8], np.array([1.0] * many + [0.0] * (8 - many))))
    release = aggregate.close()
    assert (release.users, release.most) == (2, 1)
    result = release.centred, release.squares, release.episodes
    assert result == pytest.approx((-2 + 4, 4 + 16, 2), abs=1e-3)
    with pytest.raises(PrivacyError, match="closed before"):
        aggregate.close()
    with pytest.raises(PrivacyError, match="never stored"):
        aggregate.to_bytes()
