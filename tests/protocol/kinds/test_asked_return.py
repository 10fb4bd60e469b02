"""Asked pairs and returns: what is reported, exactly epsilon for all episodes and laws, and what a bit says of returns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from confide.data.privatizers import drawn, open_aggregate, respond
from confide.data.statistics.answers import FINE, answer, first_visit, return_of
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.lab.audit import Target, audit
from confide.lab.audit.devices import local_target
from confide.lab.simulation.batched import drawing
from confide.lab.simulation.draws import World
from confide.learning.planning.evaluation import flow_value
from confide.mdp import PER_STEP, Spec
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.unary import KARY, SUBSET, UNARY, SampledStep
from confide.privacy import Local, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion, read
from confide.protocol.kinds.asked_return import AskedReturnQuestion, of_returns, return_variance
from confide.protocol.kinds.counts import END
from confide.protocol.releases import Report, Sum
from confide.protocol.releases.plausibility import implausible
from confide.protocol.releases.release import read_release
from confide.protocol.releases.sums import Pile
from tests.lab.audit.test_mutants import HalfLies
from tests.mechanisms.test_unary import message_law
from tests.refusals import refused

from .test_asked import episodes

ENCODINGS = (UNARY, KARY, SUBSET)
FALSE_ALARM = 1e-6
SAMPLES = 12_000
DEVIATIONS = 5.0
"""A normal number is further than this from its mean with probability 6e-7."""


def question_of(spec: Spec, one_in: int = 4, last: str = "counted", **changes: str) -> AskedReturnQuestion:
    return AskedReturnQuestion(CountQuestion(spec, last=last, **changes).tight(1), one_in=one_in)


def design_of(spec: Spec, epsilon: float, encoding: str = KARY, one_in: int = 4, people: int = 100) -> Design:
    request = Request(
        CountQuestion(spec), Local(epsilon), Schedule.batches(people, 1), mechanism=f"asked-{encoding}", one_in=one_in
    )
    return make(request)


def laws(question: AskedReturnQuestion) -> list[np.ndarray]:
    """As the contract has it; every user reports a return; and nearly every user is asked about one pair."""
    size = question.rows
    return [question.law, np.eye(size, dtype=np.int64)[size - 1], np.array([1 << 52, *[1] * (size - 1)])]


def told(question: AskedReturnQuestion, episode: Trajectory, first: int, second: int = 0) -> tuple[int, int]:
    """Row and category that a device answers with, if its draws of the row and of the bit are these."""
    draws = iter([first, second])

    def integers(high: int, many: int) -> np.ndarray:
        return np.zeros(many, dtype=np.int64) if high == FINE and many != 1 else np.array([next(draws)] * many)

    row, cells = answer(question.kind, question, episode, 1.0, integers)
    assert cells.sum() == 1 and cells.shape == (question.width,)
    return row, int(cells.argmax())


def chance_of_one(question: AskedReturnQuestion, episode: Trajectory) -> float:
    """How likely the bit of an episode is one, found by trying draws: it is one below a threshold, and nowhere else."""
    last = int(question.law.sum()) - 1
    assert told(question, episode, last)[0] == question.pairs, "who reports a return depends on the episode"
    low, high = 0, FINE
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (middle + 1, high) if told(question, episode, last, middle) == (question.pairs, 1) else (low, middle)
        )
    return low / FINE


@pytest.mark.parametrize("last", ["counted", END])
@pytest.mark.parametrize("spec", [Spec(2, 1, 2), Spec(1, 2, 2), Spec(2, 1, 2, PER_STEP)], ids=str)
def test_no_message_tells_two_people_apart_by_more_than_epsilon(spec: Spec, last: str) -> None:
    """All pairs of episodes with rewards of 0, 1/2 and 1, all messages, all encodings, hostile laws: the worst is e^epsilon."""
    epsilon = 0.7
    people = [replace_rewards(one, paid) for one in episodes(spec) for paid in paid_in(one.steps)]
    for law in laws(question_of(spec, last=last)):
        question = replace(question_of(spec, last=last), weights=law)
        edges = np.concatenate([[0], np.cumsum(law)]).tolist()
        profiles = set()
        for one in people:
            pairs = [told(question, one, edges[row]) for row in range(question.pairs) if law[row]]
            assert all(row < question.pairs for row, _ in pairs)
            profiles.add((*(category for _, category in pairs), chance_of_one(question, one)))
        for encoding in ENCODINGS:
            mechanism, bit = SampledStep(epsilon, question.width, encoding), SampledStep(epsilon, 2, KARY)
            results = [message_law(mechanism, category) for category in range(question.width)]
            bits = [message_law(bit, category) for category in range(2)]
            table = []
            for *categories, one in sorted(profiles):
                chances = {}
                for row, category in zip(np.flatnonzero(law[:-1]).tolist(), categories, strict=True):
                    for message, chance in results[category].items():
                        chances[(row, *message)] = law[row] / law.sum() * chance
                for message in bits[0]:
                    mixed = (1 - one) * bits[0][message] + one * bits[1][message]
                    chances[(question.pairs, *message)] = law[-1] / law.sum() * mixed
                table.append([math.log(chances[key]) for key in sorted(chances)])
            known = np.array(table)
            np.testing.assert_allclose(np.exp(known).sum(axis=1), 1.0)
            worst = (known.max(axis=0) - known.min(axis=0)).max()
            assert worst == pytest.approx(epsilon, abs=1e-9)


def paid_in(steps: int) -> list[tuple[float, ...]]:
    """What this many steps can pay: nothing, all, and halves in between."""
    return [(0.0,) * steps, (1.0,) * steps, (0.5,) * steps, (1.0, *(0.5,) * (steps - 1))]


def replace_rewards(one: Trajectory, paid: tuple[float, ...]) -> Trajectory:
    return Trajectory(one.states, one.actions, np.array(paid))


def test_the_return_by_hand() -> None:
    # Half a reward, then a whole one, of at most three: the bit is one with probability 1.5/3. Of costs .5 + 0 are left: .5/3.
    walk = Trajectory(np.array([0, 1, 0]), np.array([0, 0]), np.array([0.5, 1.0]))
    question = question_of(Spec(2, 1, 3))
    assert return_of(question.counts, walk) == 1.5 and chance_of_one(question, walk) == 0.5
    costs = question_of(Spec(2, 1, 3), objective="cost")
    assert return_of(costs.counts, walk) == 0.5 and chance_of_one(costs, walk) == pytest.approx(1 / 6, abs=1e-15)
    # One in four: of 2 pairs with weights 3 each the return has 2 of 8, which are the last two draws.
    assert question.law.tolist() == [3, 3, 2] and question.rows == 3 and question.pairs == 2
    assert [told(question, walk, draw)[0] for draw in range(8)] == [0, 0, 0, 1, 1, 1, 2, 2]
    # e^eps = 3: p = 3/4, and one person adds 9 ((3/16)/(1/4) + 1/4) = 9 to the variance of a sum of returns.
    assert return_variance(3, SampledStep(math.log(3), question.width)) == pytest.approx(9.0)


def test_it_is_priced_and_checked_as_what_it_is() -> None:
    design = design_of(Spec(2, 2, 3), 1.0)
    assert design.question.kind == "asked_return" and design.guarantee.epsilon == 1.0
    assert of_returns(design.randomizer).loss(design.question.price()).delta(1.0) == 0.0
    assert "one device in 4" in str(design.certificate("opendp"))
    again = Design.from_bytes(design.to_bytes())
    assert again.digest == design.digest and again.question == design.question
    assert design.digest != design_of(Spec(2, 2, 3), 1.0, one_in=5).digest
    assert design.question.digest != design_of(Spec(2, 2, 3), 1.0, one_in=5).question.digest
    without = make(Request(CountQuestion(Spec(2, 2, 3)), Local(1.0), Schedule.batches(100, 1), mechanism="asked-k-ary"))
    assert without.question.kind == "asked" and without.question.digest != design.question.digest
    for bad in (0, 1, (1 << 16) + 1, 2.5):
        with pytest.raises(InvalidInput):
            replace(design.question, one_in=bad)
    for data in (b"", b"\x00" * 3, b"\x01\x00\x00\x00" + design.question.counts.to_bytes()):
        with pytest.raises((FormatError, InvalidInput)):
            read("asked_return", data)


def test_a_law_keeps_to_the_contracts_share() -> None:
    family = question_of(Spec(2, 2, 3), one_in=10)
    assert family.law.tolist() == [9, 9, 9, 9, 4]
    put = family.member_for(CountQuestion(Spec(2, 2, 3), expected=np.ones((1, 2, 2)) / 3))
    assert put.law[-1] * 10 == put.law.sum() and put.digest == family.digest
    np.testing.assert_array_equal(family.from_bytes_of_member(put.law_bytes()).law, put.law)
    for weights in ([9, 9, 9, 9, 5], [9, 9, 9, 9, 0], [0, 0, 0, 0, 1]):
        unlawful = replace(family, weights=np.array(weights))
        with refused("return-share-not-contracts"):
            family.from_bytes_of_member(unlawful.law_bytes())
    with pytest.raises((FormatError, PrivacyError)):
        family.from_bytes_of_member(question_of(Spec(2, 2, 3), one_in=9).law_bytes())
    with pytest.raises(PrivacyError):
        family.member(question_of(Spec(2, 2, 3), one_in=9))


def only_returns(design: Design) -> AskedReturnQuestion:
    return replace(design.question, weights=np.eye(design.question.rows, dtype=np.int64)[-1])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_reports_of_returns_are_bytes_within_limits(encoding: str) -> None:
    design = design_of(Spec(4, 2, 3), 1.0, encoding)
    walk = Trajectory(np.array([0, 1, 1]), np.array([0, 0]), np.array([0.0, 1.0]))
    report, pair = respond(design, only_returns(design), walk), respond(design, None, walk)
    data = report.to_bytes(design)
    assert report.row == design.question.pairs and len(data) == len(pair.to_bytes(design))
    assert report.cells[:2].sum() == 1 and not report.cells[2:].any()
    pile = Pile(design)
    assert pile.total([pile.check(data)]).cells[-1].tolist() == report.cells.tolist()
    for cells in (np.eye(9)[2], np.eye(9)[8], np.ones(9), np.zeros(9)):
        bad = replace(report, cells=cells.astype(np.int64))
        with refused("report-dishonest"):
            bad.checked(design)
        if encoding != KARY or cells.sum() == 1:
            with pytest.raises(FormatError):
                Report.from_bytes(bad.to_bytes(design), design)
            with pytest.raises(FormatError):
                pile.check(bad.to_bytes(design))
    total = Sum.empty(design)
    total.add(report)
    total.cells[-1, 3] += 1
    with refused("report-dishonest"):
        total.checked(design)


def test_grouped_reports_of_subsets_name_as_many_categories_as_honest_ones() -> None:
    """A report that names all of them would be counted, and then make the sum of its round unreadable."""
    design = make(Request(CountQuestion(Spec(4, 2, 3)), Local(1.0), Schedule.batches(9, 1), mechanism="asked-subset"))
    report = respond(design, None, Trajectory(np.array([0, 1]), np.array([0]), np.array([1.0])))
    with pytest.raises(FormatError):
        Pile(design).check(replace(report, cells=np.ones(9, dtype=np.int64)).to_bytes(design))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_devices_flip_bits_as_often_as_is_stated(encoding: str) -> None:
    """4,000 reports drawn as devices draw them, by secure noise, of each of two returns: shares of ones within 5 deviations, which
    tell true noise from 2/3 and 3/2 of it where nothing was paid."""
    epsilon, people = 1.0, 4_000
    design = design_of(Spec(1, 1, 3), epsilon, encoding)
    asked, noise = only_returns(design), SecureNoise()

    def mean_at(epsilon: float, share: float) -> float:
        p = 1 / (1 + math.exp(-epsilon))
        return share * p + (1 - share) * (1 - p)

    for paid in (0.0, 1.0):
        walk = Trajectory(np.zeros(4, dtype=np.int64), np.zeros(3, dtype=np.int64), np.array([0.0, paid, 0.0]))
        ones = sum(int(respond(design, asked, walk, noise).cells[1]) for _ in range(people))
        mean = mean_at(epsilon, paid / 3)
        off = DEVIATIONS * math.sqrt(mean * (1 - mean) / people)
        assert abs(ones / people - mean) < off
        if not paid:
            assert all(abs(ones / people - mean_at(epsilon * factor, 0.0)) > off for factor in (2 / 3, 3 / 2))


def test_sums_of_returns_are_unbiased_and_as_noisy_as_stated() -> None:
    """Sums drawn at once, 2,000 times: the mean within 5 standard errors, and the variance that is stated where it is largest."""
    spec, people, luck, epsilon = Spec(2, 1, 3), 400, np.random.default_rng(5), 1.0
    design = design_of(spec, epsilon, UNARY, people=people)
    totals = np.zeros((3, 5))
    totals[0, 4], totals[1, 4], totals[2, :2] = 100, 100, (100, 100)
    found = []
    for _ in range(2000):
        aggregate = open_aggregate(design)
        for one in drawn(design, totals, np.array([100, 100, 200]), luck):
            aggregate.take_sum(one)
        release = aggregate.close()
        assert release.returned is not None and release.returned.people == 200 and release.counts.people.sum() == 200
        found.append(release.returned.total)
    flips = 9 * of_returns(design.randomizer).variance()  # here the bits are given, so that of them there is none
    mean, spread = float(np.mean(found)), float(np.var(found))
    assert abs(mean - 300) < DEVIATIONS * math.sqrt(200 * flips / 2000)
    assert spread == pytest.approx(200 * flips, rel=DEVIATIONS * math.sqrt(2 / 2000))
    assert return_variance(3, design.randomizer) == pytest.approx(flips + 9 / 4)
    again = read_release(design, release.to_bytes())
    assert again.returned == release.returned and np.array_equal(again.counts.people, release.counts.people)


@pytest.mark.parametrize("objective", ["reward", "cost"])
def test_groups_report_returns_as_often_as_the_law_says(objective: str) -> None:
    """A hundred million people: how many report, and how many ones, within 5 deviations of what the world says."""
    luck, people, spec = np.random.default_rng(3), 10**8, Spec(2, 2, 3)
    world = World(luck.dirichlet([1, 1], (1, 2, 2)), luck.random((1, 2, 2)), np.array([0.3, 0.7]))
    policy = luck.dirichlet([1, 1], (3, 2))
    design = replace(design_of(spec, 1.0), question=question_of(spec, one_in=10, objective=objective))
    totals, asked = drawing(design, world)(design.question, policy, people, luck)
    assert asked.sum() == people and totals.sum() == people
    assert abs(asked[-1] - people / 10) < DEVIATIONS * math.sqrt(people * 0.09)
    value = flow_value(*world, policy, np.empty((2, 2)))
    share = (value if objective == "reward" else 3 - value) / 3
    assert abs(totals[-1, 1] / asked[-1] - share) < DEVIATIONS * math.sqrt(share * (1 - share) / asked[-1])
    assert not totals[-1, 2:].any()
    mean = asked[:-1].mean()
    assert (np.abs(asked[:-1] - mean) < DEVIATIONS * math.sqrt(mean)).all()


def attacked(encoding: str) -> Target:
    """Two people, of whom one was paid at every step and the other never, and devices who nearly all report a return."""
    design = design_of(Spec(2, 1, 2), 1.0, encoding, people=1)
    paid, unpaid = (
        Trajectory(np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.full(2, each)) for each in (1.0, 0.0)
    )
    return local_target("return", replace(design, question=only_returns(design)), (paid, unpaid))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_audit_passes(encoding: str) -> None:
    """Replayable noise, so that the outcome is the same for everyone."""
    target = attacked(encoding)
    assert target.exact is not None and target.exact.delta(1.0) < 1e-9 < target.exact.delta(0.95)
    honest = audit([target], SAMPLES, noise=ReplayableNoise(2))
    assert honest.ok and honest.lower_bound > 0.7


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_audit_catches_half_the_lies_about_returns(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same audit of a device that claims epsilon, and flips half as many bits of returns."""
    target = attacked(encoding)
    lying = "confide.protocol.kinds.asked_return.of_returns"
    monkeypatch.setattr(lying, lambda mechanism: HalfLies(mechanism.epsilon, 2, KARY))
    assert not audit([target], SAMPLES, noise=ReplayableNoise(2)).ok


def test_honest_sums_are_plausible_and_lies_about_returns_are_not() -> None:
    """With the rate of false alarms that is asked for: none in 40 honest sums at 1e-6."""
    luck = np.random.default_rng(7)
    for encoding in ENCODINGS:
        design = design_of(Spec(3, 2, 4), 1.0, encoding)
        people = np.full(design.question.rows, 300)
        totals = np.zeros((design.question.rows, design.question.width))
        totals[:-1, -1], totals[-1, 0] = 300, 300  # no user came anywhere, or was paid
        law = np.asarray(people, dtype=np.float64)
        for _ in range(40):
            (total,) = drawn(design, totals, people, luck)
            assert implausible(design, total, law, FALSE_ALARM) == ""
        total.cells[-1, :2] = 0, 300  # a bit of no user does not flip
        assert "row 6" in implausible(design, total, law, FALSE_ALARM)


def test_first_visits_are_told_as_without_returns() -> None:
    question, walk = question_of(Spec(2, 1, 3)), Trajectory(np.array([0, 1, 0]), np.array([0, 0]), np.array([0.0, 1.0]))
    levels = walk.rewards.astype(np.int64)
    for row, draw in ((0, 0), (1, 3)):
        assert told(question, walk, draw) == (row, first_visit(question, walk, levels, row))
