"""The wall at a curator: releases within their radius, batch by batch, to people who act on what was released."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from confide.data.privatizers import CuratorAggregate, Total, open_aggregate
from confide.data.statistics import count
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Guarantee, Joint, NoPrivacy, Schedule
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import DROPPED, REWARDS, TRANSITIONS, VISITS
from confide.protocol.releases import CountRelease
from tests.protocol.making import design
from tests.refusals import refused

from .walkers import exact, walk, worst_errors

FALSE_ALARM = 1e-7
"""How often each release made with secure noise fails its test although nothing is wrong."""

CLASSIC = (VISITS, REWARDS, TRANSITIONS)
SPEC = Spec(2, 2, 3)
MECHANISMS = ["tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz"]


def joint(
    mechanism: str,
    schedule: Schedule,
    calibration: str = "tight",
    spec: Spec = SPEC,
    epsilon: float = 2.0,
    failure: float = 0.1,
) -> Design:
    promise = Joint(epsilon) if mechanism == "tree-laplace" else Joint(epsilon, 1e-5)
    return design(CountQuestion(spec, CLASSIC, DROPPED), promise, schedule, calibration, mechanism, failure=failure)


def opened(made: Design, seed: int = 0) -> CuratorAggregate:
    """An aggregate about simulated people."""
    aggregate = open_aggregate(made, ReplayableNoise(seed), simulated=True)
    assert isinstance(aggregate, CuratorAggregate)
    return aggregate


def people(many: int) -> list[Trajectory]:
    return [walk(SPEC, np.random.default_rng(seed)) for seed in range(many)]


def closed(aggregate: CuratorAggregate, batch: list[Trajectory]) -> CountRelease:
    for person in batch:
        aggregate.take(person)
    release = aggregate.close()
    assert isinstance(release, CountRelease)
    return release


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("calibration", ["sound", "tight"])
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_every_release_is_within_its_radius(mechanism: str, calibration: str, model: str) -> None:
    """People act on what was released: the next user prefers the pair that looked best."""
    schedule, rng = Schedule.batches(120, 8), np.random.default_rng(3)
    made = joint(mechanism, schedule, calibration, SPEC.with_dynamics(model), failure=0.008)
    aggregate, everybody, favourite = opened(made, 3), list[Trajectory](), 0
    share = 0.0
    for size in np.diff(schedule.ends, prepend=0):
        batch = [walk(SPEC, rng, short=0.2) for _ in range(size)]
        for person in batch:
            person.actions[:] = favourite
        everybody += batch
        release = closed(aggregate, batch)
        errors = worst_errors(release.counts, exact(made.question, everybody))
        assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))
        share = max(share, errors[3] / release.radius.transitions)
        assert release.users == len(everybody)
        favourite = int(release.counts.rewards.sum(axis=(0, 1)).argmax())
    assert share > 0.2  # the radius is not simply far too large
    assert release.guarantee == made.guarantee
    assert release.failure == 0.001
    with pytest.raises(PrivacyError, match="made for 8 releases"):
        closed(aggregate, [walk(SPEC, rng)])


def test_secure_noise_is_drawn_by_default() -> None:
    made = joint("toeplitz", Schedule.batches(4, 2), failure=2 * FALSE_ALARM)
    first = []
    for _ in range(2):
        aggregate = open_aggregate(made)
        assert isinstance(aggregate, CuratorAggregate)
        first.append(closed(aggregate, people(2)))
    assert not np.array_equal(first[0].counts.transitions, first[1].counts.transitions)
    for release in first:
        errors = worst_errors(release.counts, exact(made.question, people(2)))
        assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))


def test_replayable_noise_is_refused_unless_the_people_are_simulated() -> None:
    made = joint("tree-laplace", Schedule.batches(4, 2))
    with refused("noise-not-secure"):
        open_aggregate(made, ReplayableNoise(0))
    with refused("noise-not-secure"):
        CuratorAggregate.from_bytes(opened(made).to_bytes(), made, ReplayableNoise(0))


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_batch_off_the_schedule_is_refused_and_spends_nothing(size: int) -> None:
    """Boundaries are public and fixed: a batch that ends elsewhere would tell something by where it ends."""
    made = joint("tree-laplace", Schedule.batches(4, 2))
    aggregate = opened(made)
    before = aggregate.to_bytes()
    for person in people(size):
        aggregate.take(person)
    with refused("batch-off-schedule", match="2 people"):
        aggregate.close()
    assert aggregate.users == 0
    assert CuratorAggregate.from_bytes(before, made, ReplayableNoise(0), simulated=True).users == 0
    if size < 2:
        release = closed(aggregate, people(2)[size:])
        assert aggregate.users == release.users == 2


def test_an_episode_of_other_sizes_is_refused_and_changes_nothing() -> None:
    aggregate = opened(joint("toeplitz", Schedule.batches(2, 1)))
    before = aggregate.to_bytes()
    with refused("episode-too-long", match="3 steps"):
        aggregate.take(walk(Spec(2, 2, 9), np.random.default_rng(0)))
    assert aggregate.to_bytes() == before  # which would be refused if a batch were open


def test_a_book_shows_nothing_of_anybody() -> None:
    aggregate = opened(joint("toeplitz", Schedule.batches(2, 2)))
    closed(aggregate, people(1))
    aggregate.take(people(2)[1])
    assert repr(aggregate) == "CuratorAggregate(users=1, open=1)"
    assert repr(Total(np.arange(3), 7)) == "Total(people=7)"


# Sums, and a restart.


def test_a_sum_of_episodes_counts_like_the_episodes() -> None:
    made = joint("tree-laplace", Schedule.batches(4, 2))
    one, other = opened(made), opened(made)
    cells = np.zeros(made.question.width, dtype=np.int64)
    for person in people(2):
        units = count(made.question, person, person.rewards.astype(np.int64))
        cells += units * round(1 / (made.question.resolution * made.mechanism.grid))
    other.take_sum(Total(cells, 2))
    release, same = closed(one, people(2)), other.close()
    # The noise of rewards' rounding is drawn from the same source, so the two draws differ; the counts agree without it.
    errors = worst_errors(release.counts, same.counts)
    assert all(error <= 2 * bound for error, bound in zip(errors, release.radius, strict=True))
    assert other.users == 2
    exactly = design(CountQuestion(SPEC, CLASSIC, DROPPED), NoPrivacy(), Schedule.batches(4, 2))
    one, other = opened(exactly), opened(exactly)
    other.take_sum(Total(sum(count(exactly.question, p, p.rewards.astype(np.int64)) for p in people(2)), 2))
    for mine, yours in zip(closed(one, people(2)).counts, other.close().counts, strict=True):
        np.testing.assert_array_equal(mine, yours)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_book_goes_on_after_a_restart_as_if_nothing_had_happened(mechanism: str) -> None:
    made = joint(mechanism, Schedule.batches(6, 3))
    straight, stopped = opened(made, 5), opened(made, 5)
    for batch in (people(6)[:2], people(6)[2:4]):
        closed(straight, batch)
        closed(stopped, batch)
    again = CuratorAggregate.from_bytes(stopped.to_bytes(), made, stopped.noise, simulated=True)
    assert again.users == 4
    last, same = closed(straight, people(6)[4:]), closed(again, people(6)[4:])
    for mine, yours in zip(last.counts, same.counts, strict=True):
        np.testing.assert_array_equal(mine, yours)
    assert again.to_bytes() == straight.to_bytes()


def test_a_book_is_not_stored_while_a_batch_is_open() -> None:
    """The exact sum of an open batch is for memory only."""
    aggregate = opened(joint("toeplitz", Schedule.batches(4, 2)))
    aggregate.take(people(1)[0])
    with refused("aggregate-open-batch"):
        aggregate.to_bytes()


class FailingNoise(ReplayableNoise):
    """A source that fails while it draws noise, though not while it rounds rewards."""

    def discrete_gaussian(self, *_: object) -> NDArray[np.int64]:
        raise OSError("no entropy")

    discrete_laplace = discrete_gaussian


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_if_a_draw_fails_everything_is_as_before(mechanism: str) -> None:
    made = joint(mechanism, Schedule.batches(6, 3))
    aggregate = opened(made)
    closed(aggregate, people(2))
    before, working = aggregate.to_bytes(), aggregate.noise
    aggregate.take_sum(Total(np.zeros(made.question.width, dtype=np.int64), 2))
    aggregate.noise = FailingNoise(0)
    for _ in range(2):
        with pytest.raises(OSError, match="no entropy"):
            aggregate.close()
    assert aggregate.users == 2 and repr(aggregate) == "CuratorAggregate(users=2, open=2)"  # the batch is still there
    reread = CuratorAggregate.from_bytes(before, made, ReplayableNoise(9), simulated=True)
    reread.take_sum(Total(np.zeros(made.question.width, dtype=np.int64), 2))
    aggregate.noise = ReplayableNoise(9)
    for mine, yours in zip(aggregate.close().counts, reread.close().counts, strict=True):
        np.testing.assert_array_equal(mine, yours)
    assert aggregate.to_bytes() == reread.to_bytes() and working is not aggregate.noise


def test_what_is_not_the_book_of_this_design_is_refused() -> None:
    made, other = (joint("toeplitz", Schedule.batches(4, 2), epsilon=epsilon) for epsilon in (2.0, 3.0))
    aggregate = opened(made)
    closed(aggregate, people(2))
    data = aggregate.to_bytes()
    form, digest, state = msgpack.unpackb(data)
    fields = msgpack.unpackb(state)

    def with_state(**changes: object) -> bytes:
        named = dict(zip(("form", "cells", "release", "reach", "spent", "arrays"), fields, strict=True))
        return bytes(msgpack.packb([form, digest, msgpack.packb(list({**named, **changes}.values()))]))

    for bad, reason in (
        (b"", "not a curator's aggregate"),
        (data[:-1], "not a curator's aggregate"),
        (data + b"x", "not a curator's aggregate"),
        (msgpack.packb(["confide.curator/9", digest, state]), "its format is"),
        (msgpack.packb([form, other.digest, state]), "another design"),
        (msgpack.packb([form, digest, b"x"]), "not a counter's state"),
        (msgpack.packb([form, digest, None]), "not a curator's aggregate"),
        (with_state(spent=True), "used before"),
        (with_state(cells=3), "not a curator's aggregate"),
        (with_state(release=7), "more releases"),
        (with_state(release=-1), "not a curator's aggregate"),
        (with_state(arrays=[]), "another counter"),
        (with_state(arrays=fields[5][:1]), "another counter"),
    ):
        with pytest.raises(FormatError, match=reason):
            CuratorAggregate.from_bytes(bad, made, ReplayableNoise(0), simulated=True)


@pytest.mark.parametrize("failure", [0.0, 1.0, math.nan])
def test_a_radius_needs_a_probability(failure: float) -> None:
    with pytest.raises(InvalidInput, match="failure"):
        joint("tree-laplace", Schedule.batches(4, 2)).radii(1, failure)


@pytest.mark.parametrize("levels", [1, 3, 10])
def test_counts_reach_the_counter_on_its_own_grid(levels: int) -> None:
    """With hardly any noise the release is the exact count, whatever the resolution."""
    question = CountQuestion(SPEC, CLASSIC, DROPPED, levels)
    aggregate = opened(design(question, Joint(1e6), Schedule.batches(20, 4), "sound", "tree-laplace"))
    rng, everybody = np.random.default_rng(levels), list[Trajectory]()
    for _ in range(4):
        batch = [walk(SPEC, rng) for _ in range(5)]
        everybody += batch
        assert max(worst_errors(closed(aggregate, batch).counts, exact(question, everybody))) < 0.1


@settings(max_examples=15)
@given(st.sampled_from(MECHANISMS), st.integers(1, 40), st.floats(0.1, 20))
def test_radii_are_those_of_the_counter(mechanism: str, releases: int, epsilon: float) -> None:
    made = joint(mechanism, Schedule.batches(40, releases), epsilon=epsilon)
    visits, rewards, squares, transitions, rows = made.radii(40, 0.05)
    share = 0.05 / (4 * 6)
    assert transitions == pytest.approx(made.mechanism.radius(releases, share))
    assert visits == rows == pytest.approx(made.mechanism.radius(releases, share, 2))
    assert transitions <= rewards == squares <= visits


def test_the_certificate_names_the_schedule() -> None:
    made = joint("toeplitz", Schedule.batches(40, 8))
    document = made.certificate("compiled").as_json()
    assert document["mechanisms"][0]["schedule"] == Schedule.batches(40, 8).describe()
    assert any("batch boundaries are public" in line for line in document["assumptions"])
    promise: Guarantee = made.guarantee
    assert promise.epsilon is not None
    assert promise.epsilon <= 2.0


# Golden vectors.


def golden(kind: str) -> list[Any]:
    """Vectors that were written once; a change of the format needs a new version, not new vectors."""
    rows = json.loads((Path(__file__).parent / "golden" / "curators.json").read_text(encoding="utf-8"))[kind]
    return [pytest.param(row, id=row["name"]) for row in rows]


def reread(row: dict[str, Any]) -> CuratorAggregate:
    made = Design.from_bytes(bytes.fromhex(row["design"]))
    return CuratorAggregate.from_bytes(bytes.fromhex(row["bytes"]), made, ReplayableNoise(0), simulated=True)


@pytest.mark.parametrize("row", golden("good"))
def test_golden_books(row: dict[str, Any]) -> None:
    aggregate = reread(row)
    assert aggregate.to_bytes().hex() == row["bytes"] and aggregate.users == row["users"]
    due = int(aggregate.design.schedule.ends[2]) - aggregate.users
    aggregate.take_sum(Total(np.zeros(aggregate.design.question.width, dtype=np.int64), due))
    assert aggregate.close().users == row["users"] + due  # and it goes on


@pytest.mark.parametrize("row", golden("bad"))
def test_golden_bad_books(row: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=row["says"]):
        reread(row)
