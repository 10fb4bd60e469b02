"""One release of a whole data set: shares that add up to the promise, noise where it must be, radii that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from confide.privatizers.once import Asked, OncePrivatizer, design_once, possible_cells

from confide.errors import InvalidInput, UnsafeNoise
from confide.mdp import Spec
from confide.mdp.knowledge import Knowledge
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.privacy import Central, Guarantee, Joint, compose, keeps, rho_of
from confide.questions import CountQuestion

PROMISES = [Central(rho=0.5), Central(rho=1e-3), Central(rho=7.0), Central(1.0, 1e-6), Central(8.0, 1e-9), Central(0.7)]
QUESTION = CountQuestion(Spec(4, 2, 20), ("centred", "transitions"), levels=16)
FIRST = CountQuestion(Spec(4, 1, 1), ("visits",))

FALSE_ALARM = 1e-6


def everything(question: CountQuestion) -> np.ndarray:
    return np.ones(question.cells, dtype=bool)


def designed(promise: Guarantee, mechanism: str = "auto", people: int = 1) -> tuple[OncePrivatizer, ...]:
    asked = [Asked(QUESTION, 0.95, everything(QUESTION)), Asked(FIRST, 0.05, everything(FIRST))]
    return design_once(asked, promise, mechanism, people)


@pytest.mark.parametrize("mechanism", ["auto", "laplace"])
@pytest.mark.parametrize("promise", PROMISES, ids=str)
def test_all_answers_together_keep_the_promise_and_waste_nothing(promise: Guarantee, mechanism: str) -> None:
    loss = compose([one.act.loss for one in designed(promise, mechanism)])
    assert keeps(loss, promise)
    if promise.rho is not None:
        assert rho_of(loss) == pytest.approx(promise.rho, rel=1e-9)
    elif promise.delta and mechanism == "auto":
        assert loss.epsilon(promise.delta) == pytest.approx(promise.epsilon, rel=1e-6)
    else:
        assert loss.epsilon(0.0) == pytest.approx(promise.epsilon, rel=1e-9)


def test_the_noise_is_the_least() -> None:
    """One question alone, known rewards, per step: sigma^2 = 2H/(2 rho), and the scale 2H/epsilon."""
    question = CountQuestion(Spec(3, 2, 20, "per-step"), ("transitions",))
    alone = [Asked(question, 1.0, everything(question))]
    assert design_once(alone, Central(rho=0.5))[0].std == pytest.approx(math.sqrt(40))
    assert design_once(alone, Central(1.0))[0].std == pytest.approx(math.sqrt(2) * 40)


def test_a_group_is_charged_as_one() -> None:
    assert designed(Central(rho=0.5), people=3)[0].std == pytest.approx(3 * designed(Central(rho=0.5))[0].std)
    assert designed(Central(0.5), people=3)[0].std == pytest.approx(3 * designed(Central(0.5))[0].std)


@pytest.mark.parametrize("promise", [Central(rho=0.5), Central(1.0)], ids=str)
def test_the_noise_that_is_drawn_has_the_stated_size(promise: Guarantee) -> None:
    """The sample deviation of 10,000 cells: within 5 standard errors of the stated one, so never 2/3 or 3/2 of it."""
    question = CountQuestion(Spec(50, 4, 2), ("transitions",))
    one = design_once([Asked(question, 1.0, everything(question))], promise)[0]
    release = one.answer(np.zeros(question.cells, dtype=np.int64), 9, 0.05, promise, SecureNoise())
    drawn = release.counts.transitions.ravel()
    kurtosis = 6 if promise.pure else 3
    error = 5 * math.sqrt((kurtosis - 1) / 4 / drawn.size)
    assert abs(drawn.std() / one.std - 1) < error < 0.1


def test_impossible_cells_stay_zero_and_need_no_noise() -> None:
    support = np.zeros((4, 2, 4), dtype=bool)
    support[..., :2] = True
    allowed = np.ones((4, 2), dtype=bool)
    allowed[3, 1] = False
    known = Knowledge.declared(Spec(4, 2, 20), support, allowed)
    question = CountQuestion(known.spec, ("centred", "transitions"), levels=16)
    possible = possible_cells(question, known)
    one = design_once([Asked(question, 1.0, possible)], Central(rho=0.5))[0]
    assert one.reach == 3  # two states and the end
    cells = np.where(possible, 64, 0)
    release = one.answer(cells, 5, 0.05, Central(rho=0.5), SecureNoise())
    moves = release.counts.transitions[0]
    assert (moves[~(known.support & known.allowed[..., None])] == 0).all()
    assert (moves[4] == 0).all() and (release.counts.visits[0, 4] == 0).all()  # nobody acts in the end state
    assert (release.counts.rewards[0, 3, 1] == 0) and (moves[:3, :, 4] != 0).any()
    with pytest.raises(InvalidInput, match=r"contradict the public tables"):
        one.answer(cells + 1, 5, 0.05, Central(rho=0.5), SecureNoise())


@pytest.mark.parametrize("promise", [Central(rho=0.5), Central(1.0)], ids=str)
def test_radii_hold_as_often_as_stated(promise: Guarantee) -> None:
    """Of 80 releases with failure 0.3 each, 24 may fail on average; `most` is exceeded with probability below 1e-6."""
    from scipy.stats import binom

    releases, failure = 80, 0.3
    most = int(binom.isf(FALSE_ALARM, releases, failure))
    question = CountQuestion(Spec(3, 2, 4), ("centred", "transitions"), levels=4)
    one = design_once([Asked(question, 1.0, everything(question))], promise)[0]
    radius = one.radius(failure)
    failed = 0
    for _ in range(releases):
        told = one.answer(np.zeros(question.cells, dtype=np.int64), 9, failure, promise, SecureNoise()).counts
        worst = [np.abs(part).max() for part in (told.visits, told.rewards, told.squares, told.transitions)]
        worst.append(np.abs(told.transitions.sum(axis=-1)).max())
        failed += any(error > bound for error, bound in zip(worst, radius, strict=True))
    assert failed <= most
    assert radius.transitions < 8 * one.std  # and say something


def test_a_narrow_support_has_narrow_rows() -> None:
    wide = Knowledge.declared(Spec(50, 2, 4))
    narrow = Knowledge.declared(Spec(50, 2, 4), np.broadcast_to(np.arange(50) < 3, (50, 2, 50)))
    radii = []
    for known in (wide, narrow):
        question = CountQuestion(known.spec, ("transitions",))
        asked = [Asked(question, 1.0, possible_cells(question, known))]
        radii.append(design_once(asked, Central(rho=0.5))[0].radius(0.05))
    assert radii[1].rows / radii[1].transitions == pytest.approx(2.0, rel=0.01)  # sqrt(3 states and the end)
    assert radii[0].rows / radii[0].transitions == pytest.approx(math.sqrt(51), rel=0.01)


def test_what_is_refused() -> None:
    one = designed(Central(rho=0.5))[0]
    cells = np.zeros(QUESTION.cells, dtype=np.int64)
    with pytest.raises(UnsafeNoise, match=r"must draw secure noise"):
        one.answer(cells, 1, 0.05, Central(rho=0.5), ReplayableNoise(0))
    with pytest.raises(InvalidInput, match=r"central privacy\. Got 1-DP, joint"):
        designed(Joint(1.0))
    with pytest.raises(InvalidInput, match=r"Gaussian noise needs delta above 0"):
        designed(Central(1.0), "gaussian")
