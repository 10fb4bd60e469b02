"""One function that plays all parties, in plain Python: who runs what, and what they see.

It is the slowest engine and the one to read. It serves every environment, model or none, and every learner and privatizer.
"""

from __future__ import annotations

import numpy as np

from ..environments import Environment
from ..mdp import Policy
from ..privacy import Guarantee
from ..privatizers import CentralPrivatizer, LocalPrivatizer, ShufflePrivatizer
from ..releases import CountRelease, Radius, unpack
from ..releases.sums import Kept, keep
from ..statistics import count, round_rewards
from ..trajectories import Trajectory
from .draws import Array, pick
from .setting import Outcome, Setting
from .streams import Streams, streams


def play(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """The protocol. The learner plans; people follow the plan; the wall answers; the learner learns."""
    luck = streams(root)
    wall = Wall(setting, luck)
    learner = setting.learner
    state = setting.begin(luck.policy)  # the server
    scores: list[float] = []
    for people in np.diff(setting.schedule.ends, prepend=0):
        batch = [walk(setting.environment, state.policy, luck.world) for _ in range(people)]  # people
        release = wall.answer(batch)  # their devices, or a curator
        scores += [score(setting, state.policy, trajectory) for trajectory in batch]  # us, who watch from outside
        state = learner.learn(state, release)  # the server
    value = setting.value_of(state.policy) if setting.environment.model else float(np.mean(scores[-people:]))
    return Outcome(np.cumsum(scores)[setting.checkpoints - 1], value, state.policy.copy())


def walk(environment: Environment, policy: Array, rng: np.random.Generator) -> Trajectory:
    """One person's episode."""
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
    """What an episode adds to the curve: exact regret where the model is known, else the return that was earned."""
    if setting.environment.model is None:
        return float(trajectory.rewards.sum())
    return setting.optimal_value - setting.value_of(policy)


class Wall:
    """The only part that sees episodes and releases."""

    def __init__(self, setting: Setting, luck: Streams) -> None:
        """Before the first person."""
        self.setting = setting
        self.noise, self.world = luck.replayable, luck.world
        self.sum = setting.privatizer.empty_sum() if isinstance(setting.privatizer, LocalPrivatizer) else None
        self.progress = setting.privatizer.begin() if isinstance(setting.privatizer, CentralPrivatizer) else None
        self.shufflers = setting.privatizer.shufflers() if isinstance(setting.privatizer, ShufflePrivatizer) else ()
        self.kept: Kept = ()
        self.batches = 0
        self.exact = np.zeros(setting.question.cells)
        self.users = 0

    def answer(self, batch: list[Trajectory]) -> CountRelease:
        """What the learner may see of everybody so far."""
        privatizer, failure = self.setting.privatizer, self.setting.release_failure
        self.users += len(batch)
        if isinstance(privatizer, LocalPrivatizer) and self.sum is not None:
            for trajectory in batch:
                self.sum.add(privatizer.report(trajectory, self.noise, simulated=True))
            return privatizer.release(self.sum, failure)
        if isinstance(privatizer, CentralPrivatizer) and self.progress is not None:
            self.progress, release = privatizer.answer(self.progress, batch, failure, self.noise, simulated=True)
            return release
        if isinstance(privatizer, ShufflePrivatizer):
            for trajectory in batch:
                for level, report in privatizer.report(trajectory, self.batches, self.noise, simulated=True):
                    sums = self.shufflers[level].add(report)
                    if sums is not None:
                        self.kept = keep(self.kept, sums)
            self.batches += 1
            return privatizer.release(self.kept, failure)
        question = self.setting.question
        for trajectory in batch:
            levels = round_rewards(trajectory.rewards, question.levels, self.world.random(trajectory.steps))
            self.exact += count(question, trajectory, levels) / question.resolution
        return CountRelease(question, self.users, unpack(question, self.exact), Radius.zero(), 0.0, Guarantee.none())
