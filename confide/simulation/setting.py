"""The setting of a simulation: everything that was chosen, completed by defaults, before the first person arrives."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validation
from ..designs import PAPER, TIGHT, Design, Mixing
from ..designs.joint import first_batch
from ..designs.outlook import people_needed
from ..designs.papers import STEP_BY_STEP
from ..designs.shuffle import first_batch as first_shuffled_batch
from ..environments import Environment
from ..errors import InvalidInput
from ..learners import Context, TabularLearner
from ..mdp import PER_STEP, Model, Spec
from ..planning.evaluation import flow_value, optimal_value
from ..privacy import Certificate, Guarantee, Schedule
from ..privacy.guarantee import JOINT, SHUFFLE
from ..privacy.schedule import BATCHES, EVERY, GROWTH, SCOUTING
from ..questions import CountQuestion
from .choices import Choices

# Checkpoints of a curve, evenly spaced on a logarithmic scale.
CHECKPOINTS = 200
# Up to this many episodes `paper` and `sound` plan after every one of them by default; beyond, at every 1 % of growth.
EVERY_LIMIT = 10**6
GROWTH_FACTOR = 1.01
# Without privacy, learners that send scouts plan at every 5 % of growth.
SCOUTING_FACTOR = 1.05
# The most equal batches of shufflers, by default; and what is said of shufflers where somebody chose their sizes.
MOST_BATCHES = 1000
SIZES = {"batch", "tree", "local_epsilon", "burn_in", "widening"}


class Outcome(NamedTuple):
    """What one seed gave: cumulative regret at the checkpoints, the value of the last policy, and that policy (H, S, A)."""

    regret: NDArray[np.float64]
    final_value: float
    policy: NDArray[np.float64]


def default_schedule(
    guarantee: Guarantee,
    calibration: str,
    spec: Spec,
    episodes: int,
    mixing: Mixing | None = None,
    scouts: bool = False,
) -> Schedule:
    """The schedule that is used where none is chosen.

    Joint and tight: widening batches. Local and tight: growth. Otherwise after every episode, up to a limit. Shufflers have
    their batches, or, as the paper would have it, a burn-in. Without privacy, scouts have room.
    """
    if not guarantee.private and scouts:
        return Schedule.scouting(episodes, SCOUTING_FACTOR)
    if mixing is not None and calibration != PAPER:
        return mixing.schedule(episodes)
    if mixing is not None and mixing.burn_in:
        return replace(default_schedule(guarantee, calibration, spec, episodes), burn_in=mixing.burn_in)
    if guarantee.private and calibration == TIGHT:
        if guarantee.trust == JOINT:
            return Schedule.widening(episodes, first_batch(CountQuestion(spec), guarantee))
        return Schedule.growth(episodes, GROWTH_FACTOR)
    return Schedule.every(episodes) if episodes <= EVERY_LIMIT else Schedule.growth(episodes, GROWTH_FACTOR)


def as_printed(world: Environment, calibration: str, authors: str, model: str | None) -> Environment:
    """The environment with a model per step where `paper` reproduces a paper that counts so, unless a model is named."""
    step_by_step = calibration == PAPER and authors in STEP_BY_STEP and model is None
    return world.with_dynamics(PER_STEP) if step_by_step else world


def parse_schedule(text: str, episodes: int) -> Schedule:
    """The schedule that a text names: `every`, `batches:500`, `growth:1.01` or `scouting:1.05`."""
    kind, _, parameter = text.partition(":")
    way_out = "Write every, batches:500, growth:1.01 or scouting:1.05."
    validation.choice("schedule", kind, (EVERY, BATCHES, GROWTH, SCOUTING), way_out)
    if kind == EVERY:
        return Schedule.every(episodes)
    number = validation.number("schedule", parameter or None, "a kind and a number", way_out)
    return Schedule(kind, episodes, number)


def take_mixing(
    options: dict[str, Any], promise: Guarantee, spec: Spec, users: int, *, widening: bool
) -> Mixing | None:
    """Take the options of shufflers out of all options.

    Without a choice of sizes batches widen, where they may; else there are H S A log2 K, a thousand at most. The noise of a
    batch hardly depends on its size, so that fewer are less noisy, while the first is lost.
    """
    names = {field.name for field in fields(Mixing)} & options.keys()
    chosen = {name: value for name in sorted(names) if (value := options.pop(name)) is not None}
    if promise.trust != SHUFFLE:
        if chosen:
            raise InvalidInput(f"Only trust shuffle takes {', '.join(chosen)}. Choose it, or leave that out.")
        return None
    if widening and promise.delta > 0 and not chosen.keys() & SIZES:
        chosen = {"batch": first_shuffled_batch(spec, promise, users), "widening": True, **chosen}
    size = spec.horizon * spec.states * spec.actions
    batches = max(1, min(MOST_BATCHES, math.ceil(size * math.log2(max(users, 2)))))
    mixing = Mixing(**{"batch": max(2, users // batches), **chosen})
    if max(mixing.batch, mixing.burn_in) > users:
        excess = "batch" if mixing.batch > users else "burn_in"
        raise validation.refusal(excess, f"at most the number of episodes, {users:,}", getattr(mixing, excess))
    return mixing


@dataclass(frozen=True)
class Setting:
    """One simulation with every choice made, ready to run with any seed: `design` says what is asked, and how privately."""

    choices: Choices
    environment: Environment
    learner: Any
    context: Context
    schedule: Schedule
    design: Design

    @property
    def guarantee(self) -> Guarantee:
        """The promise that was chosen; the design's is what is kept."""
        return self.choices.privacy

    @property
    def calibration(self) -> str:
        """How much noise was chosen: paper, sound or tight."""
        return self.choices.calibration

    @property
    def question(self) -> Any:
        """The question whose answers the learner receives: about counts, or the form of a mixture."""
        return getattr(self.design.question, "counts", self.design.question)

    @property
    def compiled(self) -> bool:
        """Whether the learner's plan is compiled, so that a loop can call it."""
        return isinstance(self.learner, TabularLearner)

    @property
    def model(self) -> Model:
        """The known model of the environment; refused if there is none."""
        if self.environment.model is None:
            raise InvalidInput(f"{self.environment.address} has no known model. Use the stepwise engine.")
        return self.environment.model

    @cached_property
    def optimal_value(self) -> float:
        """The best expected return."""
        return optimal_value(self.model)

    def value_of_all(self, policies: NDArray[np.float64]) -> float:
        """The expected return of somebody who follows one of (M, H, S, A) policies, drawn at random."""
        values = [self.value_of(policy) for policy in policies]
        return sum(values) / len(values)

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
        """The certificate of the design, naming the source of noise."""
        return self.design.certificate(noise)

    def begin(self, rng: np.random.Generator) -> Any:
        """The learner's state before any data. Through a burn-in people act at random, whatever the learner thinks."""
        state = self.learner.begin(self.context, rng)
        if not self.schedule.burn_in:
            return state
        return replace(state, policy=np.full_like(state.policy, 1 / state.policy.shape[-1]), mixture=None)

    def episodes_needed(self, failure: float) -> float:
        """After about how many episodes the average statistic exceeds its error; 0 without privacy."""
        return people_needed(self.design, failure)
