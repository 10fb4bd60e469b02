from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from confide import privacy
from confide.errors import InvalidInput, PrivacyError, UnsafeNoise
from confide.mdp.critic import Critic
from confide.mdp.linear import BlockFeatures, LinearFeatures
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.privatizers.gram import WORTH_SHARE, GramPrivatizer, WorthPrivatizer, design_gram
from confide.questions.gram import VALUE, VARIANCE, GramForm, GramQuestion
from confide.statistics.gram import LoggedSteps, price
from confide.statistics.points import LoggedPoints, StepPoints

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
        assert not privacy.keeps(made.noise.scaled(0.999).loss(made.act.sensitivity), promise)
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
    assert design_gram(whole.noise.form, promise, "sound").noise.sizes == whole.noise.sizes  # sound as it is


def drawn_sizes(made: GramPrivatizer, draws: int) -> tuple[np.ndarray, np.ndarray]:
    asked, noise = made.noise.form, SecureNoise()
    number = len(asked.questions) - 2  # a variance question
    answers = [made.answer(question(asked, number), number, nothing(), noise) for _ in range(draws)]
    return np.array([a.matrix[0] for a in answers]), np.array([a.vectors[:, 0] for a in answers])


def consistent(squares: float, count: int) -> bool:
    """Whether a sum of `count` squares of standard normals may be that large."""
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], count)
    return low < squares < high


def test_noise_of_the_priced_size_is_drawn_and_no_other_passes():
    made = design_gram(form(), privacy.Central(rho=0.5))
    size, sizes = made.noise.sizes[-2]
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


def test_questions_are_answered_as_priced_or_not_at_all():
    made = design_gram(form(), privacy.Central(rho=0.5))
    asked = made.noise.form
    with pytest.raises(PrivacyError, match="priced"):
        made.answer(question(asked, 1), 0, nothing(), SecureNoise())
    with pytest.raises(PrivacyError, match="priced"):
        made.answer(question(form(), 0), 0, nothing(), SecureNoise())
    with pytest.raises(UnsafeNoise):
        made.answer(question(asked, 0), 0, nothing(), ReplayableNoise(0))
    step, kind = asked.questions[2]
    assert kind == VALUE
    wide = GramQuestion(asked, step, kind, Critic(np.ones((1, SIZE)), np.zeros((1, SIZE, SIZE)), 0.0, 0.0, 0.0, 99.0))
    with pytest.raises(PrivacyError, match="nothing was answered"):
        made.answer(wide, 2, nothing(), SecureNoise())


def test_refusals():
    with pytest.raises(InvalidInput, match="delta"):
        design_gram(form(), privacy.Central(epsilon=1))
    with pytest.raises(InvalidInput, match="central"):
        design_gram(form(), privacy.Joint(epsilon=1, delta=1e-6))


def test_each_half_keeps_the_promise_exactly():
    """With a split neither half need be noisier than its own promise asks for, and each is less noisy than without."""
    promise = privacy.Central(rho=0.5)
    whole, halves = (design_gram(form(split=split, centred=True), promise) for split in (False, True))
    for kind in (VARIANCE, VALUE):
        total = sum(
            price(halves.noise.form, step, one, *size)
            for (step, one), size in zip(halves.noise.form.questions, halves.noise.sizes, strict=True)
            if one == kind
        )
        assert total == pytest.approx(2 * 0.5, rel=1e-3)
    assert all(h < w for (h, _), (w, _) in zip(halves.noise.sizes, whole.noise.sizes, strict=True))


def test_noise_stays_inside_the_blocks():
    features = BlockFeatures(actions=3, width=2, bound=1.0)
    asked = GramForm(features, HORIZON)
    made = design_gram(asked, privacy.Central(rho=0.5))
    empty = StepPoints(*(np.empty(shape, dtype=np.int32) for shape in ((0, 2), 0, 0)), np.empty(0, dtype=bool))
    answer = made.answer(
        GramQuestion(asked, *asked.questions[0]), 0, LoggedPoints(features, (empty,) * HORIZON), SecureNoise()
    )
    assert answer.matrix.shape == (3, 2, 2) and answer.vectors.shape == (1, 3, 2)
    assert (answer.matrix != 0).all()
    assert (
        made.noise.sizes
        == design_gram(GramForm(LinearFeatures(np.zeros((1, 3, 2))), HORIZON), privacy.Central(rho=0.5)).noise.sizes
    )


def test_what_people_earned_is_priced_by_its_share_and_drawn_so():
    promise = privacy.Central(rho=0.5)
    made = WorthPrivatizer.of(form(), promise)
    assert privacy.rho_of(made.act.loss) == pytest.approx(WORTH_SHARE * 0.5)
    assert made.act.sensitivity.l2 == pytest.approx(math.sqrt(2) * HORIZON)
    first = Critic(np.zeros((1, SIZE)), np.zeros((1, SIZE, SIZE)), 0.0, 0.0, 0.0, float(HORIZON))
    told = [made.answer(first, nothing(), SecureNoise()) for _ in range(300)]
    sample = np.array([[one.returned, one.promised] for one in told]) / told[0].noise
    assert consistent(float((sample**2).sum()), sample.size)
    for factor in (2 / 3, 3 / 2):
        assert not consistent(float(((factor * sample) ** 2).sum()), sample.size)
    with pytest.raises(UnsafeNoise):
        made.answer(first, nothing(), ReplayableNoise(0))
