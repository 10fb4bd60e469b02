"""One function that plays all parties, in plain Python: who runs what, and what they see.

It is the slowest engine and the one to read. It serves every environment, every learner, every question and every trust.
"""

from __future__ import annotations

import numpy as np

from ...data.privatizers import open_aggregate, respond
from ...data.trajectories import Trajectory
from ...mdp import Policy
from ..environments import Environment
from .draws import Array, pick
from .setting import Outcome, Setting
from .streams import streams


def play(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed: the learner asks and plans, users follow the plan, devices respond, an aggregate closes, it learns."""
    rng, design, learner = streams(root), setting.design, setting.learner
    aggregate = open_aggregate(design, rng.replayable, simulated=True)  # a server, a shuffler, or a curator
    state = setting.begin(rng.policy)  # the server
    scores: list[float] = []
    for group, people in enumerate(np.diff(setting.schedule.ends, prepend=0)):
        question = design.question.member_for(learner.ask(state))  # public
        for _ in range(people):
            policy = draw_policy(state.policies, rng.world)  # her device
            episode = walk(setting.environment, policy, rng.world)  # a person
            message = respond(design, question, episode, rng.replayable, batch=group, simulated=True)  # their device
            aggregate.take(message, question)  # the server, shuffler or curator
            scores.append(score(setting, policy, episode))  # us, who watch from outside
        if setting.due(group):
            state = learner.learn(state, aggregate.close(question))  # the server
    value = setting.value_of_all(state.policies) if setting.environment.model else float(np.mean(scores[-people:]))
    return Outcome(np.cumsum(scores)[setting.checkpoints - 1], value, state.policy.copy())


def draw_policy(policies: Array, rng: np.random.Generator) -> Array:
    """The policy that one person follows, drawn from policies (M, H, S, A)."""
    chosen: Array = policies[int(rng.integers(len(policies)))] if len(policies) > 1 else policies[0]
    return chosen


def walk(environment: Environment, policy: Array, rng: np.random.Generator) -> Trajectory:
    """One person's episode under a policy (H, S, A)."""
    if environment.interact is not None:
        states, actions, rewards, following = environment.interact(Policy(policy), rng)
        return Trajectory(np.append(states, following[-1]), actions, rewards)
    model, horizon = environment.model, environment.spec.horizon
    assert model is not None  # an environment has one or the other
    states, actions = np.zeros(horizon + 1, dtype=np.int64), np.zeros(horizon, dtype=np.int64)
    rewards = np.zeros(horizon)
    states[0] = pick(model.initial, rng)
    for h in range(horizon):
        layer = h if model.spec.layers > 1 else 0
        s = states[h]
        a = actions[h] = pick(policy[h, s], rng)
        rewards[h] = rng.random() < model.rewards[layer, s, a]
        states[h + 1] = pick(model.transitions[layer, s, a], rng)
    return Trajectory(states, actions, rewards)


def score(setting: Setting, policy: Array, trajectory: Trajectory) -> float:
    """What an episode adds to the curve: exact regret where the model is known, else its return."""
    if setting.environment.model is None:
        return float(trajectory.rewards.sum())
    return setting.optimal_value - setting.value_of(policy)
