"""The shuffler: full batches only, every report once, sums and nothing else."""

from __future__ import annotations

from dataclasses import replace

import msgpack
import numpy as np
import pytest
from confide.releases.bits import bits, weights

from confide import Local, Shuffle
from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.unary import SYMMETRIC, SampledStep
from confide.questions import CountQuestion
from confide.questions.counts import CENTRED, DROPPED, REWARDS, TRANSITIONS
from confide.releases import Report
from confide.releases.reading import categories
from confide.releases.shuffler import ShuffledReports, ShuffledSums, Shuffler, Submission
from confide.releases.sums import keep, read_sums

QUESTION = CountQuestion(Spec(2, 1, 2), last=DROPPED)
DEVICE = RandomizedResponse(2.0)
PROMISE = Shuffle(1.0, 1e-6)
# Two visits and two rewards of two steps, four transitions of one step.
ONES = np.array([1, 2, 0, 1, 0, 1, 0, 0])


def sent(
    first: int = 0, ones: np.ndarray = ONES, name: bytes | None = None, question: CountQuestion = QUESTION
) -> Submission:
    report = Report(question.digest, DEVICE.describe(), 1.0, np.asarray(ones))
    return Submission(first, report) if name is None else Submission(first, report, name)


def shuffler(people: int = 3) -> Shuffler:
    return Shuffler(QUESTION, DEVICE, people, PROMISE)


def test_a_full_batch_is_given_out_as_sums_and_nothing_is_held_after() -> None:
    mixing = shuffler()
    assert mixing.add(sent()) is None
    assert mixing.add(sent()) is None
    assert mixing.held == 2
    sums = mixing.add(sent(ones=bits(QUESTION)))
    assert isinstance(sums, ShuffledSums)
    np.testing.assert_array_equal(sums.cells, 2 * ONES + bits(QUESTION))
    assert (sums.users.tolist(), sums.first, sums.last, sums.guarantee) == ([3], 0, 1, PROMISE)
    assert mixing.held == 0
    assert not mixing._sum.cells.any() and not mixing._ids


def test_a_short_batch_is_held() -> None:
    mixing = shuffler(3)
    assert [mixing.add(sent()) for _ in range(2)] == [None, None]
    assert mixing.held == 2
    assert not any(
        callable(getattr(mixing, name)) for name in dir(mixing) if not name.startswith("_") and name != "add"
    )


def test_a_report_is_counted_once_even_after_its_batch() -> None:
    mixing, first = shuffler(2), sent(name=b"a" * 16)
    mixing.add(first)
    with pytest.raises(PrivacyError, match="counted once"):
        mixing.add(first)
    assert mixing.held == 1
    assert mixing.add(sent()) is not None
    with pytest.raises(PrivacyError, match="never counted in another batch"):
        mixing.add(first)
    assert mixing.held == 0


@pytest.mark.parametrize("wrong", [ONES * 0 - 1, bits(QUESTION) + 1])
def test_no_report_has_more_bits_than_there_are(wrong: np.ndarray) -> None:
    mixing = shuffler()
    with pytest.raises(InvalidInput, match="more ones than its counters have bits"):
        mixing.add(sent(ones=wrong))
    assert mixing.held == 0 and not mixing._sum.cells.any()


def test_reports_of_another_kind_are_refused() -> None:
    mixing = shuffler()
    for other, reason in (
        (sent(question=QUESTION.having(levels=2)), "another question"),
        (sent(ones=np.zeros(3, dtype=np.int64)), "wrong shape"),
        (replace(sent(), report=replace(sent().report, mechanism=RandomizedResponse(3.0).describe())), "another way"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            mixing.add(other)
    assert mixing.held == 0


@pytest.mark.parametrize("people", [1, 0, -3, 2.5])
def test_a_batch_of_one_hides_nobody(people: float) -> None:
    with pytest.raises(InvalidInput, match="batch must be a whole number of at least 2"):
        Shuffler(QUESTION, DEVICE, people, PROMISE)  # type: ignore[arg-type]


def test_sums_and_shuffled_reports_are_different_types_with_different_promises() -> None:
    reports = [sent(ones=ONES + (index == 3)).report for index in range(5)]
    shuffled = ShuffledReports.of(reports, Local(7.0), ReplayableNoise(1))
    assert shuffled.guarantee == Local(7.0)
    assert not isinstance(shuffled, ShuffledSums)
    assert sorted(id(one) for one in shuffled.reports) == sorted(id(one) for one in reports)


def test_every_order_of_reports_is_equally_likely() -> None:
    noise, reports = ReplayableNoise(5), [sent().report for _ in range(3)]
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        order = tuple(reports.index(one) for one in ShuffledReports.of(reports, Local(1.0), noise).reports)
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert max(abs(count - 1000) for count in seen.values()) < 6 * np.sqrt(6000 / 6 * 5 / 6)


GOLDEN = (
    "94b4636f6e666964652e7375626d697373696f6e2f31c4106161616161616161616161616161616107c4b096b0636f6e6669"
    "64652e7265706f72742f31c41001af79104160a954a12bff9c705e49739392ab6269745f657073696c6f6ecb400000000000"
    "000092a4666c6970cb3fbe84152bac31ae92a46e616d65b372616e646f6d697365642d726573706f6e7365cb3ff000000000"
    "0000ffc440010000000000000002000000000000000000000000000000010000000000000000000000000000000100000000"
    "00000000000000000000000000000000000000"
)


def test_golden_submission() -> None:
    data = sent(7, name=b"a" * 16).to_bytes()
    assert data.hex() == GOLDEN
    again = Submission.from_bytes(data)
    assert (again.first, again.id, again.report.cells.tolist()) == (7, b"a" * 16, ONES.tolist())


@pytest.mark.parametrize(
    "change",
    [
        {0: "confide.submission/2"},
        {1: b"short"},
        {1: "a" * 16},
        {2: -1},
        {2: 1.0},
        {2: True},
        {3: "text"},
        {3: b"junk"},
    ],
)
def test_bad_submissions_are_refused(change: dict[int, object]) -> None:
    parts = msgpack.unpackb(sent().to_bytes())
    for index, value in change.items():
        parts[index] = value
    with pytest.raises(FormatError):
        Submission.from_bytes(msgpack.packb(parts))


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x00" * 40, sent().to_bytes()[:-3], sent().to_bytes() + b"x"])
def test_bytes_that_are_no_submission_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        Submission.from_bytes(data)


def test_ids_are_not_repeated() -> None:
    assert len({sent().id for _ in range(100)}) == 100


# From sums to a release.


def of(first: int, last: int, cells: np.ndarray, device: RandomizedResponse = DEVICE, people: int = 10) -> ShuffledSums:
    return ShuffledSums(QUESTION, device, first, last, cells, np.array([people]), PROMISE)


def test_counts_told_in_bits() -> None:
    question = CountQuestion(Spec(2, 1, 3), last=DROPPED, levels=4)
    assert weights(question).tolist() == [1, 1, 4, 4, 1, 1, 1, 1]
    assert bits(question).tolist() == [3, 3, 12, 12, 2, 2, 2, 2]
    assert bits(question.having(parts=(REWARDS, TRANSITIONS), last="counted")).tolist() == [12, 12, 3, 3, 3, 3]
    with pytest.raises(InvalidInput, match="Only visits, rewards and transitions"):
        bits(question.having(parts=(CENTRED, TRANSITIONS)))


def test_sums_are_read_without_bias_and_rewards_in_parts() -> None:
    question = QUESTION.having(levels=5)
    people, truth = 40, np.array([30, 50, 2.4, 17.2, 10, 5, 20, 5])
    mean = truth * weights(question) * (1 - 2 * DEVICE.flip) + people * bits(question) * DEVICE.flip
    sums = ShuffledSums(question, DEVICE, 0, 1, mean, np.array([people]), PROMISE)  # type: ignore[arg-type]
    release = read_sums((sums,), 0.1)
    np.testing.assert_allclose(release.counts.visits.ravel(), truth[:2])
    np.testing.assert_allclose(release.counts.rewards.ravel(), truth[2:4])
    np.testing.assert_allclose(release.counts.transitions.ravel(), truth[4:])
    assert release.users == 40 and release.guarantee == PROMISE


def test_equal_batches_are_added_up_and_covered_ones_dropped() -> None:
    one = keep(keep((), of(0, 1, ONES)), of(1, 2, 2 * ONES))
    assert len(one) == 1 and one[0].cells.tolist() == (3 * ONES).tolist() and one[0].users.tolist() == [20]
    wide = RandomizedResponse(4.0)
    two = keep(one, of(0, 2, ONES, wide, 20))
    assert [(part.first, part.last) for part in two] == [(0, 2)]
    three = keep(two, of(2, 3, ONES))
    assert [(part.first, part.last) for part in three] == [(0, 2), (2, 3)]
    assert read_sums(three, 0.1).users == 30


def test_sums_with_gaps_are_refused() -> None:
    for kept in ((), (of(1, 2, ONES),), (of(0, 1, ONES), of(2, 3, ONES, RandomizedResponse(4.0)))):
        with pytest.raises(InvalidInput, match="once each"):
            read_sums(kept, 0.1)


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_sampled_steps_are_summed_row_by_row(model: str) -> None:
    question = CountQuestion(Spec(2, 2, 3, model), (REWARDS, TRANSITIONS))
    device = SampledStep(5.0, categories(question), SYMMETRIC)
    mixing, rows = Shuffler(question, device, 2, PROMISE), question.spec.layers
    message = np.eye(device.categories, dtype=np.int64)[4]
    mixing.add(Submission(0, Report(question.digest, device.describe(), 1.0, message, 0)))
    sums = mixing.add(Submission(0, Report(question.digest, device.describe(), 1.0, message, rows - 1)))
    assert sums is not None and sums.cells.shape == (rows, device.categories) and sums.cells[:, 4].sum() == 2
    assert read_sums((sums,), 0.1).users == 2
    with pytest.raises(InvalidInput, match="more ones"):
        mixing.add(Submission(1, Report(question.digest, device.describe(), 1.0, 2 * message, 0)))
