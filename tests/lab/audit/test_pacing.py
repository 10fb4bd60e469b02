"""Audits that the clock ends: in time, and with bounds that are as true as those of fixed sizes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from confide.cli import run
from confide.cli.audit import AuditJob, findings, share
from confide.lab.audit import AuditEntry, Finding, Target, audit, auditing, pacing
from confide.lab.audit.alone import ALONE
from confide.lab.audit.bound import bet_bound, event_bound, expected_pairs, rounds_bound
from confide.lab.audit.browsers import missing
from confide.lab.audit.events import Bet
from confide.lab.audit.pacing import Pace, failure_after, rounds
from confide.mechanisms.noise import NoiseSource, ReplayableNoise
from confide.privacy import Pure

LEAST, MOST = 100, 100_000


class FakeClock:
    """Stands still unless it hears how long something took."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr(pacing, "clock", fake)
    monkeypatch.setattr(auditing, "clock", fake)
    return fake


def made(clock: FakeClock, seconds: float, each: Callable[[int], float]) -> list[int]:
    """The sizes of rounds, where each(number) is how long one output takes."""
    sizes: list[int] = []
    for size, likely in rounds(LEAST, MOST, seconds):
        assert (likely is None) == (not sizes) and (likely is None or sum(sizes) < likely <= MOST)
        sizes.append(size)
        clock.now += size * each(len(sizes))
    return sizes


def test_without_an_end_there_is_one_round() -> None:
    assert list(rounds(LEAST, MOST, math.inf)) == [(MOST, None)]


def test_rounds_end_in_time_and_their_sizes_do_not_depend_on_the_clock(clock: FakeClock) -> None:
    endless = made(clock, 1e9, lambda _: 1e-6)
    assert sum(endless) == MOST and endless[0] == LEAST
    for each in (lambda _: 1e-3, lambda _: 1e-2, lambda number: 1e-3 / number, lambda number: 1e-4 * number):
        before = clock.now
        sizes = made(clock, 10.0, each)
        assert sizes == endless[: len(sizes)]
        assert clock.now - before < 11.0
    steady = made(clock, 10.0, lambda _: 1e-3)
    assert sum(steady) > 0.75 * 10_000, "no more than a round is left unused"


def test_the_least_is_made_whatever_it_takes(clock: FakeClock) -> None:
    assert made(clock, 1.0, lambda _: 60.0) == [LEAST]


def test_what_may_fail_is_divided_over_rounds() -> None:
    assert failure_after(0, 0.01) == 0.01
    assert sum(failure_after(looks, 0.01) for looks in range(1, 10_000)) == pytest.approx(0.01, rel=1e-3)


def ever_wrong(sizes: list[int], q: float, allowed: Callable[[int], float]) -> float:
    """The exact probability that a bound is too large after any round, if an event is sure in one world and q in the other."""
    alive, wrong, done = np.ones(1), 0.0, 0
    for looks, size in enumerate(sizes, 1):
        alive, done = np.convolve(alive, binom.pmf(np.arange(size + 1), size, q)), done + size
        over = (
            event_bound(np.full(done + 1, done), np.arange(done + 1), done, allowed(looks), 0.0) > -math.log(q) + 1e-12
        )
        wrong += float(alive[over].sum())
        alive = np.where(over, 0.0, alive)
    assert wrong + alive.sum() == pytest.approx(1)
    return wrong


@pytest.mark.parametrize("q", [0.05, 0.2, 0.4])
def test_an_event_that_is_looked_at_after_every_round_is_too_large_no_more_often_than_allowed(q: float) -> None:
    """An auditor who stops at the best moment gains nothing by it. Without the division over rounds she would."""
    sizes, failure = [10 * 2**number for number in range(8)], 0.3
    assert ever_wrong(sizes, q, lambda looks: failure_after(looks, failure)) <= failure
    assert ever_wrong(sizes, q, lambda looks: failure) > failure


@pytest.mark.parametrize("stake", [0.1, 0.3])
@pytest.mark.parametrize(("p", "q", "delta"), [(0.5, 0.5 / math.e, 0.0), (0.3, 0.1, 0.05)])
def test_a_bet_that_is_looked_at_after_every_pair_is_too_large_no_more_often_than_allowed(
    p: float, q: float, delta: float, stake: float
) -> None:
    """All outcomes, weighted by their exact probability; an auditor who has proved too much stops at once."""
    failure, truth = 0.2, math.log((p - delta) / q)
    shares = expected_pairs((p, q), (p, q)).ravel()
    alive: dict[tuple[int, ...], float] = {(0,) * 9: 1.0}
    wrong = 0.0
    for _ in range(7):
        grown: dict[tuple[int, ...], float] = {}
        for counts, chance in alive.items():
            for cell in np.flatnonzero(shares):
                more = tuple(count + (at == cell) for at, count in enumerate(counts))
                grown[more] = grown.get(more, 0.0) + chance * float(shares[cell])
        bounds = bet_bound(np.array(list(grown)).reshape(-1, 3, 3).astype(np.float64), [stake], 2, failure, delta)[:, 0]
        wrong += sum(chance for chance, bound in zip(grown.values(), bounds, strict=True) if bound > truth)
        alive = {
            counts: chance for (counts, chance), bound in zip(grown.items(), bounds, strict=True) if bound <= truth
        }
    assert wrong <= failure
    assert wrong + sum(alive.values()) == pytest.approx(1)


def test_a_bet_without_a_stake_pays_for_its_rounds_and_one_with_a_stake_does_not() -> None:
    pairs = np.zeros((20, 3, 3))
    pairs[:, 0, 0] = pairs[:, 1, 0] = 25
    alone, staked = Bet((), 0.0, 0.0), Bet((None,), 0.03, 0.0)  # type: ignore[arg-type]
    total = pairs.sum(axis=0)
    paid = alone.bound_of_rounds(pairs, [0.0] * 20, 1e-3, 0.0)
    assert paid == event_bound(500, 0, 1000, 1e-3 / 420, 0.0) < alone.bound(total, 1e-3, 0.0)
    free = staked.bound_of_rounds(pairs, [0.03] * 20, 1e-3, 0.0)
    assert free > 0 and free == pytest.approx(staked.bound(total, 1e-3, 0.0))


def test_a_stake_that_changes_between_rounds_lies_between_both() -> None:
    shares = expected_pairs((0.5, 0.3), (0.5, 0.3))
    pairs = 500 * np.stack([shares, shares])
    small, large = (rounds_bound(pairs, [stake, stake], 2, 1e-3, 0.0) for stake in (0.03, 0.3))
    assert large < rounds_bound(pairs, [0.3, 0.03], 2, 1e-3, 0.0) < small
    assert rounds_bound(np.zeros((2, 3, 3)), [0.1, 0.1], 2, 1e-3, 0.0) == 0


def slow(clock: FakeClock, each: float, flip: float = 1 / (1 + math.e)) -> Target:
    """Randomised response that takes this many seconds an output, and sometimes ten times as long."""

    def sample(world: int, count: int, noise: NoiseSource) -> Any:
        lies = noise.bernoulli(flip, (count, 1))
        clock.now += each * (count + 9 * float((lies ^ bool(world)).sum()) / 10)
        return (lies ^ bool(world)).astype(np.float64)

    return Target("slow", Pure(1.0), sample)


def test_an_audit_ends_in_time_with_as_many_samples_as_that_allows(clock: FakeClock) -> None:
    before = clock.now
    found = audit(slow(clock, 1e-3), 10_000_000, 0.999999, noise=ReplayableNoise(2), seconds=60.0)
    assert clock.now - before < 60.0
    assert found.ok and found.lower_bound > 0.7 and 10_000 < found.samples < 60_000
    fewest = audit(slow(clock, 60.0), 10_000_000, 0.999999, noise=ReplayableNoise(2), seconds=1.0)
    assert fewest.samples == auditing.FEWEST
    enough = audit(slow(clock, 1e-6), 20_000, 0.999999, noise=ReplayableNoise(2), seconds=60.0)
    assert enough.samples == 20_000 and enough.lower_bound > found.lower_bound - 0.2


def hesitant(clock: FakeClock, target: Target) -> Target:
    """The same, but a call takes half a second, and an output next to nothing."""

    def sample(world: int, count: int, noise: NoiseSource) -> Any:
        clock.now += 0.5 + 1e-6 * count
        return target.sample(world, count, noise)

    return replace(target, sample=sample)


def test_stakes_suit_the_trials_that_there_are_and_not_those_that_a_slow_beginning_promised(clock: FakeClock) -> None:
    """A call takes long and an output nothing: few rehearsals guarantee few trials, and there are a thousand times as many."""
    found = audit(hesitant(clock, slow(clock, 0.0)), 10_000_000, 0.999, noise=ReplayableNoise(2), seconds=60.0)
    assert found.samples > 100_000 and found.lower_bound > found.ideal_bound - 0.02 > 0.9


def test_a_bet_is_chosen_for_trials_that_prove_something(clock: FakeClock) -> None:
    """At a delta of 0.01 the few trials that a rehearsal guarantees would prove nothing, whatever is bet on."""
    targets = [hesitant(clock, target) for target in AuditEntry("gaussian", "local").targets(1.0)]
    found = audit(targets, 1_000_000, 0.999, 0.01, ReplayableNoise(2), seconds=30.0)
    assert found.samples > 10_000 and found.lower_bound > found.ideal_bound - 0.15 > 0.5


def test_half_the_noise_is_flagged_in_a_short_time(clock: FakeClock) -> None:
    found = audit(slow(clock, 1e-3, 1 / (1 + math.e**2)), 10_000_000, 0.999999, noise=ReplayableNoise(2), seconds=30.0)
    assert not found.ok and found.lower_bound > 1.5


def test_time_is_divided_equally_and_what_is_left_over_goes_on() -> None:
    assert share(100.0, (), 10) == pytest.approx(10)
    assert share(100.0, [0.0], 10) == pytest.approx(20)
    assert share(100.0, [50.0], 10) == pytest.approx(15)
    assert share(100.0, [0.0], 1) == 100, "nobody has more time than there is"
    assert 0 < share(0.0, (), 3) <= pacing.BARELY


class Recorded:
    """An entry that takes its time, or none of it, and says how much it was given."""

    def __init__(self, clock: FakeClock, given: list[float], taken: float) -> None:
        self.clock, self.given, self.taken = clock, given, taken

    def audit(self, seconds: float, **rest: Any) -> Finding:
        self.given.append(seconds)
        self.clock.now += self.taken * seconds
        return Finding("recorded", "local", "none", 1.0, 0.0, 0.5, 0.5, 0.999, 1000, seconds, "cell 0")


def test_rows_share_the_time_that_there_is(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    taken = [1.0, 0.0, 1.0, 1.0]
    entries: list[Any] = [Recorded(clock, given, each) for each in taken]
    jobs = [AuditJob(number, entry, 1000, 0, {}) for number, entry in enumerate(entries)]
    assert [number for number, _ in findings(jobs, 1, 40.0)] == [0, 1, 2, 3]
    assert given == pytest.approx([10, 10, 15, 15]) and clock.now == pytest.approx(1040)
    assert Pace.of(5.0).left(0.2) == pytest.approx(1) and Pace.of(None).left() == math.inf


def half_noise(mechanism: str) -> list[Target]:
    """A mechanism that draws half the noise that it says."""
    targets = AuditEntry(mechanism, "local").targets(1.0)
    louder = AuditEntry(mechanism, "local").targets(2.0)
    return [replace(target, sample=other.sample) for target, other in zip(targets, louder, strict=True)]


DEEP = ["audit", "--mechanism", "laplace", "--calibration", "none", "--deep", "--confidence", "0.999999"]


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts the seconds of this process alone, so that nothing depends on what else the machine does; and what is imported and
    compiled at the first use is not counted at all.
    """
    run([*DEEP, "--samples", "2000", "--json"])
    capsys.readouterr()
    monkeypatch.setattr(pacing, "clock", time.process_time)
    monkeypatch.setattr(auditing, "clock", time.process_time)


@pytest.mark.usefixtures("processor")
def test_a_deep_audit_keeps_to_its_minutes_and_states_how_often_it_may_be_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    started = time.process_time()
    assert run([*DEEP, "--minutes", "0.02", "--samples", "1e9", "--json"]) == 0
    assert time.process_time() - started < 5, "of 1.2 seconds, and what it takes to begin"
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert captured.err.startswith("laplace (none): certified 1 at delta 0, at least 0.")
    assert result["false_alarm"] == pytest.approx(1e-6) and result["workers"] == 1
    assert 0 < result["processor_seconds"] < 5 and result["seconds"] > 1
    row = result["rows"][0]
    assert auditing.FEWEST < row["samples"] < 1e9 and 0.5 < row["lower_bound"] <= 1 and row["ok"]


@pytest.mark.usefixtures("processor")
def test_half_noise_is_flagged_under_deep(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken = half_noise("laplace")
    monkeypatch.setitem(ALONE["local"], "laplace", lambda promise: broken)
    assert run([*DEEP, "--minutes", "0.05", "--json"]) == 1
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["ok"] is False and row["lower_bound"] > 1.5


def test_processes_share_the_time_too(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["--trust", "local", "--mechanism", "k-ary", "--calibration", "tight"]
    arguments = ["audit", *rows, "--deep", "--minutes", "0.02", "--workers", "2", "--confidence", "0.999999", "--json"]
    assert run(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    names = [f"local/k-ary{setting}" for setting in ("", "/h3", "/h2-per-step", "/twice")]
    names += [] if missing() else ["local/k-ary/browser", "local/k-ary/h3/browser"]
    assert [row["name"] for row in result["rows"]] == names
    assert result["workers"] == 2 and result["false_alarm"] == pytest.approx(len(names) * 1e-6)


def test_minutes_are_for_deep_audits(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--mechanism", "laplace", "--minutes", "5"]) == 2
    assert "--minutes is how long --deep may take. Add --deep, or leave it out." in capsys.readouterr().err
    assert run([*DEEP, "--minutes", "0"]) == 2
    assert "minutes must be positive" in capsys.readouterr().err


def test_the_first_rounds_are_small() -> None:
    sizes = [size for size, _ in islice(rounds(200, 400_000, 1e6), 5)]
    assert sizes[:2] == [200, 200] and sum(sizes) < 2000
