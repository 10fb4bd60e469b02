"""Moments of features: cells, clips, prices by brute force, noise as it is drawn, bytes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from confide.data.privatizers import open_aggregate, respond
from confide.data.statistics.moments import moment_cells, summed_moments
from confide.data.trajectories import Trajectory
from confide.data.trajectories.observed import ObservedEpisodes
from confide.mdp import PER_STEP, STATIONARY
from confide.mdp.described import IS, POWER, Category, DescribedFeatures, Factor, Number, polynomial
from confide.mechanisms.noise import SecureNoise
from confide.privacy import Guarantee, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds.moments import MOMENTS, MomentsQuestion
from tests.refusals import refused

FINE = 2.0**-30
FALSE_ALARM = 1e-9
"""Of a comparison of a variance with its law."""


def described(x: list[list[float]], psi: list[float], actions: int = 2) -> DescribedFeatures:
    """Features of a few states by a table."""
    values = tuple(map(str, range(len(x))))
    terms = tuple((Factor("state", IS, value),) for value in values)
    named = tuple(map(str, range(actions)))
    return DescribedFeatures((Category("state", values),), named, terms, np.array(x).T, terms, np.array([psi]))


def all_episodes(states: int, actions: int, horizon: int) -> list[Trajectory]:
    """All episodes with rewards of 0 and 1, shorter ones too."""
    found = []
    for steps in range(horizon + 1):
        parts = (
            itertools.product(range(states), repeat=steps + 1),
            itertools.product(range(actions), repeat=steps),
            itertools.product((0.0, 1.0), repeat=steps),
        )
        for seen, taken, paid in itertools.product(*parts):
            found.append(Trajectory(np.array(seen), np.array(taken, dtype=np.int64), np.array(paid)))
    return found


def furthest(question: MomentsQuestion, people: list[Trajectory]) -> float:
    cells = np.stack([moment_cells(question, ObservedEpisodes.of(each), FINE) * FINE for each in people])
    squares = (cells**2).sum(axis=1)
    return math.sqrt(max(0.0, float((squares[:, None] + squares - 2 * cells @ cells.T).max())))


TABLES = {
    "signs": ([[1.0, 0.0], [-1.0, 0.0]], [1.0, -1.0]),
    "plane": ([[1.0, 0.0], [-0.5, 0.8]], [2.0, -1.0]),
    "long": ([[3.0, 1.0], [-0.1, 0.2]], [0.3, 5.0]),
    "same": ([[1.0, 1.0], [1.0, 1.0]], [0.0, 0.0]),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("horizon", "dynamics"), [(1, STATIONARY), (2, STATIONARY), (2, PER_STEP), (3, STATIONARY)])
def test_no_two_people_are_further_apart_than_the_price(table: str, horizon: int, dynamics: str) -> None:
    features = described(*TABLES[table])
    people = all_episodes(2, 2, horizon)[:: 1 if horizon < 3 else 3]
    for changes in ({}, {"reward_weight": 0.5}, {"reward_weight": 4.0}, {"next_weight": 0.1, "clipped_at": 5.0}):
        question = MomentsQuestion.of(features, horizon, dynamics, **changes)
        assert furthest(question, people) <= question.price(FINE).l2
        if horizon > 1:
            changing = replace(question, increments=True)
            assert furthest(changing, people) <= changing.price(FINE).l2 == question.price(FINE).l2


def test_the_price_of_one_step_is_that_of_the_worst_two_vectors() -> None:
    """1.5625 = 1 + 2/4 + 1/16 at weight 1: reached where <x, x'> = -1/4, and more than by any other angle."""
    angle = math.acos(-0.25)
    question = MomentsQuestion.of(
        described([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], [0.0, 0.0]), 1, reward_weight=1.0
    )
    assert question.price().l2 ** 2 == pytest.approx(1.5625, rel=1e-6)
    assert furthest(question, all_episodes(2, 2, 1)) ** 2 == pytest.approx(1.5625, rel=1e-6)
    rng = np.random.default_rng(0)
    for weight in (0.5, 1.0, 2.0, 5.0):
        reached = 0.0
        for _ in range(40):
            x = rng.standard_normal((4, 2))
            x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
            question = MomentsQuestion.of(described(x.tolist(), [0.0] * 4), 1, reward_weight=weight)
            far = furthest(question, all_episodes(4, 2, 1))
            assert far <= question.price(FINE).l2
            reached = max(reached, far / question.price().l2)
        assert reached > 0.95


def test_the_price_of_several_steps_is_nearly_reached() -> None:
    """Every user in one direction and paid always, or never: vectors are opposite, though Gram matrices then agree."""
    features = described([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    question = replace(MomentsQuestion.of(features, 3), gram_bound=1.0, vector_bound=1.0, reward_weight=20.0)
    far = furthest(question, all_episodes(2, 2, 3)[::2])
    assert 0.8 * math.sqrt(5) < far <= question.price(FINE).l2


def test_a_person_is_clipped_as_a_whole() -> None:
    rng = np.random.default_rng(1)
    inputs = (Number("a", -1, 1), Number("b", 0, 5))
    question = MomentsQuestion.of(DescribedFeatures.over_cloud(inputs, "xyz", polynomial(inputs, 2)), 8)
    shares = []
    for _ in range(200):
        seen = np.column_stack([rng.uniform(-3, 3, 9), rng.uniform(-2, 9, 9)])
        episode = ObservedEpisodes.single(seen, rng.integers(0, 3, 8), rng.integers(0, 2, 8))
        gram, vector = question.unpack(summed_moments(question, episode))
        sizes = np.linalg.norm(gram), np.linalg.norm(vector)
        assert sizes[0] <= question.gram_bound * (1 + 1e-12) and sizes[1] <= question.vector_bound * (1 + 1e-12)
        shares.append(max(sizes[0] / question.gram_bound, sizes[1] / question.vector_bound))
        loose = replace(question, gram_bound=1e9, vector_bound=1e9)
        full = np.concatenate([part.ravel() for part in loose.unpack(summed_moments(loose, episode))])
        clipped = np.concatenate([gram.ravel(), vector.ravel()])
        share = clipped @ full / (full @ full)
        assert np.allclose(clipped, share * full) and 0 < share <= 1 + 1e-12  # one factor for all that is sent
    assert max(shares) == pytest.approx(1.0)


def test_cells_are_unpacked_as_they_were_packed_and_symmetric_noise_has_twice_the_variance_on_the_diagonal() -> None:
    question = MomentsQuestion.of(described(*TABLES["plane"]), 3)
    cells = np.random.default_rng(2).standard_normal(question.cells)
    gram, vector = question.unpack(cells)
    assert np.allclose(gram, np.swapaxes(gram, -1, -2)) and np.allclose(question.pack(gram, vector), cells)
    distance = (gram**2).sum() / 2 + (vector**2).sum()
    assert (cells**2).sum() == pytest.approx(distance)


def test_a_group_sums_to_what_its_people_send() -> None:
    inputs = (Number("a", -1, 1),)
    question = MomentsQuestion.of(DescribedFeatures.over_cloud(inputs, "xy", polynomial(inputs, 2)), 4)
    rng = np.random.default_rng(3)
    people = ObservedEpisodes(rng.uniform(-1, 1, (50, 5, 1)), rng.integers(0, 2, (50, 4)), rng.random((50, 4)))
    alone = [
        moment_cells(question, ObservedEpisodes.single(*each), FINE)
        for each in zip(people.observations, people.actions, people.rewards, strict=True)
    ]
    assert np.abs(sum(alone) * FINE - summed_moments(question, people)).max() < 50 * FINE


def test_what_cannot_be_answered_is_refused() -> None:
    question = MomentsQuestion.of(described(*TABLES["plane"]), 2)
    with refused("episode-too-long"):
        moment_cells(question, ObservedEpisodes.single([[0.0]] * 4, [0] * 3, [0.0] * 3), FINE)
    with refused("last-state-unknown"):
        moment_cells(question, ObservedEpisodes.single([[0.0]] * 2, [0] * 2, [0.0] * 2), FINE)
    with refused("category-unknown"):
        moment_cells(question, ObservedEpisodes.single([[7.0]] * 3, [0] * 2, [0.0] * 2), FINE)
    with refused("moments-vector-bound"):
        replace(MomentsQuestion.of(described(*TABLES["plane"]), 1), vector_bound=0.1)
    with refused("question-not-priced"):
        question.member(MomentsQuestion.of(described(*TABLES["signs"]), 2))


PROMISES = {
    "joint": Guarantee("joint", 1.0, 1e-6),
    "local": Guarantee("local", 1.0, 1e-6),
    "central": Guarantee("central", rho=0.5),
}


def designed(trust: str, horizon: int = 2, releases: int = 1) -> Design:
    question = MomentsQuestion.of(described(*TABLES["plane"]), horizon)
    return make(Request(question, PROMISES[trust], Schedule.batches(releases, releases)))


@pytest.mark.parametrize("trust", PROMISES)
def test_a_design_is_read_back_and_keeps_its_promise(trust: str) -> None:
    design = designed(trust)
    again = Design.from_bytes(design.to_bytes())
    assert again.digest == design.digest and again.question.digest == design.question.digest
    assert design.act.sensitivity.l2 == pytest.approx(design.question.price(design.mechanism.grid).l2)
    assert design.act.sensitivity.l2 > design.question.price().l2  # rounding is charged


@pytest.mark.parametrize("trust", PROMISES)
def test_noise_is_as_large_as_is_said_as_really_drawn(trust: str) -> None:
    """Both ways: the sample variance over all cells of many releases is within its law of the stated one, and not of 2/3 or
    3/2 of it."""
    design = designed(trust)
    nobody = Trajectory(np.array([0]), np.zeros(0, dtype=np.int64), np.zeros(0))
    drawn = []
    for _ in range(160):
        aggregate = open_aggregate(design, SecureNoise())
        aggregate.take(respond(design, None, nobody, SecureNoise()))
        drawn.append(MOMENTS.packed(aggregate.close()))
    values = np.concatenate(drawn)
    stated = float(MOMENTS.noise(design.question, design.law(np.array(1)))[..., 1])
    spread = math.sqrt(2 / len(values)) * 6.2  # a normal law leaves 6.2 deviations with probability below FALSE_ALARM
    assert len(values) > 2_000  # then 2/3 and 3/2 are as many deviations away
    assert abs(values.var() / stated - 1) < spread
    assert abs(values.var() / (stated * 1.5) - 1) > spread / 1.5 and abs(values.var() / (stated / 1.5) - 1) > spread


def test_releases_have_bytes() -> None:
    design = designed("joint", releases=2)
    aggregate = open_aggregate(design, SecureNoise())
    aggregate.take(Trajectory(np.array([0, 1, 0]), np.array([0, 1]), np.array([1.0, 0.0])))
    release = aggregate.close()
    again = MOMENTS.read_release(release.to_bytes(), design)
    assert np.array_equal(again.gram, release.gram) and np.array_equal(again.vector, release.vector)
    assert again.noise == release.noise and again.radius == release.radius
    with refused("release-unreadable"):
        MOMENTS.read_release(release.to_bytes()[:-8], design)


def test_promises_without_delta_and_papers_are_refused() -> None:
    question = MomentsQuestion.of(described(*TABLES["plane"]), 2)
    with refused("moments-need-delta"):
        make(Request(question, Guarantee("joint", 1.0, 0.0), Schedule.batches(1, 1)))
    with refused("moments-calibration"):
        make(Request(question, Guarantee("joint", 1.0, 1e-6), Schedule.batches(1, 1), "paper"))


def test_several_episodes_of_a_person_are_priced_together() -> None:
    question = MomentsQuestion.of(described(*TABLES["plane"]), 2)
    one, two = (
        make(Request(question, PROMISES["central"], Schedule.batches(1, 1), episodes=episodes)) for episodes in (1, 2)
    )
    assert two.mechanism.sigma == pytest.approx(2 * one.mechanism.sigma, rel=1e-2)
    assert Design.from_bytes(two.to_bytes()).digest == two.digest
    with refused("moments-share"):
        make(Request(question, PROMISES["central"], Schedule.batches(1, 1), share=0.5))


def test_bytes_of_a_question() -> None:
    question = MomentsQuestion.of(described(*TABLES["plane"]), 2, PER_STEP)
    assert MomentsQuestion.from_bytes(question.to_bytes()) == question
    assert question != replace(question, gram_bound=1.0)
    with refused("moments-question-unreadable"):
        MomentsQuestion.from_bytes(question.to_bytes()[:-9])


def test_a_polynomial_of_one_number_is_known_by_hand() -> None:
    """One step, x = 2u - 1 at u = 3/4, reward 1, weight 1: G = 1/4, which is over sqrt 2 in its cell, and B = 1/4."""
    features = DescribedFeatures((Number("u", 0, 1),), ("only",), ((Factor("u", POWER, 1),),), np.eye(1))
    question = MomentsQuestion.of(features, 1, reward_weight=1.0)
    cells = summed_moments(question, ObservedEpisodes.single([[0.75]], [0], [1.0]))
    assert cells == pytest.approx([0.25 / math.sqrt(2), 0.25])


@pytest.mark.parametrize("horizon", [1, 3])
def test_shares_charge_for_rounding(horizon: int) -> None:
    """The sensitivity is that of cells on the grid of the shares, and no two people that are tried are further apart on it."""
    from confide.lab.environments.observed_world import in_states
    from confide.privacy.guarantee import SHUFFLE
    from confide.protocol.defaults import request_for

    question = MomentsQuestion.of(in_states(2, 2), horizon)
    design = make(request_for(question, Guarantee(SHUFFLE, 1.0, 1e-6), 5000, mechanism="skellam"))
    grid = design.mechanism.grid
    assert design.act.sensitivity == question.price(grid) and question.price(grid).l2 > 1.01 * question.price().l2
    rng, people = np.random.default_rng(4), []
    for _ in range(300):
        seen = rng.integers(2, size=(horizon + 1, 1)).astype(float)
        people.append(
            moment_cells(
                question,
                ObservedEpisodes.single(seen, rng.integers(2, size=horizon), rng.integers(2, size=horizon) * 1.0),
                grid,
            )
            * grid
        )
    cells = np.unique(np.array(people), axis=0)
    apart = np.linalg.norm(cells[:, None] - cells[None], axis=-1).max()
    assert 0.5 * question.price(grid).l2 < apart <= question.price(grid).l2
