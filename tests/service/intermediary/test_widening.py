"""Batches that widen: each has reports of its own size, and closes with as many as that size needs."""

from __future__ import annotations

import pytest

from confide.data.privatizers import respond
from confide.errors import FormatError
from confide.mdp import Spec
from confide.privacy import Schedule, Shuffle
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.releases import Sum
from confide.protocol.trusts.mixing import Mixing
from confide.service.collector.rounds import close_round, empty_sum
from confide.service.intermediary.shuffler import ReportBatches
from tests.service.intermediary.offices import episode

SIZE = 6


def widening() -> Design:
    """16 batches of 6, then 8 of 12."""
    mixing = Mixing(SIZE, 0.5, widening=True)
    question, promise = CountQuestion(Spec(3, 2, 4)), Shuffle(40.0, 1e-3)
    return make(Request(question, promise, Schedule.doubling(32 * SIZE, SIZE), mixing=mixing))


def report(design: Design, batch: int, number: int) -> bytes:
    (submission,) = respond(design, None, episode(number), batch=batch - 1)
    return submission.report.to_bytes(design)


def test_a_larger_batch_waits_for_more_people_and_refuses_reports_of_another_size() -> None:
    design = widening()
    assert len(design.devices) == 2
    open_batches = ReportBatches(design)
    for number in range(SIZE):
        open_batches.take(16, report(design, 16, number))
        open_batches.take(17, report(design, 17, number))
    assert open_batches.close(16, SIZE, b"") is not None and open_batches.close(17, 2 * SIZE, b"") is None
    with pytest.raises(FormatError, match="another size"):
        open_batches.take(17, report(design, 16, 0))
    for number in range(SIZE):
        open_batches.take(17, report(design, 17, number))
    closed = open_batches.close(17, 2 * SIZE, b"")
    assert closed is not None and closed.people == 2 * SIZE
    assert Sum.from_bytes(closed.body, design).level == 1


def test_sums_of_several_sizes_are_one_release_with_the_errors_of_all() -> None:
    """After 17 full batches it has the radii and the noise that the design states for 18 base batches."""
    design, open_batches = widening(), ReportBatches(widening())
    total = empty_sum(design)
    for batch in range(1, 18):
        for number in range(SIZE << (batch > 16)):
            open_batches.take(batch, report(design, batch, number))
        closed = open_batches.close(batch, 0, b"")
        assert closed is not None
        total, release = close_round(design, total, closed.body)
    radii, noise = design.errors_at(18 * SIZE)
    assert release.users == 18 * SIZE
    assert list(release.radius) == pytest.approx(radii.tolist()) and list(release.noise) == pytest.approx(list(noise))
    with pytest.raises(FormatError, match="fewer people"):
        close_round(design, total, Sum.empty(design, 1).to_bytes())
