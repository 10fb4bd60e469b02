"""The wall around mixtures: noise that is what the certificate says, no less and no more; figures of the papers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from confide.data.privatizers import CuratorAggregate, open_aggregate, respond
from confide.data.statistics.mixture import gram_cells
from confide.data.trajectories import Trajectory
from confide.errors import InvalidInput, UnknownName, UnsafeNoise
from confide.lab.environments import make
from confide.mdp import MixtureFeatures, Spec
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.noise import NoiseSource, ReplayableNoise, SecureNoise
from confide.privacy import Act, Guarantee, Joint, Local, Schedule, Shuffle
from confide.protocol.design import Design
from confide.protocol.kinds.mixture import CENTRED, MixtureForm, MixtureQuestion, MixtureRadius, printed_sigma
from confide.protocol.releases.report import limits
from tests.protocol.making import design
from tests.refusals import refused

FALSE_ALARM = 1e-7
"""How often a test of a standard deviation rejects the true one."""

RIVER = make("riverswim-mixture/3")
RANGES = np.arange(5, -1, -1) / 6
PERSON = Trajectory(np.array([0, 1, 2, 1, 0, 0, 1]), np.array([1, 1, 0, 0, 1, 1]), np.zeros(6))


def wall(guarantee: Guarantee, calibration: str = "tight", releases: int = 8, failure: float = 0.1) -> Design:
    assert RIVER.features is not None
    problem = MixtureForm(RIVER.spec, RIVER.features, RANGES)
    return design(problem, guarantee, Schedule.every(releases), calibration, failure=failure)


def device(calibration: str = "tight", epsilon: float = 1.0, failure: float = 0.1) -> Design:
    return wall(Local(epsilon, 0.1), calibration, failure=failure)


def question(of: Design, seed: int = 0) -> MixtureQuestion:
    top = np.append(RANGES[0] + 1 / 6, RANGES)[:, None]
    return MixtureQuestion(of.question, top * np.random.default_rng(seed).random((7, 3)))


def std(of: Design, people: int) -> float:
    return math.sqrt(float(of.law(people).variance()))


def has_std(values: np.ndarray, std: float) -> bool:
    """Whether independent centred normals may have this standard deviation."""
    total = float((values**2).sum()) / std**2
    return bool(min(stats.chi2.cdf(total, values.size), stats.chi2.sf(total, values.size)) > FALSE_ALARM / 2)


def drawn(of: Design, noise: NoiseSource, people: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The noise of reports: diagonals, what is above them, vectors."""
    asked = question(of)
    exact = gram_cells(asked, PERSON, of.mechanism.grid)
    reports = [respond(of, asked, PERSON, noise, simulated=True).cells - exact for _ in range(people)]
    gram, vector = zip(*(of.question.unpack(cells * of.mechanism.grid) for cells in reports), strict=True)
    size = of.question.features.size
    rows, columns = np.triu_indices(size, 1)
    matrices = np.array(gram)
    return matrices[..., np.arange(size), np.arange(size)], matrices[..., rows, columns], np.array(vector)


def honest(of: Design, sigma: float, diagonal: float, noise: NoiseSource, people: int) -> bool:
    """Whether what is drawn has exactly the standard deviation that was certified."""
    on, above, vector = drawn(of, noise, people)
    return has_std(on, diagonal * sigma) and has_std(above, sigma) and has_std(vector, sigma)


@pytest.mark.parametrize(("calibration", "diagonal"), [("tight", math.sqrt(2)), ("sound", 1.0), ("paper", 1.0)])
def test_noise_is_the_certified_one_and_no_other(calibration: str, diagonal: float) -> None:
    of = device(calibration)
    sigma = of.certificate("replayable").as_json()["mechanisms"][0]["sigma"]
    assert honest(of, sigma, diagonal, ReplayableNoise(0), 60)
    for factor in (1 / 2, 2 / 3, 3 / 2):
        assert not honest(of, factor * sigma, diagonal, ReplayableNoise(0), 60)


def test_half_the_noise_is_caught() -> None:
    of = device()
    sigma = of.mechanism.sigma
    mutant = replace(of, act=Act(Gaussian(sigma / 2, of.mechanism.grid), of.act.sensitivity))
    assert not honest(mutant, sigma, math.sqrt(2), ReplayableNoise(0), 60)
    assert mutant.guarantee.epsilon is not None and mutant.guarantee.epsilon > 1.5  # and its certificate says so


def test_secure_noise_is_the_default_and_has_the_same_law() -> None:
    of = device()
    asked = question(of)
    with pytest.raises(UnsafeNoise):
        respond(of, asked, PERSON, ReplayableNoise(0))
    assert respond(of, asked, PERSON).to_bytes(of) != respond(of, asked, PERSON).to_bytes(of)
    assert honest(of, of.mechanism.sigma, math.sqrt(2), SecureNoise(), 30)


@pytest.mark.parametrize("calibration", ["sound", "tight"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_promises_are_kept(calibration: str, epsilon: float) -> None:
    for guarantee in (Local(epsilon, 0.1), Joint(epsilon, 1e-5), Local(rho=epsilon), Joint(rho=epsilon)):
        if calibration == "sound" and guarantee.rho is not None and guarantee.trust == "local":
            with pytest.raises(InvalidInput, match="stated in epsilon"):
                wall(guarantee, calibration)
            continue
        of = wall(guarantee, calibration)
        if guarantee.rho is not None:
            assert of.guarantee.rho is not None and of.guarantee.rho <= guarantee.rho
            continue
        assert of.guarantee.epsilon is not None and guarantee.epsilon is not None
        assert of.guarantee.epsilon <= guarantee.epsilon * (1 + 1e-6)
        if calibration == "tight":  # and nothing is wasted
            assert of.guarantee.epsilon >= guarantee.epsilon * 0.99


def test_the_figures_of_the_paper_and_of_the_formula_sheet() -> None:
    """H = 6, rewards up to 1, epsilon 1, delta 1e-5: sigma 4608 as printed, 202 by one joint Gaussian."""
    hard = make("hard-mixture/d5h6")
    assert hard.features is not None
    ranges = np.arange(5.0, -1.0, -1.0)
    promise, schedule = Local(1, 1e-5), Schedule.every(10)
    problem = MixtureForm(hard.spec, hard.features, ranges)
    paper = design(problem, promise, schedule, "paper")
    assert paper.mechanism.sigma == pytest.approx(4608, abs=1) == printed_sigma(paper.question, promise)
    assert paper.guarantee.epsilon is not None and paper.guarantee.epsilon < 0.05  # loose, and the certificate says so
    nominal = paper.certificate("replayable").promises[0].nominal
    assert nominal is not None and nominal.epsilon == 1
    even = replace(paper.question, even=False)
    assert even.price().l2 / 0.26826 == pytest.approx(202, rel=0.01)
    tight = design(problem, promise, schedule)
    assert tight.question.scaling == CENTRED
    # In units of the range: one-hot features of S states have sensitivity S^2 + 2 S a step, pooled over all steps.
    river = device()
    assert river.act.sensitivity.l2 == pytest.approx(5 * math.sqrt(15), rel=2e-3)
    assert river.question.features.blocks == 6 and river.question.layers == 1


def test_rewards_over_the_horizon_have_the_papers_normalised_noise() -> None:
    of = device("paper", failure=0.01)
    assert of.mechanism.sigma == pytest.approx(4 * 6 * math.sqrt(2 * math.log(2.5 * 6 / 0.1)))
    gamma = of.radii(49)[0]
    assert gamma == pytest.approx(7 * of.mechanism.sigma * (math.sqrt(4 * 18) + 2 * math.log(6 * 6 / 0.01)))


@pytest.mark.parametrize("trust", [Local, Joint])
def test_radii_cover_the_noise_and_are_not_twice_too_large(trust: object) -> None:
    of = wall(trust(1, 0.1))  # type: ignore[operator]
    failure, users = 0.1, 8
    rng = np.random.default_rng(1)
    worst = []
    for _ in range(200):
        gram, vector = of.question.unpack(std(of, users) * rng.standard_normal(of.question.cells))
        lengths = np.linalg.norm(vector.reshape(of.question.layers, -1), axis=1)
        worst.append((np.abs(np.linalg.eigvalsh(gram)).max(), lengths.max()))
    radius = MixtureRadius(*of.radii(users, failure).tolist())
    gram_tail, vector_tail = np.quantile(worst, 0.9, axis=0)
    assert gram_tail <= radius.gram <= 2 * gram_tail
    assert vector_tail <= radius.vector <= 1.5 * vector_tail


def test_a_curator_releases_running_sums_with_the_counters_noise() -> None:
    of = wall(Joint(1.0, 0.1))
    asked = question(of)
    exact = gram_cells(asked, PERSON, of.mechanism.grid) * of.mechanism.grid
    last = []
    for seed in range(12):
        aggregate = open_aggregate(of, ReplayableNoise(seed), simulated=True)
        for _ in range(8):
            aggregate.take(PERSON, asked)
            release = aggregate.close(asked)
        assert release.users == 8 and release.guarantee == of.guarantee
        last.append(of.question.pack(release.gram, release.vector) - 8 * exact)
    values = np.array(last)
    assert has_std(values, std(of, 8))
    assert not has_std(values, std(of, 8) * 2 / 3) and not has_std(values, std(of, 8) * 3 / 2)
    with pytest.raises(UnsafeNoise):
        open_aggregate(of, ReplayableNoise(0))
    aggregate = open_aggregate(of)
    assert isinstance(aggregate, CuratorAggregate)
    for _ in range(2):
        aggregate.take(PERSON, asked)
    with pytest.raises(InvalidInput, match="Keep the schedule"):
        aggregate.close(asked)


def test_a_question_of_another_form_is_refused() -> None:
    of, other = device("tight"), device("sound")
    with pytest.raises(InvalidInput, match="another form"):
        respond(of, question(other), PERSON)
    with pytest.raises(InvalidInput, match="another form"):
        open_aggregate(wall(Joint(1.0, 0.1))).take(PERSON, question(other))


def test_a_report_answers_the_question_of_its_round() -> None:
    """The family is one, and each round has a member: an answer to an old one is refused and changes nothing."""
    of = device()
    aggregate, now, before = open_aggregate(of), question(of, 1), question(of, 2)
    sent = respond(of, now, PERSON)
    aggregate.take(sent.to_bytes(of), now)
    kept = aggregate.to_bytes()
    for stale in (before, None):
        with pytest.raises(InvalidInput, match="another statistic"):
            aggregate.take(sent.to_bytes(of), stale)
    assert aggregate.to_bytes() == kept and aggregate.users == 1
    release = aggregate.close()
    assert release.users == 1 and release.guarantee == of.guarantee
    np.testing.assert_allclose(of.question.pack(release.gram, release.vector), sent.cells * of.mechanism.grid)


@pytest.mark.parametrize("calibration", ["tight", "sound"])
def test_whatever_a_person_did_her_cells_lie_in_the_stated_range(calibration: str) -> None:
    of, rng = device(calibration), np.random.default_rng(0)
    low, high = of.question.range
    corners = MixtureQuestion(of.question, np.append(1.0, RANGES)[:, None] * np.array([1.0, 0.0, 1.0]))
    stays = Trajectory(np.full(7, 2), np.ones(6, dtype=int), np.zeros(6))
    asked = [(corners, stays)]
    for seed in range(40):
        episode = Trajectory(rng.integers(0, 3, 7), rng.integers(0, 2, 6), np.zeros(6))
        asked.append((question(of, seed), episode))
    reached = 0.0
    for one, episode in asked:
        cells = gram_cells(one, episode, of.mechanism.grid)
        given = cells * of.mechanism.grid
        assert ((given >= low) & (given <= high)).all()
        reached = max(reached, float((np.abs(given) / high).max()))
    assert reached > 0.3  # and the range is not simply far too wide
    least, most = limits(of)
    assert (least * of.mechanism.grid < low).all() and (most * of.mechanism.grid > high).all()


def test_bad_promises_are_refused() -> None:
    with pytest.raises(InvalidInput, match="needs delta above 0"):
        wall(Local(1.0))
    with pytest.raises(InvalidInput, match="needs delta above 0"):
        wall(Joint(1.0))
    with pytest.raises(InvalidInput, match="no joint privacy"):
        wall(Joint(1.0, 0.1), "paper")
    with refused("kind-not-for-trust"):
        wall(Shuffle(1.0, 0.1))
    features = MixtureFeatures.one_hot(3, 2)
    with pytest.raises(UnknownName):
        design(MixtureForm(Spec(3, 2, 6), features, RANGES), Local(1, 0.1), Schedule.every(2), "tight", "laplace")
