"""PrivUnit on ranked candidates: its exact law, its mean and variance, and what simulation draws at once."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc
from scipy.stats import binom

from confide.errors import FormatError
from confide.lab.audit.auditing import Target, audit
from confide.lab.audit.likelihood import log_likelihood_ratio
from confide.mechanisms.catalogue import from_parameters, parameters
from confide.mechanisms.noise import LightNoise, NoiseSource, ReplayableNoise
from confide.mechanisms.privunit import PrivUnit, moments, most_telling, products
from confide.privacy import Guarantee, Pure, Sensitivity
from tests.refusals import refused

ONE = Sensitivity(1.0, 1.0, ((1.0, 1),), 1)
NONE = np.ones(0, dtype=np.int64)
TINY = PrivUnit.best(1.3, 2, 1.0, candidates=7)
VECTORS = [np.array(each) for each in itertools.product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=2) if np.hypot(*each) <= 1]


class Scripted:
    """Noise of which every draw of an index is given beforehand."""

    secure, drawn_by = True, "scripted"

    def __init__(self, seed: int, lying: bool, place: int) -> None:
        self._seed, self._lying, self._place, self.asked = seed, lying, place, []

    def integers(self, high: int, shape: Any) -> Any:
        if high == 1 << 62:
            return np.full(shape, self._seed)
        self.asked.append(high)
        return np.array([self._place])

    def lies(self, epsilon: float, others: int, shape: Any, within: int = 1) -> Any:
        self.asked.append((epsilon, others, within))
        return np.array([self._lying])


def law(mechanism: PrivUnit, vector: Any, seed: int) -> dict[bytes, float]:
    """The exact probability of every message about a vector, given the seed of the candidates."""
    rest, found = mechanism.candidates - mechanism.favoured, {}
    lying = rest / (mechanism.favoured * math.exp(mechanism.epsilon) + rest)
    for untrue, many, chance in ((True, rest, lying), (False, mechanism.favoured, 1 - lying)):
        for place in range(many):
            noise = Scripted(seed, untrue, place)
            message = mechanism.randomize(vector, NONE, noise).tobytes()  # type: ignore[arg-type]
            assert noise.asked == [(mechanism.epsilon, rest, mechanism.favoured), many]
            found[message] = found.get(message, 0.0) + chance / many
    return found


@pytest.mark.parametrize("seed", range(4))
def test_no_message_tells_two_vectors_apart_by_more_than_epsilon(seed: int) -> None:
    """Every message, every pair of vectors, by the exact law; and epsilon is reached."""
    laws = [law(TINY, vector, seed) for vector in VECTORS]
    assert all(sum(each.values()) == pytest.approx(1.0) and each.keys() == laws[0].keys() for each in laws)
    ratios = [first[message] / second[message] for first in laws for second in laws for message in first]
    assert max(ratios) == pytest.approx(math.exp(TINY.epsilon), rel=1e-12)
    assert min(ratios) == pytest.approx(math.exp(-TINY.epsilon), rel=1e-12)


@pytest.mark.parametrize(
    "candidates",
    [
        np.ones((7, 3)),
        np.zeros((7, 3)),
        np.full((7, 3), np.nan),
        np.array([[np.inf, 1.0, 0.0]] * 3 + [[1e308, -1e308, 1e-320]] * 4),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_exactly_so_many_candidates_are_favoured_whatever_floats_say(candidates: Any) -> None:
    for vector in (*VECTORS, np.array([1e200, -1e200])):
        assert sorted(TINY.ranked(candidates, vector).tolist()) == list(range(7))


def test_the_first_of_equals_comes_first() -> None:
    candidates = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] + [[-1.0, 0.0, 0.0]] * 3)
    assert TINY.ranked(candidates, np.array([1.0, 0.0])).tolist() == [1, 2, 0, 3, 4, 5, 6]


@pytest.mark.parametrize(("epsilon", "dimension", "candidates"), [(1.0, 2, 8), (4.0, 4, 128), (0.5, 109, 128)])
def test_the_mean_is_that_of_adaptive_integration(epsilon: float, dimension: int, candidates: int) -> None:
    favoured = most_telling(epsilon, dimension, candidates)
    low = 1 / (favoured * math.exp(epsilon) + candidates - favoured)
    half = (dimension - 1) / 2
    total = quad(lambda a: math.sin(a) ** (dimension - 2), 0, math.pi)[0]

    def density(angle: float, power: int) -> float:
        t = math.cos(angle)
        chance = binom.cdf(favoured - 1, candidates - 1, betainc(half, half, (1 - t) / 2))
        return t**power * math.sin(angle) ** (dimension - 2) / total * low * (1 + math.expm1(epsilon) * chance)

    reach = min(math.pi / 2, 10 / math.sqrt(dimension))
    ends = (math.pi / 2 - reach, math.pi / 2 + reach)
    for power, ours in enumerate(moments(epsilon, dimension, candidates, favoured), start=1):
        exact = candidates * quad(density, *ends, args=(power,), limit=200)[0]
        assert ours == pytest.approx(exact, rel=2e-6)


def test_twice_as_many_points_say_the_same() -> None:
    coarse, fine = (products(28, points) for points in (4001, 8001))
    for power in (2, 4):
        assert coarse.weight @ coarse.t**power == pytest.approx(fine.weight @ fine.t**power, rel=1e-9)


def test_as_many_are_favoured_as_say_most() -> None:
    for epsilon in (0.5, 1.0, 4.0, 10.0):
        best = most_telling(epsilon, 28, 64)
        means = [moments(epsilon, 28, 64, many)[0] for many in range(1, 33)]
        assert means[best - 1] == pytest.approx(max(means))


def drawn(mechanism: PrivUnit, vector: Any, many: int, seed: int) -> Any:
    noise = ReplayableNoise(seed)
    return np.array([mechanism.randomize(vector, NONE, noise) for _ in range(many)])


@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_messages_are_unbiased_and_as_long_as_stated(epsilon: float) -> None:
    """The true scale is accepted, and two thirds and three halves of it are not."""
    mechanism, many = PrivUnit.best(epsilon, 5, 2.0), 5000
    vector = np.array([1.0, -0.5, 0.0, 0.5, 0.25])
    sent = drawn(mechanism, vector, many, 5)
    assert np.array_equal(sent / mechanism.grid, np.rint(sent / mechanism.grid))
    off = np.abs(sent.mean(axis=0) - vector) / (sent.std(axis=0) / math.sqrt(many))
    assert off.max() < 5.5
    spread = sent.std(axis=0) / math.sqrt(many)
    for wrong in (2 / 3, 3 / 2):
        assert (np.abs(wrong * sent.mean(axis=0) - vector) / spread).max() > 5.5
    along = moments(epsilon, 6, mechanism.candidates, mechanism.favoured)[1]
    w = mechanism.on_sphere(vector)
    squares = mechanism.length**2 * ((1 - along) / 5 * (1 - w**2) + along * w**2)
    assert squares.sum() / 6 == pytest.approx(mechanism.variance())
    measured = np.sqrt((sent**2).mean(axis=0) / squares[:-1])
    assert np.abs(measured - 1).max() < 0.08
    assert (np.abs(2 / 3 * measured - 1) > 0.08).all() and (np.abs(3 / 2 * measured - 1) > 0.08).all()
    for cells in (1, 3, 5):
        assert (sent[:, :cells] ** 2).sum(axis=1).mean() <= 1.03 * mechanism.square_of(cells)
    assert np.abs(sent).max() <= mechanism.reach()


def test_a_vector_that_is_too_long_is_cut() -> None:
    vector = np.array([2.0, 1.0])
    assert np.allclose(TINY.on_sphere(vector), [*(vector / np.hypot(*vector)), 0.0])
    assert np.linalg.norm(TINY.on_sphere(vector / 10)) == pytest.approx(1.0)


def test_sums_drawn_at_once_have_the_law_of_summed_messages() -> None:
    mechanism, people = PrivUnit.best(2.0, 3, 1.0, candidates=32), 25
    vectors = np.random.default_rng(0).uniform(-0.5, 0.5, (people, 3))
    vectors = mechanism.grid * np.rint(vectors / mechanism.grid)
    noise, rng = ReplayableNoise(1), np.random.default_rng(2)
    one_by_one = np.array([sum(mechanism.randomize(vector, NONE, noise) for vector in vectors) for _ in range(500)])
    at_once = np.array([mechanism.sum_over(vectors, rng) for _ in range(2000)])
    for summed in (one_by_one, at_once):
        assert (np.abs(summed.mean(axis=0) - vectors.sum(axis=0)) / (summed.std(axis=0) / math.sqrt(500))).max() < 5
    spread = np.cov(one_by_one.T) / np.cov(at_once.T).diagonal().mean()
    assert np.abs(spread - np.cov(at_once.T) / np.cov(at_once.T).diagonal().mean()).max() < 0.3


def test_the_error_radius_of_a_part_of_a_vector_holds() -> None:
    mechanism, people, vector = PrivUnit.best(1.0, 6, 1.0), 40, np.array([0.5, 0.5, 0.25, 0.0, -0.5, 0.25])
    rng = np.random.default_rng(3)
    off = np.array([mechanism.sum_over(np.tile(vector, (people, 1)), rng) for _ in range(2000)]) - people * vector
    for failure in (0.3, 0.05):
        radius = float(mechanism.lengths(people, failure, 4))
        rate = (np.linalg.norm(off[:, :4], axis=1) > radius).mean()
        assert rate <= failure and radius < 8 * np.linalg.norm(off[:, :4], axis=1).mean()
        assert (np.abs(off[:, :4].sum(axis=1)) > float(mechanism.radius(people, failure, cells=4))).mean() <= failure


def test_its_loss_is_epsilon_whatever_moves() -> None:
    assert TINY.loss(ONE) == TINY.loss(ONE.scaled(100.0)) == Pure(1.3)


def test_it_is_made_again_from_its_parameters() -> None:
    values = parameters(TINY)
    assert from_parameters(values, ONE, Guarantee("local", 1.3), 1.0) == TINY
    for changes in ({"favoured": 4}, {"candidates": 1 << 30}, {"length": 1.0}, {"vector": 1 << 40}, {"epsilon": -1.0}):
        with pytest.raises(FormatError):
            from_parameters({**values, **changes}, ONE, Guarantee("local", 1.3), 1.0)


def test_what_does_not_fit_is_refused() -> None:
    with refused("privunit-length"):
        replace(TINY, length=2 * TINY.length)
    with refused("wrong-shape"):
        TINY.randomize(np.zeros(3), NONE, LightNoise())
    with refused("counts-off-grid"):
        TINY.randomize(np.full(2, TINY.grid / 3), NONE, LightNoise())


class Bolder(PrivUnit):
    """Draws with twice the epsilon that it states."""

    def randomize(self, cells: Any, trials: Any, noise: NoiseSource) -> Any:
        return PrivUnit.best(2 * self.epsilon, self.vector, self.bound, self.candidates).randomize(cells, trials, noise)


@pytest.mark.parametrize(("kind", "held"), [(PrivUnit, True), (Bolder, False)])
def test_an_audit_finds_what_is_given_away(kind: type[PrivUnit], held: bool) -> None:
    true = PrivUnit.best(1.0, 2, 1.0, candidates=16)
    mechanism = kind(*(getattr(true, name) for name in true.__dataclass_fields__))
    inputs = (np.array([1.0, 0.0]), np.array([-1.0, 0.0]))

    def sample(world: int, many: int, noise: NoiseSource) -> Any:
        return np.array([mechanism.randomize(inputs[world], NONE, noise) for _ in range(many)])

    target = Target("privunit", true.loss(ONE), sample, log_likelihood_ratio(true, inputs, np.ones(2, dtype=np.int64)))
    finding = audit(target, 6000, noise=ReplayableNoise(9))
    assert finding.ok == held and finding.lower_bound > 0.7
