"""The bridge to Gymnasium, both ways: its worlds as ours, and ours as its."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...errors import InvalidInput
from ...loading import module_name
from ...mdp import Model, Policy, Spec
from ...validation import Json
from .registry import Environment, EpisodeArrays, RewardScale, blank, check_size, register

if TYPE_CHECKING:
    import gymnasium

_TRANSPARENT = {"TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics"}
"""Wrappers that change neither what happens nor what it pays before the time limit, which our horizon replaces."""


@register("gymnasium", example="gymnasium:FrozenLake-v1", horizon=100)
def gymnasium_world(
    name: str, horizon: int, reward_range: tuple[float, float] | None = None, **arguments: Any
) -> Environment:
    """A world of Gymnasium with finitely many states and actions, by its id.

    Options other than `reward_range` go to the world itself (`?is_slippery=false`). See `from_gymnasium`.
    """
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an old id still names the world that was asked for
        try:
            world = gymnasium.make(name, max_episode_steps=horizon, disable_env_checker=True, **arguments)
        except (gymnasium.error.Error, ImportError, TypeError) as error:
            raise InvalidInput("gym-not-made", f"Gymnasium cannot make {name!r}: {error}") from error
    return from_gymnasium(world, horizon, reward_range)


def from_gymnasium(
    world: gymnasium.Env[Any, Any], horizon: int, reward_range: tuple[float, float] | None = None
) -> Environment:
    """A world of Gymnasium with a horizon of ours in place of its time limit.

    If it publishes its table `P` and its first states, the model is exact. Rewards are rescaled from the least and the
    greatest in the table; an episode that has ended stays where it ended and is paid people's zero for the steps that
    remain, so sums over H steps convert back exactly. A reward that depends on the next state enters by its mean.

    Otherwise it can only be played: `reward_range` is then needed, rewards outside it are clipped, and an episode that
    has ended continues in one more state, the last, paid people's zero. Both ways the range is widened to hold zero.
    """
    layers = _layers(world)
    plain = world.spec.id if world.spec is not None else type(world.unwrapped).__name__
    name = " in ".join([plain, *(f"{layer.kind.__name__}({layer.chosen})" for layer in layers[::-1] if layer.changes)])
    made_of = tuple(
        f"{module_name(layer.kind.__module__)}.{layer.kind.__qualname__}({layer.chosen})" for layer in layers
    )
    states = FiniteSpace.of(f"observation space of {name}", world.observation_space)
    actions = FiniteSpace.of(f"action space of {name}", world.action_space)
    if len(actions.sizes) > 1:
        raise validation.refusal(
            "gym-actions-not-discrete",
            f"action space of {name}",
            "Discrete",
            world.action_space,
            "Flatten it with a wrapper.",
        )
    description = f"{name} of Gymnasium."
    if len(states.sizes) == 1 and _publishes_model(world, layers):
        if reward_range is not None:
            raise validation.refusal(
                "gym-reward-range-known", "reward_range", f"left out for {name}, whose rewards are known", reward_range
            )
        model, scale = _exact(name, world.unwrapped, Spec(states.count, actions.count, horizon))
        return Environment(model.spec, model, scale=scale, address=name, description=description, made_of=made_of)
    scale = _declared(name, reward_range)
    spec = check_size(Spec(states.count + 1, actions.count, horizon))
    player = Player(world, spec, scale, states, actions.starts[0])
    return Environment(spec, interact=player, scale=scale, address=name, description=description, made_of=made_of)


def as_gymnasium(environment: Environment) -> gymnasium.Env[int, int]:
    """A world of ours for Gymnasium's agents: rewards in people's units, cut off (truncated) after H steps."""
    if environment.model is None:
        raise InvalidInput(
            "gym-needs-model",
            f"{environment.address} must have a known model. It can only be played. Use its own world.",
        )
    from .gym_world import ModelWorld

    return ModelWorld(environment.model, environment.scale)


@dataclass(frozen=True)
class FiniteSpace:
    """A space of finitely many points, numbered in row-major order of its coordinates."""

    sizes: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, what: str, space: Any) -> FiniteSpace:
        """The coordinates of a Discrete or MultiDiscrete space or of a tuple of Discrete ones."""
        from gymnasium import spaces

        if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
            return cls(tuple(map(int, space.nvec)), tuple(map(int, space.start)))
        parts = list(space) if isinstance(space, spaces.Tuple) else [space]
        if not all(isinstance(part, spaces.Discrete) for part in parts):
            way_out = "Discretise it with a wrapper, or learn with features."
            raise InvalidInput("gym-not-discrete", f"{what} must be discrete. Got {space}. {way_out}")
        return cls(tuple(int(part.n) for part in parts), tuple(int(part.start) for part in parts))

    @property
    def count(self) -> int:
        """How many points there are."""
        return math.prod(self.sizes)

    def index(self, point: Any) -> int:
        """The number of a point."""
        return int(np.ravel_multi_index(tuple(np.atleast_1d(point) - self.starts), self.sizes))


@dataclass(frozen=True, eq=False)
class Player:
    """Plays a world without a known model, one person at a time."""

    world: Any
    spec: Spec
    scale: RewardScale
    states: FiniteSpace
    first_action: int

    def __call__(self, policy: Policy, rng: np.random.Generator) -> EpisodeArrays:
        """One episode of H steps; what the world and the policy draw comes from `rng`."""
        horizon, end = self.spec.horizon, self.spec.states - 1
        visited = np.full(horizon + 1, end, dtype=np.int64)
        actions = np.empty(horizon, dtype=np.int64)
        rewards = np.full(horizon, self.scale.to_learner(0.0))
        observation, _ = self.world.reset(seed=int(rng.integers(2**31)))
        visited[0], ended = self.states.index(observation), False
        for step in range(horizon):
            action = policy.act(step, int(visited[step]), rng)
            if isinstance(action, str):
                raise InvalidInput(
                    "policy-needs-people",
                    "A policy that recommends no change somewhere cannot be played without users. Give a whole one.",
                )
            actions[step] = action
            if not ended:
                observation, reward, over, cut, _ = self.world.step(actions[step] + self.first_action)
                rewards[step] = min(max(self.scale.to_learner(float(reward)), 0.0), 1.0)
                ended = over or cut
            if not ended:
                visited[step + 1] = self.states.index(observation)
        return visited[:-1], actions, rewards, visited[1:]


class _Move(NamedTuple):
    state: int
    action: int
    chance: float
    after: int
    reward: float
    ended: bool


def _exact(name: str, world: Any, spec: Spec) -> tuple[Model, RewardScale]:
    """The model in `P`, which lists (probability, next state, reward, ended) for each state and action."""
    try:
        moves = [
            _Move(state, action, float(chance), int(after), float(reward), bool(ended))
            for state in range(spec.states)
            for action in range(spec.actions)
            for chance, after, reward, ended in world.P[state][action]
            if chance > 0
        ]
    except (KeyError, IndexError, TypeError, ValueError):
        rule = "a list of (probability, next state, reward, ended) for every state and action"
        raise InvalidInput("gym-table", f"P of {name} must hold {rule}. It does not. Repair it or remove it.") from None
    initial = np.asarray(world.initial_state_distrib, dtype=np.float64)
    alive = _reached(initial, [(move.state, move.after) for move in moves if not move.ended])
    ends = {move.after for move in moves if move.ended}
    if ends & alive:  # a state where some end and some go on: those who end go to one more state instead
        moves = [move._replace(after=spec.states) if move.ended and move.after in alive else move for move in moves]
        ends = {spec.states, *(ends - alive)}
        spec, initial = Spec(spec.states + 1, spec.actions, spec.horizon), np.append(initial, 0.0)
    paid = {move.reward for move in moves} | ({0.0} if ends else set())
    scale = RewardScale(min(paid), max(paid) if len(paid) > 1 else min(paid) + 1)
    transitions, rewards = blank(spec)
    for move in moves:
        transitions[0, move.state, move.action, move.after] += move.chance
        rewards[0, move.state, move.action] += move.chance * scale.to_learner(move.reward)
    for end in ends:
        transitions[0, end] = 0.0
        transitions[0, end, :, end] = 1.0
        rewards[0, end] = scale.to_learner(0.0)
    return Model(transitions, np.clip(rewards, 0.0, 1.0), initial, spec.horizon), scale


def _reached(initial: NDArray[np.float64], moves: Iterable[tuple[int, int]]) -> set[int]:
    """The states that someone may visit whose episode has not ended."""
    onward: dict[int, set[int]] = {}
    for state, after in moves:
        onward.setdefault(state, set()).add(after)
    reached: set[int] = set()
    waiting = {int(state) for state in np.flatnonzero(initial)}
    while waiting:
        state = waiting.pop()
        reached.add(state)
        waiting |= onward.get(state, set()) - reached
    return reached


class _Layer(NamedTuple):
    """A wrapper, or the world inside all of them: its class, its parameters in words, and whether it changes the world."""

    kind: type
    chosen: str
    changes: bool


def _layers(world: Any) -> list[_Layer]:
    """The wrappers of a world from the outermost on, and last the world itself."""
    layers = []
    layer = world
    while layer is not world.unwrapped:
        kind = type(layer)
        # What a wrapper records of its own making; else what it shows of itself.
        chosen = getattr(layer, "_saved_kwargs", None) or {
            name: value
            for name, value in vars(layer).items()
            if not name.startswith("_") and isinstance(value, bool | int | float | str)
        }
        layers.append(_Layer(kind, _words(chosen), kind.__name__ not in _TRANSPARENT))
        layer = layer.env
    return [*layers, _Layer(type(layer), _words(layer.spec.kwargs if layer.spec is not None else {}), False)]


def _words(chosen: dict[str, Json]) -> str:
    """Parameters as they would be given; a function by its name, since its address says nothing."""
    return ", ".join(f"{name}={getattr(value, '__qualname__', value)}" for name, value in sorted(chosen.items()))


def _publishes_model(world: Any, layers: Iterable[_Layer]) -> bool:
    """Whether `P` is the whole truth: no wrapper changes the world, and its steps follow the table."""
    bare = world.unwrapped
    fickle = getattr(bare, "fickle_passenger", False)  # of Taxi: changes destination by a rule that is not in `P`
    unchanged = not any(layer.changes for layer in layers)
    return unchanged and not fickle and hasattr(bare, "P") and hasattr(bare, "initial_state_distrib")


def _declared(name: str, reward_range: Any) -> RewardScale:
    try:
        low, high = reward_range
    except (TypeError, ValueError):
        way_out = f"{name} publishes no model, so you must say what it can pay in one step."
        raise validation.refusal(
            "gym-reward-range-form", "reward_range", "a pair (low, high)", reward_range, way_out
        ) from None
    scale = RewardScale(low, high)
    return RewardScale(min(scale.low, 0.0), max(scale.high, 0.0))
