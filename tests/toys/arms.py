"""A question of one's own: how often each action came first, and what episodes that began with it paid.

**Price.** Two people move two counts by one each, and two sums by at most H each: l1 = 2 + 2 H.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from confide.errors import FormatError
from confide.learning.learners import Context, State
from confide.mdp import Model, Policy, Spec
from confide.mechanisms import registry
from confide.mechanisms.exact import ExactCounter
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.randomizer import Randomizer
from confide.privacy import Act, Guarantee, Schedule, Sensitivity
from confide.privacy.guarantee import CENTRAL, LOCAL, NONE
from confide.protocol.accepted import Combination
from confide.protocol.design import AUTO, Design, Request, make
from confide.protocol.kinds.kind import (
    Answer,
    Array,
    DesignMaker,
    DrawIntegers,
    Integers,
    Kind,
    Possible,
    by_trust,
    register,
)
from confide.protocol.kinds.question import DIGEST_BYTES, AboutEpisodes, OneEpisode, Range, only
from confide.protocol.laws import Law
from confide.protocol.releases.release import Noise
from confide.protocol.trusts.local import least_scale

KIND = "arms"


@dataclass(frozen=True)
class ArmsQuestion(AboutEpisodes):
    spec: Spec

    kind = KIND
    rows = 1
    resolution = 1

    @property
    def width(self) -> int:
        return 2 * self.spec.actions

    cells = width

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        return np.repeat([1, self.spec.horizon], self.spec.actions)

    @property
    def range(self) -> Range:
        return Range(np.zeros(self.width), self.trials.astype(np.float64))

    def price(self, grid: float = 0.0) -> Sensitivity:
        most = float(self.spec.horizon)
        return Sensitivity(2 + 2 * most, math.sqrt(2 + 2 * most**2), ((1.0, 2), (most, 2)), 4)

    def member(self, question: Any) -> ArmsQuestion:
        return only(self, question)

    member_for = member

    def to_bytes(self) -> bytes:
        body: bytes = msgpack.packb([KIND, self.spec.states, self.spec.actions, self.spec.horizon, self.spec.dynamics])
        return body

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.to_bytes()).digest()[:DIGEST_BYTES]


@dataclass(frozen=True)
class ArmsRelease:
    question: ArmsQuestion
    users: int
    visits: Array
    returns: Array
    radii: Array
    guarantee: Guarantee
    noise: Noise


def design_noisy(request: Request) -> Design:
    """Laplace noise unless a mechanism is named: on devices, or once at a curator."""
    size = request.question.price()
    if request.mechanism == AUTO:
        return request.design(
            request.question, Act(Laplace(least_scale(size, request.promise.pure_epsilon()), 1.0), size)
        )
    return request.design(request.question, Act(registry.make(request.mechanism, size, request.promise, 1.0), size))


def design_open(request: Request) -> Design:
    counter = ExactCounter(request.schedule.releases, 1.0)
    return request.design(request.question, Act(counter, request.question.price()), calibration="none")


class Arms(Kind[ArmsQuestion, ArmsRelease]):
    """Radii are those of visits and of returns."""

    name = KIND
    answered = by_trust(local=("laplace",), central=("laplace",), none=("none",))
    drawn = True

    def read(self, data: bytes) -> ArmsQuestion:
        word, *sizes = msgpack.unpackb(data)
        if word != KIND:
            raise FormatError("arms-unreadable", "These bytes are no question about arms.")
        return ArmsQuestion(Spec(*sizes))

    def designers(self) -> Mapping[str, DesignMaker]:
        return {LOCAL: design_noisy, CENTRAL: design_noisy, NONE: design_open}

    def answer(self, question: ArmsQuestion, episode: OneEpisode, grid: float, integers: DrawIntegers) -> Answer:
        paid = integers(1 << 53, episode.steps) / 2.0**53 < episode.rewards  # rounded at random, without bias
        cells = np.zeros(question.width, dtype=np.int64)
        cells[episode.actions[0]] = 1
        cells[question.spec.actions + episode.actions[0]] = paid.sum()
        return 0, cells * round(1 / grid)

    def estimate(self, question: ArmsQuestion, mechanism: Randomizer, summed: Array, people: Integers) -> Array:
        return mechanism.estimate(summed[0], int(people[0]), question.trials)

    def radii(self, question: ArmsQuestion, law: Law, failure: float, possible: Possible = None) -> Array:
        share = failure / question.width
        return np.stack([law.radius(share, 1.0), law.radius(share, float(question.spec.horizon))], axis=-1)

    def noise(self, question: ArmsQuestion, law: Law) -> Array:
        size = np.asarray(law.variance())
        return np.stack([np.full(size.shape, float(law.own)), size, size, np.ones(size.shape), size], axis=-1)

    def backup_variance(self, question: ArmsQuestion, mechanism: Randomizer) -> float:
        return float(mechanism.variance())

    def signal(self, question: ArmsQuestion) -> tuple[int, float]:
        return 0, 1 / question.spec.actions

    def release(self, design: Design, cells: Array, users: int, radii: Array, noise: Noise) -> ArmsRelease:
        visits, returns = cells.reshape(2, -1)
        return ArmsRelease(self.question_of(design), users, visits, returns, radii, design.guarantee, noise)

    def packed(self, release: ArmsRelease) -> Array:
        return np.concatenate([release.visits, release.returns])

    def draw(
        self, model: Model, question: ArmsQuestion, policy: Array, people: int, rng: np.random.Generator
    ) -> tuple[Array, Integers]:
        """A group's totals, person by person: exact, and all that a toy needs."""
        totals, spec = np.zeros((1, question.width)), question.spec
        for _ in range(people):
            state, first, paid = rng.choice(spec.states, p=model.initial), -1, 0
            for step in range(spec.horizon):
                action = rng.choice(spec.actions, p=policy[step, state])
                first = action if step == 0 else first
                layer = step if spec.layers > 1 else 0
                paid += rng.random() < model.rewards[layer, state, action]
                state = rng.choice(spec.states, p=model.transitions[layer, state, action])
            totals[0, first] += 1
            totals[0, spec.actions + first] += paid
        return totals, np.array([people])

    def case(self, row: Combination, promise: Guarantee) -> Design:
        """Where arms are audited and swept, under every trust."""
        return make(Request(ArmsQuestion(Spec(2, 2, 3)), promise, Schedule.every(1)))


@dataclass(frozen=True)
class Chooser:
    """Begins at random; after every release always takes the action after which most was paid."""

    name: str = "chooser"

    def begin(self, context: Context, rng: np.random.Generator) -> State:
        spec = context.spec
        uniform = Policy.uniform(spec.horizon, spec.states, spec.actions).probabilities
        return State(context, uniform, np.zeros((spec.horizon + 1, spec.states)), 0, np.empty(0), None, rng)

    def ask(self, state: State) -> ArmsQuestion:
        return ArmsQuestion(state.context.spec)

    def learn(self, state: State, told: ArmsRelease) -> State:
        best = int(np.argmax(told.returns / np.maximum(told.visits, 1.0)))
        policy = np.full_like(state.policy, 0.2 / state.policy.shape[-1])
        policy[..., best] += 0.8
        return replace(state, policy=policy, users=told.users)


register(Arms())
