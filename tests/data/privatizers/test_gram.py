from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from confide import privacy
from confide.data.privatizers import open_aggregate
from confide.data.statistics.gram import Logged, LoggedSteps
from confide.data.statistics.points import LoggedPoints, StepPoints
from confide.errors import InvalidInput, PrivacyError, UnsafeNoise
from confide.mdp.critic import Critic
from confide.mdp.linear import BlockFeatures, LinearFeatures
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.protocol.design import Design
from confide.protocol.kinds.gram import VALUE, VARIANCE, GramForm, GramQuestion, cost
from confide.protocol.kinds.values import ValuesForm
from tests.protocol.making import design
from tests.refusals import refused

FALSE_ALARM = 1e-7
"""Of each test of the noise's size, which draws from the operating system."""

HORIZON, STATES, ACTIONS, SIZE = 4, 2, 2, 3


def form(**options) -> GramForm:
    rng = np.random.default_rng(0)
    phi = rng.random((STATES, ACTIONS, SIZE))
    phi[..., -1] = 1.0
    return GramForm(LinearFeatures.declared(phi), HORIZON, **options)


def nothing(groups: int = 1) -> LoggedSteps:
    return LoggedSteps(
        form().features,
        np.zeros((groups, HORIZON, STATES, ACTIONS, STATES), dtype=np.int64),
        np.zeros((groups, HORIZON, STATES, ACTIONS), dtype=np.int64),
        (0,) * groups,
    )


def question(asked: GramForm, number: int) -> GramQuestion:
    step, kind = asked.questions[number]
    return GramQuestion(asked, step, kind)


def design_gram(asked: GramForm, promise: privacy.Guarantee, calibration: str = "tight") -> Design:
    return design(asked, promise, privacy.Schedule.every(1), calibration)


def answered(made: Design, number: int, logged: Logged, noise: NoiseSource):
    """The answer to a question, after all questions before it were asked."""
    aggregate = open_aggregate(made, noise)
    aggregate.take_sum(logged)
    for earlier in range(number):
        aggregate.close(question(made.question, earlier))
    return aggregate.close(question(made.question, number))


@pytest.mark.parametrize("calibration", ["sound", "tight"])
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("promise", [privacy.Central(rho=0.5), privacy.Central(epsilon=1, delta=1e-6)])
def test_the_promise_is_kept_and_in_tight_exactly(calibration, split, promise):
    if calibration == "sound" and promise.rho is None:
        with pytest.raises(InvalidInput, match="Give rho"):
            design_gram(form(split=split), promise, calibration)
        return
    made = design_gram(form(split=split, centred=calibration == "tight"), promise, calibration)
    assert privacy.keeps(made.act.loss, promise)
    if calibration == "tight":
        assert not privacy.keeps(made.mechanism.scaled(0.999).loss(made.act.sensitivity), promise)
    assert made.certificate("opendp").guarantee.trust == "central"


def test_the_papers_noise_at_twenty_steps_keeps_nine_tenths_of_its_promise():
    """The published noise, with H^4 for the squares: 0.89 rho without splitting, about half of that with it."""
    phi = np.random.default_rng(0).random((2, 3, 10))
    promise = privacy.Central(rho=1.0)
    whole = design_gram(GramForm(LinearFeatures.declared(phi), 20), promise, "paper")
    halves = design_gram(GramForm(LinearFeatures.declared(phi), 20, split=True), promise, "paper")
    assert whole.guarantee.rho == pytest.approx(0.89, abs=0.03)
    assert halves.guarantee.rho < 0.6
    assert whole.certificate("replayable").promises[0].nominal == promise
    assert (
        design_gram(whole.mechanism.form, promise, "sound").mechanism.sizes == whole.mechanism.sizes
    )  # sound as it is


def drawn_sizes(made: Design, draws: int) -> tuple[np.ndarray, np.ndarray]:
    number = len(made.question.questions) - 2  # a variance question
    answers = [answered(made, number, nothing(), SecureNoise()) for _ in range(draws)]
    return np.array([a.matrix[0] for a in answers]), np.array([a.vectors[:, 0] for a in answers])


def consistent(squares: float, count: int) -> bool:
    """Whether a sum of `count` squares of standard normals may be that large."""
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], count)
    return low < squares < high


def test_noise_of_the_priced_size_is_drawn_and_no_other_passes():
    made = design_gram(form(), privacy.Central(rho=0.5))
    size, sizes = made.mechanism.sizes[-2]
    matrices, vectors = drawn_sizes(made, 300)
    above = np.triu_indices(SIZE, 1)
    upper = matrices[:, above[0], above[1]] / size
    diagonal = matrices[:, np.arange(SIZE), np.arange(SIZE)] / (math.sqrt(2) * size)
    assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
    samples = [upper, diagonal, vectors[:, 0] / sizes[0], vectors[:, 1] / sizes[1]]
    for sample in samples:
        assert consistent(float((sample**2).sum()), sample.size)
        for factor in (0.5, 2 / 3, 3 / 2):  # a mechanism with so much of the noise would be caught
            assert not consistent(float(((factor * sample) ** 2).sum()), sample.size)


def test_laplace_noise_of_the_priced_size_is_drawn_and_no_other_passes():
    """Sizes over their scale are exponential: twice the sum of n of them is chi-square with 2n degrees of freedom."""
    made = design_gram(form(), privacy.Central(1.0), "sound")
    size, sizes = made.mechanism.sizes[-2]
    matrices, vectors = drawn_sizes(made, 300)
    above = np.triu_indices(SIZE)
    assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
    for sample in (matrices[:, above[0], above[1]] / size, vectors[:, 0] / sizes[0], vectors[:, 1] / sizes[1]):
        total = 2 * float(np.abs(sample).sum())
        assert consistent(total, 2 * sample.size)
        assert not consistent(2 / 3 * total, 2 * sample.size) and not consistent(3 / 2 * total, 2 * sample.size)
    release = answered(made, len(made.question.questions) - 2, nothing(), SecureNoise())
    assert (release.matrix_noise, *release.vector_noise) == pytest.approx(
        tuple(math.sqrt(2) * one for one in (size, *sizes))
    )


def test_questions_are_answered_as_priced_or_not_at_all():
    made = design_gram(form(), privacy.Central(rho=0.5))
    asked = made.question

    def opened(noise=None):
        aggregate = open_aggregate(made, noise)
        aggregate.take_sum(nothing())
        return aggregate

    aggregate = opened()
    with pytest.raises(PrivacyError, match="priced"):
        aggregate.close(question(asked, 1))
    with pytest.raises(PrivacyError, match="priced"):
        aggregate.close(question(form(centred=True), 0))
    with pytest.raises(UnsafeNoise):
        opened(ReplayableNoise(0))
    aggregate.close(question(asked, 0))
    with pytest.raises(PrivacyError, match="priced"):
        aggregate.close(question(asked, 0))  # each once
    aggregate.close(question(asked, 1))
    step, kind = asked.questions[2]
    assert kind == VALUE
    wide = GramQuestion(asked, step, kind, Critic(np.ones((1, SIZE)), np.zeros((1, SIZE, SIZE)), 0.0, 0.0, 0.0, 99.0))
    with pytest.raises(PrivacyError, match="nothing was released"):
        aggregate.close(wide)
    for number in range(2, len(asked.questions)):
        aggregate.close(question(asked, number))
    with pytest.raises(PrivacyError, match="priced as None"):
        aggregate.close(question(asked, 0))


def test_a_log_is_given_once_and_never_stored():
    made = design_gram(form(), privacy.Central(rho=0.5))
    aggregate = open_aggregate(made)
    with refused("gram-incomplete"):
        aggregate.close(question(made.question, 0))
    aggregate.take_sum(nothing())
    with refused("log-twice"):
        aggregate.take_sum(nothing())
    with pytest.raises(PrivacyError, match="never stored"):
        aggregate.to_bytes()
    with pytest.raises(InvalidInput, match="a whole log"):
        aggregate.take(None)
    assert repr(aggregate) == "GramAggregate(users=0, answered=0)"


def test_if_a_draw_fails_the_question_may_be_asked_again():
    class FailingNoise(SecureNoise):
        def discrete_gaussian(self, *_):
            raise OSError("no entropy")

    made = design_gram(form(), privacy.Central(rho=0.5))
    aggregate = open_aggregate(made, FailingNoise())
    aggregate.take_sum(nothing())
    with pytest.raises(OSError, match="no entropy"):
        aggregate.close(question(made.question, 0))
    aggregate.noise = SecureNoise()
    assert aggregate.close(question(made.question, 0)).users == 0


def test_refusals():
    with pytest.raises(InvalidInput, match="delta"):
        design_gram(form(), privacy.Central(epsilon=1))
    with pytest.raises(InvalidInput, match="central"):
        design_gram(form(), privacy.Joint(epsilon=1, delta=1e-6))


def test_each_half_keeps_the_promise_exactly():
    """With a split neither half need be noisier than its own guarantee asks for, and each is less noisy than without."""
    promise = privacy.Central(rho=0.5)
    whole, halves = (design_gram(form(split=split, centred=True), promise) for split in (False, True))
    for kind in (VARIANCE, VALUE):
        total = sum(
            cost(halves.mechanism.form, step, one, *size)
            for (step, one), size in zip(halves.mechanism.form.questions, halves.mechanism.sizes, strict=True)
            if one == kind
        )
        assert total == pytest.approx(2 * 0.5, rel=1e-3)
    assert all(h < w for (h, _), (w, _) in zip(halves.mechanism.sizes, whole.mechanism.sizes, strict=True))


def test_noise_stays_inside_the_blocks():
    features = BlockFeatures(actions=3, width=2, bound=1.0)
    asked = GramForm(features, HORIZON)
    made = design_gram(asked, privacy.Central(rho=0.5))
    empty = StepPoints(*(np.empty(shape, dtype=np.int32) for shape in ((0, 2), 0, 0)), np.empty(0, dtype=bool))
    answer = answered(made, 0, LoggedPoints(features, (empty,) * HORIZON), SecureNoise())
    assert answer.matrix.shape == (3, 2, 2) and answer.vectors.shape == (1, 3, 2)
    assert (answer.matrix != 0).all()
    assert (
        made.mechanism.sizes
        == design_gram(GramForm(LinearFeatures(np.zeros((1, 3, 2))), HORIZON), privacy.Central(rho=0.5)).mechanism.sizes
    )


def test_what_people_earned_is_priced_by_its_share_and_drawn_so():
    promise = privacy.Central(rho=0.5)
    made = design(ValuesForm(form()), promise, privacy.Schedule.every(1), share=0.05)
    assert privacy.rho_of(made.act.loss) == pytest.approx(0.05 * 0.5)
    assert made.act.sensitivity.l2 == pytest.approx(math.sqrt(2) * HORIZON)
    first = Critic(np.zeros((1, SIZE)), np.zeros((1, SIZE, SIZE)), 0.0, 0.0, 0.0, float(HORIZON))

    def asked(noise: NoiseSource):
        aggregate = open_aggregate(made, noise)
        aggregate.take_sum(nothing())
        release = aggregate.close(first)
        with pytest.raises(PrivacyError, match="released once"):
            aggregate.close(first)
        return release

    results = [asked(SecureNoise()) for _ in range(300)]
    sample = np.array([[one.returned, one.predicted] for one in results]) / results[0].noise
    assert consistent(float((sample**2).sum()), sample.size)
    for factor in (2 / 3, 3 / 2):
        assert not consistent(float(((factor * sample) ** 2).sum()), sample.size)
    with pytest.raises(UnsafeNoise):
        asked(ReplayableNoise(0))
    aggregate = open_aggregate(made, SecureNoise())
    aggregate.take_sum(nothing())
    with pytest.raises(PrivacyError, match="value function"):
        aggregate.close(None)
