from __future__ import annotations

import math

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lab.simulation.offline_log import draw_log
from confide.learning import learners
from confide.learning.learners.apvi import apvi
from confide.learning.planning.evaluation import optimal_value, policy_value
from confide.learning.planning.pessimism import Constants
from confide.mdp import Model, Spec
from confide.mdp.knowledge import Knowledge
from confide.privacy import Guarantee
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import unpack
from confide.protocol.releases import CountRelease, Radius

STATES, ACTIONS, HORIZON, PEOPLE, FAILURE = 4, 3, 5, 4000, 0.1


def world(seed: int, layers: int) -> Model:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(STATES, 0.5), (layers, STATES, ACTIONS))
    rewards = rng.random((layers, STATES, ACTIONS))
    return Model(transitions, rewards, np.full(STATES, 1 / STATES), HORIZON)


def released(model: Model, parts=("visits", "transitions"), noise=0.0, people=PEOPLE, seed=1) -> CountRelease:
    from confide.mdp import Policy

    question = CountQuestion(model.spec, parts)
    rng = np.random.default_rng(seed)
    behaviour = Policy(rng.dirichlet(np.ones(ACTIONS), (HORIZON, STATES)))
    cells = draw_log(model, behaviour, people, question, rng)
    cells += noise * rng.standard_normal(cells.shape)
    radius = Radius(*[4 * noise] * 4, 4 * noise * math.sqrt(STATES))
    return CountRelease(question, people, unpack(question, cells), radius, FAILURE, Guarantee.none())


def reference(release: CountRelease, rewards, kind, c1, c2, c3, c):
    """DP-APVI as printed, in loops, with the row's linear program by bisection on tau."""
    counts, error = release.counts, 2 * release.radius.transitions
    layers = len(counts.visits)
    log = math.log(HORIZON * STATES * ACTIONS / FAILURE)
    value, policy = np.zeros(STATES), np.zeros((HORIZON, STATES), dtype=int)
    values = [value]
    for h in reversed(range(HORIZON)):
        layer = h if layers > 1 else 0
        q = np.zeros((STATES, ACTIONS))
        for s in range(STATES):
            for a in range(ACTIONS):
                row = np.maximum(counts.transitions[layer, s, a], 0)
                wanted = max(counts.visits[layer, s, a], 0)
                total = min(max(row.sum(), wanted - error / 2), wanted + error / 2)
                low, high = -row.max() - total - 1, row.max()
                for _ in range(200):
                    middle = (low + high) / 2
                    low, high = (middle, high) if np.maximum(row - middle, 0).sum() > total else (low, middle)
                settled = np.maximum(row - high, 0)
                n = settled.sum()
                if n <= error:
                    mean = value.mean()
                    gamma = c * HORIZON
                else:
                    p = settled / n
                    mean = p @ value
                    spread = p @ value**2 - mean**2 if kind == "bernstein" else HORIZON**2
                    gamma = c1 * math.sqrt(max(spread, 0) * log / (n - error))
                    gamma += (c2 * STATES * error + c3) * HORIZON * log / n
                q[s, a] = rewards[layer, s, a] + mean - gamma
        policy[h] = q.argmax(axis=1)
        value = np.clip(q.max(axis=1), 0, HORIZON - h)
        values.append(value)
    return policy, np.array(values[::-1])


@pytest.mark.parametrize("layers", [1, HORIZON])
@pytest.mark.parametrize("kind", ["bernstein", "hoeffding"])
@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_dp_apvi_is_the_papers_and_apvi_at_radius_zero(layers, kind, noise):
    model = world(0, layers)
    release = released(model, noise=noise)
    knowledge = Knowledge.declared(model.spec, rewards=model.rewards if layers > 1 else model.rewards[0], ends=False)
    result = apvi(knowledge=knowledge, pessimism=kind, calibration="sound").plan(release)
    c1, c2, c3 = (math.sqrt(2), 16, 0) if noise else (2, 16, 14 / 3)
    policy, values = reference(release, model.rewards, kind, c1, c2, c3, 1)
    np.testing.assert_allclose(result.values, values, atol=1e-8)
    np.testing.assert_array_equal(result.policy.argmax(axis=-1), policy)
    assert not result.kept.any()


def test_the_constants_are_knobs():
    model = world(1, 1)
    release = released(model, noise=3.0, people=10**6)
    knowledge = Knowledge.declared(model.spec, rewards=model.rewards[0], ends=False)
    constants = Constants(variance=0.5, privacy=0.1, remainder=0.2, unknown=2.0)
    result = apvi(knowledge=knowledge, pessimism="bernstein", constants=constants, fallback=False).plan(release)
    policy, values = reference(release, model.rewards, "bernstein", 0.5, 0.1, 0.2, 2.0)
    np.testing.assert_allclose(result.values, values, atol=1e-8)
    np.testing.assert_array_equal(result.policy.argmax(axis=-1), policy)


def test_more_pessimism_promises_less():
    model = world(2, 1)
    release = released(model, noise=3.0)
    knowledge = Knowledge.declared(model.spec, rewards=model.rewards[0], ends=False)
    lower = [apvi(knowledge=knowledge).plan(release, scale).lower for scale in (0.0, 1.0, 2.0, 4.0)]
    assert lower == sorted(lower, reverse=True) and lower[0] > lower[-1]
    with pytest.raises(InvalidInput, match="at least 0"):
        apvi(knowledge=knowledge).plan(release, -1.0)


@pytest.mark.parametrize("parts", [("transitions",), ("visits", "transitions"), ("centred", "transitions")])
@pytest.mark.parametrize("layers", [1, HORIZON])
def test_much_data_gives_the_best_policy(parts, layers):
    model = world(3, layers)
    table = model.rewards if layers > 1 else model.rewards[0]
    known = None if "centred" in parts else table
    knowledge = Knowledge.declared(model.spec, rewards=known, ends=False)
    release = released(model, parts, noise=5.0, people=3 * 10**7)
    plan = apvi(knowledge=knowledge).plan(release)
    from confide.mdp import Policy

    assert policy_value(model, Policy(plan.policy)) > optimal_value(model) - 0.01


def test_without_anything_to_go_by_current_practice_is_kept():
    model = world(4, 1)
    knowledge = Knowledge.declared(model.spec, rewards=np.zeros((STATES, ACTIONS)), ends=False)
    plan = apvi(knowledge=knowledge).plan(released(model, ("transitions",), noise=1.0))
    assert plan.kept.all()
    np.testing.assert_allclose(plan.policy, np.broadcast_to(plan.model.behaviour, plan.policy.shape))


def test_forbidden_and_untried_actions_are_not_taken():
    model = world(5, 1)
    allowed = np.ones((STATES, ACTIONS), dtype=bool)
    allowed[:, 0] = False
    release = released(model, ("transitions",), noise=1.0)
    release.counts.transitions[:, :, 1] = 0.0
    for kind in ("adaptive", "bernstein", "hoeffding"):
        knowledge = Knowledge.declared(model.spec, rewards=np.ones((STATES, ACTIONS)), allowed=allowed, ends=False)
        plan = apvi(knowledge=knowledge, pessimism=kind).plan(release)
        assert plan.policy[..., 0].max() == 0
        if kind == "adaptive":
            assert plan.policy[..., 1].max() < 0.01


def test_impossible_transitions_carry_nothing():
    model = world(6, 1)
    support = np.zeros((STATES, ACTIONS, STATES), dtype=bool)
    support[..., :2] = True
    release = released(model, ("transitions",), noise=2.0)
    knowledge = Knowledge.declared(model.spec, rewards=model.rewards[0], support=support, ends=False)
    plan = apvi(knowledge=knowledge).plan(release)
    assert plan.model.rows.ways.following.max() < 2 and plan.model.rows.practice[..., 2:].max() == 0
    np.testing.assert_allclose(plan.model.rows.after(0, np.ones(len(plan.model.initial))), 1.0)


def test_the_three_verbs():
    model = world(7, 1)
    learner = learners.make("apvi", rewards=model.rewards[0], spec=model.spec)
    context = learners.Context(Spec(STATES, ACTIONS, HORIZON), PEOPLE, bonus_scale=2.0)
    state = learner.begin(context, np.random.default_rng(0))
    assert learner.ask(state).parts == ("transitions",)
    after = learner.learn(state, released(model, ("transitions",), noise=1.0))
    assert after.policy.shape == (HORIZON, STATES, ACTIONS) and after.users == PEOPLE
    assert after.memory.lower == pytest.approx(float(after.memory.model.initial @ after.values[0]))
    with pytest.raises(InvalidInput, match="pessimism"):
        learners.make("apvi", pessimism="gloom")
    with pytest.raises(InvalidInput, match="about"):
        learner.plan(released(world(7, HORIZON), ("transitions",)))
