"""The protocol of learners: begin, ask, learn. A learner sees releases, never people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...mdp import Policy, Spec
from ...protocol.kinds.counts import SQUARES, CountQuestion
from ...protocol.releases.release import NO_NOISE, Array, CountRelease, Counts, Estimates, Noise, Radius

MOST_USERS = 10**15
"""Counts beyond this would no longer be exact in floating point."""


MOST_DRAWN = 1 << 22
"""Of transitions in all models that are drawn after one release: large worlds have fewer models, and one at least."""


@dataclass(frozen=True)
class Context:
    """The public facts a learner may use.

    users: how many people K will take part in all. failure: the probability delta with which a paper's confidence
    bounds may fail. bonus_scale: what every bonus is multiplied by; 1 is the paper's, or our own tuned default.
    """

    spec: Spec
    users: int
    failure: float = 0.1
    bonus_scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", validation.integer("users", self.users, 1, MOST_USERS))
        object.__setattr__(self, "failure", validation.positive("failure", self.failure))
        validation.between("failure", self.failure, 0.0, 1.0)
        object.__setattr__(self, "bonus_scale", validation.number("bonus_scale", self.bonus_scale, "at least 0"))
        if self.bonus_scale < 0:
            raise validation.refusal(
                "bonus-scale-negative", "bonus_scale", "at least 0", self.bonus_scale, "Use 0 for no optimism."
            )

    @property
    def steps(self) -> float:
        """T = K H, the number of steps all people take together."""
        return float(self.users) * self.spec.horizon


Memory: TypeAlias = "NDArray[np.generic] | tuple[Memory, ...]"
"""What a plan keeps from release to release: an array, or a named tuple of such, however deep."""


@dataclass(frozen=True, eq=False)
class State:
    """The state of a learner: what it has decided, and what it needs to go on.

    policy: (H, S, A); values: (H+1, S), its optimistic (or sampled) value function, in the learner's own objective.
    mixture: (M, H, S, A), if several policies are in use, of which every user follows one, drawn at random.
    """

    context: Context
    policy: Array
    values: Array
    users: int
    constants: Array
    memory: Any
    rng: np.random.Generator
    mixture: Array | None = None

    @property
    def policies(self) -> Array:
        """(M, H, S, A) the policies in use."""
        return self.policy[None] if self.mixture is None else self.mixture

    @property
    def recommendation(self) -> Policy:
        """The policy as people receive it."""
        return Policy(self.policy)


class TableState(Protocol):
    """The state of a learner whose policies are tables."""

    @property
    def policy(self) -> Array:
        """(H, S, A) the policy that is recommended."""
        ...

    @property
    def policies(self) -> Array:
        """(M, H, S, A) the policies in use."""
        ...


C = TypeVar("C", contravariant=True)
S = TypeVar("S")
Q = TypeVar("Q", covariant=True)
R = TypeVar("R", contravariant=True)


class Learner(Protocol[C, S, Q, R]):
    """Three verbs: `begin` before the first user, `ask` for a public statistic, `learn` from its release.

    Generic in what it knows beforehand, its states, its questions and the releases that answer them.
    """

    @property
    def name(self) -> str:
        """The name by which commands know it."""
        ...

    def begin(self, context: C, rng: np.random.Generator) -> S:
        """The state before any data."""
        ...

    def ask(self, state: S) -> Q:
        """The question that every user is to answer."""
        ...

    def learn(self, state: S, release: R) -> S:
        """The state after a release, which covers all users so far."""
        ...


AnyLearner: TypeAlias = Learner[Any, Any, Any, Any]
"""A learner that was looked up by its name: that its states, questions and releases belong together is known to its own file."""


def family_of(learner: object) -> str:
    """What a learner asks about where that is no counts: `linear.FEATURES`, `vtr.MIXTURE`; else "", as of learners of one's own."""
    return str(getattr(learner, "family", ""))


CountLearner: TypeAlias = Learner[Context, State, CountQuestion, CountRelease]
"""A learner from counts."""

Plan: TypeAlias = Callable[[Estimates, Array, Any, np.random.Generator, Array, Array], None]
"""plan(estimates, constants, memory, rng, policy, values), compiled.

Writes policy (H, S, A) and values (H+1, S). estimates: what is known of people; zero counts with 0 users are a valid
input. constants: (n,), fixed numbers. memory: arrays, or a named tuple of arrays: scratch, and what must survive
until the next call. Sizes are read off shapes. A plan's `__name__` must be its own: compiled loops are kept under it.
"""


def plan(
    estimates: Estimates, constants: Array, memory: Any, rng: np.random.Generator, policy: Array, values: Array
) -> None:
    """The hole for a learner's plan, in the templates of compiled loops (`compiled.specialise` fills it)."""
    raise NotImplementedError


@dataclass(frozen=True)
class TabularLearner:
    """A learner given by one compiled plan, so that a simulator can call it without leaving compiled code.

    `constants` and `memory` prepare the plan's arguments from the public context. `learn` is a pure function: it copies the
    memory and the state of the generator before it plans. models: how often it plans after a release whose noise is a
    curator's, people's own, or that of batches that widen, for plans that draw something each time. scaled: whether there is a
    bonus that `bonus_scale` scales. `exploration users`: whether it sends exploration users where there is no noise, for whom a
    schedule should leave room. expected: reads the visits (L, S, A) that are expected of the next people off the memory, for
    questions that ask about some pairs more than about others. draws: False if the plan draws nothing, so that the generator need
    not be copied. plans: the plan for releases with a given noise that cover this many people, of a problem, where there is more
    than one.
    """

    name: str
    plan: Plan
    question: Callable[[Spec], CountQuestion]
    constants: Callable[[Context], Array]
    memory: Callable[[Context], Memory]
    models: tuple[int, int, int] = (1, 1, 1)
    scaled: bool = True
    scouts: bool = False
    expected: Callable[[Any], Array] | None = None
    draws: bool = True
    plans: Callable[[Noise, float, Spec], Plan] | None = None

    def plan_for(self, noise: Noise, spec: Spec, users: float = math.inf) -> Plan:
        """The compiled plan for releases that carry this noise and cover this many people; a loop's plan serves from 0 users on."""
        return self.plan if self.plans is None else self.plans(Noise(*map(float, noise)), users, spec)

    def models_for(self, noise: Noise, cells: int = 1) -> int:
        """How often it plans after a release with this noise, about this many cells of transitions."""
        models = self.models[int(noise.own)] if max(noise.centred, noise.transitions) > 0 else 1
        return min(models, max(1, MOST_DRAWN // cells))

    def begin(self, context: Context, rng: np.random.Generator) -> State:
        """The state before any data: a plan on zero counts."""
        if not self.scaled and context.bonus_scale != 1:
            way_out = "Leave it out, or take a learner in a form with a bonus, such as ucbvi of calibration sound."
            raise validation.refusal(
                "bonus-scale-unused",
                "bonus_scale",
                f"left out, as {self.name} has no bonus",
                context.bonus_scale,
                way_out,
            )
        spec = context.spec
        pairs = (spec.layers, spec.states, spec.actions)
        counts = Counts(np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.zeros((*pairs, spec.states)))
        blank = State(
            context,
            np.zeros((spec.horizon, spec.states, spec.actions)),
            np.zeros((spec.horizon + 1, spec.states)),
            0,
            self.constants(context),
            self.memory(context),
            rng,
        )
        return self._planned(blank, Estimates(counts, Radius.zero(), NO_NOISE, 0.0))

    def ask(self, state: State) -> CountQuestion:
        """The learner's counts, always the same, and where people are expected to be."""
        question = _question_of(self.question, state.context.spec)
        return question if self.expected is None else question.having(expected=self.expected(state.memory))

    def learn(self, state: State, release: CountRelease) -> State:
        """The state after a release: a plan on its counts."""
        question, released = _question_of(self.question, state.context.spec), release.question
        if released.spec != question.spec:
            raise InvalidInput(
                "release-of-other-sizes", f"The release must be about {question.spec}. Got one about {released.spec}."
            )
        if released.objective != question.objective:
            raise InvalidInput(
                "release-of-other-objective",
                f"The release must sum each {question.objective}. Got sums of each {released.objective}.",
            )
        if SQUARES in question.parts and SQUARES not in released.parts and released.levels > 1:
            raise InvalidInput(
                "release-without-squares",
                f"{self.name} needs the squares of rewards. Got only {', '.join(released.parts)}.",
            )
        validation.integer("users of a release", release.users, state.users)
        return self._planned(state, release.estimates)

    def _planned(self, state: State, estimates: Estimates) -> State:
        policy, values = np.array(state.policy), np.array(state.values)
        users, noise = int(estimates.users), estimates.noise
        models = self.models_for(noise, estimates.counts.transitions.size)
        memory, rng = _copied(state.memory), _continued(state.rng) if self.draws else state.rng
        mixture = np.repeat(policy[None], models, axis=0) if models > 1 else policy[None]
        plan = self.plan_for(noise, state.context.spec, estimates.users)
        for drawn in mixture:
            plan(estimates, state.constants, memory, rng, drawn, values)
        several = mixture if models > 1 else None
        return State(state.context, mixture[0], values, users, state.constants, memory, rng, several)


@lru_cache(maxsize=256)
def _question_of(question: Callable[[Spec], CountQuestion], spec: Spec) -> CountQuestion:
    """A question, made once: learners ask after every release."""
    return question(spec)


def renewed(memory: tuple[Memory, ...], parts: Iterable[Memory]) -> Memory:
    """A named tuple of the same class, with other parts."""
    return type(memory)(*parts)


def _copied(memory: Memory) -> Memory:
    """A copy of a memory's arrays; a hundred times cheaper than a deep copy of whatever it might be."""
    if isinstance(memory, np.ndarray):
        return memory.copy()
    return renewed(memory, (_copied(part) for part in memory))


_ANY = np.random.SeedSequence(0)


def _continued(rng: np.random.Generator) -> np.random.Generator:
    """A generator that goes on where this one stands, and leaves it standing there."""
    bits = type(rng.bit_generator)(_ANY)
    bits.state = rng.bit_generator.state
    return np.random.Generator(bits)
