"""Adapters of learners to a contract: how one gets its context, and how its state becomes bytes, by kind of question.

Who learns from counts asks every user the same, or about pairs by a law that follows the policy. Who learns about a linear mixture
has a new question in every round, about the value function that it planned with; it knows features, which are in the contract's
design, and rewards, which are beside it. Who learns linear models of described features asks every user the same.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import FormatError, InvalidInput
from ...learning import learners
from ...learning.learners import Context, State, state_bytes
from ...learning.learners.earlier import Earlier, together
from ...learning.learners.late import expected_visits
from ...learning.learners.learner import AnyLearner, TableState, TabularLearner, family_of
from ...mdp import Policy, Spec, policies
from ...mdp.feature_policy import published
from ...protocol.kinds import asked, moments
from ...protocol.kinds.moments import MOMENTS
from ...protocol.releases.release import CountRelease, read_release
from ..contract.contract import Contract

if TYPE_CHECKING:
    from ...learning.learners.linear import FeatureState
    from ...learning.learners.vtr import MixtureState, UcrlVtr

MIXTURE, FEATURES = "mixture", "features"
"""Families of learners: of linear mixtures, and of described features."""
_KINDS = {MIXTURE: MIXTURE, FEATURES: moments.KIND}
"""The kind of questions that a family asks; all others ask about counts."""


S = TypeVar("S")
R = TypeVar("R")
T = TypeVar("T", bound=TableState)


class LearnerAdapter(Protocol[S]):
    """How the learner of a contract begins, is stored, and asks, round by round; generic in the learner's states."""

    @property
    def context(self) -> Context:
        """The context that the learner begins with."""
        ...

    def begin(self, earlier: bytes) -> tuple[S, bytes]:
        """The state before the first user, and the policies as they are published. earlier: what contracts before this one
        taught, as `carried` wrote it; empty for nothing."""
        ...

    def together(self, release: R) -> R:
        """A release as it is learned from: together with those of the contracts before."""
        ...

    def carried(self, earlier: bytes, state: bytes, release: bytes) -> bytes:
        """What a successor's learner begins with. state, release: the last of this contract; earlier: what it began with."""
        ...

    def state_to_bytes(self, state: S) -> bytes:
        """The bytes of a learner's state that are stored between rounds."""
        ...

    def state_from_bytes(self, data: bytes) -> S:
        """The state that `state_to_bytes` stored."""
        ...

    def expected_bytes(self, state: S) -> bytes:
        """The visits expected of a user who follows the state's policy, as bytes; empty where people are not weighed by them."""
        ...

    def question_bytes(self, state: S) -> bytes:
        """The statistic that the next users report, as bytes; empty where it never changes."""
        ...

    def policy_bytes(self, state: S) -> bytes:
        """The policies in use, as they are published."""
        ...

    def first_bytes(self, state: S) -> bytes:
        """The policies before the first user, as they are published."""
        ...


class _Begins(Generic[S]):
    """Begins with nothing: for learners that know no contracts before theirs."""

    def first_state(self) -> S:
        """The state before any user."""
        raise NotImplementedError

    def begin(self, earlier: bytes) -> tuple[S, bytes]:
        """The state before the first user, and the policies as they are published."""
        if earlier:
            raise _not_carried()
        state = self.first_state()
        return state, self.first_bytes(state)

    def together(self, release: R) -> R:
        """The release, as it is."""
        return release

    def carried(self, earlier: bytes, state: bytes, release: bytes) -> bytes:
        """Nothing can be carried on."""
        raise _not_carried()

    def first_bytes(self, state: S) -> bytes:
        """The policies before the first user, as they are published."""
        raise NotImplementedError


def _not_carried() -> InvalidInput:
    return InvalidInput(
        "carry-learner",
        "Learners from counts begin with what was published, and those of features or mixtures do not. Begin without it.",
    )


class _Tables(_Begins[T]):
    """Publishes policies that are tables."""

    def __init__(self, contract: Contract) -> None:
        self._design = contract.design

    def first_bytes(self, state: T) -> bytes:
        """Those of the state; through a burn-in people act at random."""
        if not self._design.schedule.burn_in:
            return self.policy_bytes(state)
        spec = self._design.question.spec
        return policies.to_bytes([Policy.uniform(spec.horizon, spec.states, spec.actions)])

    def policy_bytes(self, state: T) -> bytes:
        """The tables of the policies in use."""
        return policies.to_bytes([Policy(table) for table in state.policies])


class CountAdapter(_Tables[State]):
    """The adapter of learners from counts."""

    def __init__(self, contract: Contract, learner: TabularLearner) -> None:
        super().__init__(contract)
        self._learner, design = learner, contract.design
        self._family = asked.family_of(design)
        self.context = Context(*_context_fields(contract))
        self._words = learner_words(contract)
        self._earlier: Earlier | None = None

    def begin(self, earlier: bytes) -> tuple[State, bytes]:
        """The state before the first user, and the policies as they are published: those that earlier contracts taught, or where
        there were none, through a burn-in, acting at random."""
        if not earlier:
            return super().begin(b"")
        self._earlier = Earlier.from_bytes(earlier)
        state = self._earlier.begin(self._learner, self.context, np.random.default_rng(), self._words)
        return state, self.policy_bytes(state)

    def first_state(self) -> State:
        """The state before any user."""
        return self._learner.begin(self.context, np.random.default_rng())

    def together(self, release: R) -> R:
        """A release about the users of this contract and of those before it."""
        return cast(R, together(self._earlier, cast(CountRelease, release)))

    def carried(self, earlier: bytes, state: bytes, release: bytes) -> bytes:
        """What a successor's learner begins with."""
        before = Earlier.from_bytes(earlier) if earlier else None
        whole = together(before, read_release(self._design, release))
        return Earlier(whole, state, self._words).to_bytes()

    def state_to_bytes(self, state: State) -> bytes:
        """The state without the policies in use, which are published: no plan goes on from them."""
        return state_bytes.to_bytes(replace(state, mixture=None))

    def state_from_bytes(self, data: bytes) -> State:
        """The stored state, but for the policies in use."""
        return state_bytes.from_bytes(data, self._learner)

    def expected_bytes(self, state: State) -> bytes:
        """The expected visits (L, S, A), if the learner weighs people by them."""
        visits = expected_visits(state)
        return b"" if visits is None else np.ascontiguousarray(visits, dtype="<f8").tobytes()

    def question_bytes(self, state: State) -> bytes:
        """The law of the pairs that people are asked about, which follows where they are expected to be; else empty: the
        contract's design carries the only question."""
        return b"" if self._family is None else self._family.member_for(self._learner.ask(state)).law_bytes()


class MixtureAdapter(_Tables["MixtureState"]):
    """The adapter of learners of linear mixtures: `ucrl-vtr`."""

    def __init__(self, contract: Contract, learner: UcrlVtr) -> None:
        from ...learning.learners.vtr import MixtureContext
        from ...protocol.kinds.mixture import MIXTURE as KIND

        super().__init__(contract)
        form = KIND.question_of(contract.design)
        self._learner = learner
        rewards = known_rewards(contract.document["learner"].get("rewards"), form.spec)
        self.context = MixtureContext(*_context_fields(contract), form=form, rewards=rewards)

    def first_state(self) -> MixtureState:
        """The state before any user."""
        return self._learner.begin(self.context, np.random.default_rng())

    def state_to_bytes(self, state: MixtureState) -> bytes:
        """The bytes of policy and values."""
        from ...learning.learners.state_bytes import mixture_to_bytes

        return mixture_to_bytes(state)

    def state_from_bytes(self, data: bytes) -> MixtureState:
        """The state with the stored policy and values."""
        from ...learning.learners.state_bytes import mixture_from_bytes

        return mixture_from_bytes(data, self.context)

    def expected_bytes(self, state: object) -> bytes:
        """Empty, no user is weighed: E[Y] = <X, theta> whichever policy was followed, and whichever values were asked about."""
        return b""

    def question_bytes(self, state: MixtureState) -> bytes:
        """The value function that the policy was planned with."""
        return self._learner.ask(state).to_bytes()


class FeatureAdapter(_Begins["FeatureState"]):
    """The adapter of learners of described features: `linear`."""

    def __init__(self, contract: Contract, learner: AnyLearner) -> None:
        from ...learning.learners.linear import FeatureContext

        question, self._learner = MOMENTS.question_of(contract.design), learner
        self.context = FeatureContext(*_context_fields(contract), question=question)

    def first_state(self) -> FeatureState:
        """The state before any user."""
        state: FeatureState = self._learner.begin(self.context, np.random.default_rng())
        return state

    def state_to_bytes(self, state: FeatureState) -> bytes:
        """The bytes of the weights in use."""
        from ...learning.learners.state_bytes import feature_to_bytes

        return feature_to_bytes(state)

    def state_from_bytes(self, data: bytes) -> FeatureState:
        """The state with the stored weights."""
        from ...learning.learners.state_bytes import feature_from_bytes

        return feature_from_bytes(data, self.context)

    def expected_bytes(self, state: FeatureState) -> bytes:
        """Empty, no user is weighed: what is regressed on features does not depend on the policy that was followed."""
        return b""

    def question_bytes(self, state: FeatureState) -> bytes:
        """Empty: the contract's design carries the only statistic."""
        return b""

    def policy_bytes(self, state: FeatureState) -> bytes:
        """The weights of the policies in use."""
        return published(state.policies)

    def first_bytes(self, state: FeatureState) -> bytes:
        """Weights that are drawn from the prior, which try every action."""
        return self.policy_bytes(state)


def _context_fields(contract: Contract) -> tuple[Spec, int, float, float]:
    settings, design = contract.document["learner"], contract.design
    return design.question.spec, contract.expected, settings["failure"], settings["bonus_scale"]


def known_rewards(declared: ArrayLike | None, spec: Spec) -> NDArray[np.float64]:
    """(H, S, A) what every action earns in every state, which is known to all; refused unless in [0, 1]."""
    if declared is None:
        raise InvalidInput(
            "known-rewards-missing", "A learner of linear mixtures needs to know the rewards of actions. Give --known."
        )
    rewards = validation.array(
        "rewards", np.asarray(declared, dtype=np.float64), (spec.horizon, spec.states, spec.actions)
    )
    if rewards.min() < 0 or rewards.max() > 1:
        raise validation.refusal(
            "rewards-out-of-range", "rewards", "in [0, 1]", f"{rewards.min():g} to {rewards.max():g}"
        )
    return rewards


def learner_words(contract: Contract) -> str:
    """Which learner a contract names, with its options: another one cannot go on from its state."""
    settings = contract.document["learner"]
    return json.dumps([settings["name"], settings["options"]], sort_keys=True)


_ADAPTERS: dict[str, type[CountAdapter] | type[MixtureAdapter] | type[FeatureAdapter]] = {
    MIXTURE: MixtureAdapter,
    moments.KIND: FeatureAdapter,
}
"""Adapters by kind of question; all others are about counts."""


def learner_of(contract: Contract) -> tuple[AnyLearner, LearnerAdapter[Any]]:
    """The learner that a contract names, and its adapter."""
    settings = contract.document["learner"]
    learner = learners.make(settings["name"], **settings["options"])
    kind = contract.design.question.kind
    if _KINDS.get(family_of(learner), "") != (kind if kind in _ADAPTERS else ""):
        raise FormatError(
            "contract-learner",
            f"The contract's learner, {settings['name']}, does not ask about {kind}. Make another contract.",
        )
    return learner, _ADAPTERS.get(kind, CountAdapter)(contract, learner)
