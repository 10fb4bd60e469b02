"""Episodes of one step: what is asked of them by default, that what is drawn at once is what devices send, and what is learned."""

from __future__ import annotations

import numpy as np
import pytest

from confide.data.privatizers import drawn, open_aggregate, respond
from confide.data.trajectories import Trajectory
from confide.lab.environments import make
from confide.lab.simulation import prepare, simulate
from confide.lab.simulation.batched import drawing
from confide.lab.simulation.draws import World
from confide.learning.learners.tight import arms_spread
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Guarantee, Joint, Local, Shuffle
from confide.protocol.design import Design
from tests.refusals import refused

REACH = 5.0
"""Standard errors within which a mean must lie; seeds are fixed."""


@pytest.mark.parametrize(
    ("promise", "kind"), [(Local(1.0), "step"), (Joint(1.0, 1e-6), "bandit"), (Joint(1.0), "bandit")]
)
def test_no_transition_is_asked_for(promise: Guarantee, kind: str) -> None:
    design = prepare("ucbvi", "arms/3x2", promise, 1000).design
    assert design.question.kind == kind and design.counts.parts == ("centred", "halves")
    assert Design.from_bytes(design.to_bytes()).digest == design.digest
    longer = prepare("ucbvi", "arms/3x2", promise, 1000, horizon=2).design
    assert "transitions" in longer.counts.parts
    assert design.guarantee.epsilon <= 1.0 + 1e-9


@pytest.mark.parametrize("promise", [Local(1.0), Joint(1.0, 1e-6), Shuffle(1.0, 1e-6)], ids=str)
def test_some_people_are_needed(promise: Guarantee) -> None:
    """Under every trust model more than there are pairs: transitions, of which there are none, are not what is looked at."""
    assert prepare("ucbvi", "arms/20x5", promise, 10_000).episodes_needed > 100


def test_devices_and_draws_tell_the_same() -> None:
    """3,000 devices one by one, and as many drawn at once: the same mean and spread of every count, over replicas."""
    design, model = prepare("ucbvi", "arms/2x2", Local(2.0), 400).design, make("arms/2x2").model
    policy = np.full((1, 2, 2), 0.5)
    rng, noise = np.random.default_rng(3), ReplayableNoise(4)
    world = World(model.transitions, model.rewards, model.initial)
    apart = {"devices": [], "drawn": []}
    for _ in range(40):
        aggregate, at_once = (
            open_aggregate(design, noise, simulated=True),
            open_aggregate(design, noise, simulated=True),
        )
        for _ in range(75):
            state, action = rng.choice(2, p=model.initial), int(rng.integers(2))
            paid = float(rng.random() < model.rewards[0, state, action])
            lived = Trajectory(np.array([state]), np.array([action]), np.array([paid]))
            aggregate.take(respond(design, design.question, lived, noise, simulated=True))
        totals, people = drawing(design, world)(design.question, policy, 75, rng)
        for total in drawn(design, totals, people, rng):
            at_once.take_sum(total)
        for name, each in (("devices", aggregate), ("drawn", at_once)):
            counts = each.close(design.question).counts
            apart[name].append(np.concatenate([counts.visits.ravel(), counts.rewards.ravel()]))
    one, other = (np.array(apart[name]) for name in ("devices", "drawn"))
    spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 40)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < REACH * spread).all()
    assert (np.abs(np.log(one.var(axis=0) / other.var(axis=0))) < REACH * np.sqrt(4 / 40)).all()
    expected = 75 * model.initial[:, None] * 0.5
    mean = one.mean(axis=0)[:4].reshape(2, 2)
    assert (np.abs(mean - expected) < REACH * np.sqrt(one.var(axis=0)[:4] / 40).reshape(2, 2)).all()


@pytest.mark.parametrize("learner", ["ucbvi", "thompson", "elimination"])
def test_the_better_arm_is_found_and_kept(learner: str) -> None:
    run = simulate(learner, "arms/1x2?seed=1", Local(3.0), 20_000, seeds=3)
    assert (run.optimal_value - run.final_value).max() < 0.1 * (run.optimal_value - run.random_value)


def test_nothing_is_tried_when_nobody_is_left_to_come() -> None:
    """The last policy of as many people as were expected is the best as far as is known; if more come, trying goes on."""
    spreads = [arms_spread(float(users), 1000.0) for users in (10, 100, 500, 999, 1000, 1001, 2000, 2001)]
    assert spreads[0] > spreads[1] > spreads[2] > spreads[3] > spreads[4] == 0.0 == spreads[6]
    assert spreads[5] == pytest.approx(arms_spread(1001.0, 2000.0)) and spreads[5] > 0.3 and spreads[7] > 0.3


def test_bandits_own_learners_refuse_longer_episodes() -> None:
    with refused("bandit-one-step"):
        prepare("thompson", "riverswim/3", Local(1.0), 100)
