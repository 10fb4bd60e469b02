"""The wall at a curator: releases within their radius, batch by batch, to people who act on what was released."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import InvalidInput, PrivacyError, UnsafeNoise
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Guarantee, Joint, Schedule
from confide.privatizers import CentralPrivatizer, design
from confide.questions import CountQuestion
from confide.questions.counts import DROPPED, REWARDS, TRANSITIONS, VISITS
from confide.trajectories import Trajectory

from .walkers import exact, walk, worst_errors

FALSE_ALARM = 1e-7
"""How often each release made with secure noise fails its test although nothing is wrong."""

CLASSIC = (VISITS, REWARDS, TRANSITIONS)
SPEC = Spec(2, 2, 3)
MECHANISMS = ["tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz"]


def central(
    mechanism: str, schedule: Schedule, calibration: str = "tight", spec: Spec = SPEC, epsilon: float = 2.0
) -> CentralPrivatizer:
    promise = Joint(epsilon) if mechanism == "tree-laplace" else Joint(epsilon, 1e-5)
    made = design(CountQuestion(spec, CLASSIC, DROPPED), promise, schedule, calibration, mechanism)
    assert isinstance(made, CentralPrivatizer)
    return made


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("calibration", ["sound", "tight"])
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_every_release_is_within_its_radius(mechanism: str, calibration: str, model: str) -> None:
    """People act on what was released: whoever comes next prefers the pair that looked best."""
    schedule, noise, rng = Schedule.batches(120, 8), ReplayableNoise(3), np.random.default_rng(3)
    privatizer = central(mechanism, schedule, calibration, SPEC.with_model(model))
    progress, everybody, favourite = privatizer.begin(), list[Trajectory](), 0
    share = 0.0
    for size in np.diff(schedule.ends, prepend=0):
        batch = [walk(SPEC, rng, short=0.2) for _ in range(size)]
        for person in batch:
            person.actions[:] = favourite
        everybody += batch
        progress, release = privatizer.answer(progress, batch, 0.001, noise, simulated=True)
        errors = worst_errors(release.counts, exact(privatizer.question, everybody))
        assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))
        share = max(share, errors[3] / release.radius.transitions)
        assert release.users == len(everybody)
        favourite = int(release.counts.rewards.sum(axis=(0, 1)).argmax())
    assert share > 0.2  # the radius is not simply far too large
    assert release.guarantee == privatizer.guarantee
    with pytest.raises(PrivacyError, match="made for 8 releases"):
        privatizer.answer(progress, [walk(SPEC, rng)], 0.001, noise, simulated=True)


def test_secure_noise_is_drawn_by_default() -> None:
    privatizer = central("toeplitz", Schedule.batches(4, 2))
    people = [walk(SPEC, np.random.default_rng(seed)) for seed in range(4)]
    first = [privatizer.answer(privatizer.begin(), people[:2], FALSE_ALARM)[1] for _ in range(2)]
    assert not np.array_equal(first[0].counts.transitions, first[1].counts.transitions)
    for release in first:
        errors = worst_errors(release.counts, exact(privatizer.question, people[:2]))
        assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))


def test_replayable_noise_is_refused_unless_the_people_are_simulated() -> None:
    privatizer = central("tree-laplace", Schedule.batches(4, 2))
    people = [walk(SPEC, np.random.default_rng(seed)) for seed in range(2)]
    with pytest.raises(UnsafeNoise, match="a release about real people must draw secure noise"):
        privatizer.answer(privatizer.begin(), people, 0.1, ReplayableNoise(0))


def test_a_state_answers_once() -> None:
    privatizer = central("tree-laplace", Schedule.batches(4, 2))
    people = [walk(SPEC, np.random.default_rng(seed)) for seed in range(2)]
    begun = privatizer.begin()
    privatizer.answer(begun, people, 0.1, ReplayableNoise(0), simulated=True)
    with pytest.raises(PrivacyError, match="used before"):
        privatizer.answer(begun, people, 0.1, ReplayableNoise(0), simulated=True)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_batch_off_the_schedule_is_refused_and_spends_nothing(size: int) -> None:
    """Boundaries are public and fixed: a batch that ends elsewhere would tell something by where it ends."""
    privatizer = central("tree-laplace", Schedule.batches(4, 2))
    people = [walk(SPEC, np.random.default_rng(seed)) for seed in range(3)]
    begun = privatizer.begin()
    with pytest.raises(InvalidInput, match="2 people are counted after it"):
        privatizer.answer(begun, people[:size], 0.1, ReplayableNoise(0), simulated=True)
    progress, _ = privatizer.answer(begun, people[:2], 0.1, ReplayableNoise(0), simulated=True)
    assert progress.users == 2


def test_an_episode_of_other_sizes_is_refused() -> None:
    privatizer = central("toeplitz", Schedule.batches(2, 1))
    long = walk(Spec(2, 2, 9), np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="at most 3 steps long"):
        privatizer.answer(privatizer.begin(), [long, long], 0.1, ReplayableNoise(0), simulated=True)


def test_progress_shows_nothing_of_anybody() -> None:
    privatizer = central("toeplitz", Schedule.batches(2, 2))
    progress, _ = privatizer.answer(
        privatizer.begin(), [walk(SPEC, np.random.default_rng(0))], 0.1, ReplayableNoise(0), simulated=True
    )
    assert repr(progress) == "Progress(users=1, release=1)"


@pytest.mark.parametrize("failure", [0.0, 1.0, math.nan])
def test_a_radius_needs_a_probability(failure: float) -> None:
    with pytest.raises(InvalidInput, match="failure"):
        central("tree-laplace", Schedule.batches(4, 2)).radii(1, failure)


@pytest.mark.parametrize("levels", [1, 3, 10])
def test_counts_reach_the_counter_on_its_own_grid(levels: int) -> None:
    """With hardly any noise the release is the exact count, whatever the resolution."""
    question = CountQuestion(SPEC, CLASSIC, DROPPED, levels)
    privatizer = design(question, Joint(1e6), Schedule.batches(20, 4), "sound", "tree-laplace")
    assert isinstance(privatizer, CentralPrivatizer)
    rng, progress, everybody = np.random.default_rng(levels), privatizer.begin(), list[Trajectory]()
    for _ in range(4):
        batch = [walk(SPEC, rng) for _ in range(5)]
        everybody += batch
        progress, release = privatizer.answer(progress, batch, 0.1, ReplayableNoise(0), simulated=True)
        assert max(worst_errors(release.counts, exact(question, everybody))) < 0.1


@settings(max_examples=15)
@given(st.sampled_from(MECHANISMS), st.integers(1, 40), st.floats(0.1, 20))
def test_radii_are_those_of_the_counter(mechanism: str, releases: int, epsilon: float) -> None:
    privatizer = central(mechanism, Schedule.batches(40, releases), epsilon=epsilon)
    visits, rewards, squares, transitions, rows = privatizer.radii(releases, 0.05)
    share = 0.05 / (4 * 6)
    assert transitions == pytest.approx(privatizer.counter.radius(releases, share))
    assert visits == rows == pytest.approx(privatizer.counter.radius(releases, share, 2))
    assert transitions <= rewards == squares <= visits


def test_the_certificate_names_the_schedule() -> None:
    privatizer = central("toeplitz", Schedule.batches(40, 8))
    said = privatizer.certificate("compiled").as_json()
    assert said["mechanisms"][0]["schedule"] == Schedule.batches(40, 8).describe()
    assert any("batch boundaries are public" in line for line in said["assumptions"])
    promise: Guarantee = privatizer.guarantee
    assert promise.epsilon is not None
    assert promise.epsilon <= 2.0
