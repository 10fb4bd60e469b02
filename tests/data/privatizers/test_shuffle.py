"""Devices and shufflers together: what goes over the wire, what comes out, and noise that is as stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from confide import Shuffle
from confide.data.privatizers import respond
from confide.data.statistics import count
from confide.data.trajectories import Trajectory
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import DROPPED, TRANSITIONS
from confide.protocol.releases import CountRelease, open_aggregate
from confide.protocol.releases.shuffler import Cover, ShuffleAggregate, Submission
from tests.protocol.test_shuffle import TWO, shuffle
from tests.refusals import refused

from .walkers import exact, walk, worst_errors

FALSE_ALARM = 1e-7
"""How often each test of noise fails although nothing is wrong, if it draws secure noise."""


def play(privatizer: Design, people: list[Trajectory], noise: Any) -> tuple[Cover, CountRelease | None]:
    """Every user's reports, over the wire, through the shufflers, to a release."""
    aggregate = open_aggregate(privatizer)
    assert isinstance(aggregate, ShuffleAggregate) and privatizer.mixing is not None
    ends = privatizer.schedule.ends
    for index, person in enumerate(people):
        group = int(np.searchsorted(ends, index, side="right"))
        sent = respond(privatizer, None, person, noise, batch=group, simulated=True)
        aggregate.take(tuple(Submission.from_bytes(one.to_bytes(privatizer), privatizer) for one in sent))
    return aggregate.cover, aggregate.close() if aggregate.cover else None


# From devices to a release.


@pytest.mark.parametrize(
    ("model", "choices"),
    [
        (STATIONARY, {}),
        (PER_STEP, {}),
        (STATIONARY, {"reward_bits": 3}),
        (STATIONARY, {"calibration": "tight", "mechanism": "shuffled-step"}),
        (PER_STEP, {"calibration": "tight", "mechanism": "shuffled-step"}),
        (STATIONARY, {"tree": True}),
    ],
)
def test_many_reports_become_a_release_within_its_radius(model: str, choices: dict[str, Any]) -> None:
    rng, noise, batch = np.random.default_rng(7), ReplayableNoise(7), 60
    question = CountQuestion(Spec(2, 2, 2, model), last=DROPPED)
    privatizer = shuffle(question, Shuffle(8.0, 1e-3), batch, 230, failure=0.04, **choices)
    people = [walk(question.spec, rng) for _ in range(230)]
    _, release = play(privatizer, people, noise)
    assert release is not None and release.users == 180  # the short last batch is held
    assert release.failure == 0.01 and release.guarantee == privatizer.guarantee
    counted = privatizer.question.counts.having(levels=1)
    errors = worst_errors(release.counts, exact(counted, people[:180]))
    assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))
    assert any(error > bound / 8 for error, bound in zip(errors, release.radius, strict=True))
    np.testing.assert_allclose(release.radius, privatizer.radii(230, 0.01))


def test_where_batches_widen_every_person_is_in_one() -> None:
    rng, batch, users = np.random.default_rng(3), 4, 4 * 16 + 8 * 8 + 16 + 5
    privatizer = shuffle(TWO, Shuffle(60.0, 0.5), batch, users, failure=0.3, widening=True)
    people = [walk(TWO.spec, rng) for _ in range(users)]
    kept, release = play(privatizer, people, ReplayableNoise(3))
    assert [(part.first, part.last, part.total.level) for part in kept] == [(0, 16, 0), (16, 32, 1), (32, 36, 2)]
    assert release is not None and release.users == users - 5  # the short last batch is held
    counted = privatizer.question.counts.having(levels=1)
    errors = worst_errors(release.counts, exact(counted, people[: users - 5]))
    assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))
    assert any(error > bound / 8 for error, bound in zip(errors, release.radius, strict=True))
    aggregate = ShuffleAggregate.from_bytes(ShuffleAggregate(privatizer, kept).to_bytes(), privatizer)
    assert aggregate.open[2].first == 36
    assert all(batch.first > users for batch in aggregate.open[:2])  # whose batches are over
    with refused("report-of-other-batch"):
        aggregate.take(respond(privatizer, None, people[0], ReplayableNoise(1), batch=0, simulated=True))


def test_nothing_comes_out_before_a_batch_is_full() -> None:
    privatizer = shuffle(TWO, batch=50, users=400)
    rng = np.random.default_rng(1)
    kept, release = play(privatizer, [walk(TWO.spec, rng) for _ in range(49)], ReplayableNoise(1))
    assert kept == () and release is None


def test_in_a_tree_every_person_is_counted_once() -> None:
    rng, batch = np.random.default_rng(3), 4
    privatizer = shuffle(TWO, Shuffle(60.0, 0.5), batch, 28, tree=True)
    people = [walk(TWO.spec, rng) for _ in range(28)]
    kept, release = play(privatizer, people, ReplayableNoise(3))
    assert [(part.first, part.last) for part in kept] == [(0, 4), (4, 6), (6, 7)]
    assert release is not None and release.users == 28
    for batch, levels in ((0, [0, 1, 2]), (5, [1])):
        sent = respond(privatizer, None, people[0], ReplayableNoise(1), batch=batch, simulated=True)
        assert [one.report.level for one in sent] == levels
        assert [one.first for one in sent] == [batch - batch % 2**level for level in levels]


def test_devices_flip_as_often_as_is_said() -> None:
    """Secure noise: accepts the true flip probability, rejects two thirds and three halves of it."""
    privatizer, person = shuffle(TWO), Trajectory(np.array([0, 1, 1]), np.array([1, 0]), np.array([1.0, 0.0]))
    device, noise = privatizer.devices[0], SecureNoise()
    assert isinstance(device, RandomizedResponse)
    asked = privatizer.question.counts
    clear = count(asked, person, np.array([1, 0]))
    reports = [respond(privatizer, None, person, noise)[0].report.cells for _ in range(1500)]
    # Transitions are one bit each, of which one is set.
    where = asked.slices[TRANSITIONS]
    flips = int(sum(np.abs(cells[where] - clear[where]).sum() for cells in reports))
    trials = len(reports) * (where.stop - where.start)
    for scale in (1.0, 2 / 3, 1.5):
        accepted = stats.binomtest(flips, trials, scale * device.flip).pvalue > FALSE_ALARM
        assert accepted == (scale == 1.0)


def test_replayable_noise_is_refused_for_people() -> None:
    person = Trajectory(np.zeros(3, dtype=int), np.zeros(2, dtype=int), np.zeros(2))
    with refused("noise-not-secure"):
        respond(shuffle(TWO), None, person, ReplayableNoise(1))
