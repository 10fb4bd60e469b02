"""One release of a whole data set: shares that add up to the guarantee, noise where it must be, radii that hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.data.privatizers import DatasetAggregate, Total, open_aggregate
from confide.errors import PrivacyError
from confide.mdp import Spec
from confide.mdp.knowledge import Knowledge
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.privacy import Central, Guarantee, Joint, Schedule, compose, keeps, rho_of
from confide.protocol.design import Design, Request
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import reach
from confide.protocol.releases import CountRelease, Radius
from confide.protocol.trusts.central import possible_cells, std, together
from tests.refusals import refused

from .walkers import exact, walk, worst_errors

PROMISES = [Central(rho=0.5), Central(rho=1e-3), Central(rho=7.0), Central(1.0, 1e-6), Central(8.0, 1e-9), Central(0.7)]
QUESTION = CountQuestion(Spec(4, 2, 20), ("centred", "transitions"), levels=16)
FIRST = CountQuestion(Spec(4, 1, 1), ("visits",))

FALSE_ALARM = 1e-6


def asked(promise: Guarantee, question: CountQuestion, share: float = 1.0, **words: Any) -> Request:
    return Request(question, promise, Schedule.every(1), share=share, **words)


def designed(promise: Guarantee, mechanism: str = "auto", episodes: int = 1) -> tuple[Design, ...]:
    words: dict[str, Any] = {"mechanism": mechanism, "episodes": episodes}
    return together([asked(promise, QUESTION, 0.95, **words), asked(promise, FIRST, 0.05, **words)])


def answered(one: Design, cells: np.ndarray, people: int) -> CountRelease:
    aggregate = open_aggregate(one, SecureNoise())
    aggregate.take_sum(Total(cells, people))
    release = aggregate.close()
    assert isinstance(release, CountRelease)
    return release


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
    assert std(together([asked(Central(rho=0.5), question)])[0]) == pytest.approx(math.sqrt(40))
    assert std(together([asked(Central(1.0), question)])[0]) == pytest.approx(math.sqrt(2) * 40)


def test_a_group_is_charged_as_one() -> None:
    for promise in (Central(rho=0.5), Central(0.5)):
        assert std(designed(promise, episodes=3)[0]) == pytest.approx(3 * std(designed(promise)[0]))


@pytest.mark.parametrize("promise", [Central(rho=0.5), Central(1.0)], ids=str)
def test_the_noise_that_is_drawn_has_the_stated_size(promise: Guarantee) -> None:
    """The sample deviation of 10,000 cells: within 5 standard errors of the stated one, so never 2/3 or 3/2 of it."""
    question = CountQuestion(Spec(50, 4, 2), ("transitions",))
    (one,) = together([asked(promise, question)])
    drawn = answered(one, np.zeros(question.cells, dtype=np.int64), 9).counts.transitions.ravel()
    kurtosis = 6 if promise.pure else 3
    error = 5 * math.sqrt((kurtosis - 1) / 4 / drawn.size)
    assert abs(drawn.std() / std(one) - 1) < error < 0.1


def test_impossible_cells_stay_zero_and_need_no_noise() -> None:
    support = np.zeros((4, 2, 4), dtype=bool)
    support[..., :2] = True
    allowed = np.ones((4, 2), dtype=bool)
    allowed[3, 1] = False
    known = Knowledge.declared(Spec(4, 2, 20), support, allowed)
    question = CountQuestion(known.spec, ("centred", "transitions"), levels=16)
    possible = possible_cells(question, known)
    (one,) = together([asked(Central(rho=0.5), question, possible=possible)])
    assert reach(question, possible) == 3  # two states and the end
    cells = np.where(possible, 64, 0)
    release = answered(one, cells, 5)
    moves = release.counts.transitions[0]
    assert (moves[~(known.support & known.allowed[..., None])] == 0).all()
    assert (moves[4] == 0).all() and (release.counts.visits[0, 4] == 0).all()  # no one acts in the end state
    assert (release.counts.rewards[0, 3, 1] == 0) and (moves[:3, :, 4] != 0).any()
    with refused("counts-contradict-tables"):
        answered(one, cells + 1, 5)


@pytest.mark.parametrize("promise", [Central(rho=0.5), Central(1.0)], ids=str)
def test_radii_hold_as_often_as_stated(promise: Guarantee) -> None:
    """Of 80 releases with failure 0.3 each, 24 may fail on average; `most` is exceeded with probability below 1e-6."""
    from scipy.stats import binom

    releases, failure = 80, 0.3
    most = int(binom.isf(FALSE_ALARM, releases, failure))
    question = CountQuestion(Spec(3, 2, 4), ("centred", "transitions"), levels=4)
    (one,) = together([asked(promise, question, failure=failure)])
    radius = Radius(*one.radii(9).tolist())
    failed = 0
    for _ in range(releases):
        release = answered(one, np.zeros(question.cells, dtype=np.int64), 9)
        assert release.radius == radius and release.failure == failure
        given = release.counts
        worst = [np.abs(part).max() for part in (given.visits, given.rewards, given.squares, given.transitions)]
        worst.append(np.abs(given.transitions.sum(axis=-1)).max())
        failed += any(error > bound for error, bound in zip(worst, radius, strict=True))
    assert failed <= most
    assert radius.transitions < 8 * std(one)  # and say something


def test_a_narrow_support_has_narrow_rows() -> None:
    wide = Knowledge.declared(Spec(50, 2, 4))
    narrow = Knowledge.declared(Spec(50, 2, 4), np.broadcast_to(np.arange(50) < 3, (50, 2, 50)))
    radii = []
    for known in (wide, narrow):
        question = CountQuestion(known.spec, ("transitions",))
        (one,) = together([asked(Central(rho=0.5), question, possible=possible_cells(question, known), failure=0.05)])
        radii.append(Radius(*one.radii(1).tolist()))
    assert radii[1].rows / radii[1].transitions == pytest.approx(2.0, rel=0.01)  # sqrt(3 states and the end)
    assert radii[0].rows / radii[0].transitions == pytest.approx(math.sqrt(51), rel=0.01)


def test_episodes_are_counted_one_by_one_or_together() -> None:
    question = CountQuestion(Spec(2, 2, 3), ("centred", "transitions"), levels=4)
    rng = np.random.default_rng(0)
    people = [walk(question.spec, rng, short=0.3) for _ in range(20)]
    (one,) = together([asked(Central(1.0), question, failure=FALSE_ALARM)])
    aggregate = open_aggregate(one)
    for person in people:
        aggregate.take(person)
    release = aggregate.close()
    assert release.users == 20 and release.guarantee == one.guarantee
    errors = worst_errors(release.counts, exact(question, people))
    assert all(error <= bound for error, bound in zip(errors, release.radius, strict=True))


def test_everybody_is_counted_once() -> None:
    """With next to no noise: at this epsilon a count is off by one with probability below e^-1000."""
    question = CountQuestion(Spec(2, 2, 1), ("visits", "transitions"))
    (one,) = together([asked(Central(1e4), question)])
    aggregate, rng = open_aggregate(one), np.random.default_rng(0)
    people = [walk(question.spec, rng) for _ in range(5)]
    for person in people:
        aggregate.take(person)
    assert worst_errors(aggregate.close().counts, exact(question, people))[0] < 0.5


def test_a_data_set_is_released_once_and_never_stored() -> None:
    aggregate = open_aggregate(designed(Central(rho=0.5))[0])
    assert isinstance(aggregate, DatasetAggregate)
    aggregate.take_sum(Total(np.ones(QUESTION.cells, dtype=np.int64), 3))
    with pytest.raises(PrivacyError, match="never stored"):
        aggregate.to_bytes()
    assert repr(aggregate) == "DatasetAggregate(users=3)"
    aggregate.close()
    with pytest.raises(PrivacyError, match="closed before"):
        aggregate.close()


def test_if_a_draw_fails_nothing_is_spent_and_the_counts_are_still_there() -> None:
    class FailingNoise(SecureNoise):
        def discrete_gaussian(self, *_: object) -> NDArray[np.int64]:
            raise OSError("no entropy")

    question = CountQuestion(Spec(2, 1, 2), ("transitions",))
    (one,) = together([asked(Central(rho=0.5), question, failure=FALSE_ALARM)])
    aggregate = open_aggregate(one, FailingNoise())
    assert isinstance(aggregate, DatasetAggregate)
    aggregate.take_sum(Total(np.full(question.cells, 10**6, dtype=np.int64), 3))
    with pytest.raises(OSError, match="no entropy"):
        aggregate.close()
    aggregate.noise = SecureNoise()
    release = aggregate.close()
    assert np.abs(release.counts.transitions - 10**6).max() <= release.radius.transitions


def test_what_is_refused() -> None:
    one = designed(Central(rho=0.5))[0]
    with refused("noise-not-secure"):
        open_aggregate(one, ReplayableNoise(0))
    with refused("central-only", match="1-DP, joint"):
        designed(Joint(1.0))
    with refused("gaussian-needs-delta"):
        designed(Central(1.0), "gaussian")
