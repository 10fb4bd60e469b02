"""The names of worlds, and the way from an address to a world.

A world people live in: its public sizes, its model or a way to play it, and what its rewards mean to people.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...loading import announced
from ...mdp import PER_STEP, STATIONARY, MixtureFeatures, Model, Policy, Spec
from ...mdp.address import Address, read_value
from ...validation import Json
from .observed_world import ObservedWorld

LARGEST_TABLE = 8 * 2**30
"""Bytes that the transition table of one world may take."""

EpisodeArrays: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]
"""States, actions, rewards in [0, 1] and next states of one person, H of each."""

Interact: TypeAlias = Callable[[Policy, np.random.Generator], EpisodeArrays]

Value = TypeVar("Value", float, NDArray[np.float64])


@dataclass(frozen=True)
class RewardScale:
    """The line from the rewards learners see, in [0, 1], to those people know: low + (high - low) reward."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        low, high = validation.number("lowest reward", self.low), validation.number("highest reward", self.high)
        if low >= high:
            raise validation.refusal("reward-range-empty", "highest reward", f"above the lowest, {low:g}", high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def to_people(self, total_value: Value, steps: int) -> Value:
        """A sum of `steps` rewards in people's units. A difference of two such sums is converted with steps=0."""
        return self.low * steps + (self.high - self.low) * total_value

    def to_learner(self, reward: Value) -> Value:
        """One reward of people's, in the units of learners."""
        return (reward - self.low) / (self.high - self.low)


@dataclass(frozen=True, eq=False)
class Environment:
    """A finite-horizon world. Exactly one of `model` (exact values can be computed) and `interact` is there.

    interact(policy, rng) plays one episode of exactly H steps and returns its states, actions, rewards in [0, 1] and
    next states. Every episode has H steps, so sums of rewards always convert to people's units with steps=H.
    `features`, if any, are those of a linear mixture that the model is. `world`, if any, is the same world as a learner of
    described features sees it: states are observations.
    `make` fills in `address` and `description`. `made_of`: what a world of another package is made of, the outermost wrapper first,
    each with its parameters.
    """

    spec: Spec
    model: Model | None = field(default=None, repr=False)
    interact: Interact | None = field(default=None, repr=False)
    scale: RewardScale = RewardScale()
    features: MixtureFeatures | None = field(default=None, repr=False)
    world: ObservedWorld | None = field(default=None, repr=False)
    address: str = ""
    description: str = ""
    made_of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.model is None) == (self.interact is None):
            raise InvalidInput(
                "environment-model-or-play",
                "An environment must have either a model or a way to interact, and not both.",
            )
        if self.model is not None:
            known = self.model.spec
            if known.with_dynamics(self.spec.dynamics) != self.spec or known.layers != self.spec.layers:
                raise validation.refusal("environment-spec", "spec", f"that of the model, {known}", self.spec)
            if self.features is not None:
                self.features.parameters(self.model)

    @property
    def name(self) -> str:
        """The name that is printed: its address, or its sizes if it has none."""
        return self.address or f"a world of {self.spec.states} states and {self.spec.actions} actions"

    @classmethod
    def known(cls, model: Model, scale: RewardScale | None = None) -> Environment:
        """The environment of a known model."""
        return cls(model.spec, model, scale=scale or RewardScale())

    def with_dynamics(self, model: str) -> Environment:
        """The same world with `stationary` or `per-step` dynamics; what changes from step to step cannot be stationary."""
        validation.choice("model", model, (STATIONARY, PER_STEP))
        if model == self.spec.dynamics:
            return self
        if model == STATIONARY:
            raise validation.refusal(
                "environment-needs-per-step",
                "model",
                f"{PER_STEP!r}, because {self.name} changes from step to step",
                model,
            )
        check_size(self.spec.with_dynamics(model))
        return replace(self, spec=self.spec.with_dynamics(model), model=self.model and self.model.per_step())


def check_size(spec: Spec) -> Spec:
    """The same spec, refused if its transition table would take more than `LARGEST_TABLE` bytes."""
    size = 8 * spec.layers * spec.states**2 * spec.actions
    if size > LARGEST_TABLE:
        raise InvalidInput(
            "transitions-too-large",
            f"A table of transitions must fit into {LARGEST_TABLE / 1e9:.1f} GB. {spec.layers} x {spec.states} x "
            f"{spec.actions} x {spec.states} numbers take {size / 1e9:.1f}. Use fewer states or a stationary model.",
        )
    return spec


def blank(spec: Spec) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Transitions (L, S, A, S) and rewards (L, S, A) of zeros, for a builder to fill in."""
    layers, states, actions = check_size(spec).layers, spec.states, spec.actions
    return np.zeros((layers, states, actions, states)), np.zeros((layers, states, actions))


def start_in(state: int, states: int) -> NDArray[np.float64]:
    """The law of a first state that is always the same."""
    initial = np.zeros(states)
    initial[state] = 1.0
    return initial


GROUP = "confide.environments"
"""The entry-point group in which other packages announce builders."""

LONGEST_HORIZON = 10**6

Builder: TypeAlias = Callable[..., Model | Environment]
"""Takes what follows the name in an address, then `horizon`, then options with defaults."""


@dataclass(frozen=True)
class Listing:
    """One family of worlds, as the catalogue shows it. `horizon` is the default one, or a function of the sizes."""

    name: str
    description: str
    example: str
    model: str
    horizon: int | Callable[..., int]
    build: Builder

    @property
    def default_horizon(self) -> int:
        """The default horizon of the example."""
        return self.horizon_for(self.sizes_in(Address.read(self.example)))

    def horizon_for(self, sizes: list[Any]) -> int:
        """The default horizon of a world of these sizes."""
        return self.horizon(*sizes) if callable(self.horizon) else self.horizon

    def sizes_in(self, address: Address) -> list[Any]:
        """The builder's first arguments, read from an address: whole numbers after a slash, or a name after a colon.

        Sizes stand apart by an x, `2x3`; where the builder calls each by one character, that comes first: `d5h6`.
        """
        parameters = self._sizes()
        mark = ":" if [p for p in parameters if p.annotation in ("str", str)] else "/" if parameters else ""
        parts = [address.rest] if mark == ":" else address.rest.split("x") if mark else []
        if self._lettered:
            match = re.fullmatch("".join(f"{parameter.name}([^a-z]+)" for parameter in parameters), address.rest)
            parts = list(match.groups()) if match else []
        way_out = f"Write {self.example!r}, for example."
        if address.mark != mark or len(parts) != len(parameters) or not all(parts):
            form = f"{self.name}{mark}{self.written([parameter.name.upper() for parameter in parameters])}"
            raise validation.refusal("address-sizes", "address", f"of the form {form}", str(address), way_out)
        if mark == ":":
            return parts
        return [
            validation.integer(parameter.name, read_value(word), 1, way_out=way_out)
            for parameter, word in zip(parameters, parts, strict=True)
        ]

    def written(self, sizes: list[Any]) -> str:
        """Sizes as an address writes them: the inverse of `sizes_in`."""
        if self._lettered:
            return "".join(f"{parameter.name}{size}" for parameter, size in zip(self._sizes(), sizes, strict=True))
        return "x".join(map(str, sizes))

    def options_in(self, options: dict[str, Json]) -> dict[str, Json]:
        """The given options in one order, without those that equal their defaults."""
        parameters = self._parameters()
        after = parameters[[parameter.name for parameter in parameters].index("horizon") + 1 :]
        known = {
            parameter.name: parameter.default for parameter in after if parameter.kind is not parameter.VAR_KEYWORD
        }
        unknown = sorted(options.keys() - known.keys())
        if unknown and len(known) == len(after):
            takes = f"It takes {', '.join(known)}." if known else "It takes none."
            raise InvalidInput("environment-option-unknown", f"{self.name} has no option {unknown[0]!r}. {takes}")
        changed = [option for option in known if option in options and options[option] != known[option]]
        return {option: options[option] for option in [*changed, *unknown]}

    def _sizes(self) -> list[inspect.Parameter]:
        parameters = self._parameters()
        return parameters[: [parameter.name for parameter in parameters].index("horizon")]

    @property
    def _lettered(self) -> bool:
        sizes = self._sizes()
        return bool(sizes) and all(len(parameter.name) == 1 for parameter in sizes)

    def _parameters(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.build).parameters.values())


_LISTINGS: dict[str, Listing] = {}


def register(
    name: str, *, example: str = "", horizon: int | Callable[..., int] = 20, model: str = STATIONARY
) -> Callable[[Builder], Builder]:
    """Give a builder a name, so that every command finds it: `@register("corridor", example="corridor/5")`.

    The builder, say `corridor(states: int, horizon: int, seed: int = 0)`, returns a `Model`, or an `Environment` where
    rewards have a scale of their own. The first line of its docstring is the description of its worlds.
    """

    def add(builder: Builder) -> Builder:
        if not name or set(name) & set("/:?"):
            raise validation.refusal("environment-name-form", "name of an environment", "free of / : and ?", name)
        if name in _LISTINGS:
            raise validation.refusal("environment-name-taken", "name of an environment", "new", name, "Choose another.")
        if "horizon" not in inspect.signature(builder).parameters:
            raise InvalidInput(
                "environment-takes-no-horizon",
                f"The builder of {name!r} must take a horizon. It does not. Add a parameter of that name.",
            )
        description = (inspect.getdoc(builder) or name).splitlines()[0]
        _LISTINGS[name] = Listing(name, description, example or name, model, horizon, builder)
        return builder

    return add


def registered(name: str) -> Builder | None:
    """The function that was registered under a name in this process, or None."""
    return _LISTINGS[name].build if name in _LISTINGS else None


def names() -> list[str]:
    """Every known name, those of installed plug-ins included."""
    return sorted({*_LISTINGS, *announced(GROUP)})


def catalogue() -> list[Listing]:
    """Every family of worlds with its description, an example and its default horizon."""
    return [_find(name) for name in names()]


def make(address: str, horizon: int | None = None, model: str | None = None, **options: Any) -> Environment:
    """The world at an address. The same address, horizon and model always give the same world.

    Options may stand in the address (`?seed=7`) or be given by keyword, where None stands for the default; the result's
    address names them all. `model="per-step"` tells a stationary world step by step.
    """
    parsed = Address.read(address)
    listing = _find(parsed.name)
    sizes = listing.sizes_in(parsed)
    requested = {**parsed.options, **{option: value for option, value in options.items() if value is not None}}
    chosen = listing.options_in(requested)
    steps = validation.integer(
        "horizon", listing.horizon_for(sizes) if horizon is None else horizon, 1, LONGEST_HORIZON
    )
    built = listing.build(*sizes, horizon=steps, **chosen)
    environment = built if isinstance(built, Environment) else Environment.known(built)
    complete = replace(parsed, rest=listing.written(sizes), options=chosen)
    environment = replace(
        environment, address=str(complete), description=environment.description or listing.description
    )
    return environment if model is None else environment.with_dynamics(model)


def resolve(given: str | Environment | Model, horizon: int | None = None, model: str | None = None) -> Environment:
    """The world that was given as an address, an environment or a known model, with that horizon and those dynamics.

    Only at an address can another horizon be chosen: a world that is made already has its own.
    """
    if isinstance(given, str):
        return make(given, horizon, model)
    world = Environment.known(given) if isinstance(given, Model) else given
    if not isinstance(world, Environment):
        raise validation.refusal(
            "environment-type", "environment", "an address, an Environment or a Model", type(given).__name__
        )
    if horizon not in (None, world.spec.horizon):
        rule = f"left out, or {world.spec.horizon}, that of {world.name}"
        raise validation.refusal(
            "environment-horizon-fixed", "horizon", rule, horizon, "Make the world with another horizon instead."
        )
    return world if model is None else world.with_dynamics(model)


def _find(name: str) -> Listing:
    if name not in _LISTINGS:
        plugins = announced(GROUP)
        validation.choice("environment", name, [*_LISTINGS, *plugins])
        try:
            builder = plugins[name].load()
        except Exception as error:
            raise InvalidInput(
                "environment-plugin-broken",
                f"environment {name!r} is a plug-in that does not load: {error}. Repair it.",
            ) from error
        if name not in _LISTINGS:  # loading it may have registered it
            register(name)(builder)
    return _LISTINGS[name]
