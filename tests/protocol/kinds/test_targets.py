"""Feature targets: what a person sends, its price by brute force, noise as it is drawn, bytes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from confide.data.privatizers import open_aggregate, respond
from confide.data.statistics.targets import target_cells, targets_of_each
from confide.data.trajectories import Trajectory
from confide.lab.environments import make as world_of
from confide.learning.planning.rehearsed import visits, walked
from confide.mdp import PER_STEP, STATIONARY, MixtureFeatures, Spec
from confide.mechanisms.noise import SecureNoise
from confide.privacy import Guarantee, Schedule
from confide.protocol.defaults import request_for
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds.targets import TARGETS, TargetsQuestion
from tests.refusals import refused

FINE = 2.0**-30
FALSE_ALARM = 1e-9
"""Of a comparison of a variance with its law."""


def mixed(seed: int, horizon: int = 3, dynamics: str = STATIONARY, size: int = 3) -> TargetsQuestion:
    """Some models of two states and two actions, mixed."""
    models = np.random.default_rng(seed).dirichlet(np.full(2, 0.5), size=(size, 2, 2))
    return TargetsQuestion.of(Spec(2, 2, horizon, dynamics), MixtureFeatures.from_array(np.moveaxis(models, 0, -1)))


def signed(seed: int, horizon: int = 3, dynamics: str = STATIONARY) -> TargetsQuestion:
    """Features that may be negative, and are no models."""
    phi = np.random.default_rng(seed).standard_normal((2, 2, 2, 3))
    return TargetsQuestion.of(Spec(2, 2, horizon, dynamics), MixtureFeatures.from_array(phi))


def opposite(horizon: int = 3, bound: float = 0.5) -> TargetsQuestion:
    """One model in which people stay, and one in which they move."""
    phi = np.zeros((2, 2, 2, 2))
    for state in range(2):
        phi[state, :, state, 0] = phi[state, :, 1 - state, 1] = 1.0
    return replace(TargetsQuestion.of(Spec(2, 2, horizon), MixtureFeatures.from_array(phi)), bound=bound)


def all_episodes(spec: Spec) -> list[Trajectory]:
    """All of them, shorter ones too; rewards tell nothing here."""
    found = []
    for steps in range(spec.horizon + 1):
        for seen in itertools.product(range(spec.states), repeat=steps + 1):
            for taken in itertools.product(range(spec.actions), repeat=steps):
                found.append(Trajectory(np.array(seen), np.array(taken, dtype=np.int64), np.zeros(steps)))
    return found


def furthest(question: TargetsQuestion) -> float:
    cells = np.stack([target_cells(question, each, FINE) * FINE for each in all_episodes(question.spec)])
    return float(np.linalg.norm(cells[:, None] - cells[None], axis=2).max())


@pytest.mark.parametrize("dynamics", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("horizon", [2, 3])
def test_no_two_people_are_further_apart_than_the_price(horizon: int, dynamics: str) -> None:
    """All pairs of episodes of twelve problems, tightly clipped ones too."""
    for seed in range(6):
        for made in (mixed, signed):
            question = made(seed, horizon, dynamics)
            for bound in (question.bound, 0.1, 10.0):
                asked = replace(question, bound=bound)
                assert furthest(asked) <= asked.price(FINE).l2


def test_the_price_is_reached() -> None:
    """Two people of whom one stayed and one moved, both clipped: 2 C apart, and not a hair more is charged."""
    question = opposite()
    assert furthest(question) == pytest.approx(2 * question.bound, rel=1e-6)
    assert question.price().l2 == pytest.approx(2 * question.bound, rel=1e-8)


def test_what_a_person_sends_is_known_by_hand() -> None:
    """Stayed and moved: psi are the unit vectors e_1 and e_2, G theta_0 = (1/2, 1/2), so they cancel out; stayed twice: (1, -1)."""
    question = opposite(bound=10.0)
    assert np.allclose(question.centre, 0.5) and np.allclose(question.gram, np.eye(2))
    stayed, turned = (
        Trajectory(np.array(seen), np.zeros(3, dtype=np.int64), np.zeros(3)) for seen in ([0] * 4, [0, 0, 1, 1])
    )
    assert target_cells(question, stayed, FINE) * FINE == pytest.approx([1.0, -1.0])
    assert target_cells(question, turned, FINE) * FINE == pytest.approx([0.0, 0.0])
    short = target_cells(replace(question, bound=0.1), stayed, FINE) * FINE
    assert np.linalg.norm(short) == pytest.approx(0.1) and short[0] == pytest.approx(-short[1])


@pytest.mark.parametrize("dynamics", [STATIONARY, PER_STEP])
def test_their_mean_is_the_gram_matrix_times_what_is_to_be_learned(dynamics: str) -> None:
    """40,000 people who are not clipped, under any policy, and another theta than theta_0: within five deviations."""
    question = replace(mixed(3, 4, dynamics), bound=100.0)
    rng = np.random.default_rng(0)
    theta, initial = rng.dirichlet(np.ones(3)), np.array([0.3, 0.7])
    policy = rng.dirichlet(np.ones(2), size=(4, 2))
    world = question.features.probabilities(theta[None])
    sent = targets_of_each(question, *walked(world, initial, policy, 40_000, rng))
    gram = np.einsum("hsa,saij->hij", visits(world, initial, policy)[:3], question.gram)
    expected = gram @ (theta - question.centre)
    expected = expected.sum(axis=0) if dynamics == STATIONARY else expected.reshape(-1)
    assert (np.abs(sent.mean(axis=0) - expected) < 5 * sent.std(axis=0) / 200 + 1e-9).all()
    assert np.abs(expected).max() > 20 * sent.std() / 200  # or there is nothing to see


def test_what_cannot_be_answered_is_refused() -> None:
    question = mixed(0, 2)
    with refused("episode-too-long"):
        target_cells(question, Trajectory(np.zeros(4, int), np.zeros(3, int), np.zeros(3)), FINE)
    with refused("last-state-unknown"):
        target_cells(question, Trajectory(np.zeros(1, int), np.zeros(1, int), np.zeros(1)), FINE)
    with refused("targets-horizon"):
        replace(question, spec=Spec(2, 2, 1))
    with refused("targets-features"):
        replace(question, spec=Spec(3, 2, 2))
    with refused("question-not-priced"):
        question.member(mixed(1, 2))


PROMISES = {"joint": Guarantee("joint", 1.0, 1e-6), "local": Guarantee("local", 2.0)}


def designed(trust: str, mechanism: str = "auto") -> Design:
    promise = Guarantee("local", 2.0, 1e-6) if mechanism == "gaussian" else PROMISES[trust]
    return make(Request(mixed(2, 3, PER_STEP, size=8), promise, Schedule.batches(1, 1), mechanism=mechanism))


@pytest.mark.parametrize(("trust", "mechanism"), [("joint", "auto"), ("local", "gaussian"), ("local", "auto")])
def test_noise_is_as_large_as_is_said_as_really_drawn(trust: str, mechanism: str) -> None:
    """Both ways: the mean square of cells of a person who did nothing is within its law of the stated one, and not of 2/3 or 3/2 of
    it."""
    design = designed(trust, mechanism)
    nobody = Trajectory(np.array([0]), np.zeros(0, dtype=np.int64), np.zeros(0))
    drawn = []
    for _ in range(500):
        aggregate = open_aggregate(design, SecureNoise())
        aggregate.take(respond(design, None, nobody, SecureNoise()))
        drawn.append(TARGETS.packed(aggregate.close()))
    values = np.concatenate(drawn)
    stated = float(TARGETS.noise(design.question, design.law(np.array(1)))[..., 1])
    spread = math.sqrt(2 / len(values)) * 6.2  # a normal law leaves 6.2 deviations with probability below FALSE_ALARM
    assert len(values) == 8000 and abs((values**2).mean() / stated - 1) < spread
    assert (
        abs((values**2).mean() / (stated * 1.5) - 1) > spread and abs((values**2).mean() / (stated / 1.5) - 1) > spread
    )


def test_a_design_is_read_back_and_charges_for_rounding() -> None:
    for trust in PROMISES:
        design = designed(trust)
        again = Design.from_bytes(design.to_bytes())
        assert again.digest == design.digest and again.question == design.question
        assert design.act.sensitivity == design.question.price(design.mechanism.grid)
        assert design.act.sensitivity.l2 > design.question.price().l2


def test_shares_charge_for_rounding() -> None:
    """No two people are further apart on the grid of the shares than is charged."""
    question = opposite()
    design = make(request_for(question, Guarantee("shuffle", 1.0, 1e-6), 5000, mechanism="skellam"))
    grid = design.mechanism.grid
    assert design.act.sensitivity == question.price(grid) and question.price(grid).l2 > 1.01 * question.price().l2
    cells = np.stack([target_cells(question, each, grid) * grid for each in all_episodes(question.spec)])
    apart = np.linalg.norm(cells[:, None] - cells[None], axis=2).max()
    assert 0.9 * question.price(grid).l2 < apart <= question.price(grid).l2


def test_releases_and_questions_have_bytes() -> None:
    design = designed("joint")
    aggregate = open_aggregate(design, SecureNoise())
    aggregate.take(Trajectory(np.array([0, 1, 0]), np.array([0, 1]), np.array([1.0, 0.0])))
    release = aggregate.close()
    again = TARGETS.read_release(release.to_bytes(), design)
    assert np.array_equal(again.sums, release.sums) and again.noise == release.noise and again.radius == release.radius
    with refused("release-unreadable"):
        TARGETS.read_release(release.to_bytes()[:-8], design)
    question = mixed(2)
    assert TargetsQuestion.from_bytes(question.to_bytes()) == question != replace(question, bound=1.0)
    with refused("targets-question-unreadable"):
        TargetsQuestion.from_bytes(question.to_bytes()[:-9])


def test_promises_without_delta_and_papers_are_refused() -> None:
    for trust in ("joint",):
        with refused("moments-need-delta"):
            make(Request(mixed(0), Guarantee(trust, 1.0), Schedule.batches(1, 1)))
    with refused("moments-calibration"):
        make(Request(mixed(0), PROMISES["joint"], Schedule.batches(1, 1), "paper"))


def test_most_people_of_a_mixture_are_clipped_and_no_one_without_privacy() -> None:
    world = world_of("mixture/8x2x4?seed=1")
    assert world.features is not None and world.model is not None
    model, spec = world.model, world.spec
    policy = np.full((spec.horizon, spec.states, spec.actions), 1 / spec.actions)
    for clipped, least, most in ((True, 0.5, 1.0), (False, 0.0, 0.0)):
        question = TargetsQuestion.of(spec, world.features, clipped)
        seen = walked(model.transitions, model.initial, policy, 2000, np.random.default_rng(1))
        share = float((question.factors(question.vectors(*seen)) < 1).mean())
        assert least <= share <= most
