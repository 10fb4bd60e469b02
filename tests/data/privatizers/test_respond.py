"""The wall on a device: what leaves it, what is refused, and what a server makes of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.data.privatizers import respond
from confide.data.statistics.answers import category
from confide.data.trajectories import Trajectory
from confide.errors import InvalidInput, UnsafeNoise
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.bounded import Bounded
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.unary import KARY, UNARY, SampledStep
from confide.privacy import Act, Guarantee, Local, Schedule, Sensitivity
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import CENTRED, COUNTED, DROPPED, END, REWARDS, SQUARES, TRANSITIONS, VISITS
from confide.protocol.kinds.step import StepQuestion
from confide.protocol.releases import CountRelease, Report, open_aggregate
from tests.protocol.making import design
from tests.refusals import refused

from .walkers import exact, walk, worst_errors

FALSE_ALARM = 1e-7
"""How often each release made with secure noise fails its test although nothing is wrong."""

REPEATS = 80
"""Reports of one person that are compared. At epsilon 1 and with k >= 5 categories k-ary response says any one of them
with probability at most e/(e + 4) < 0.41, so all are alike with probability below 5 * 0.41^80 < 1e-30."""

CLASSIC = (VISITS, REWARDS, TRANSITIONS)


def local(
    question: CountQuestion, promise: Guarantee, mechanism: str, calibration: str = "tight", failure: float = 0.01
) -> Design:
    """One release is made, so that all of the failure is its own."""
    return design(question, promise, Schedule.sized(1000, 1000), calibration, mechanism, failure=failure)


def report(made: Design, person: Trajectory, noise: ReplayableNoise) -> Report:
    sent = respond(made, None, person, noise, simulated=True)
    assert isinstance(sent, Report)
    return sent


def told(made: Design, people: list[Trajectory], noise: ReplayableNoise) -> CountRelease:
    """Every user's reports, over the wire, into an aggregate, to a release."""
    aggregate = open_aggregate(made)
    for person in people:
        aggregate.take(report(made, person, noise).to_bytes(made))
    release = aggregate.close()
    assert isinstance(release, CountRelease)
    return release


# From many devices to a release.


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "randomised-response", "unary", "k-ary"])
@pytest.mark.parametrize("calibration", ["sound", "tight"])
def test_many_reports_become_a_release_within_its_radius(model: str, mechanism: str, calibration: str) -> None:
    rng, noise, users = np.random.default_rng(7), ReplayableNoise(7), 250
    question = CountQuestion(Spec(2, 2, 3, model), CLASSIC, DROPPED)
    privatizer = local(question, Local(3.0, 1e-5 if mechanism == "gaussian" else 0.0), mechanism, calibration)
    people = [walk(question.spec, rng, short=0.2) for _ in range(users)]
    release = told(privatizer, people, noise)
    truth = exact(privatizer.question.counts, people)
    errors = worst_errors(release.counts, truth)
    assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))
    # A radius that holds because it is far too large would be no radius.
    assert max(errors[0] / release.radius.visits, errors[3] / release.radius.transitions) > 0.1
    assert release.users == users
    assert release.guarantee == privatizer.guarantee
    assert release.question == privatizer.question.counts


def test_bounded_noise_crosses_the_wall_too() -> None:
    question, noise = CountQuestion(Spec(2, 1, 2), (CENTRED, TRANSITIONS), DROPPED), ReplayableNoise(1)
    act = Act(Bounded(20.0, 1 / question.resolution), question.price())
    privatizer = Design(question, act, Local(2.0, 0.01), "tight", Schedule.sized(50, 50), 0.01)
    rng = np.random.default_rng(0)
    people = [walk(question.spec, rng) for _ in range(50)]
    release = told(privatizer, people, noise)
    errors = worst_errors(release.counts, exact(privatizer.question, people))
    assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))
    assert max(errors) > 1.0


@pytest.mark.parametrize("levels", [1, 3, 49])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_rewards_on_many_levels_reach_the_server_unbiased(levels: int, mechanism: str) -> None:
    """Every user earns 0.37 at every step; little noise is drawn, so that the mean shows."""
    question = CountQuestion(Spec(1, 1, 2), (VISITS, REWARDS, SQUARES, TRANSITIONS), COUNTED, levels)
    privatizer = local(question, Local(4000.0, 1e-5), mechanism, "sound")
    person = Trajectory(np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.full(2, 0.37))
    users = 600
    counts = told(privatizer, [person] * users, ReplayableNoise(levels)).counts
    fraction = 0.37 * levels - math.floor(0.37 * levels)
    spread = math.sqrt(2 * fraction * (1 - fraction) / users) / levels
    assert counts.rewards.item() / users == pytest.approx(0.74, abs=6 * spread + 0.01)
    assert counts.visits.item() / users == pytest.approx(2.0, abs=0.01)
    lower = math.floor(0.37 * levels)
    mean_square = 2 * ((1 - fraction) * lower**2 + fraction * (lower + 1) ** 2) / levels**2
    assert counts.squares.item() / users == pytest.approx(mean_square, abs=6 * spread + 0.01)


def test_costs_are_counted_where_costs_are_asked_for() -> None:
    question = CountQuestion(Spec(1, 1, 2), (CENTRED, TRANSITIONS), COUNTED, objective="cost")
    person = Trajectory(np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), np.array([1.0, 1.0]))
    for mechanism in ("laplace", "unary", "k-ary"):
        privatizer = local(question, Local(600.0), mechanism)
        counts = told(privatizer, [person] * 400, ReplayableNoise(0)).counts
        assert abs(counts.rewards.item()) < 0.1 * 400  # paid in full: no cost at all
        assert counts.visits.item() == pytest.approx(800, rel=0.15)


def test_secure_noise_crosses_the_wall_by_default() -> None:
    """One report a person, its noise drawn by the operating system; its error stays within the radius."""
    question = CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED)
    person = walk(question.spec, np.random.default_rng(0))
    for mechanism in ("laplace", "randomised-response", "unary", "k-ary"):
        privatizer = local(question, Local(1.0), mechanism, failure=FALSE_ALARM)
        sent = [respond(privatizer, None, person).to_bytes(privatizer) for _ in range(64)]
        assert len(set(sent)) > 1  # a k-ary report is one of few categories, and may come twice
        aggregate = open_aggregate(privatizer)
        aggregate.take(sent[0])
        release = aggregate.close()
        errors = worst_errors(release.counts, exact(privatizer.question.counts, [person]))
        assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))


def test_replayable_noise_is_refused_unless_the_person_is_simulated() -> None:
    question = CountQuestion(Spec(2, 2, 2))
    person = walk(question.spec, np.random.default_rng(0))
    for mechanism in ("laplace", "unary"):
        privatizer = local(question, Local(1.0), mechanism)
        with refused("noise-not-secure"):
            respond(privatizer, None, person, ReplayableNoise(0))
        first, second = (report(privatizer, person, ReplayableNoise(0)) for _ in range(2))
        assert first.to_bytes(privatizer) == second.to_bytes(privatizer)
        respond(privatizer, None, person, SecureNoise())


def test_continuous_noise_never_leaves_a_device() -> None:
    question = CountQuestion(Spec(2, 2, 2))
    act = Act(Laplace(3.0), Sensitivity(12.0, 12.0, ((12.0, 1),), 12))
    privatizer = Design(question, act, Local(4.0), "tight", Schedule.every(10))
    with pytest.raises(UnsafeNoise, match="Choose a grid"):
        privatizer.verified()
    with pytest.raises(UnsafeNoise, match="Choose a grid"):
        respond(privatizer, None, walk(question.spec, np.random.default_rng(0)))


# What a device refuses.


@pytest.mark.parametrize("mechanism", ["laplace", "randomised-response", "unary", "k-ary"])
def test_an_episode_of_other_sizes_is_refused_whatever_step_is_drawn(mechanism: str) -> None:
    """A longer episode would move pooled counts beyond the sensitivity; an unknown end would fail only now and then."""
    privatizer = local(CountQuestion(Spec(2, 2, 2), CLASSIC, COUNTED), Local(1.0), mechanism)
    long = walk(Spec(2, 2, 5), np.random.default_rng(0))
    strange = Trajectory(np.array([0, 7, 0]), np.array([0, 0]), np.array([0.0, 1.0]))
    rich = Trajectory(np.array([0, 1, 0]), np.array([0, 0]), np.array([0.0, 3.0]))
    unknown = Trajectory(np.array([0, 1]), np.array([0, 0]), np.array([0.0, 1.0]))
    wrong: list[tuple[Trajectory, str]] = [
        (long, "episode-too-long"),
        (strange, "index-out-of-range: states"),
        (rich, "reward-out-of-range"),
    ]
    if mechanism != "randomised-response":  # which drops the last transition
        wrong.append((unknown, "last-state-unknown"))
    for person, sentence in wrong:
        for seed in range(8):
            with refused(sentence):
                report(privatizer, person, ReplayableNoise(seed))


def test_an_unknown_end_is_no_obstacle_where_end_is_asked_for() -> None:
    question = CountQuestion(Spec(2, 2, 2), CLASSIC, END)
    unknown = Trajectory(np.array([0, 1]), np.array([0, 0]), np.array([0.0, 1.0]))
    for mechanism in ("laplace", "randomised-response", "unary", "k-ary", "auto"):
        privatizer = local(question, Local(1.0), mechanism)
        for seed in range(8):
            assert told(privatizer, [unknown], ReplayableNoise(seed)).users == 1


@pytest.mark.parametrize("failure", [0.0, 1.0, -0.5, math.nan])
def test_a_radius_needs_a_probability(failure: float) -> None:
    privatizer = local(CountQuestion(Spec(2, 2, 2)), Local(1.0), "laplace")
    with pytest.raises(InvalidInput, match="failure"):
        privatizer.radii(10, failure)


# Sampled steps.


def all_episodes(spec: Spec) -> list[Trajectory]:
    return [
        Trajectory(np.array(states), np.array(actions, dtype=np.int64), np.array(rewards, dtype=np.float64))
        for steps in range(spec.horizon + 1)
        for states in itertools.product(range(spec.states), repeat=steps + 1)
        for actions in itertools.product(range(spec.actions), repeat=steps)
        for rewards in itertools.product((0, 1), repeat=steps)
    ]


def report_law(question: CountQuestion, mechanism: SampledStep, person: Trajectory) -> NDArray[np.float64]:
    """P(row, message) of one person's report, for every row and every message of the encoding."""
    k, spec = mechanism.categories, question.spec
    unary = np.array(list(itertools.product((0, 1), repeat=k)))
    messages = np.eye(k, dtype=int) if mechanism.encoding == KARY else unary
    law = np.zeros((spec.layers, len(messages)))
    levels = person.rewards.astype(np.int64)
    for step in range(spec.horizon):
        true = category(question, person, levels, step)
        chances = np.where(np.arange(k) == true, mechanism.hit, mechanism.miss)
        each = np.where(messages == 1, chances, 1.0 if mechanism.encoding == KARY else 1 - chances)
        given = each.prod(axis=1)
        law[step if spec.layers > 1 else 0] += given / spec.horizon
    return law


@pytest.mark.parametrize("encoding", [UNARY, KARY])
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("last", [COUNTED, END])
def test_whole_reports_of_any_two_people_differ_by_e_to_the_epsilon(encoding: str, model: str, last: str) -> None:
    """Every report of every episode, those that stop early or never start included: a category `absent` sees to it."""
    question = CountQuestion(Spec(1, 1, 2, model), (CENTRED, TRANSITIONS), last)
    mechanism = SampledStep(0.9, StepQuestion(question).width, encoding)
    laws = [report_law(question, mechanism, person) for person in all_episodes(question.spec)]
    for law in laws:
        assert law.sum() == pytest.approx(1.0)
    worst = max(float(np.log(here / there).max()) for here, there in itertools.permutations(laws, 2))
    assert worst == pytest.approx(0.9, rel=1e-9)


def test_reports_follow_that_law() -> None:
    question = CountQuestion(Spec(1, 1, 2, PER_STEP), (CENTRED, TRANSITIONS), COUNTED)
    privatizer = local(question, Local(1.5), "k-ary")
    mechanism: Any = privatizer.mechanism
    person = Trajectory(np.array([0, 0]), np.array([0]), np.array([1.0]))  # one step, then gone
    law, noise, size = report_law(question, mechanism, person), ReplayableNoise(5), 4000
    seen = np.zeros_like(law)
    for _ in range(size):
        sent = report(privatizer, person, noise)
        seen[sent.row, int(sent.cells.argmax())] += 1
    expected = size * law
    statistic = float(((seen - expected) ** 2 / expected).sum())
    assert statistic < 30  # 5 degrees of freedom: 1.5e-5


def test_categories_of_steps() -> None:
    question = CountQuestion(Spec(2, 3, 4), last=COUNTED)
    person = Trajectory(np.array([1, 0, 1]), np.array([2, 1]), np.array([1.0, 0.0]))
    levels = np.array([1, 0])
    shape = (2, 3, 2, 2)
    assert category(question, person, levels, 0) == np.ravel_multi_index((1, 2, 0, 1), shape)
    assert category(question, person, levels, 1) == np.ravel_multi_index((0, 1, 1, 0), shape)
    assert category(question, person, levels, 2) == category(question, person, levels, 3) == 24
    cost = question.having(objective="cost")
    assert category(cost, person, levels, 0) == np.ravel_multi_index((1, 2, 0, 0), shape)
    end = question.having(last=END)
    assert category(end, person, levels, 1) == np.ravel_multi_index((0, 1, 2, 0), (2, 3, 3, 2))


# Certificates.


def test_the_certificate_is_that_of_the_act() -> None:
    privatizer = local(CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED), Local(1.0), "laplace", "sound")
    document = privatizer.certificate("opendp").as_json()
    assert document["guarantees"][0]["epsilon"] == privatizer.guarantee.epsilon == 1.0
    assert document["mechanisms"] == [privatizer.act.describe()]
    assert document["noise"] == "opendp"
    assert any("one episode a person" in line for line in document["assumptions"])
