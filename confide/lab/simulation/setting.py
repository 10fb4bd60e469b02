"""The setting of a simulation: everything that was chosen, completed by defaults, before the first person arrives.

The choices of a simulation as one value: what a command or a call fills in, and what a result saves.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...compiled import PACKAGE
from ...errors import InvalidInput, NoiseWarning
from ...learning.learners import Context, TabularLearner
from ...learning.learners.learner import AnyLearner, TableState, family_of
from ...learning.planning.evaluation import flow_value, optimal_value
from ...mdp import PER_STEP, Model
from ...mdp.feature_policy import FeaturePolicy
from ...privacy import Certificate, Guarantee, NoPrivacy, Schedule
from ...privacy.schedule import BATCHES, EVERY, EXPLORING, GROWTH
from ...protocol.design import AUTO, TIGHT, Design
from ...protocol.kinds import CountQuestion, Question
from ...protocol.kinds.moments import KIND as MOMENTS
from ...protocol.outlook import TYPICAL, people_for_value, people_needed
from ...protocol.papers import pools
from ...validation import Json
from ..environments import Environment

Choice: TypeAlias = "Json | Schedule"
"""What a choice of a simulation, or an option of a learner or of shufflers, can be."""


@dataclass(frozen=True)
class Choices:
    """Everything that is chosen of a simulation, and nothing that follows from it: the same choices give the same digits.

    learner: a name, or a learner. environment: an address, an environment, or a model. schedule: when policies change, in
    words or as it is; None for what suits the guarantee. horizon, model: of the environment, None for its own. budget: how much of
    one person is counted, under joint privacy. returns, apart: how often a person takes part, and how many batches apart.
    expected: how many episodes are expected, where the schedule has no end; None if it ends with the last of them. printing: which
    printing of a paper's noise. seed: root of all random numbers. engine: who plays all parties, None for the fastest. options: of
    the learner's own, and of shufflers.
    """

    learner: str | AnyLearner
    environment: str | Environment | Model
    privacy: Guarantee = field(default_factory=NoPrivacy)
    episodes: float = 10_000
    seeds: int = 5
    seed: int = 0
    engine: str | None = None
    calibration: str = TIGHT
    mechanism: str = AUTO
    schedule: str | Schedule | None = None
    horizon: int | None = None
    model: str | None = None
    failure: float = 0.1
    bonus_scale: float = 1.0
    budget: int | None = None
    printing: str = ""
    returns: int = 1
    apart: int = 1
    expected: float | None = None
    options: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        learner: str | AnyLearner,
        environment: str | Environment | Model,
        privacy: Guarantee | None = None,
        **choices: Choice,
    ) -> Choices:
        """The choices that keywords make; a keyword that is not the name of a choice is an option."""
        promise = privacy or NoPrivacy()
        if not validation.has_type(promise, Guarantee):
            way_out = "Write Joint(epsilon=1, delta=1e-6), Local(epsilon=4) or another."
            raise validation.refusal("privacy-no-guarantee", "privacy", "a guarantee", promise, way_out)
        make: Callable[..., Choices] = cls  # what each choice may be is checked where a setting is completed
        named = {name: choices.pop(name) for name in NAMES & choices.keys()}
        return make(learner, environment, promise, **named, options=choices)

    def as_json(self) -> dict[str, Json] | None:
        """The choices as plain values; None if one of them is an object of Python, which has no name."""
        values = (self.learner, self.environment, self.schedule, *self.options.values())
        return asdict(self) if all(isinstance(value, str | int | float | None) for value in values) else None

    @classmethod
    def from_json(cls, document: Json) -> Choices:
        """The choices that `as_json` wrote down."""
        if not isinstance(document, dict) or document.keys() != NAMES | {
            "learner",
            "environment",
            "privacy",
            "options",
        }:
            raise InvalidInput(
                "choices-unreadable", "These are not the choices of a simulation, or those of another version."
            )
        return cls(**{**document, "privacy": Guarantee(**document["privacy"])})


NAMES = {choice.name for choice in fields(Choices)} - {"learner", "environment", "privacy", "options"}
"""The choices that are made by keywords."""


# Checkpoints of a curve, evenly spaced on a logarithmic scale.
CHECKPOINTS = 200


class Outcome(NamedTuple):
    """What one seed gave: cumulative regret at the checkpoints, the value of the last policy, and that policy: (H, S, A), or
    by features."""

    regret: NDArray[np.float64]
    final_value: float
    policy: NDArray[np.float64] | FeaturePolicy


def as_printed(world: Environment, calibration: str, authors: str, model: str | None) -> Environment:
    """The environment with a model per step where `paper` or `sound` follows a paper that counts so, unless a model is named."""
    return world.with_dynamics(PER_STEP) if model is None and pools(authors, calibration, world.spec) else world


def parse_schedule(text: str, episodes: int) -> Schedule:
    """The schedule that a text names: `every`, `batches:500`, `growth:1.01` or `exploring:1.05`."""
    kind, _, parameter = text.partition(":")
    way_out = "Write every, batches:500, growth:1.01 or exploring:1.05."
    validation.choice("schedule", kind, (EVERY, BATCHES, GROWTH, EXPLORING), way_out)
    if kind == EVERY:
        return Schedule.every(episodes)
    number = validation.number("schedule", parameter or None, "a kind and a number", way_out)
    return Schedule(kind, episodes, number)


@dataclass(frozen=True)
class Setting:
    """One simulation with every choice made, ready to run with any seed: `design` names the statistic and its privacy.

    calibration: how much noise there is (paper, sound or tight), as it was chosen, or as the learner's address says.
    """

    choices: Choices
    environment: Environment
    learner: AnyLearner
    context: Context
    schedule: Schedule
    design: Design
    calibration: str = TIGHT

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that was chosen; the design's is what is kept."""
        return self.choices.privacy

    @property
    def question(self) -> Question:
        """The question whose answers the learner receives: about counts, or the form of a mixture."""
        return self.design.question.counted or self.design.question

    @property
    def counts(self) -> CountQuestion:
        """The counts that the learner receives; refused where it receives something else."""
        return self.design.counts

    @property
    def tabular(self) -> TabularLearner | None:
        """The learner, if its plan is compiled, so that a loop can call it."""
        return self.learner if isinstance(self.learner, TabularLearner) else None

    @property
    def model(self) -> Model:
        """The known model of the environment; refused if there is none."""
        if self.environment.model is None:
            raise InvalidInput(
                "engine-needs-model", f"{self.environment.address} has no known model. Use the stepwise engine."
            )
        return self.environment.model

    @property
    def exact(self) -> bool:
        """Whether values of the learner's policies are known: by the model, or of policies by features, by the world that is
        observed."""
        observed = self.environment.world is not None and self.design.question.kind == MOMENTS
        return self.environment.model is not None or observed

    @cached_property
    def optimal_value(self) -> float:
        """The best expected return."""
        world = self.environment.world
        return optimal_value(self.model) if world is None else world.best_value

    @property
    def random_value(self) -> float:
        """The expected return of acting uniformly at random; not a number where the model is unknown."""
        spec, world = self.environment.spec, self.environment.world
        if world is not None and self.exact:
            return world.random_value
        return self.value_of(np.full((spec.horizon, spec.states, spec.actions), 1 / spec.actions))

    def value_of_all(self, policies: NDArray[np.float64]) -> float:
        """The expected return of a user who follows one of (M, H, S, A) policies, drawn at random."""
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

    def due(self, group: int) -> bool:
        """Whether a release is made after a group that is played: the last one may be cut short where the schedule has no end."""
        return bool(self.schedule.ends[group] == self.design.schedule.ends[group])

    def certificate(self, noise: str = "replayable") -> Certificate:
        """The certificate of the design, naming the source of noise."""
        return self.design.certificate(noise)

    def warn_if_drowned(self, known: set[str] | None = None) -> None:
        """Warn where too few people are simulated for anything to be learned under the guarantee.

        known: what was warned of before, which is not said again; it is added to."""
        needed = self.episodes_needed
        text = (
            f"with {self.guarantee} the noise drowns what {self.schedule.users:,} episodes of {self.environment.name} can "
            f"show; at least about {needed:.1g} would be needed."
        )
        if needed > self.schedule.users and text not in (known or ()):
            warnings.warn(text, NoiseWarning, stacklevel=users_level())
            if known is not None:
                known.add(text)

    def begin(self, rng: np.random.Generator) -> TableState:
        """The learner's state before any data. Through a burn-in people act at random, whatever the learner thinks, where it learns
        from counts: those that know features begin by what these tell."""
        begun = self.learner.begin(self.context, rng)
        if self.schedule.burn_in and not family_of(self.learner):
            begun = replace(begun, policy=np.full_like(begun.policy, 1 / begun.policy.shape[-1]), mixture=None)
        state: TableState = begun
        return state

    @property
    def episodes_needed(self) -> float:
        """After about how many episodes something can be learned at all; 0 without privacy."""
        average, model = people_needed(self.design, TYPICAL), self.environment.model
        if average == 0 or model is None or self.tabular is None:
            return average
        return max(average, people_for_value(self.design, model))


def users_level() -> int:
    """The level of the stack, counted from the caller, at which a user's own code called the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(str(PACKAGE)):
        frame, level = frame.f_back, level + 1
    return level
