"""Every calibration, mechanism and trust keeps its guarantee; papers' constants are certified for what they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confide.errors import InvalidInput, PrivacyError, UnknownName
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.mechanisms.counter import LARGEST_TOTAL
from confide.mechanisms.laplace import Laplace
from confide.privacy import Central, Guarantee, Joint, Local, NoPrivacy, Schedule, Shuffle, keeps
from confide.privacy.conversion import gaussian_mu
from confide.protocol.design import Design
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds import find as reading
from confide.protocol.kinds.counts import CENTRED, COUNTED, DROPPED, END, REWARDS, SQUARES, TRANSITIONS, VISITS
from confide.protocol.kinds.sensitivity import sensitivity
from confide.protocol.papers import PRINTED
from confide.protocol.trusts import joint, local
from tests.refusals import refused

from .making import design

CLASSIC = (VISITS, REWARDS, TRANSITIONS)
PARTS = [CLASSIC, (VISITS, REWARDS, SQUARES, TRANSITIONS), (CENTRED, TRANSITIONS), (VISITS, CENTRED, TRANSITIONS)]
QUICK = [("local", name) for name in local.MECHANISMS if name != "bounded"] + [
    *(("joint", name) for name in joint.MECHANISMS),
    *(("central", name) for name in ("laplace", "gaussian")),
]

EPSILONS = st.floats(1e-3, 1e4)
PROMISES = st.one_of(
    st.tuples(EPSILONS, st.just(0.0), st.none()),
    st.tuples(EPSILONS, st.floats(1e-12, 0.3), st.none()),
    st.tuples(st.none(), st.just(0.0), st.floats(1e-5, 100)),
)
QUESTIONS = st.builds(
    CountQuestion,
    st.builds(Spec, st.integers(1, 8), st.integers(1, 4), st.integers(1, 30), st.sampled_from([STATIONARY, PER_STEP])),
    st.sampled_from(PARTS),
    st.sampled_from([COUNTED, DROPPED, END]),
    st.sampled_from([1, 2, 3, 10, 49]),
)


def refusable(promise: Guarantee, mechanism: str, question: CountQuestion) -> bool:
    """Whether no noise of this kind exists for the guarantee or the question."""
    gaussian = mechanism in ("gaussian", "tree-gaussian", "toeplitz", "buffered-toeplitz")
    bits = mechanism == "randomised-response" and (question.levels > 1 or CENTRED in question.parts)
    return (gaussian and promise.pure) or bits


def backup_variance(made: Design) -> float:
    """What one person's noise adds to a backed-up value."""
    return reading(made.question.kind).backup_variance(made.question, made.mechanism)


def size(made: Design) -> float:
    """The noise parameter of a mechanism, as one that grows with the noise."""
    document = made.act.mechanism.describe()
    if "bit_epsilon" in document:
        return 1 / float(document["bit_epsilon"])
    return float(document.get("scale") or document.get("sigma") or 0.0)


@settings(max_examples=150)
@given(QUESTIONS, st.sampled_from(QUICK), PROMISES, st.sampled_from(["sound", "tight"]), st.integers(1, 3000))
def test_what_is_designed_keeps_its_promise(
    question: CountQuestion,
    where: tuple[str, str],
    amounts: tuple[float | None, float, float | None],
    calibration: str,
    releases: int,
) -> None:
    trust, mechanism = where
    promise = Guarantee(trust, *amounts)
    schedule = Schedule.batches(10_000, releases)
    try:
        made = design(question, promise, schedule, calibration, mechanism)
    except InvalidInput:
        assert refusable(promise, mechanism, question)
        return
    assert keeps(made.act.loss, promise)
    truth = made.guarantee
    if promise.rho is not None:
        assert truth.rho is not None
        assert truth.rho <= promise.rho
    else:
        assert truth.epsilon is not None
        assert promise.epsilon is not None
        assert truth.epsilon <= promise.epsilon * (1 + 1e-8)
    assert made.certificate("opendp").guarantee == truth


@settings(max_examples=150)
@given(QUESTIONS, st.sampled_from(QUICK), PROMISES, st.integers(1, 3000))
def test_tight_never_draws_more_noise_than_sound(
    question: CountQuestion, where: tuple[str, str], amounts: tuple[float | None, float, float | None], releases: int
) -> None:
    """At the same mechanism, on the questions that the papers' learners ask."""
    trust, mechanism = where
    promise = Guarantee(trust, *amounts)
    if refusable(promise, mechanism, question) or CENTRED in question.parts:
        return
    schedule = Schedule.batches(10_000, releases)
    sound, tight = (design(question, promise, schedule, kind, mechanism) for kind in ("sound", "tight"))
    assert size(tight) <= size(sound) * (1 + 1e-9)


@settings(max_examples=20)
@given(QUESTIONS, PROMISES)
def test_auto_takes_the_least_noise_of_what_it_may_choose(
    question: CountQuestion, amounts: tuple[float | None, float, float | None]
) -> None:
    promise = Guarantee("local", *amounts)
    chosen = design(question, promise, Schedule.every(10))
    assert keeps(chosen.act.loss, promise)
    for name in local.MECHANISMS:
        if name == "bounded" or (name == "gaussian" and promise.pure) or (name != "gaussian" and promise.rho):
            continue
        other = design(question, promise, Schedule.every(10), mechanism=name)
        assert backup_variance(chosen) <= backup_variance(other)


def test_auto_samples_steps_at_small_epsilon_and_tells_everything_at_large() -> None:
    question = CountQuestion(Spec(6, 2, 20), CLASSIC, DROPPED)
    names = [design(question, Local(epsilon), Schedule.every(10)).act.mechanism.name for epsilon in (0.5, 1.0, 1000.0)]
    assert names[0].startswith("sampled-")
    assert names[1].startswith("sampled-")
    assert not names[2].startswith("sampled-")  # sampling errs however large epsilon is
    assert design(question, Local(1.0, 1e-6), Schedule.every(10)).act.mechanism.name != "discrete-laplace"
    assert design(question, Local(rho=0.1), Schedule.every(10)).act.mechanism.name == "discrete-gaussian"


def test_what_central_auto_takes() -> None:
    question = CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED)
    assert design(question, Joint(1.0), Schedule.every(100)).act.mechanism.name == "tree-laplace"
    assert design(question, Joint(1.0, 1e-6), Schedule.every(100)).act.mechanism.name == "toeplitz"
    many = design(question, Joint(1.0, 1e-6), Schedule.every(10**6)).act.mechanism
    assert "buffered" in many.name


# The forms of a question.


@pytest.mark.parametrize("mechanism", ["unary", "k-ary", "randomised-response", "laplace", "gaussian"])
def test_squares_are_derived_from_rewards_of_0_and_1_only(mechanism: str) -> None:
    """Tight asks for no squares; with more levels than one they could not be derived from rewards."""
    question = CountQuestion(Spec(2, 2, 2), (VISITS, REWARDS, SQUARES, TRANSITIONS), DROPPED, 5)
    asked = design(question, Local(1.0, 1e-6), Schedule.every(10), mechanism=mechanism).question
    assert SQUARES not in asked.counts.parts
    assert asked.counts.levels == 1
    plain = design(question.having(parts=CLASSIC), Local(1.0, 1e-6), Schedule.every(10), mechanism="laplace").question
    assert plain.levels == 5


@pytest.mark.parametrize("calibration", ["sound", "tight"])
@pytest.mark.parametrize("mechanism", ["unary", "k-ary"])
def test_sampled_steps_are_asked_in_the_one_form_they_know(calibration: str, mechanism: str) -> None:
    question = CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED, 7)
    asked = design(question, Local(1.0), Schedule.every(10), calibration, mechanism).question
    assert (asked.counts.last, asked.counts.levels) == (COUNTED, 1)
    end = design(question.having(last=END), Local(1.0), Schedule.every(10), calibration, mechanism).question
    assert end.counts.last == END


def test_bits_are_not_made_of_halves_or_levels() -> None:
    for changes in ({"parts": (CENTRED, TRANSITIONS)}, {"levels": 3}):
        question = CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED).having(**changes)
        with refused("response-needs-bits"):
            design(question, Local(1.0), Schedule.every(10), "sound", "randomised-response")
        tight = design(question, Local(1.0), Schedule.every(10), "tight", "randomised-response").question
        assert (tight.parts, tight.levels) == (CLASSIC, 1)


# The papers.


def printed(
    paper: str, promise: Guarantee, mechanism: str, question: CountQuestion, users: int, kind: str, printing: str = ""
) -> Design:
    return design(question, promise, Schedule.every(users), kind, mechanism, paper, printing=printing)


ROWS = [
    row
    for row in PRINTED
    if row.trust != "central" and row.mechanism != "bounded" and (row.mechanism != "gaussian" or row.printing)
]
"""What `sound` raises. Bounded noise as printed has two sizes, and of two printings `sound` takes the other: test_papers."""
PER_STEP_CLASSIC = CountQuestion(Spec(6, 2, 20, PER_STEP), CLASSIC, COUNTED)
POOLED_DROPPED = CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED)


def test_private_ucb_local_gives_twice_what_it_says() -> None:
    made = printed("private-ucb", Local(1.0), "laplace", PER_STEP_CLASSIC, 50_000, "paper")
    assert size(made) == 60
    assert made.guarantee.epsilon == 2.0
    sound = printed("private-ucb", Local(1.0), "laplace", PER_STEP_CLASSIC, 50_000, "sound")
    assert size(sound) == 120
    tight = printed("private-ucb", Local(1.0), "laplace", PER_STEP_CLASSIC, 50_000, "tight")
    assert size(tight) == 60


@pytest.mark.parametrize("paper", ["private-ucb", "pucb"])
def test_the_papers_trees_give_twice_what_they_say_and_more(paper: str) -> None:
    made = printed(paper, Joint(1.0), "tree-laplace", PER_STEP_CLASSIC, 50_000, "paper")
    assert made.guarantee.epsilon == pytest.approx(2.05, abs=0.005)
    assert size(made) == pytest.approx(60 * math.log2(50_000))
    assert size(printed(paper, Joint(1.0), "tree-laplace", PER_STEP_CLASSIC, 50_000, "sound")) == 120 * 16


def test_ldp_obi() -> None:
    """Laplace and randomised response are sound, and loose by 6H/(6H-2); the Gaussian of the proof is not sound."""
    laplace = printed("ldp-obi", Local(1.0), "laplace", POOLED_DROPPED, 1000, "paper")
    assert laplace.guarantee.epsilon == pytest.approx(10 / 12)
    assert size(printed("ldp-obi", Local(1.0), "laplace", POOLED_DROPPED, 1000, "sound")) == size(laplace) == 12
    bits = printed("ldp-obi", Local(1.0), "randomised-response", POOLED_DROPPED, 1000, "paper")
    assert bits.guarantee.epsilon == pytest.approx(10 / 12)
    gaussian = printed("ldp-obi", Local(20.0, 0.1), "gaussian", POOLED_DROPPED, 1000, "paper", "proof")
    assert gaussian.act.loss.delta(20.0) == pytest.approx(0.986, abs=1e-3)
    mended = printed("ldp-obi", Local(20.0, 0.1), "gaussian", POOLED_DROPPED, 1000, "sound")
    assert size(mended) == pytest.approx(math.sqrt(18) / gaussian_mu(20.0, 0.1), rel=1e-3)
    assert keeps(mended.act.loss, Local(20.0, 0.1))


def test_ldp_psrl() -> None:
    question = CountQuestion(Spec(2, 2, 2), (VISITS, REWARDS, SQUARES, TRANSITIONS), DROPPED)
    assert printed("ldp-psrl", Local(1.0), "laplace", question, 1000, "paper").guarantee.epsilon == pytest.approx(
        14 / 16
    )


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.paper}-{row.mechanism}{row.printing and '-' + row.printing}"
)
@settings(max_examples=20)
@given(EPSILONS, st.floats(1e-9, 0.2), st.integers(1, 30), st.integers(1, 10**6))
def test_sound_is_the_paper_raised_until_it_is_true(
    row: Any, epsilon: float, delta: float, horizon: int, users: int
) -> None:
    promise = Guarantee(row.trust, epsilon, delta if row.mechanism == "gaussian" else 0.0)
    question = CountQuestion(Spec(2, 2, horizon, PER_STEP), CLASSIC, COUNTED)
    paper, sound = (
        printed(row.paper, promise, row.mechanism, question, users, kind, row.printing) for kind in ("paper", "sound")
    )
    assert keeps(sound.act.loss, promise)
    assert size(sound) >= size(paper)
    if keeps(paper.act.loss, promise):
        assert size(sound) == pytest.approx(size(paper), rel=1e-12)
    certificate = paper.certificate("replayable")
    assert certificate.promises[0].nominal == promise
    assert certificate.guarantee == paper.guarantee


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.paper}-{row.mechanism}{row.printing and '-' + row.printing}"
)
def test_papers_radii_are_finite_positive_and_larger_for_more_noise(row: Any) -> None:
    promise = Guarantee(row.trust, 1.0, 1e-6 if row.mechanism == "gaussian" else 0.0)
    question = CountQuestion(Spec(3, 2, 4, PER_STEP), CLASSIC, COUNTED)
    paper, sound = (
        printed(row.paper, promise, row.mechanism, question, 1000, kind, row.printing) for kind in ("paper", "sound")
    )
    people = np.array([1, 1000])
    small, large = paper.radii(people), sound.radii(people)
    assert np.isfinite(small).all()
    assert (small > 0).all()
    assert (large >= small).all()


# Very many people.


@pytest.mark.parametrize("mechanism", ["auto", "tree-laplace", "tree-gaussian", "toeplitz", "buffered-toeplitz"])
@pytest.mark.parametrize("model", [STATIONARY, PER_STEP])
@pytest.mark.parametrize("users", [10**6, 10**9, 10**11])
def test_no_total_can_outgrow_its_counter(mechanism: str, model: str, users: int) -> None:
    """A counter refuses totals beyond a limit; whether it does must not depend on what people do."""
    question, promise = CountQuestion(Spec(6, 2, 20, model), CLASSIC, DROPPED), Joint(1.0, 1e-6)
    made = design(question, promise, Schedule.batches(users, 5000), mechanism=mechanism)
    largest = users * (20 if model == STATIONARY else 1) / made.mechanism.grid
    assert largest <= LARGEST_TOTAL
    assert keeps(made.act.loss, promise)


def test_more_people_than_can_be_counted_are_refused_beforehand() -> None:
    question = CountQuestion(Spec(2, 2, 20), CLASSIC, DROPPED, levels=100)
    with refused("joint-too-many-people"):
        design(question, Joint(1.0), Schedule.batches(10**14, 10))


# Refusals.


@pytest.mark.parametrize(
    ("promise", "arguments", "error", "sentence"),
    [
        (Shuffle(1.0, 1e-6), {}, InvalidInput, "batch-unsaid"),
        (Local(1.0), {"calibration": "loose"}, UnknownName, "unknown-name: calibration"),
        (Local(1.0), {"mechanism": "toeplitz"}, UnknownName, "unknown-name: mechanism"),
        (Local(1.0), {"mechanism": "laplase"}, UnknownName, "unknown-name: mechanism"),
        (Joint(1.0), {"mechanism": "laplace"}, UnknownName, "unknown-name: mechanism"),
        (Local(1.0), {"mechanism": "gaussian"}, InvalidInput, "gaussian-needs-delta"),
        (Local(1.0), {"mechanism": "bounded"}, InvalidInput, "bounded-noise-guarantee"),
        (Local(rho=1.0), {"mechanism": "bounded"}, InvalidInput, "bounded-noise-guarantee"),
        (Joint(1.0), {"mechanism": "toeplitz"}, InvalidInput, "gaussian-needs-delta"),
        (Joint(1.0), {"mechanism": "tree-gaussian"}, InvalidInput, "gaussian-needs-delta"),
        (
            Local(1.0),
            {"calibration": "paper", "mechanism": "unary"},
            InvalidInput,
            "paper-without-noise",
        ),
        (Local(1.0), {"calibration": "paper"}, InvalidInput, "paper-without-noise"),
        (
            Joint(1.0, 1e-6),
            {"calibration": "paper", "mechanism": "toeplitz"},
            InvalidInput,
            "paper-without-noise",
        ),
        (
            Local(rho=1.0),
            {"calibration": "paper", "paper": "ldp-obi"},
            InvalidInput,
            "paper-needs-epsilon",
        ),
        (
            Local(1.0),
            {"calibration": "paper", "paper": "ldp-obi", "mechanism": "gaussian"},
            InvalidInput,
            "gaussian-needs-delta",
        ),
    ],
)
def test_what_cannot_be_designed_is_refused(
    promise: Guarantee, arguments: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with refused(sentence) as caught:
        design(CountQuestion(Spec(2, 2, 2)), promise, Schedule.every(10), **arguments)
    assert type(caught.value) is error


def test_a_design_that_does_not_keep_its_promise_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong inside, the loss of the finished act is compared with the guarantee."""
    monkeypatch.setattr(local, "settled", lambda size, good, towards: size / 2)
    for promise in (Local(1.0), Joint(1.0)):
        with pytest.raises(PrivacyError, match="failed to keep"):
            design(CountQuestion(Spec(2, 2, 2)), promise, Schedule.every(10), "sound")


def test_the_act_prices_the_question_that_is_asked() -> None:
    for trust in (Local, Joint, Central):
        made = design(CountQuestion(Spec(3, 2, 5), CLASSIC, DROPPED), trust(1.0, 1e-6), Schedule.every(50))
        assert made.act.sensitivity == made.question.price()
    assert made.act.sensitivity == sensitivity(made.question)
    laplace = design(CountQuestion(Spec(3, 2, 5), CLASSIC, DROPPED), Local(2.0), Schedule.every(50), "sound")
    assert laplace.act.mechanism == Laplace(28 / 2, 1.0)


def test_without_a_promise_counts_are_told_as_they_are() -> None:
    made = design(CountQuestion(Spec(3, 2, 5), CLASSIC, DROPPED), NoPrivacy(), Schedule.every(50))
    assert made.guarantee == NoPrivacy() and made.calibration == "none"
    assert not made.radii(np.array([1, 50])).any()
    assert made.act.loss.epsilon(0.0) == math.inf  # and nothing else is claimed


# Radii, in tables.


@pytest.mark.parametrize("promise", [Local(1.0), Joint(1.0)], ids=str)
def test_tabulated_errors_are_those_that_are_computed_or_a_little_more(
    promise: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond this many releases radii are tabulated; between two points those of the larger hold."""
    monkeypatch.setattr("confide.protocol.design.RADIUS_POINTS", 64)
    question = CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED)
    short, long = (design(question, promise, Schedule.every(users)) for users in (30, 300))
    for people in (1, 7, 30):
        radii, noise = short.errors_at(people)
        np.testing.assert_array_equal(radii, short.radii(people))
        assert noise.own == float(promise.trust == "local")
    everything = long.radii(np.arange(1, 301))
    for people in (3, 127, 200, 255, 299):
        result, noise = long.errors_at(people)
        np.testing.assert_array_equal(noise, long.kind.noise(long.question, long.law(people)))
        assert (result >= everything[people - 1]).all()
        assert (result <= everything[: people + 30].max(axis=0)).all()


def test_the_failure_is_shared_among_releases_but_for_the_papers_radii() -> None:
    question = CountQuestion(Spec(2, 2, 2), CLASSIC, DROPPED)
    ours = design(question, Local(1.0), Schedule.every(50), failure=0.2)
    assert ours.release_failure == pytest.approx(0.2 / 50)
    np.testing.assert_array_equal(ours.radii(9), ours.radii(9, 0.2 / 50))
    theirs = design(question, Local(1.0), Schedule.every(50), "paper", "laplace", "ldp-obi", failure=0.2)
    assert theirs.release_failure == 0.2
