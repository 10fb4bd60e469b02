"""The shuffler: full batches only, every report once, sums and nothing else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import msgpack
import numpy as np
import pytest

from confide import Local, Shuffle
from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Schedule
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.bits import BitQuestion
from confide.protocol.kinds.counts import DROPPED
from confide.protocol.releases import Report, Sum, open_aggregate
from confide.protocol.releases.shuffler import (
    ShuffleAggregate,
    ShuffledReports,
    ShuffledSums,
    Shuffler,
    Submission,
    keep,
    read_sums,
)
from confide.protocol.trusts.mixing import Mixing, ShuffledBatch
from confide.protocol.trusts.shuffle import local_guarantee
from tests.protocol.making import design
from tests.refusals import refused

QUESTION = CountQuestion(Spec(2, 1, 2), last=DROPPED)
PROMISE = Shuffle(9.0, 0.1)


@cache
def made(batch: int = 3, question: CountQuestion = QUESTION, mechanism: str = "shuffled-bits", **mixing: Any) -> Design:
    calibration = "sound" if mechanism == "shuffled-bits" else "tight"
    schedule = Schedule.sized(8 * batch, batch)
    return design(question, PROMISE, schedule, calibration, mechanism, mixing=Mixing(batch, **mixing))


DESIGN = made()
BITS = BitQuestion(QUESTION).trials
# Two visits and two rewards of two steps, four transitions of one step.
ONES = np.array([1, 2, 0, 1, 0, 1, 0, 0])


def sent(
    first: int = 0, ones: np.ndarray = ONES, name: bytes | None = None, by: Design = DESIGN, level: int = 0
) -> Submission:
    report = Report(by.digest, by.question.digest, np.asarray(ones), 0, level)
    return Submission(first, report) if name is None else Submission(first, report, name)


def shuffled(people: int = 3) -> ShuffleAggregate:
    return ShuffleAggregate(made(people))


def to(aggregate: ShuffleAggregate, **words: Any) -> Submission:
    return sent(by=aggregate.design, **words)


def held(aggregate: ShuffleAggregate) -> list[int]:
    """How many reports each level holds of its open batch."""
    return [aggregate.shuffler.held(batch) for batch in aggregate.open]


def test_a_full_batch_is_given_out_as_sums_and_nothing_is_held_after() -> None:
    aggregate = shuffled()
    aggregate.take((to(aggregate),))
    aggregate.take((to(aggregate),))
    assert held(aggregate) == [2] and aggregate.cover == ()
    aggregate.take((to(aggregate, ones=BITS),))
    (sums,) = aggregate.cover
    assert isinstance(sums, ShuffledSums)
    np.testing.assert_array_equal(sums.total.cells, [2 * ONES + BITS])
    assert (sums.total.people.tolist(), sums.first, sums.last) == ([3], 0, 1)
    assert read_sums(DESIGN, (sums,)).guarantee == DESIGN.guarantee
    assert held(aggregate) == [0] and not aggregate.shuffler._sums and not aggregate._ids


def test_a_short_batch_is_held_and_a_forgotten_one_is_overwritten() -> None:
    shuffler, batch = Shuffler(DESIGN), ShuffledBatch(0, 0)
    for _ in range(2):
        shuffler.take(batch, sent().report.to_bytes(DESIGN))
        assert shuffler.close(batch) is None
    assert shuffler.held(batch) == 2
    shuffler.take(batch, sent(ones=BITS).report.to_bytes(DESIGN))
    given, inside = shuffler.close(batch), shuffler._sums[batch]
    assert given is not None and given.cells.tolist() == [(2 * ONES + BITS).tolist()]
    shuffler.forget(batch)
    assert not inside.cells.any() and not inside.people.any() and shuffler.held(batch) == 0
    assert given.users == 3 and shuffler.close(batch) is None


def test_bytes_and_reports_add_up_to_the_same_sum() -> None:
    one, other, batch = Shuffler(DESIGN), ShuffleAggregate(DESIGN), ShuffledBatch(0, 0)
    for ones in (ONES, BITS, 0 * ONES):
        one.take(batch, sent(ones=ones).report.to_bytes(DESIGN))
        other.take((sent(ones=ones),))
    total = one.close(batch)
    assert total is not None and total.to_bytes() == other.cover[0].total.to_bytes()


def test_a_report_is_counted_once_even_after_its_batch() -> None:
    aggregate = shuffled(2)
    first = to(aggregate, name=b"a" * 16)
    aggregate.take((first,))
    with refused("report-twice"):
        aggregate.take((first,))
    assert held(aggregate) == [1]
    aggregate.take((to(aggregate),))
    assert len(aggregate.cover) == 1
    with refused("report-of-other-batch"):
        aggregate.take((first,))
    assert held(aggregate) == [0]


@pytest.mark.parametrize("wrong", [ONES * 0 - 1, BITS + 1, ONES + (1 << 52)])
def test_no_report_has_more_bits_than_there_are(wrong: np.ndarray) -> None:
    aggregate = shuffled()
    with refused("report-dishonest"):
        aggregate.take((to(aggregate, ones=wrong),))
    assert held(aggregate) == [0] and not aggregate.shuffler._sums


def test_reports_of_another_kind_are_refused() -> None:
    aggregate, other = shuffled(), made(reward_bits=2)
    strange = replace(to(aggregate).report, question=other.question.digest)
    for submission, reason in (
        (sent(by=other), "report-of-other-design"),
        (to(aggregate, ones=np.zeros(3, dtype=np.int64)), "report-length"),
        (to(aggregate, level=1), "reports-not-one-each"),
        (to(aggregate, ones=ONES / 2), "report-length"),
        (Submission(0, replace(to(aggregate).report, row=1)), "report-level-or-row"),
        (Submission(0, strange), "report-of-other-question"),
        (to(aggregate, first=1), "report-of-other-batch"),
    ):
        with refused(reason):
            aggregate.take((submission,))
    assert held(aggregate) == [0] and not aggregate.shuffler._sums


def test_a_shuffler_needs_a_design_that_mixes() -> None:
    alone = design(QUESTION, Local(1.0), Schedule.every(10))
    with pytest.raises(InvalidInput, match="no shufflers"):
        Shuffler(alone)


def test_sums_are_taken_like_the_reports_in_them() -> None:
    aggregate = shuffled()
    several = Sum(DESIGN.digest, np.array([2 * ONES]), np.array([2]))
    aggregate.take((to(aggregate),))
    aggregate.take_sum(several)
    assert aggregate.users == 3
    aggregate.take_sum(several)
    for bad in (several, replace(several, level=1), Sum(made(4).digest, several.cells, several.people)):
        with pytest.raises(InvalidInput):
            aggregate.take_sum(bad)
    assert held(aggregate) == [2]


def test_sums_and_shuffled_reports_are_different_types_with_different_promises() -> None:
    reports = [sent(ones=ONES * (index != 3)).report for index in range(5)]
    shuffled = ShuffledReports.of(reports, made(), ReplayableNoise(1))
    alone = shuffled.guarantee
    assert alone == local_guarantee(made()) and alone.trust == "local" and (alone.epsilon or 0.0) > 1
    with pytest.raises(InvalidInput, match="another design"):
        ShuffledReports.of(reports, made(4), ReplayableNoise(1))
    assert not isinstance(shuffled, ShuffledSums)
    assert sorted(id(one) for one in shuffled.reports) == sorted(id(one) for one in reports)


def test_every_order_of_reports_is_equally_likely() -> None:
    noise, asked, reports = ReplayableNoise(5), made(), [sent().report for _ in range(3)]
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(reports.index(one) for one in ShuffledReports.of(reports, asked, noise).reports)
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert max(abs(count - 1000) for count in seen.values()) < 6 * np.sqrt(6000 / 6 * 5 / 6)


@pytest.mark.parametrize(
    "change",
    [
        {0: "confide.submission/1"},
        {0: "confide.submission/3"},
        {1: b"short"},
        {1: "a" * 16},
        {2: -1},
        {2: 1.0},
        {2: True},
        {2: 1 << 53},
        {3: "text"},
        {3: b"junk"},
    ],
)
def test_bad_submissions_are_refused(change: dict[int, object]) -> None:
    parts = msgpack.unpackb(sent().to_bytes(DESIGN))
    for index, value in change.items():
        parts[index] = value
    with pytest.raises(FormatError):
        Submission.from_bytes(msgpack.packb(parts), DESIGN)


GOOD = sent().to_bytes(DESIGN)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc1", b"\x00" * 40, GOOD[:-3], GOOD + b"x", sent(by=made(4)).to_bytes(made(4))],
    ids=["nothing", "no-msgpack", "zeros", "cut", "longer", "another-design"],
)
def test_bytes_that_are_no_submission_are_refused(data: bytes) -> None:
    assert Submission.from_bytes(GOOD, DESIGN).report.cells.tolist() == ONES.tolist()
    with pytest.raises(FormatError):
        Submission.from_bytes(data, DESIGN)


def test_ids_are_not_repeated() -> None:
    assert len({sent().id for _ in range(100)}) == 100


# From sums to a release.


def tree() -> Design:
    """Made when a test asks for it: it takes half a second."""
    return made(10, tree=True)


def of(first: int, last: int, cells: np.ndarray, level: int = 0, by: Design | None = None) -> ShuffledSums:
    by = by or tree()
    assert by.mixing is not None
    people = np.array([by.mixing.batch * (last - first)])
    return ShuffledSums(first, last, Sum(by.digest, np.asarray([cells]), people, level))


def test_sums_are_read_without_bias_and_rewards_in_parts() -> None:
    by = made(40, reward_bits=5)
    given, (device,) = by.question, by.devices
    people, truth = 40, np.array([30, 50, 2.4, 17.2, 10, 5, 20, 5])
    mean = truth * given.weights * (1 - 2 * device.flip) + people * given.trials * device.flip
    release = read_sums(by, (of(0, 1, mean, by=by),))
    np.testing.assert_allclose(release.counts.visits.ravel(), truth[:2])
    np.testing.assert_allclose(release.counts.rewards.ravel(), truth[2:4])
    np.testing.assert_allclose(release.counts.transitions.ravel(), truth[4:])
    assert release.users == 40 and release.guarantee == by.guarantee


def test_equal_batches_are_added_up_and_covered_ones_dropped() -> None:
    one = keep(keep((), of(0, 1, ONES)), of(1, 2, 2 * ONES))
    assert len(one) == 1 and one[0].total.cells.tolist() == [(3 * ONES).tolist()]
    assert one[0].total.people.tolist() == [20]
    two = keep(one, of(0, 2, ONES, 1))
    assert [(part.first, part.last) for part in two] == [(0, 2)]
    three = keep(two, of(2, 3, ONES))
    assert [(part.first, part.last) for part in three] == [(0, 2), (2, 3)]
    assert read_sums(tree(), three).users == 30


def test_sums_with_gaps_are_refused() -> None:
    for kept in ((of(1, 2, ONES),), (of(0, 1, ONES), of(2, 3, ONES, 1))):
        with pytest.raises(InvalidInput, match="once each"):
            read_sums(tree(), kept)
    with refused("batch-not-full"):
        read_sums(tree(), ())


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_sampled_steps_are_summed_row_by_row(model: str) -> None:
    by = made(40, CountQuestion(Spec(2, 2, 3, model)), "shuffled-step")
    aggregate, rows = ShuffleAggregate(by), by.question.rows
    message = np.eye(by.question.width, dtype=np.int64)[4]
    for person in range(40):
        report = Report(by.digest, by.question.digest, message, 0 if person % 2 else rows - 1)
        aggregate.take((Submission(0, report),))
    (sums,) = aggregate.cover
    assert sums.total.cells.shape == (rows, by.question.width)
    assert sums.total.cells[:, 4].sum() == 40
    assert read_sums(by, (sums,)).users == 40
    with refused("report-dishonest"):
        aggregate.take((Submission(1, Report(by.digest, by.question.digest, 2 * message, 0)),))


# All shufflers of a design in one aggregate.


def tree_message(batch: int, by: Design) -> tuple[Submission, ...]:
    levels = [level for level in range(len(by.devices)) if batch & (1 << level) == 0]
    return tuple(sent(batch - batch % 2**level, by=by, level=level) for level in levels)


def test_a_person_is_taken_whole_or_not_at_all() -> None:
    aggregate = open_aggregate(tree())
    assert isinstance(aggregate, ShuffleAggregate)
    good, (first, second, *rest) = tree_message(0, tree()), tree_message(0, tree())
    hostile = replace(second, report=replace(second.report, cells=ONES + (1 << 52)))
    for bad in (
        (first, hostile, *rest),
        (first, replace(first, id=b"b" * 16), second),
        (first, replace(second, first=7), *rest),
        (first, replace(second, report=replace(second.report, level=9))),
    ):
        with pytest.raises((InvalidInput, PrivacyError)):
            aggregate.take(bad)
    assert held(aggregate) == [0] * len(tree().devices)
    aggregate.take(good)
    assert held(aggregate) == [1] * len(tree().devices)
    with pytest.raises(PrivacyError, match="counted once"):
        aggregate.take(good)
    assert held(aggregate) == [1] * len(tree().devices)


def test_a_book_of_full_batches_goes_on_after_a_restart() -> None:
    aggregate = open_aggregate(DESIGN)
    assert isinstance(aggregate, ShuffleAggregate)
    for batch in (0, 0, 0, 1, 1, 1, 2):
        aggregate.take((sent(batch),))
    again = ShuffleAggregate.from_bytes(aggregate.to_bytes(), DESIGN)
    assert again.users == aggregate.users == 6 and again.to_bytes() == aggregate.to_bytes()
    assert again.open[0].first == 2 and held(again) == [0]  # devices of the open batch send again
    for _ in range(3):
        again.take((sent(2),))
    assert again.users == 9
    assert ShuffleAggregate.from_bytes(open_aggregate(DESIGN).to_bytes(), DESIGN).users == 0


def test_bytes_that_are_no_book_of_sums_are_refused() -> None:
    total = Sum(DESIGN.digest, np.array([3 * ONES]), np.array([3])).to_bytes()
    aggregate = ["confide.shuffled/1", [[0, 1, total]]]
    assert ShuffleAggregate.from_bytes(msgpack.packb(aggregate), DESIGN).users == 3
    for rows in (
        [[0, 2, total]],
        [[1, 2, total]],
        [[0, 1, total], [2, 3, total]],
        [[0, 1, total], [0, 1, total]],
        [[0.0, 1.0, total]],
        [[0, float("inf"), total]],
        [[-1, 0, total]],
        [[0, 1, b"x"]],
        [[0, 1]],
        7,
    ):
        with refused("sums-unreadable"):
            ShuffleAggregate.from_bytes(msgpack.packb([aggregate[0], rows]), DESIGN)
    for data in (
        b"",
        msgpack.packb(["confide.shuffled/9", aggregate[1]]),
        msgpack.packb(aggregate)[:-1],
        msgpack.packb(aggregate) + b"x",
    ):
        with pytest.raises(FormatError):
            ShuffleAggregate.from_bytes(data, DESIGN)
    with pytest.raises(FormatError, match="another design"):
        ShuffleAggregate.from_bytes(msgpack.packb(aggregate), made(4))
