"""Devices and shufflers together: how many bits change, what is promised, what is refused, and noise that is as stated."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from confide.privatizers.shuffle_design import smallest_batch
from confide.releases.bits import weights
from scipy import stats

from confide import Local, Shuffle
from confide.designs.shuffled_obi import claimed_epsilon
from confide.errors import InvalidInput, PrivacyError, UnsafeNoise
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.mechanisms.randomized_response import RandomizedResponse
from confide.mechanisms.unary import SampledStep
from confide.privacy import Certificate, Guarantee, Schedule
from confide.privacy.shuffling import Crowd, shuffled_loss
from confide.privatizers import LocalPrivatizer, Mixing, ShufflePrivatizer, design
from confide.questions import CountQuestion
from confide.questions.bits import bit_sensitivity
from confide.questions.counts import COUNTED, DROPPED, REWARDS, TRANSITIONS, VISITS
from confide.releases import CountRelease
from confide.releases.reading import backup_variance
from confide.releases.shuffler import Submission
from confide.releases.sums import Kept, keep
from confide.statistics import count, round_rewards
from confide.trajectories import Trajectory

from .walkers import exact, walk, worst_errors

FALSE_ALARM = 1e-7
"""How often each test of noise fails although nothing is wrong, if it draws secure noise."""

PROMISE = Shuffle(1.0, 1e-6)
TWO = CountQuestion(Spec(2, 2, 2), last=DROPPED)


def shuffle(
    question: CountQuestion,
    promise: Guarantee = PROMISE,
    batch: int = 200,
    users: int = 2000,
    calibration: str = "sound",
    mechanism: str = "auto",
    **mixing: Any,
) -> ShufflePrivatizer:
    schedule = Schedule.sized(users, batch)
    made = design(question, promise, schedule, calibration, mechanism, mixing=Mixing(batch, **mixing))
    assert isinstance(made, ShufflePrivatizer)
    return made


def play(privatizer: ShufflePrivatizer, people: list[Trajectory], noise: Any) -> tuple[Kept, CountRelease | None]:
    """Everybody's reports, over the wire, through the shufflers, to a release."""
    shufflers, kept = privatizer.shufflers(), ()
    for index, person in enumerate(people):
        batch = index // privatizer.mixing.batch
        for level, report in privatizer.report(person, batch, noise, simulated=True):
            sums = shufflers[level].add(Submission.from_bytes(report.to_bytes()))
            kept = kept if sums is None else keep(kept, sums)
    return kept, privatizer.release(kept, 0.01) if kept else None


# How many bits one person can change.


def everyone(spec: Spec, levels: int) -> list[Trajectory]:
    """Every episode of full length whose rewards are multiples of 1/levels."""
    states = itertools.product(range(spec.states), repeat=spec.horizon + 1)
    actions = itertools.product(range(spec.actions), repeat=spec.horizon)
    rewards = itertools.product(np.arange(levels + 1) / levels, repeat=spec.horizon)
    return [Trajectory(*(np.array(part) for part in parts)) for parts in itertools.product(states, actions, rewards)]


def encoded(question: CountQuestion, person: Trajectory) -> list[np.ndarray]:
    """All bits of a report one by one, for every step apart: written from the paper's equations (4) and (5)."""
    spec, told = question.spec, []
    for h in range(spec.horizon):
        s, a, level = person.states[h], person.actions[h], round(person.rewards[h] * question.levels)
        visits, rewards = np.zeros((2, 2)), np.zeros((2, 2, question.levels))
        moves = np.zeros((2, 2, 2))
        visits[s, a] = 1
        rewards[s, a, :level] = 1
        moves[s, a, person.states[h + 1]] = 1
        parts = {VISITS: visits, REWARDS: rewards, TRANSITIONS: moves if h < question.transition_steps else 0 * moves}
        told += [parts[part].ravel() for part in question.parts]
    return told


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("last", [DROPPED, COUNTED])
@pytest.mark.parametrize("parts", [(VISITS, REWARDS, TRANSITIONS), (REWARDS, TRANSITIONS)])
def test_bits_that_change_by_brute_force(levels: int, last: str, parts: tuple[str, ...]) -> None:
    spec = Spec(2, 2, 2)
    question = CountQuestion(spec, parts, last, levels)
    codes = np.array([np.concatenate(encoded(question, person)) for person in everyone(spec, levels)])
    most = max(int(np.abs(codes - code).sum(axis=1).max()) for code in codes)
    assert bit_sensitivity(question).l1 == most
    if parts == (VISITS, REWARDS, TRANSITIONS) and last == DROPPED:
        assert most == (4 + 2 * levels) * spec.horizon - 2


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_what_a_report_counts_is_the_sum_of_these_bits(model: str) -> None:
    question = CountQuestion(Spec(2, 2, 2, model), last=DROPPED, levels=3)
    for person in everyone(Spec(2, 2, 2), 1):
        levels = round_rewards(person.rewards, 3, np.zeros(2))
        cells = count(question, person, levels) * weights(question) / question.resolution
        assert cells.sum() == sum(part.sum() for part in encoded(question, person))
        assert (cells == np.rint(cells)).all()


def test_a_sampled_step_changes_two_bits() -> None:
    assert bit_sensitivity(CountQuestion(Spec(3, 2, 9)), sampled=True).l1 == 2


# What is promised.


@pytest.mark.parametrize(("batch", "p"), [(200, 0.5455), (1000, 0.2483), (5000, 0.0691)])
def test_figures_for_two_steps(batch: int, p: float) -> None:
    privatizer = shuffle(TWO, batch=batch, users=10 * batch)
    device = privatizer.devices[0]
    assert isinstance(device, RandomizedResponse)
    assert 2 * device.flip == pytest.approx(p, rel=3e-3)
    assert math.sqrt(batch * device.variance(2)) == pytest.approx(19.6, rel=3e-3)


def test_two_promises_the_sums_first() -> None:
    certificate = shuffle(TWO).certificate("replayable")
    joint, local = certificate.promises
    assert joint.true.trust == "shuffle" and local.true.trust == "local"
    assert joint.true.epsilon == pytest.approx(1.0, rel=1e-3) and joint.true.epsilon <= 1 and joint.true.delta == 1e-6
    flip = certificate.mechanisms[0]["flip"]
    assert local.true.epsilon == pytest.approx(10 * math.log((1 - flip) / flip)) and local.true.pure
    assert Certificate.from_json(certificate.as_json()) == certificate
    text = str(certificate)
    assert "sums of full batches" in text and "at least 200 of the 200 people of a batch are honest" in text


def test_the_promise_is_the_loss_of_the_bits_that_are_really_flipped() -> None:
    privatizer = shuffle(TWO, calibration="tight")
    (device,) = privatizer.devices
    assert isinstance(device, RandomizedResponse)
    loss = shuffled_loss((Crowd(device.flip, 200),), round(bit_sensitivity(privatizer.question).l1))
    assert loss.epsilon(1e-6) == pytest.approx(privatizer.guarantee.epsilon, rel=1e-9)


def test_tight_never_adds_more_noise_than_sound() -> None:
    for horizon in (1, 2, 5):
        question = CountQuestion(Spec(2, 2, horizon), last=DROPPED)
        sound, tight = (shuffle(question, calibration=calibration) for calibration in ("sound", "tight"))
        noises = [backup_variance(made.question, made.devices[0]) for made in (tight, sound)]
        assert noises[0] <= noises[1]
    assert noises[0] < 0.9 * noises[1] and tight.question.parts == (REWARDS, TRANSITIONS)


@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
def test_a_sampled_step_has_its_own_accounting(model: str) -> None:
    question = CountQuestion(Spec(2, 2, 4, model))
    privatizer = shuffle(question, batch=2000, users=4000, calibration="tight", mechanism="shuffled-step")
    (device,), (crowd,) = privatizer.devices, privatizer.mechanism.crowds
    assert isinstance(device, SampledStep) and device.miss == pytest.approx(crowd.flip)
    assert privatizer.local_guarantee.epsilon == pytest.approx(device.epsilon)
    assert privatizer.guarantee.epsilon == pytest.approx(1.0, rel=1e-3)
    if model == STATIONARY:
        assert crowd.people == 2000 and privatizer.mechanism.missing == 0
    else:  # as many as surely draw the same step, but for a part of delta
        missing = privatizer.mechanism.missing
        assert 0 < missing < 1e-6
        assert 1 - stats.binom.sf(crowd.people - 2, 1999, 1 / 4) <= missing
        assert crowd.people > 300
    # Far fewer bits may change, so devices keep far more by themselves.
    whole = shuffle(question, batch=2000, users=4000, calibration="tight", mechanism="shuffled-bits")
    assert (privatizer.local_guarantee.epsilon or 0) < 0.5 * (whole.local_guarantee.epsilon or 0)


def test_honest_people_are_what_hides() -> None:
    some, all_of_them = shuffle(TWO, honest=0.5), shuffle(TWO)
    half = shuffle(TWO, batch=100, users=1000)
    assert some.devices == half.devices
    assert shuffle(TWO, honest=100).devices == half.devices
    left = all_of_them.remaining(100)
    assert left.trust == "shuffle" and 1.2 < (left.epsilon or 0) < 2.0
    assert all_of_them.remaining(200).epsilon == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(PrivacyError, match=r"assumes 200 honest people a batch. With 100 what is left is \(1\."):
        all_of_them.require_honest(100)
    all_of_them.require_honest(200)


def test_alone_only_the_device_is_left() -> None:
    privatizer = shuffle(TWO, batch=20, users=200)
    left = privatizer.remaining(1)
    alone = privatizer.local_guarantee
    assert (left.epsilon or 0) <= (alone.epsilon or 0)


def test_a_tree_charges_every_level() -> None:
    plain, tree = shuffle(TWO, batch=50, users=400), shuffle(TWO, batch=50, users=400, tree=True)
    assert len(plain.devices) == 1 and len(tree.devices) == 4  # 8 base batches
    crowds = tree.mechanism.crowds
    assert [crowd.people for crowd in crowds] == [50, 100, 200, 400]
    assert tree.guarantee.epsilon == pytest.approx(1.0, rel=1e-3)
    assert crowds[0].variance > 3.5 * plain.mechanism.crowds[0].variance
    assert tree.local_guarantee.epsilon == pytest.approx(10 * sum(crowd.bit_epsilon for crowd in crowds))
    # After 7 batches three nodes count, after 8 one.
    seven, eight = tree.radii(350, 0.1)[3], tree.radii(400, 0.1)[3]
    assert seven / eight == pytest.approx(math.sqrt(3), rel=0.05)


# The paper's protocol.


def paper(promise: Guarantee = PROMISE, **mixing: Any) -> LocalPrivatizer:
    made = design(TWO, promise, Schedule.every(10**6), "paper", mixing=Mixing(2, **mixing))
    assert isinstance(made, LocalPrivatizer)
    return made


def test_the_papers_protocol_promises_locally_only_and_says_why() -> None:
    privatizer = paper(local_epsilon=6.0, burn_in=1000)
    certificate = privatizer.certificate("replayable")
    (promise,) = certificate.promises
    assert promise.true == Local(6.0 * 10 / 12) and promise.nominal == Local(6.0)
    assert certificate.calibration == "paper"
    assert "differ by exactly one person's report" in certificate.assumptions[0]
    assert Certificate.from_json(certificate.as_json()) == certificate


def test_the_papers_noise_is_that_of_proposition_five() -> None:
    privatizer = paper(burn_in=10**6)
    device = privatizer.mechanism
    assert isinstance(device, RandomizedResponse)
    assert claimed_epsilon(device.flip, 10**6, 2, 1e-6) == pytest.approx(1.0, rel=1e-6)
    assert claimed_epsilon(device.flip * 0.99, 10**6, 2, 1e-6) > 1.0


def test_proposition_five_is_vacuous_for_all_practical_sizes() -> None:
    assert claimed_epsilon(0.25, 10**6, 2, 1e-6) > 10
    assert claimed_epsilon(0.25, 1, 2, 1e-6) == math.inf


@pytest.mark.parametrize(
    ("mixing", "reason"),
    [
        ({"burn_in": 1000}, "for no noise after a burn-in of 1000 people. It needs about"),
        ({"local_epsilon": 5.0, "reward_bits": 2}, "about one reward bit"),
        ({"local_epsilon": 0.5}, "shuffling adds nothing"),
    ],
)
def test_where_the_paper_says_nothing(mixing: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        paper(**mixing)


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
    privatizer = shuffle(question, Shuffle(8.0, 1e-3), batch, 230, **choices)
    people = [walk(question.spec, rng) for _ in range(230)]
    _, release = play(privatizer, people, noise)
    assert release is not None and release.users == 180  # the short last batch is held
    counted = privatizer.question.having(levels=1)
    errors = worst_errors(release.counts, exact(counted, people[:180]))
    assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))
    assert any(error > bound / 8 for error, bound in zip(errors, release.radius, strict=True))
    np.testing.assert_allclose(release.radius, privatizer.radii(230, 0.01))


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
    levels = [level for level, _ in privatizer.report(people[0], 0, ReplayableNoise(1), simulated=True)]
    assert levels == [0, 1, 2]
    assert [level for level, _ in privatizer.report(people[0], 5, ReplayableNoise(1), simulated=True)] == [1]


def test_devices_flip_as_often_as_is_said() -> None:
    """Secure noise: accepts the true flip probability, rejects two thirds and three halves of it."""
    privatizer, person = shuffle(TWO), Trajectory(np.array([0, 1, 1]), np.array([1, 0]), np.array([1.0, 0.0]))
    device, noise = privatizer.devices[0], SecureNoise()
    assert isinstance(device, RandomizedResponse)
    clear = count(privatizer.question, person, np.array([1, 0]))
    reports = [privatizer.report(person, 0, noise)[0][1].report.cells for _ in range(1500)]
    # Transitions are one bit each, of which one is set.
    where = privatizer.question.slices[TRANSITIONS]
    flips = int(sum(np.abs(cells[where] - clear[where]).sum() for cells in reports))
    trials = len(reports) * (where.stop - where.start)
    for scale in (1.0, 2 / 3, 1.5):
        accepted = stats.binomtest(flips, trials, scale * device.flip).pvalue > FALSE_ALARM
        assert accepted == (scale == 1.0)


def test_replayable_noise_is_refused_for_people() -> None:
    person = Trajectory(np.zeros(3, dtype=int), np.zeros(2, dtype=int), np.zeros(2))
    with pytest.raises(UnsafeNoise, match="a person's report must draw secure noise"):
        shuffle(TWO).report(person, 0, ReplayableNoise(1))


# What is refused.


@pytest.mark.parametrize(
    ("mixing", "reason"),
    [
        ({"batch": 1}, "A batch of one hides nobody"),
        ({"batch": 0}, "batch must be a whole number"),
        ({"batch": 10, "honest": 0.0}, "honest must be positive"),
        ({"batch": 10, "honest": 11}, "honest must be at most the batch of 10"),
        ({"batch": 10, "honest": 0.15}, "One alone is not hidden"),
        ({"batch": 10, "reward_bits": 0}, "reward_bits must be a whole number of at least 1"),
        ({"batch": 10, "local_epsilon": -1.0}, "local_epsilon must be positive"),
        ({"batch": 10, "burn_in": -1}, "burn_in must be"),
    ],
)
def test_impossible_mixings(mixing: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        Mixing(**mixing)


def test_a_batch_that_is_too_small_is_answered_with_the_smallest_that_works() -> None:
    least = smallest_batch(TWO, PROMISE, 15.0)
    with pytest.raises(
        InvalidInput, match=rf"batch of 200 people is too small .* The smallest that works is {least:,}\."
    ):
        shuffle(TWO, local_epsilon=15.0)
    assert shuffle(TWO, batch=least, users=9999, local_epsilon=15.0).local_guarantee.epsilon == pytest.approx(15.0)
    with pytest.raises(InvalidInput, match="too small"):
        shuffle(TWO, batch=least - 1, users=9999, local_epsilon=15.0)
    # With every second person honest, twice as many.
    assert abs(smallest_batch(TWO, PROMISE, 15.0, share=0.5) - 2 * least) <= 1


@pytest.mark.parametrize(
    ("promise", "choices", "reason"),
    [
        (Shuffle(1.0), {}, "delta must be above 0"),
        (PROMISE, {"local_epsilon": 0.9}, "shuffling adds nothing. Choose trust local"),
        (PROMISE, {"mechanism": "laplace"}, "mechanism 'laplace' is not known"),
        (PROMISE, {"mechanism": "shuffled-step", "tree": True}, "takes whole episodes"),
        (PROMISE, {"mechanism": "shuffled-step", "reward_bits": 2}, "in one bit"),
    ],
)
def test_impossible_promises(promise: Guarantee, choices: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        shuffle(TWO, promise, **choices)


def test_policies_change_only_between_batches() -> None:
    for schedule in (Schedule.every(2000), Schedule.sized(2000, 100), Schedule.growth(2000, 2.0)):
        with pytest.raises(InvalidInput, match="only between batches of 200 people"):
            design(TWO, PROMISE, schedule, "sound", mixing=Mixing(200))
    with pytest.raises(InvalidInput, match="shuffle with a batch"):
        design(TWO, PROMISE, Schedule.sized(2000, 200))
