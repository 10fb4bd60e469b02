"""Counts drawn at once have the law of counts collected one person at a time."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from scipy import stats

from confide.lab.environments import make
from confide.lab.simulation.draws import (
    World,
    derive,
    draw_counts,
    draw_sampled,
    layout_of,
    pick,
    split,
    walk,
    zero_counts,
)
from confide.learning.planning.addresses import address_of, generator_at
from confide.learning.planning.evaluation import occupancy
from confide.mdp import Policy, Spec
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import (
    CENTRED,
    COUNTED,
    DROPPED,
    FREE_VISITS,
    REWARDS,
    SQUARES,
    TRANSITIONS,
    VISITS,
    unpack,
)

# Seeds are fixed, so these tests do not flicker; a wrong law would fail them with probability close to one.
FALSE_ALARM = 1e-6


def world_of(model):
    return World(model.transitions, model.rewards, model.initial)


def policy_for(spec, seed=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(spec.actions), (spec.horizon, spec.states))


def test_split_is_multinomial():
    rng = np.random.default_rng(0)
    weights = np.array([0.2, 0.0, 0.5, 0.3])
    out = np.zeros(4, dtype=np.int64)
    drawn = np.array([(split(5, weights, rng, out), out.copy())[1] for _ in range(20000)])
    assert (drawn.sum(axis=1) == 5).all()
    assert (drawn[:, 1] == 0).all()
    # The law of the first two free coordinates against the exact multinomial probabilities.
    seen, expected = [], []
    for i in range(6):
        for j in range(6 - i):
            seen.append(((drawn[:, 0] == i) & (drawn[:, 2] == j)).sum())
            expected.append(stats.multinomial.pmf([i, j, 5 - i - j], 5, [0.2, 0.5, 0.3]) * len(drawn))
    assert stats.chisquare(seen, np.array(expected) * sum(seen) / sum(expected)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("model_kind", ["stationary", "per-step"])
@pytest.mark.parametrize(
    "parts", [(VISITS, REWARDS, TRANSITIONS), (CENTRED, TRANSITIONS), (VISITS, REWARDS, SQUARES, TRANSITIONS)]
)
@pytest.mark.parametrize("last", [COUNTED, DROPPED])
def test_groups_and_walkers_agree(model_kind, parts, last):
    environment = make("riverswim/3", 3, model_kind)
    question = CountQuestion(environment.spec, parts, last)
    layout, world = layout_of(question), world_of(environment.model)
    policy = policy_for(environment.spec)
    runs, people = 3000, 4
    at_once, one_by_one = np.zeros((runs, question.cells)), np.zeros((runs, question.cells))
    first, second = np.random.default_rng(1), np.random.default_rng(2)
    for row in range(runs):
        draw_counts(world, policy, people, layout, first, at_once[row])
        for _ in range(people):
            walk(world, policy, layout, second, one_by_one[row])
    # Means and covariances agree: a z-test for each entry, all entries at once.
    left = np.concatenate([at_once, at_once * at_once[:, ::-1]], axis=1)
    right = np.concatenate([one_by_one, one_by_one * one_by_one[:, ::-1]], axis=1)
    spread = np.sqrt((left.var(axis=0) + right.var(axis=0)) / runs)
    moved = spread > 0
    assert np.array_equal(left[:, ~moved].mean(axis=0), right[:, ~moved].mean(axis=0))
    z = np.abs(left.mean(axis=0) - right.mean(axis=0))[moved] / spread[moved]
    assert z.max() < stats.norm.isf(FALSE_ALARM / (2 * moved.sum()))


def test_expected_visits_are_the_occupancy():
    environment = make("riverswim/4", 5, "per-step")
    question = CountQuestion(environment.spec)
    policy = policy_for(environment.spec)
    cells = np.zeros(question.cells)
    many = 10**9
    draw_counts(world_of(environment.model), policy, many, layout_of(question), np.random.default_rng(5), cells)
    visits = cells[question.slices[VISITS]].reshape(question.shape(VISITS))
    assert visits.sum(axis=(1, 2)) == pytest.approx(np.full(5, many))
    assert np.abs(visits / many - occupancy(environment.model, Policy(policy))).max() < 6 * np.sqrt(0.25 / many)


def test_counts_of_a_trillion_people_are_consistent():
    environment = make("random/3x2", 4)
    question = CountQuestion(environment.spec, last=COUNTED)
    cells = np.zeros(question.cells)
    users = 10**12
    draw_counts(
        world_of(environment.model),
        policy_for(environment.spec),
        users,
        layout_of(question),
        np.random.default_rng(0),
        cells,
    )
    visits = cells[question.slices[VISITS]].reshape(question.shape(VISITS))
    moves = cells[question.slices[TRANSITIONS]].reshape(question.shape(TRANSITIONS))
    assert visits.sum() == users * 4
    assert np.array_equal(moves.sum(axis=-1), visits)


def test_costs_are_what_is_not_earned():
    environment = make("riverswim/3", 3)
    policy, cells = policy_for(environment.spec), []
    for objective in ("reward", "cost"):
        question = CountQuestion(environment.spec, objective=objective)
        values = np.zeros(question.cells)
        draw_counts(world_of(environment.model), policy, 1000, layout_of(question), np.random.default_rng(0), values)
        cells.append(values)
    rewards, visits = question.slices[REWARDS], question.slices[VISITS]
    assert np.array_equal(cells[0][rewards] + cells[1][rewards], cells[0][visits])


@pytest.mark.parametrize("model_kind", ["stationary", "per-step"])
def test_sampled_steps_have_the_law_of_a_random_step(model_kind):
    environment = make("riverswim/3", 3, model_kind)
    model, policy = environment.model, policy_for(environment.spec)
    question = CountQuestion(environment.spec, (CENTRED, TRANSITIONS))
    states, actions = 3, 2
    visits = occupancy(model, Policy(policy))
    layers = question.spec.layers
    out = np.zeros((layers, 2 * states * actions * states + 1), dtype=np.int64)
    users = 10**9
    draw_sampled(world_of(model), visits, users, layout_of(question), np.random.default_rng(0), out)
    assert out.sum() == users
    assert (out[:, -1] == 0).all()  # no one's episode was short
    expected = np.zeros_like(out, dtype=float)
    for h in range(3):
        layer, row = (h if len(model.rewards) > 1 else 0), (h if layers > 1 else 0)
        for s in range(states):
            for a in range(actions):
                for t in range(states):
                    chance = visits[h, s, a] * model.transitions[layer, s, a, t] / 3
                    category = 2 * ((s * actions + a) * states + t)
                    expected[row, category + 1] += chance * model.rewards[layer, s, a]
                    expected[row, category] += chance * (1 - model.rewards[layer, s, a])
    assert np.abs(out / users - expected).max() < 6 * np.sqrt(0.25 / users)


@pytest.mark.parametrize("model_kind", ["stationary", "per-step"])
@pytest.mark.parametrize("last", [COUNTED, DROPPED])
@pytest.mark.parametrize(
    "parts",
    [
        (VISITS, REWARDS, TRANSITIONS),
        (CENTRED, TRANSITIONS),
        (VISITS, SQUARES),
        (VISITS, REWARDS, SQUARES, TRANSITIONS),
    ],
)
def test_counts_that_show_cells_are_those_of_a_release(model_kind, last, parts):
    check_shown(CountQuestion(Spec(3, 2, 4, model_kind), parts, last))


@pytest.mark.parametrize("model_kind", ["stationary", "per-step"])
def test_visits_of_half_visits_are_those_of_a_release(model_kind):
    check_shown(CountQuestion(Spec(3, 2, 4, model_kind), FREE_VISITS))


def check_shown(question):
    cells, counts = zero_counts(question)
    cells[:] = np.random.default_rng(4).normal(size=question.cells)
    derive(layout_of(question), cells, counts)
    for shown, given in zip(counts, unpack(question, cells.copy()), strict=True):
        assert shown == pytest.approx(given, rel=1e-12)


def test_what_cannot_happen_is_never_picked():
    class Last:
        """The largest number a generator draws."""

        def random(self):
            return 1 - 2.0**-53

    short = np.array([0.1] * 9 + [0.1 - 2.0**-53 * 3, 0.0])  # sums to less than that number
    assert short.cumsum()[-1] < Last().random()
    assert pick.py_func(short, Last()) == 9
    drawn = [
        pick(np.array([0.0, 0.25, 0.0, 0.75, 0.0]), rng) for rng in [np.random.default_rng(5)] for _ in range(4000)
    ]
    assert set(drawn) == {1, 3}
    assert stats.binomtest(drawn.count(1), 4000, 0.25).pvalue > FALSE_ALARM


def test_a_generator_by_its_address_goes_on_where_it_stood():
    @numba.njit
    def draw(address):
        rng = generator_at(address)
        return rng.random() + rng.standard_normal() + rng.binomial(10, 0.5)

    here, there = np.random.default_rng(6), np.random.default_rng(6)
    for _ in range(3):
        assert draw(address_of(here)) == there.random() + there.standard_normal() + there.binomial(10, 0.5)
    assert here.bit_generator.state == there.bit_generator.state
