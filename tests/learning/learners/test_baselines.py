"""Baselines: RLSVI and optimistic Q-learning equal their papers' formulas, and addresses name published algorithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.errors import InvalidInput
from confide.lab.simulation import complete
from confide.lab.simulation.setting import Choices
from confide.learning import learners
from confide.learning.learners import Context, TabularLearner, baselines
from confide.mdp import PER_STEP, STATIONARY, Spec
from confide.privacy import Guarantee
from confide.protocol.releases.release import CountRelease, Counts, Radius
from tests.refusals import refused

from .test_references import TOTAL, learnt, world


@pytest.mark.parametrize("kind", [STATIONARY, PER_STEP])
def test_rlsvi(kind: str) -> None:
    """The same generator draws the same perturbations, pair by pair."""
    for seed in range(6):
        spec, counts, radius = world(seed, kind, 0.0)
        learner = learners.make("rlsvi")
        before = learner.begin(Context(spec, TOTAL, bonus_scale=0.01), np.random.default_rng(7))
        state = learnt(learner, spec, counts, radius, scale=0.01)
        rng = np.random.default_rng()
        rng.bit_generator.state = before.rng.bit_generator.state
        H, S, A = spec.horizon, spec.states, spec.actions
        beta = S * H**3 * math.log(2 * H * S * A * 301) / 2
        perturbed = np.zeros(counts.visits.shape)
        for place in np.ndindex(*perturbed.shape):
            more = counts.visits[place] + 1
            perturbed[place] = counts.rewards[place] / more + 0.01 * math.sqrt(beta / more) * rng.standard_normal()
        values = np.zeros((H + 1, S))
        for h in reversed(range(H)):
            layer = h if spec.layers > 1 else 0
            rows = counts.transitions[layer] / (counts.visits[layer] + 1)[..., None]
            values[h] = (perturbed[layer] + rows @ values[h + 1]).max(axis=1)
        assert np.allclose(state.values, values, rtol=1e-9, atol=1e-9)


def episodes(spec: Spec, many: int, seed: int) -> list[list[tuple[int, int, int, float]]]:
    """Random episodes: state, action, next state and reward of each step."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(many):
        states = rng.integers(spec.states, size=spec.horizon + 1)
        made.append(
            [
                (int(states[h]), int(rng.integers(spec.actions)), int(states[h + 1]), float(rng.random()))
                for h in range(spec.horizon)
            ]
        )
    return made


def test_q_learning_is_the_papers_after_every_episode() -> None:
    spec = Spec(3, 2, 4, PER_STEP)
    H, S, A = spec.horizon, spec.states, spec.actions
    learner = learners.make("q-learning")
    assert isinstance(learner, TabularLearner)
    state = learner.begin(Context(spec, TOTAL, bonus_scale=0.2), np.random.default_rng(0))
    assert (state.values[:H] == H).all() and (state.values[H] == 0).all()
    iota = math.log(S * A * TOTAL * H / 0.1)
    q, value, seen = np.full((H, S, A), float(H)), np.zeros((H + 1, S)), np.zeros((H, S, A))
    value[:H] = H
    counts = Counts(*(np.zeros((H, S, A)) for _ in range(3)), np.zeros((H, S, A, S)))
    for number, episode in enumerate(episodes(spec, 60, 1), start=1):
        for h, (s, a, t, reward) in enumerate(episode):
            seen[h, s, a] += 1
            rate = (H + 1) / (H + seen[h, s, a])
            bonus = 0.2 * math.sqrt(H**3 * iota / seen[h, s, a])
            q[h, s, a] = (1 - rate) * q[h, s, a] + rate * (reward + value[h + 1, t] + bonus)
            value[h, s] = min(H, q[h, s].max())
            counts.visits[h, s, a] += 1
            counts.rewards[h, s, a] += reward
            if h < H - 1:  # the last step's is not asked for
                counts.transitions[h, s, a, t] += 1
        release = CountRelease(learner.ask(state), number, _copy(counts), Radius.zero(), 0.1, Guarantee.none())
        state = learner.learn(state, release)
        assert np.allclose(state.values, value, rtol=1e-9)
        assert np.array_equal(state.policy.argmax(axis=2), q.argmax(axis=2))


def _copy(counts: Counts) -> Counts:
    return Counts(*(part.copy() for part in counts))


def test_both_learn() -> None:
    chosen: dict[str, Any] = {"episodes": 1500, "seeds": 2, "horizon": 3, "bonus_scale": 0.02}
    for name in ("rlsvi", "optimistic-q"):
        run = cf.simulate(name, "chain/3", None, **chosen)
        share = run.share_of_random
        assert share is not None and share < 0.5, name


@pytest.mark.parametrize("name", sorted(baselines.BASELINES))
def test_every_published_name_is_a_learner_with_its_calibration(name: str) -> None:
    found = baselines.BASELINES[name]
    world = "riverswim-mixture/3" if name == "ldp-ucrl-vtr" else "riverswim/3"
    trust = "joint" if name == "dp-ucbvi" else found.trusts[-1]  # whose local noise we have not as printed
    promise = {
        "none": cf.NoPrivacy(),
        "local": cf.Local(2, 1e-6 if name == "ldp-ucrl-vtr" else 0.0),
        "joint": cf.Joint(2, 1e-6),
        "shuffle": cf.Shuffle(1, 1e-6),
    }[trust]
    setting = complete(Choices.of(name, world, promise, episodes=10_000, horizon=3))
    assert setting.learner.name == found.learner and setting.calibration == found.choices.get("calibration", "tight")
    assert setting.choices.learner == name and Choices.from_json(setting.choices.as_json()) == setting.choices
    if trust != "none":
        burn_in = {"burn_in": 40_000} if trust == "shuffle" else {}
        printed = complete(Choices.of(f"{name}/paper", world, promise, episodes=100_000, horizon=3, **burn_in))
        assert printed.calibration == "paper" and printed.design.calibration == "paper"
    other = {"joint": cf.Local(2), "local": cf.Shuffle(1, 1e-6)}.get(trust, cf.Joint(2, 1e-6))
    if other.trust not in found.trusts:
        with refused("baseline-trust"):
            complete(Choices.of(name, world, other, horizon=3))


def test_an_address_and_a_choice_must_not_differ() -> None:
    same = complete(Choices.of("private-ucb-vi", "riverswim/3", cf.Joint(2), horizon=3, calibration="paper"))
    assert same.calibration == "paper"
    with pytest.raises(InvalidInput, match="one of them"):
        complete(Choices.of("private-ucb-vi/paper", "riverswim/3", cf.Joint(2), horizon=3, calibration="sound"))
    with pytest.raises(InvalidInput, match="NAME/CALIBRATION"):
        baselines.resolve("ucbvi:x", "none")
    with refused("unknown-name: calibration"):
        baselines.resolve("ucbvi/loose", "none")
    assert baselines.resolve("ucbvi?bonus=bernstein", "none").options == {"bonus": "bernstein"}


def test_q_learning_refuses_noise_and_pooled_counts() -> None:
    with pytest.raises(InvalidInput, match="--model per-step"):
        complete(Choices.of("q-learning", "riverswim/3", cf.NoPrivacy(), horizon=3, model="stationary"))
    with pytest.raises(InvalidInput, match="without privacy"):
        cf.simulate("q-learning", "riverswim/3", cf.Joint(8, 1e-6), 1000, 1, horizon=3, model="per-step")
