"""The choices of a simulation as one value: what a command or a call fills in, and what a result saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ...errors import InvalidInput
from ...mdp import Model
from ...privacy import Guarantee, NoPrivacy, Schedule
from ...protocol.design import AUTO, TIGHT
from ...validation import Json
from ..environments import Environment


@dataclass(frozen=True)
class Choices:
    """Everything that is chosen of a simulation, and nothing that follows from it: the same choices give the same digits.

    learner: a name, or a learner. environment: an address, an environment, or a model. schedule: when policies change, in
    words or as it is; None for what suits the promise. horizon, model: of the environment, None for its own. budget: how much of
    one person is counted, under joint privacy. printing: which printing of a paper's noise. seed: root of all random numbers.
    engine: who plays all parties, None for the fastest. options: of the learner's own, and of shufflers.
    """

    learner: Any
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
    options: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(
        cls, learner: Any, environment: str | Environment | Model, privacy: Guarantee | None = None, **choices: Any
    ) -> Choices:
        """The choices that keywords make; a keyword that is not the name of a choice is an option."""
        named = {name: choices.pop(name) for name in NAMES & choices.keys()}
        return cls(learner, environment, privacy or NoPrivacy(), **named, options=choices)

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
