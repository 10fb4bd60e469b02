"""Asked pairs: what is reported, that it is exactly epsilon for all episodes and all laws, and what groups answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from confide.data.privatizers import drawn, open_aggregate, respond
from confide.data.statistics.answers import answer, first_visit
from confide.data.trajectories import Trajectory
from confide.errors import FormatError, InvalidInput, PrivacyError
from confide.lab.audit import audit, targets_of
from confide.lab.simulation.draws import World, totals_of
from confide.mdp import PER_STEP, Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.mechanisms.unary import KARY, SUBSET, UNARY, SampledStep
from confide.privacy import Local, Schedule
from confide.protocol.defaults import abilities
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion, read
from confide.protocol.kinds.asked import AskedQuestion, following
from confide.protocol.kinds.counts import END
from confide.protocol.releases import Report
from tests.lab.audit.test_mutants import HalfLies
from tests.mechanisms.test_unary import message_law


def episodes(spec: Spec) -> list[Trajectory]:
    """Every episode of up to H steps with rewards of 0 and 1."""
    results = []
    for steps in range(1, spec.horizon + 1):
        for states in itertools.product(range(spec.states), repeat=steps + 1):
            for actions in itertools.product(range(spec.actions), repeat=steps):
                for paid in itertools.product((0.0, 1.0), repeat=steps):
                    results.append(Trajectory(np.array(states), np.array(actions), np.array(paid)))
    return results


def laws(rows: int) -> Iterator[np.ndarray]:
    """All alike, only one pair, all but one, and nearly always one."""
    yield np.ones(rows, dtype=np.int64)
    yield np.eye(rows, dtype=np.int64)[rows - 1]
    yield 1 - np.eye(rows, dtype=np.int64)[0] if rows > 1 else np.ones(1, dtype=np.int64)
    yield np.array([1 << 52, *[1] * (rows - 1)])


def told(question: AskedQuestion, episode: Trajectory, luck: int) -> tuple[int, int]:
    """Row and category that a device answers with, if its first draw is `luck`."""
    draws = iter([luck])

    def integers(high: int, many: int) -> np.ndarray:
        return np.array([next(draws)]) if high != 1 << 53 else np.zeros(many, dtype=np.int64)

    row, cells = answer("asked", question, episode, 1.0, integers)
    assert cells.sum() == 1 and cells.shape == (question.width,)
    return row, int(cells.argmax())


def profile(question: AskedQuestion, episode: Trajectory) -> tuple[int, ...]:
    """The category that a device tells of every row that its law may draw, -1 for others; rows do not depend on the episode."""
    edges, result = np.concatenate([[0], np.cumsum(question.law)]), []
    for row, weight in enumerate(question.law):
        # The first and the last draw that lead to this row.
        ends = {told(question, episode, luck) for luck in {int(edges[row]), int(edges[row + 1]) - 1} if weight}
        assert ends <= {(row, category) for _, category in ends} and len(ends) <= 1
        result.append(ends.pop()[1] if ends else -1)
    return tuple(result)


@pytest.mark.parametrize("last", ["counted", END])
@pytest.mark.parametrize(
    "spec", [Spec(2, 1, 2), Spec(1, 2, 2), Spec(2, 1, 2, PER_STEP), Spec(1, 2, 2, PER_STEP)], ids=str
)
def test_no_message_tells_two_people_apart_by_more_than_epsilon(spec: Spec, last: str) -> None:
    """All pairs of episodes, all messages, all encodings, hostile laws: the worst ratio is e^epsilon, and it is reached."""
    epsilon, everybody = 0.7, episodes(spec)
    for law in laws(spec.layers * spec.states * spec.actions):
        question = AskedQuestion(CountQuestion(spec, last=last).tight(1), law)
        profiles = sorted({profile(question, one) for one in everybody})
        for encoding in (UNARY, KARY, SUBSET):
            mechanism = SampledStep(epsilon, question.width, encoding)
            results = [message_law(mechanism, category) for category in range(question.width)]
            chances = [
                {
                    (row, *bits): law[row] / law.sum() * chance
                    for row, category in enumerate(one)
                    if category >= 0
                    for bits, chance in results[category].items()
                }
                for one in profiles
            ]
            keys = sorted(chances[0])
            assert all(sorted(one) == keys for one in chances)  # no one can send what a user cannot
            table = np.log([[one[key] for key in keys] for one in chances])
            np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0)
            worst = (table.max(axis=0) - table.min(axis=0)).max()
            assert worst <= epsilon + 1e-9
            never = last == END and spec.layers > 1 and law[: -spec.states * spec.actions].sum() == 0
            assert never or worst == pytest.approx(epsilon, abs=1e-9)  # no one tells of a last step that no one knows


def test_redrawing_until_a_pair_was_visited_would_have_no_epsilon() -> None:
    """What the proof forbids, by the same brute force: rows that only visitors send."""
    spec = Spec(2, 1, 2)
    question = AskedQuestion.of(CountQuestion(spec))
    nowhere = question.width - 1
    visited = set()
    for one in episodes(spec):
        levels = np.zeros(one.steps, dtype=np.int64)
        seen = (row for row in range(question.rows) if first_visit(question, one, levels, row) != nowhere)
        visited.add(frozenset(seen))
    assert frozenset({0}) in visited and frozenset({1}) in visited  # sends 0 always, and 0 never: an infinite ratio


def test_the_first_visit_by_hand() -> None:
    # (s, a, r): (0,1,0) -> 1, (1,0,1) -> 0, (0,1,1) -> 2, (2,0,0) -> 2. Asked about (0,1): its first visit went to 1, unpaid.
    spec = Spec(3, 2, 4)
    walk = Trajectory(np.array([0, 1, 0, 2, 2]), np.array([1, 0, 1, 0]), np.array([0.0, 1.0, 1.0, 0.0]))
    levels = walk.rewards.astype(np.int64)
    question = AskedQuestion.of(CountQuestion(spec))
    assert question.width == 7 and question.rows == 6
    expected = {(0, 0): 6, (0, 1): 2, (1, 0): 1, (1, 1): 6, (2, 0): 4, (2, 1): 6}
    for (s, a), category in expected.items():
        assert first_visit(question, walk, levels, 2 * s + a) == category
    cut = AskedQuestion.of(CountQuestion(spec, last=END))  # at the horizon no one knows what comes next
    assert cut.width == 9 and first_visit(cut, walk, levels, 4) == 8 and first_visit(cut, walk, levels, 1) == 2
    short = Trajectory(walk.states[:4], walk.actions[:3], walk.rewards[:3])  # this one ended early, at (0, 1), for good
    assert first_visit(cut, short, levels[:3], 1) == 2
    ended = Trajectory(walk.states[:3], walk.actions[:2], walk.rewards[:2])
    assert first_visit(cut, ended, levels[:2], 2) == 2 * 3 + 1
    steps = AskedQuestion.of(CountQuestion(spec.with_dynamics(PER_STEP)))
    assert first_visit(steps, walk, levels, 2 * 6 + 1) == 5 and first_visit(steps, walk, levels, 1 * 6 + 1) == 6


@pytest.mark.parametrize(
    "weights",
    [[0, 0], [1, -1], [3, -1], [0.5, 0.5], [1], [1, 1, 1], [1 << 53, 1], [1 << 62, 1 << 62], [[1, 1]], ["a", "b"]],
)
def test_a_law_that_is_none_is_refused(weights: list) -> None:
    family = AskedQuestion.of(CountQuestion(Spec(2, 1, 2)))
    with pytest.raises(PrivacyError):
        AskedQuestion(family.counts, np.array(weights))


def test_laws_make_one_family_and_have_bytes() -> None:
    family = AskedQuestion.of(CountQuestion(Spec(2, 2, 3)))
    one = AskedQuestion(family.counts, np.array([5, 0, 1, 2]))
    assert family.member(one) is one and one.digest == family.digest and read("asked", family.to_bytes()) == family
    again = family.from_bytes_of_member(one.law_bytes())
    np.testing.assert_array_equal(again.law, one.law)
    other = AskedQuestion.of(CountQuestion(Spec(2, 2, 4)))
    with pytest.raises(PrivacyError):
        family.member(other)
    bad = one.law_bytes()
    negative = [
        bad.replace(np.int64(was).tobytes(), np.int64(-1).tobytes()) for was in (5, 2)
    ]  # one of them adds up to more than 0
    for data in (b"", bad[:-1], other.law_bytes(), *negative):
        with pytest.raises((FormatError, PrivacyError)):
            family.from_bytes_of_member(data)


def test_the_law_follows_expected_visits_and_leaves_nobody_out() -> None:
    law = following(np.array([[[0.0, 3.0], [0.5, np.nan]]]))
    share = law / law.sum()
    np.testing.assert_allclose(share, [0.025, 0.6 + 0.025, 0.3 + 0.025, 0.025], atol=1e-3)
    assert (following(np.zeros((1, 2, 2))) == following(np.zeros((1, 2, 2)))[0]).all()
    family = AskedQuestion.of(CountQuestion(Spec(2, 2, 3)))
    put = family.member_for(CountQuestion(Spec(2, 2, 3), expected=np.ones((1, 2, 2))))
    assert put.weights is not None and family.member_for(CountQuestion(Spec(2, 2, 3))).weights is None


def asked_design(spec: Spec, epsilon: float, mechanism: str = "asked-k-ary", people: int = 100) -> Design:
    return make(Request(CountQuestion(spec), Local(epsilon), Schedule.batches(people, 1), mechanism=mechanism))


@pytest.mark.parametrize("mechanism", ["asked-k-ary", "asked-unary", "asked-subset"])
def test_reports_go_to_the_book_and_come_back_as_counts(mechanism: str) -> None:
    design = asked_design(Spec(2, 1, 2), 1.0, mechanism)
    assert design.guarantee.epsilon == 1.0 and "reports about one pair" in str(design.certificate("opendp"))
    again = Design.from_bytes(design.to_bytes())
    assert again.digest == design.digest
    question = AskedQuestion(design.question.counts, np.array([0, 1]))
    walk = Trajectory(np.array([0, 1, 1]), np.array([0, 0]), np.array([0.0, 1.0]))
    report = respond(design, question, walk)
    assert report.row == 1
    data = report.to_bytes(design)
    aggregate = open_aggregate(again)
    aggregate.take(data, design.question)  # under another law: the answer is the same
    assert aggregate.close().counts.people.ravel().tolist() == [0.0, 1.0]
    with pytest.raises(FormatError):
        Report.from_bytes(data[:38] + b"\x09" + data[39:], design)  # a row that is not there
    if report.cells.sum() < len(report.cells) and mechanism != "asked-unary":
        one_more = report.cells.copy()
        one_more[int(one_more.argmin())] = 1
        with pytest.raises(InvalidInput):
            replace(report, cells=one_more).checked(design)


def test_groups_answer_as_all_episodes_say() -> None:
    """First visits by a sum over all episodes; a hundred million people, within 6 standard errors."""
    luck, people = np.random.default_rng(3), 10**8
    for model in ("stationary", PER_STEP):
        spec = Spec(2, 2, 3, model)
        moves = luck.dirichlet([1, 1], (spec.layers, 2, 2))
        paid = luck.random((spec.layers, 2, 2))
        world, policy = World(moves, paid, np.array([0.3, 0.7])), luck.dirichlet([1, 1], (3, 2))
        question = AskedQuestion(CountQuestion(spec).tight(1), luck.integers(1, 9, spec.layers * 4))
        expected = np.zeros((question.rows, question.width))
        for one in (each for each in episodes(spec) if each.steps == 3):
            chance = world.initial[one.states[0]]
            for h in range(3):
                s, a, t = one.states[h], one.actions[h], one.states[h + 1]
                layer = h if spec.layers > 1 else 0
                chance *= policy[h, s, a] * moves[layer, s, a, t]
                chance *= paid[layer, s, a] if one.rewards[h] else 1 - paid[layer, s, a]
            levels = one.rewards.astype(np.int64)
            for row in range(question.rows):
                expected[row, first_visit(question, one, levels, row)] += chance
        np.testing.assert_allclose(expected.sum(axis=1), 1.0)
        totals, asked = totals_of(world, question, policy, people, luck)
        np.testing.assert_allclose(totals.sum(axis=1), asked)
        assert asked.sum() == people
        error = np.sqrt(expected * (1 - expected) / asked[:, None]) + 1e-9
        assert (np.abs(totals / asked[:, None] - expected) < 6 * error).all()


def test_estimates_are_unbiased_and_as_noisy_as_stated() -> None:
    """Sums drawn at once, 1,000 times: cells within 6 standard errors, variances within 5, and radii that hold."""
    spec, people = Spec(2, 1, 3), 600
    for mechanism in ("asked-k-ary", "asked-unary", "asked-subset"):
        design = asked_design(spec, 1.0, mechanism, people)
        question = AskedQuestion(design.question.counts, np.array([1, 2]))
        totals = np.array([[30.0, 70, 60, 20, 20], [0, 0, 0, 0, 400]])
        asked, luck, result = np.array([200, 400]), np.random.default_rng(5), []
        for _ in range(1000):
            aggregate = open_aggregate(design)
            for one in drawn(design, totals, asked, luck):
                aggregate.take_sum(one)
            release = aggregate.close(question)
            result.append(np.concatenate([release.counts.transitions.ravel(), release.counts.rewards.ravel()]))
        rows = np.array(result)
        mean, spread = rows.mean(axis=0), rows.var(axis=0)
        np.testing.assert_allclose(mean[:4], [100, 80, 0, 0], atol=6 * math.sqrt(spread[:4].max() / 1000))
        np.testing.assert_allclose(mean[4:], [90, 0], atol=6 * math.sqrt(spread[4:].max() / 1000))
        share = release.counts.people[0, 1, 0] / people  # no one came to the second pair: nothing but noise
        assert spread[2] == pytest.approx(release.noise.transitions * share, rel=0.25)
        radii = design.radii(release.counts.people)
        assert radii.shape == (1, 2, 1, 5) and (radii[..., 3] < release.radius.transitions).all()
        held = (np.abs(rows[:, :4] - [100, 80, 0, 0]).reshape(-1, 2, 2) < radii[0, :, :1, 3][..., 0:1]).all(axis=(1, 2))
        assert held.mean() > 0.9  # they fail with probability 0.1 at most, and in truth hardly ever
        assert radii[0, 1, 0, 3] > 3 * math.sqrt(spread[2])


def test_per_step_worlds_ask_about_steps_too() -> None:
    design = asked_design(Spec(2, 2, 3, PER_STEP), 1.0)
    assert design.question.rows == 12 and design.question.width == 5


@pytest.mark.parametrize("mechanism", ["asked-k-ary", "asked-unary", "asked-subset"])
def test_an_audit_passes_and_catches_half_the_lies(mechanism: str) -> None:
    """Replayable noise, so that the outcome is the same for everyone."""
    design = asked_design(Spec(2, 1, 1), 1.0, mechanism, 1)
    honest = audit(targets_of("asked", design)[:1], 3000, noise=ReplayableNoise(2))
    assert honest.ok and honest.lower_bound > 0.5
    true = design.mechanism
    half = HalfLies(true.epsilon, true.categories, true.encoding)
    mutant = replace(design, act=replace(design.act, mechanism=half))
    claimed = [replace(target, loss=design.act.loss) for target in targets_of("half", mutant)[:1]]
    assert not audit(claimed, 3000, noise=ReplayableNoise(2)).ok


def test_auto_asks_about_pairs_where_that_pays() -> None:
    """By the rule of the sheet: long horizons gain, short ones with few pairs do not."""
    schedule = Schedule.batches(1000, 10)
    long, short = CountQuestion(Spec(6, 2, 20)), CountQuestion(Spec(2, 2, 2))
    assert make(Request(long, Local(1.0), schedule)).question.kind == "asked"
    assert make(Request(long, Local(3.0), schedule)).question.kind == "asked"
    unasked = frozenset(pair for pair in abilities("local") if pair[0] != "asked")
    assert make(Request(long, Local(1.0), schedule, able=unasked)).question.kind == "step"
    assert make(Request(short, Local(10.0), schedule)).question.kind == "step"
