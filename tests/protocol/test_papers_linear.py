"""Printed lines of LDP-UCRL-VTR (Liao, He and Gu 2021) and of the offline paper (Qiao and Wang 2023), by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from confide import Local
from confide.lab.environments import linear_mdp
from confide.lab.environments import make as world
from confide.lab.environments.mixture import hidden_advantage
from confide.lab.experiments import vtr
from confide.lab.experiments.offline import Bound
from confide.lab.experiments.part import PAPER
from confide.learning.learners.vapvi import pevi
from confide.learning.learners.vtr import MixtureContext, UcrlVtr
from confide.learning.planning.consistency import program
from confide.learning.planning.induction import SPREAD, WIDTH
from confide.learning.planning.pessimism import printed
from confide.learning.planning.value_targeted import confidence_radius, problem
from confide.mdp import PER_STEP, MixtureFeatures, Spec
from confide.mdp.critic import Critic, ValueVariance
from confide.mdp.knowledge import Knowledge
from confide.mdp.linear import LinearFeatures
from confide.privacy import Guarantee, Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import TRANSITIONS, VISITS, unpack
from confide.protocol.kinds.gram import VALUE, GramQuestion, GramRelease
from confide.protocol.kinds.mixture import RAW, MixtureForm, MixtureRadius, MixtureRelease
from confide.protocol.releases import CountRelease, Radius
from tests.refusals import refused

RIVER = world("riverswim-mixture/3")


def test_noise_of_ldp_ucrl_vtr():
    """Line 1 at H = 6, delta .1, epsilon 1: ln(2.5 * 6/.1) = 5.0106353, sqrt(2 * 5.0106353) = 3.1656390; 4 * 6^3 times that is
    2735.1121; rewards over H (Section 6) leave 4 * 6 = 24 of the 864: 75.975337.

    The shift of Lambda, 2 Gamma: Gamma = sqrt(49) * 75.975337 (sqrt(4 * 18) + 2 ln(6 * 6/.01)) with 18 = 3 * 3 * 2 features:
    8.4852814 + 2 * 8.1886891 = 24.8626596, so that Gamma = 13222.6426.
    """
    hard = world("hard-mixture/d5h6")
    for environment, ranges, sigma in (
        (hard, np.arange(5.0, -1.0, -1.0), 2735.1121),
        (RIVER, np.arange(5.0, -1.0, -1.0) / 6, 75.975337),
    ):
        asked = MixtureForm(environment.spec, environment.features, ranges)
        made = make(Request(asked, Local(1.0, 0.1), Schedule.every(100), "paper", failure=0.01))
        assert made.mechanism.sigma == pytest.approx(sigma, rel=1e-7)
    assert made.question.even  # the same variance in the whole triangle, line 12
    assert made.radii(49.0)[0] == pytest.approx(13222.6426, rel=1e-6)


def test_radii_of_ldp_ucrl_vtr_and_of_ucrl_vtr():
    """Section 6: c d^(3/4) (H-h+1)^(3/2) k^(1/4) at c = .01, d = 18, H-h+1 = 4, k = 81: .01 * 8.7388520 * 8 * 3.

    c sqrt(d_1) + (H-h+1) sqrt(2 ln K + ln det M) at c = .1, d_1 = 6, K = 1000 and ln det M = 18 ln 2 = 12.4766492:
    .2449490 + 4 sqrt(13.8155106 + 12.4766492) = .2449490 + 4 * 5.1275881.
    """
    spec, features = Spec(3, 2, 4, PER_STEP), MixtureFeatures.one_hot(3, 2)
    rewards = np.ones((4, 3, 2))
    form = MixtureForm(spec, features, np.array([3.0, 2.0, 1.0, 0.0]), RAW)
    context, public = MixtureContext(spec, 1000, form=form, rewards=rewards), problem(form, rewards)
    for beta, c, wanted in (("printed", 0.01, 2.0973245), ("published", 0.1, 20.7553014)):
        rule = UcrlVtr(beta=beta, c=c).rule(context)
        found = confidence_radius.py_func(public, rule, 0, 0.0, 0.0, 80.0, 18 * math.log(2))
        assert found == pytest.approx(wanted, rel=1e-7)


def test_the_worlds_of_ldp_ucrl_vtr():
    """Section 6.1: H = 2 S, rewards 5/(1000 H) and 1/H: .005/6 and 1/6 with three states; p_h lies in (.8, 1).

    Theorem 5.6 at d = 5, H = 6, epsilon .1, K = 10^4: 5 * 6 sqrt(60000)/(1.1051709 * .1051709) = 63222.527; it is stated from
    T = 4 * 25 * 6/(1.2214028 * .0110609) = 44412.07 on. Its instance at K = 10^4 and epsilon 1: Delta = sqrt(1/6)/(2 * 1.7182818
    sqrt(60000)) = .00048498.
    """
    paid = RIVER.model.rewards[0]
    assert (RIVER.spec.horizon, paid[0, 0], paid[2, 1]) == (6, pytest.approx(0.00083333333), pytest.approx(0.16666667))
    assert np.count_nonzero(paid) == 2
    turning = world("riverswim-mixture/3?inhomogeneous=true").model.transitions[:, 0, 1, 1]
    assert 0.8 <= turning.min() < turning.max() <= 1 and len(turning) == 6
    page = next(each for each in vtr.EXPERIMENTS if each.address == "ldp-ucrl-vtr/lower-bound")
    assert page.parts[0].unit[0] == pytest.approx(63222.527, rel=1e-6)
    assert vtr.needed_rounds(5, 6, 0.1) == pytest.approx(44412.07, rel=1e-6)
    assert vtr.needed_rounds(5, 6, 0.1) < page.parts[0].places[0] * 6  # it is shown where it is stated
    assert hidden_advantage(5, 6, 10_000, 1.0) == pytest.approx(0.00048498059, rel=1e-6)


def test_one_step_is_the_linear_bandit_of_lemma_5_5():
    """H = 1: sigma = 4 sqrt(2 ln(2.5/.1)) = 4 sqrt(2 * 3.2188758) = 10.1490897 at epsilon 1 and delta .1; the lower bound at d = 5,
    epsilon .1, T = 10^4: 5 * 100/(1.1051709 * .1051709) = 4301.747, stated from T = 7402.01 on.

    Its instance: Delta = sqrt(1/3)/(.11623184 * 100) = .0496723; the best of 16 actions wins with 1/3 + 4 Delta = .5320225, the
    worst with 1/3 - 4 Delta, and their mean with 1/3.
    """
    bandit = world("hard-bandit/d5?epsilon=0.1")
    form = MixtureForm(bandit.spec, bandit.features, np.array([1.0, 0.0]))
    asked = Request(form, Local(1.0, 0.1), Schedule.every(100), "paper", printing="one-step")
    assert make(asked).mechanism.sigma == pytest.approx(10.1490897, rel=1e-7)
    assert make(replace(asked, printing="")).mechanism.sigma == pytest.approx(32 * math.sqrt(2 * math.log(50)))
    longer = world("hard-mixture/d5h6")
    with refused("paper-printing-one-step"):
        make(replace(asked, question=MixtureForm(longer.spec, longer.features, np.arange(5.0, -1.0, -1.0))))
    page = next(each for each in vtr.EXPERIMENTS if each.address == "ldp-ucrl-vtr/lemma-5.5")
    assert page.parts[0].unit[0] == pytest.approx(4301.747, rel=1e-6)
    assert vtr.needed_rounds(5, 1, 0.1) == pytest.approx(7402.01, rel=1e-6)
    wins = bandit.model.transitions[0, 0, :, 2]
    assert (wins.max(), wins.min()) == pytest.approx((0.5320225, 0.1346442), rel=1e-5)
    assert wins.mean() == pytest.approx(1 / 3)
    # What acting at random loses in T rounds, 4 Delta T, is of the order of the bound: sqrt(1/3) (d-1)/d of it.
    assert (wins.max() - wins.mean()) * 1e4 / 4301.747 == pytest.approx(math.sqrt(1 / 3) * 0.8, rel=1e-5)


def released(visits, transitions, error: float) -> CountRelease:
    """Counts of two steps, two states and one action."""
    question = CountQuestion(Spec(2, 1, 2, PER_STEP), (VISITS, TRANSITIONS))
    cells = np.concatenate([np.ravel(visits), np.ravel(transitions)])
    radius = Radius(*[error / 2] * 4, error)
    return CountRelease(question, 200, unpack(question, cells), radius, 0.1, Guarantee.none())


def test_pessimism_of_dp_apvi():
    """Line 5: iota = ln(2 * 2 * 1/.1) = 3.6888795; E = 10; n = 110 as 60 + 50. Factor of the variance: C_1^2 iota/(n - E) =
    2 * 3.6888795/100; rest C_2 S H E iota/n = 16 * 2 * 2 * 10 * 3.6888795/110 = 21.4625715. With Hoeffding's H instead of the
    root of the variance .5432406 = 2 sqrt(.0737776) more. At n = 8 <= E: C H = 2, and 1/S for every next state.

    APVI, without noise: C_1 = 2, and 14/3 H iota/n = .3129958.
    """
    visits = np.array([[110.0, 8.0], [110.0, 8.0]])
    moves = np.array([[[60.0, 50.0], [4.0, 4.0]]] * 2)
    release = released(visits, moves, 10.0)
    known = Knowledge.declared(release.question.spec, rewards=np.zeros((2, 1)), ends=False)
    work = printed(release, known, "bernstein", 1.0, practice=False)
    width, spread = (-work.pairs[kind].reshape(2, 2, 2)[0, :, 1] for kind in (WIDTH, SPREAD))
    np.testing.assert_allclose(width, [21.4625715, 2.0], rtol=1e-7)
    np.testing.assert_allclose(spread, [0.0737775891, 0.0], rtol=1e-7)
    rows = work.transitions[0].T.reshape(2, 2, 2)[:, 1]
    np.testing.assert_allclose(rows, [[6 / 11, 5 / 11], [0.5, 0.5]])
    wide = -printed(release, known, "hoeffding", 1.0, practice=False).pairs[WIDTH].reshape(2, 2, 2)[0, 0, 1]
    assert wide == pytest.approx(22.0058120, rel=1e-7)
    bare = printed(released(visits, moves, 0.0), known, "bernstein", 1.0, practice=False)
    found = [-bare.pairs[kind].reshape(2, 2, 2)[0, 0, 1] for kind in (WIDTH, SPREAD)]
    assert found == [pytest.approx(0.3129958, rel=1e-6), pytest.approx(4 * 3.6888795 / 110, rel=1e-7)]


def test_lines_7_to_13_of_dp_vapvi():
    """Features 1 and 1/2. Squares 30 and 15, clipped at 5^2, less squares of means 4 and 2: variances 9 and 11; means of 6, clipped
    at 5, leave 25 - 25, raised to 1. Q = 6 - (2 sqrt(.25) + .5) = 4.5 and 3 - (2 * .25 + .5) = 2; V in [0, 5].
    """
    table = LinearFeatures.declared(np.array([[[1.0], [0.5]]]))
    variance = ValueVariance(np.array([[30.0]]), np.array([[4.0]]), (0.0, 0.0), 5.0)
    np.testing.assert_allclose(variance.at(table), [[9.0, 11.0]])
    flat = ValueVariance(np.array([[30.0]]), np.array([[6.0]]), (0.0, 0.0), 5.0)
    np.testing.assert_allclose(flat.at(table), [[1.0, 15 - 9]])
    for weight, value in ((6.0, 4.5), (8.0, 5.0), (0.5, 0.0)):
        critic = Critic(np.array([[weight]]), np.array([[[0.25]]]), 0.0, 2.0, 0.5, 5.0)
        np.testing.assert_allclose(critic.value(table), [value])
    critic = Critic(np.array([[6.0]]), np.array([[[0.25]]]), 0.0, 2.0, 0.5, 5.0)
    np.testing.assert_allclose(critic.q(table), [[4.5, 2.0]])


def test_pessimism_of_pevi():
    """c d H sqrt(ln(2 d H K/failure)), Jin, Yang and Wang 2021: 10 * 20 sqrt(ln(2 * 10 * 20 * 1000/.1)) = 200 * 3.8989492."""
    learner = pevi(linear_mdp.features(), calibration="paper")
    form = learner.form(20)
    release = GramRelease(GramQuestion(form, 19, VALUE), 1000, np.eye(10)[None], np.ones((1, 1, 10)), 0.0, np.zeros(1))
    critic = learner.critic(form, release)
    assert critic.multiplier == pytest.approx(779.78984, rel=1e-7) and critic.margin == 0


def test_lines_4_to_20_of_ldp_ucrl_vtr():
    """Two states, one action, two steps; the last step pays 1 in the second state, so V_2 = (0, 1) and phi_V = (0, 1).

    Four people were in the first state and three moved to the second: Sigma = 1 + 4, theta = 3/5 without noise, and with a
    shift of 2 Gamma = 4 Sigma = 9, theta = 1/3. beta = .05 * 4^(3/4) * 2^(3/2) * 5^(1/4) = .4 * 1.4953488 = .5981395, d = 4:
    V_1(0) = 3/5 + .5981395/sqrt(5) = .8674961, or 1/3 + .5981395/3 = .5327132. V_1(1) = .5981395, or .5981395/sqrt(5): no one
    was there, so that Sigma = 1, or 5.
    """
    spec, rewards = Spec(2, 1, 2, PER_STEP), np.array([[[0.0], [0.0]], [[0.0], [1.0]]])
    form = MixtureForm(spec, MixtureFeatures.one_hot(2, 1), np.array([1.0, 0.0]), RAW)
    gram, vector = np.zeros((1, 2, 2, 2)), np.zeros((1, 2, 2))
    gram[0, 0, 1, 1], vector[0, 0, 1] = 4.0, 3.0
    learner = UcrlVtr(beta="printed", c=0.05, definite="shift")
    start = learner.begin(MixtureContext(spec, 1000, form=form, rewards=rewards))
    for gamma, wanted in ((0.0, (0.8674961, 0.5981395)), (2.0, (0.5327132, 0.2674961))):
        release = MixtureRelease(form, 4, gram, vector, MixtureRadius(gamma, 0.0), 0.1, Guarantee.none())
        np.testing.assert_allclose(learner.learn(start, release).values[0], wanted, rtol=1e-6)


def test_counts_are_settled_by_the_linear_program_of_dp_apvi():
    """(2) and (3): noisy counts -1 and 5 are clipped to 0 and 5; of sums in [10 - 2, 10 + 2] the nearest is 8, 1.5 more a cell.

    Noisy counts 1 and 9 with 4 visits: the nearest sum is 6; 2 less a cell would leave -1, so that 3 are taken off the other.
    """
    both = program(np.array([[[[-1.0, 5.0], [1.0, 9.0]]]]), np.array([[[10.0, 4.0]]]), 2.0, np.ones((1, 2, 2), bool))
    np.testing.assert_allclose(both[0, 0], [[1.5, 6.5], [0.0, 6.0]])


def test_bound_of_theorem_3_3():
    """riverswim/2, two steps, logged people who act best three times of four. The best policy swims, d = 1, to earn .005 or 1:
    a variance of .24 * .995^2 = .237606, logged with d = .75. iota = ln(2 * 2 * 2/.05) = 5.0751738; main term 4 sqrt(2)
    sqrt(.237606 * 5.0751738/.75) = 7.1729618. The least of d is .45 * .25 = .1125. E = 4 sqrt(2 ln(1280)/.5) = 21.3984904:
    (2^3 + 2 * 2^2 * 21.3984904)/.1125 = 1592.7815. At 100 people .71729618 and 15.927815.
    """
    for whole, wanted in ((False, 0.71729618), (True, 16.6451114)):
        bound = (
            Bound("b", world("riverswim/2", horizon=2, model=PER_STEP), (100.0,), 0.5, whole)
            .compute(PAPER, 1)
            .rows[0, 0]
        )
        assert bound == pytest.approx(wanted, rel=1e-6)
