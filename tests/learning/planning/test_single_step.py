"""A single step, which nothing follows: what is read off its release, with the noise that its visits have. Seeds are fixed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from confide.data.privatizers import Total, open_aggregate
from confide.learning.learners.apvi import Apvi
from confide.learning.planning.logged import logged_model
from confide.learning.planning.ope import Evidence, difference, replica
from confide.learning.planning.practice import practice_in
from confide.learning.planning.thinning import TAU, noised_cells, thinned
from confide.mdp import Spec
from confide.mdp.knowledge import Knowledge
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Central, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds.bandit import BanditQuestion
from confide.protocol.releases import CountRelease

SPEC = Spec(40, 5, 1)
KNOWLEDGE = Knowledge.declared(SPEC, ends=False, initial=np.full(40, 1 / 40))
REACH = 5.0
"""Standard errors within which a statistic must lie; seeds are fixed, so this says how special they are."""


def released(visits: np.ndarray, paid: np.ndarray, rho: float, seed: int, centre: float = 0.5) -> CountRelease:
    """The release of exact numbers of visits and of payments (S, A)."""
    question = BanditQuestion.of(SPEC, 16, centre)
    design = make(Request(question, Central(rho=rho), Schedule.every(1), failure=0.05))
    aggregate = open_aggregate(design, ReplayableNoise(seed), simulated=True)
    cells = np.concatenate([(paid - centre * visits).ravel(), visits.ravel() / 2])
    aggregate.take_sum(Total(np.rint(cells * question.resolution).astype(np.int64), int(visits.sum())))
    release: CountRelease = aggregate.close()
    return release


def test_there_is_no_room_for_what_follows() -> None:
    assert KNOWLEDGE.support.shape == (40, 5, 0) and KNOWLEDGE.worths == pytest.approx((0.0, 1.0))
    large = Knowledge.declared(Spec(10_000, 4, 1))
    assert large.support.size == 0 and large.allowed.all() and large.reach.high[0, 0] == 1.0
    table = np.zeros((40, 5, 40), dtype=np.bool_)
    assert Knowledge.declared(SPEC, support=table, ends=False).support.size == 0  # which says nothing of a single step


@pytest.mark.parametrize("centre", [0.5, 0.125, 0.0])
def test_rewards_and_practice_are_read_by_their_centre(centre: float) -> None:
    rng = np.random.default_rng(0)
    visits = rng.integers(50_000, 200_000, (40, 5))
    paid = rng.binomial(visits, 0.3 * rng.random((40, 5)))
    model = logged_model(released(visits, paid, 5.0, 1, centre), KNOWLEDGE)
    np.testing.assert_allclose(model.rewards[0, :, 1:], paid / visits, atol=1e-4)
    np.testing.assert_allclose(model.behaviour[0], visits / visits.sum(axis=1, keepdims=True), atol=1e-4)
    np.testing.assert_allclose(model.visits[0], visits, atol=10)
    assert model.covered.all() and not model.unclear.any()
    assert practice_in(released(visits, paid, 5.0, 1, centre), KNOWLEDGE).mean == pytest.approx(
        paid.sum() / visits.sum(), abs=1e-4
    )


def test_errors_of_the_parts_are_independent_and_visits_have_twice_the_noise() -> None:
    nothing = np.zeros((40, 5))
    sizes = {"visited": 2.0, "paid": 1.0}
    drawn = {name: ([], []) for name in sizes}
    for seed in range(20):
        release = released(nothing, nothing, 0.01, seed, 0.25)
        model = logged_model(release, KNOWLEDGE)
        quiet = replace(model, visits=0 * model.visits)  # no chance, only noise
        for name, kept in drawn.items():
            for part, half in zip(kept, thinned(release, quiet), strict=True):
                part.append(getattr(noised_cells(half, KNOWLEDGE), name).ravel() / model.noise)
    for name, size in sizes.items():
        first, second = (np.concatenate(part) / size for part in drawn[name])
        error = 1 / math.sqrt(first.size)
        assert abs(np.corrcoef(first, second)[0, 1]) < REACH * error
        for sample, wanted in ((first, 1 + TAU**2), (second, 1 + 1 / TAU**2)):
            # Deviations are read off radii, to a few per cent.
            assert abs(float((sample**2).mean()) / wanted - 1) < 0.05 + REACH * error * math.sqrt(2)


def test_two_releases_are_parted_by_other_draws() -> None:
    visits = np.full((40, 5), 300)
    parts = []
    for seed in (1, 2):
        release = released(visits, visits // 10, 1.0, seed)
        choosing, _ = thinned(release, logged_model(release, KNOWLEDGE))
        parts.append((choosing.counts.visits - release.counts.visits).ravel())
    assert abs(np.corrcoef(*parts)[0, 1]) < 0.4


@pytest.mark.parametrize("centre", [0.5, 0.125])
def test_the_noise_of_a_gain_is_that_of_its_estimates(centre: float) -> None:
    """The same people, other noise: estimates scatter as is said, not more and not less, and by noise alone."""
    rng = np.random.default_rng(3)
    visits = rng.integers(200, 400, (40, 5))
    paid = rng.binomial(visits, 0.02)
    chosen = np.zeros((1, 40, 6))
    chosen[0, :, 1] = 1.0
    fixed = logged_model(released(visits, paid, 50.0, 99, centre), KNOWLEDGE)
    values, sizes = [], []
    for seed in range(150):
        judging = released(visits, paid, 0.05, seed, centre)
        more = difference(Evidence(fixed, judging, practice_in(judging, KNOWLEDGE)), chosen)
        values.append(more.value)
        sizes.append(more.noise)
    said, seen = float(np.mean(sizes)), float(np.var(values))
    # A variance of 150 numbers is off by 12 %; deviations are read off radii, to a few per cent. Visits have half of it at c = 1/2.
    assert 0.65 < seen / said < 1.4
    truth = float((paid[:, 0] / visits[:, 0]).mean() - (paid.sum(axis=1) / visits.sum(axis=1)).mean())
    assert abs(float(np.mean(values)) - truth) < REACH * math.sqrt(said / 150) + 0.002


def test_other_promises_are_rehearsed_with_noise_in_visits() -> None:
    visits = np.full((40, 5), 400)
    release = released(visits, visits // 10, 0.02, 1)
    model = logged_model(release, KNOWLEDGE)
    again = replica(release, model, np.random.default_rng(0), 3.0)
    off = (again.counts.visits - model.visits).ravel()
    wanted = float((model.visits + (3 * 2 * model.noise) ** 2).mean())
    assert abs(float((off**2).mean()) / wanted - 1) < REACH * math.sqrt(2 / off.size)
    mean = (again.centred - (0.1 - 0.5) * model.visits).ravel()
    assert abs(float((mean**2).mean()) / (400 * 0.09 + (3 * model.noise) ** 2) - 1) < 0.1 + REACH * math.sqrt(
        2 / off.size
    )


@pytest.mark.parametrize("pessimism", ["adaptive", "bernstein", "hoeffding"])
def test_every_pessimism_finds_what_pays(pessimism: str) -> None:
    visits = np.full((40, 5), 5_000_000)
    paid = visits // 10
    paid[:, 3] = visits[:, 3] * 9 // 10
    plan = Apvi(KNOWLEDGE, pessimism).plan(released(visits, paid, 5.0, 2))
    assert (plan.extended[0, :, 1 + 3] == 1).all()
