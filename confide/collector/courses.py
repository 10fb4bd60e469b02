"""How a contract's learner is told what it needs, and how its state is kept: one course for each kind of question.

Who learns from counts asks everybody the same. Who learns about a linear mixture has a new question in every round, about the
value function that it planned with; it knows features, which are in the contract's design, and rewards, which are beside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from .. import learners, validation
from ..contracts.contract import Contract
from ..errors import FormatError, InvalidInput
from ..learners import Context, State, state_bytes
from ..learners.late import expected_visits

MIXTURE = "mixture"
"""The family of learners, and the kind of questions, about linear mixtures."""


class Course(Protocol):
    """What is learned in one contract's rounds."""

    context: Any
    """What the learner is told before it begins."""

    def stored(self, state: Any) -> bytes:
        """What is kept of a learner's state."""
        ...

    def restored(self, data: bytes) -> Any:
        """The state that `stored` kept."""
        ...

    def expected(self, state: Any) -> bytes:
        """The visits expected of whoever follows the state's policy, where people are weighed by them."""
        ...

    def asked(self, state: Any) -> bytes:
        """What people are asked next; nothing where that never changes."""
        ...


class Counts:
    """Learners from counts."""

    def __init__(self, contract: Contract, learner: Any) -> None:
        self._learner = learner
        self.context = Context(*_facts(contract))

    def stored(self, state: State) -> bytes:
        """Without the policies in use, which are published: no plan goes on from them."""
        return state_bytes.to_bytes(replace(state, mixture=None))

    def restored(self, data: bytes) -> State:
        """As it was, but for the policies in use."""
        return state_bytes.from_bytes(data, self._learner)

    def expected(self, state: State) -> bytes:
        """(L, S, A), if any."""
        visits = expected_visits(state)
        return b"" if visits is None else np.ascontiguousarray(visits, dtype="<f8").tobytes()

    def asked(self, state: State) -> bytes:
        """The contract's only question."""
        return b""


class Mixtures:
    """Learners of linear mixtures: `ucrl-vtr`."""

    def __init__(self, contract: Contract, learner: Any) -> None:
        from ..learners.vtr import MixtureContext

        form: Any = contract.design.question
        self._learner = learner
        rewards = known_rewards(contract.document["learner"].get("rewards"), form.spec)
        self.context = MixtureContext(*_facts(contract), form=form, rewards=rewards)

    def stored(self, state: Any) -> bytes:
        """Policy and values."""
        from ..learners.linear_bytes import mixture_to_bytes

        return mixture_to_bytes(state)

    def restored(self, data: bytes) -> Any:
        """Policy and values."""
        from ..learners.linear_bytes import mixture_from_bytes

        return mixture_from_bytes(data, self.context)

    def expected(self, state: Any) -> bytes:
        """Nobody is weighed: E[Y] = <X, theta> whichever policy was followed, and whichever values were asked about."""
        return b""

    def asked(self, state: Any) -> bytes:
        """The value function that the policy was planned with."""
        question: bytes = self._learner.ask(state).to_bytes()
        return question


def _facts(contract: Contract) -> tuple[Any, int, float, float]:
    told, design = contract.document["learner"], contract.design
    return design.question.spec, design.schedule.users, told["failure"], told["bonus_scale"]


def known_rewards(told: Any, spec: Any) -> Any:
    """(H, S, A) what every action earns in every state, which is known to all; refused unless in [0, 1]."""
    if told is None:
        raise InvalidInput("A learner of linear mixtures must be told what actions earn. Give --known.")
    rewards = validation.array("rewards", np.asarray(told, dtype=np.float64), (spec.horizon, spec.states, spec.actions))
    if rewards.min() < 0 or rewards.max() > 1:
        raise validation.refusal("rewards", "in [0, 1]", f"{rewards.min():g} to {rewards.max():g}")
    return rewards


_COURSES: dict[str, type[Counts] | type[Mixtures]] = {MIXTURE: Mixtures}
"""By the kind of question; all others are about counts."""


def course(contract: Contract) -> tuple[Any, Course]:
    """The learner that a contract names, and its course."""
    told = contract.document["learner"]
    learner = learners.make(told["name"], **told["options"])
    kind = contract.design.question.kind
    if (getattr(learner, "family", "") == MIXTURE) != (kind == MIXTURE):
        raise FormatError(f"The contract's learner, {told['name']}, does not ask about {kind}. Make another contract.")
    return learner, _COURSES.get(kind, Counts)(contract, learner)
