"""A simulation with every choice made: what was asked for, completed by the defaults, before the first person arrives."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..environments import Environment
from ..errors import InvalidInput
from ..learners import Context, Learner, State
from ..mdp import Model
from ..planning.evaluation import flow_value, optimal_value
from ..privacy import Act, Certificate, Guarantee, Schedule
from ..privacy.guarantee import JOINT, NONE, SHUFFLE
from ..privacy.schedule import BATCHES, EVERY, GROWTH
from ..privatizers import PAPER, TIGHT, CentralPrivatizer, LocalPrivatizer, Mixing, ShufflePrivatizer, design
from ..releases import CountQuestion, Radius
from ..releases.papers import AUTHORS

# Checkpoints of a curve, evenly spaced on a logarithmic scale.
CHECKPOINTS = 200
# Up to this many episodes `paper` and `sound` plan after every one of them by default; beyond, at every 1 % of growth.
EVERY_LIMIT = 10**6
GROWTH_FACTOR = 1.01
# Radii are tabulated at no more numbers of people than this; between two of them the larger one is used.
RADIUS_POINTS = 4096


class Outcome(NamedTuple):
    """What one seed gave: cumulative regret at the checkpoints, the value of the last policy, and that policy (H, S, A)."""

    regret: NDArray[np.float64]
    final_value: float
    policy: NDArray[np.float64]


def default_schedule(
    guarantee: Guarantee, calibration: str, spec_size: int, episodes: int, mixing: Mixing | None = None
) -> Schedule:
    """Joint and tight: H S A log2 K equal batches. Local and tight: growth. Otherwise after every episode, up to a limit.

    Shufflers have their batches, or, as the paper would have it, a burn-in.
    """
    if mixing is not None and calibration != PAPER:
        return Schedule.sized(episodes, mixing.batch)
    if mixing is not None and mixing.burn_in:
        return replace(default_schedule(guarantee, calibration, spec_size, episodes), burn_in=mixing.burn_in)
    if guarantee.trust != NONE and calibration == TIGHT:
        if guarantee.trust == JOINT:
            return Schedule.batches(episodes, max(1, math.ceil(spec_size * math.log2(max(episodes, 2)))))
        return Schedule.growth(episodes, GROWTH_FACTOR)
    return Schedule.every(episodes) if episodes <= EVERY_LIMIT else Schedule.growth(episodes, GROWTH_FACTOR)


def parse_schedule(text: str, episodes: int) -> Schedule:
    """`every`, `batches:500` or `growth:1.01`."""
    kind, _, parameter = text.partition(":")
    way_out = "Write every, batches:500 or growth:1.01."
    validation.choice("schedule", kind, (EVERY, BATCHES, GROWTH), way_out)
    if kind == EVERY:
        return Schedule.every(episodes)
    number = validation.number("schedule", parameter or None, "a kind and a number", way_out)
    return Schedule(kind, episodes, number)


def take_mixing(options: dict[str, Any], promise: Guarantee, size: int, users: int) -> Mixing | None:
    """Take what concerns shufflers out of the options; without a batch size, H S A log2 K batches, as for joint privacy."""
    names = {field.name for field in fields(Mixing)} & options.keys()
    given = {name: value for name in sorted(names) if (value := options.pop(name)) is not None}
    if promise.trust != SHUFFLE:
        if given:
            raise InvalidInput(f"Only trust shuffle takes {', '.join(given)}. Choose it, or leave that out.")
        return None
    batches = max(1, math.ceil(size * math.log2(max(users, 2))))
    mixing = Mixing(**{"batch": max(2, users // batches), **given})
    if max(mixing.batch, mixing.burn_in) > users:
        what = "batch" if mixing.batch > users else "burn_in"
        raise validation.refusal(what, f"at most the number of episodes, {users:,}", getattr(mixing, what))
    return mixing


class Wall(Protocol):
    """What answers, as far as every simulation needs it."""

    @property
    def act(self) -> Act:
        """What is done about privacy."""

    def certificate(self, noise: str) -> Certificate:
        """What is promised."""


Question = TypeVar("Question")
Answerer = TypeVar("Answerer", bound=Wall)


@dataclass(frozen=True)
class Choices(Generic[Question, Answerer]):
    """One simulation, ready to run with any seed: `question` is what is asked, `privatizer` what answers, None openly."""

    environment: Environment
    learner: Any
    context: Context
    guarantee: Guarantee
    calibration: str
    schedule: Schedule
    question: Question
    privatizer: Answerer | None

    @property
    def model(self) -> Model:
        """The known world."""
        if self.environment.model is None:
            raise InvalidInput(f"{self.environment.address} has no known model. Use the stepwise engine.")
        return self.environment.model

    @cached_property
    def optimal_value(self) -> float:
        """The best expected return."""
        return optimal_value(self.model)

    def value_of(self, policy: NDArray[np.float64]) -> float:
        """The expected return of a policy (H, S, A); not a number where the model is unknown."""
        model = self.environment.model
        if model is None:
            return math.nan
        scratch = np.empty((2, model.spec.states))
        return float(flow_value(model.transitions, model.rewards, model.initial, policy, scratch))

    @cached_property
    def checkpoints(self) -> NDArray[np.int64]:
        """(C,) numbers of episodes at which regret is recorded."""
        return np.unique(np.geomspace(1, self.schedule.users, CHECKPOINTS).round().astype(np.int64))

    def certificate(self, noise: str = "replayable") -> Certificate:
        """What is promised."""
        if self.privatizer is None:
            return Certificate.of([], self.guarantee, "none", "none")
        return self.privatizer.certificate(noise)


@dataclass(frozen=True)
class Setting(Choices[CountQuestion, LocalPrivatizer | CentralPrivatizer | ShufflePrivatizer]):
    """A simulation with counts. `question` is the privatizer's form of what the learner asks."""

    learner: Learner

    @classmethod
    def of(
        cls,
        environment: Environment,
        learner: Learner,
        context: Context,
        guarantee: Guarantee,
        calibration: str,
        schedule: Schedule,
        mechanism: str,
        mixing: Mixing | None = None,
    ) -> Setting:
        """Ask the learner its question and design the privatizer that answers it."""
        question = learner.ask(learner.begin(context, np.random.default_rng(0)))
        privatizer = None
        if guarantee.trust != NONE:
            authors = AUTHORS.get(learner.name, "")
            privatizer = design(question, guarantee, schedule, calibration, mechanism, authors, mixing)
            question = privatizer.question
        return cls(environment, learner, context, guarantee, calibration, schedule, question, privatizer)

    def begin(self, rng: np.random.Generator) -> State:
        """The learner before it has seen anything. Through a burn-in people act at random, whatever the learner thinks."""
        state = self.learner.begin(self.context, rng)
        if not self.schedule.burn_in:
            return state
        return replace(state, policy=np.full_like(state.policy, 1 / state.policy.shape[-1]))

    @property
    def release_failure(self) -> float:
        """With what probability the radii of one release may fail.

        The papers' formulas take the confidence of the whole run; ours share it among the releases.
        """
        if self.privatizer is None or self.privatizer.printed is not None:
            return self.context.failure
        return self.context.failure / self.schedule.releases

    @cached_property
    def radius_table(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(G,) numbers of people and (G, 5) radii; between two numbers the radius of the larger holds."""
        if self.privatizer is None:
            return np.array([self.schedule.users]), np.zeros((1, 5))
        if self.schedule.releases <= RADIUS_POINTS:
            points = self.schedule.ends
        else:
            # A tree counter errs most after 2^j - 1 releases, so these are always among the points.
            spaced = np.geomspace(1, self.schedule.users, RADIUS_POINTS).round().astype(np.int64)
            points = np.union1d(spaced, self.schedule.ends[2 ** np.arange(1, self.schedule.releases.bit_length()) - 2])
        if isinstance(self.privatizer, ShufflePrivatizer) and self.privatizer.mixing.tree:
            points = self.schedule.ends
        if isinstance(self.privatizer, LocalPrivatizer | ShufflePrivatizer):
            return points, self.privatizer.radii(points, self.release_failure)
        releases = np.searchsorted(self.schedule.ends, points) + 1
        table = np.array([self.privatizer.radii(int(release), self.release_failure) for release in releases])
        return points, table if len(points) == self.schedule.releases else np.maximum.accumulate(table)

    def radius_at(self, users: int) -> Radius:
        """The error radius after `users` people."""
        points, table = self.radius_table
        return Radius(*table[np.searchsorted(points, users)].tolist())

    def episodes_needed(self, failure: float) -> float:
        """After about how many episodes the average pair's count exceeds its error; 0 without privacy.

        On average n episodes visit a pair n H/(S A) times in a stationary model, n/(S A) times a step otherwise. Under local
        privacy, and through one shuffler, the error grows like sqrt(n), so n >= (error(1) S A/H)^2; under joint privacy, and
        through a tree of shufflers, it does not grow, or hardly.
        """
        privatizer, spec = self.privatizer, self.context.spec
        if privatizer is None:
            return 0.0
        visits = (spec.horizon if spec.layers == 1 else 1) / (spec.states * spec.actions)
        if isinstance(privatizer, LocalPrivatizer):
            many = 10**6
            error = float(privatizer.radii(many, failure)[3]) / many**0.5
            return float((error / visits) ** 2)
        if isinstance(privatizer, ShufflePrivatizer):
            mixing, users = privatizer.mixing, self.schedule.users
            error = float(privatizer.radii(users, failure)[3])
            return error / visits if mixing.tree else (error / visits) ** 2 / (users // mixing.batch * mixing.batch)
        return float(privatizer.radii(self.schedule.releases, failure)[3]) / visits
