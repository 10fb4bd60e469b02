"""Public knowledge of a decision problem, known before any user's data is looked at. It costs no privacy.

The least and the largest value of any policy, by public knowledge alone: whatever rows are, they keep to what is possible.

With known rewards r, and T(s, a) the next states that (s, a) may lead to,

    least_h(s, a) = r(s, a) + min_{t in T(s, a)} low_{h+1}(t),    low_h(s) = min_a least_h(s, a),    low_{H+1} = 0,

over allowed actions, and with max for the most. Rewards that are not known lie in [0, 1]; in the end state they are.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validation
from ..errors import FormatError, InvalidInput
from .model import STATIONARY, Spec
from .possible_cells import Array, PossibleCells


class Reach(NamedTuple):
    """low, high: (H+1, S), between which the value of every policy lies from a step on; least, most: (H, S, A), the same after an
    action.
    """

    low: Array
    high: Array
    least: Array
    most: Array

    def within(self, returns: tuple[float, float], paid: tuple[float, float]) -> Reach:
        """The same bounds where whole returns lie between two numbers, and a step pays between two others.

        A return of e in h steps, h least <= e <= h most, leaves between low - e and high - e from then on.
        """
        steps = np.arange(len(self.low))
        first, last = returns[0] - steps * paid[1], returns[1] - steps * paid[0]
        shapes = ((-1, 1), (-1, 1), (-1, 1, 1), (-1, 1, 1))
        return Reach(
            *(
                np.clip(bound, first[: len(bound)].reshape(shape), last[: len(bound)].reshape(shape))
                for bound, shape in zip(self, shapes, strict=True)
            )
        )

    @property
    def middle(self) -> Array:
        """(H, S, A): the value of an action that is off by least, if nothing else is known of it."""
        return (self.least + self.most) / 2

    @property
    def half(self) -> Array:
        """(H, S, A): by how much the middle can be off."""
        return (self.most - self.least) / 2


def reach(paid: tuple[Array, Array], ways: PossibleCells, allowed: NDArray[np.bool_], horizon: int) -> Reach:
    """The bounds of the module. paid: (L, S, A) each, what a step pays at least and at most."""
    (states, actions), layers = allowed.shape, len(paid[0])
    filled = np.flatnonzero(np.diff(ways.starts))  # rows that lead somewhere; others are never taken
    values, pairs = np.zeros((2, horizon + 1, states)), np.zeros((2, horizon, states, actions))
    for side, (extreme, none) in enumerate(((np.minimum, np.inf), (np.maximum, -np.inf))):
        for h in range(horizon - 1, -1, -1):
            after = np.zeros(states * actions)
            after[filled] = extreme.reduceat(values[side, h + 1][ways.following], ways.starts[:-1][filled])
            pairs[side, h] = paid[side][h if layers > 1 else 0] + after.reshape(states, actions)
            values[side, h] = extreme.reduce(np.where(allowed, pairs[side, h], none), axis=-1)
    return Reach(values[0], values[1], pairs[0], pairs[1])


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The public side of a logged decision problem.

    support: (S, A, S), which transitions can happen at all; (S, A, 0) where there is one step, which nothing follows. allowed:
    (S, A), which actions may be taken. rewards: (L, S, A), mean rewards in [0, 1], or None if they are to be learned. initial:
    (S,), the law of the first state, or None. `ends`: the last state of `spec` is one that was added: an episode shorter than the
    horizon moves there after its last step and stays, and every step there pays `end_reward`. There is no action there, so it has
    no counts of its own. returns: between which numbers the rewards of all steps of an episode together lie, or None if any sum is
    possible.
    """

    spec: Spec
    support: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    rewards: NDArray[np.float64] | None = None
    initial: NDArray[np.float64] | None = None
    ends: bool = False
    end_reward: float = 0.0
    returns: tuple[float, float] | None = None

    @classmethod
    def declared(
        cls,
        spec: Spec,
        support: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        rewards: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        ends: bool = True,
        end_reward: float = 0.0,
        returns: tuple[float, float] | None = None,
    ) -> Knowledge:
        """Knowledge from tables over the declared states of `spec`; with `ends`, the end state is added to all of them.

        A support of shape (S, A, S+1) says in its last column where an episode may end; one of (S, A, S) lets it end
        anywhere; of a single step it says nothing. Rewards may be (S, A), or (H, S, A) in a per-step model.
        """
        states, actions = spec.states, spec.actions
        inner = Spec(states + ends, actions, spec.horizon, spec.dynamics)
        permitted = np.ones((inner.states, actions), dtype=np.bool_)
        if allowed is not None:
            permitted[:states] = _mask("allowed", allowed, ((states, actions),))
        stuck = ~permitted.any(axis=1)
        if stuck.any():
            raise InvalidInput(
                "allowed-empty", f"allowed must leave every state an action. State {int(stuck.argmax())} has none."
            )
        return cls(
            inner,
            _possible(support, spec, ends, permitted),
            permitted,
            None if rewards is None else _rewards(rewards, spec, ends, end_reward),
            None if initial is None else _initial(initial, states, ends),
            ends,
            validation.between("reward after the end", end_reward, 0.0, 1.0),
            None if returns is None else _returns(returns, spec.horizon),
        )

    @property
    def states(self) -> int:
        """How many states were declared: all but the end state."""
        return self.spec.states - self.ends

    @property
    def end(self) -> int | None:
        """The index of the end state."""
        return self.spec.states - 1 if self.ends else None

    @cached_property
    def width(self) -> NDArray[np.int64]:
        """(S, A): to how many states a pair may lead."""
        return np.asarray(self.support.sum(axis=-1))

    @property
    def average_width(self) -> float:
        """To how many states the average pair may lead that any policy can take."""
        return float(self.width[self.acting].mean())

    @cached_property
    def ways(self) -> PossibleCells:
        """Where pairs may lead."""
        return PossibleCells.of(self.support)

    @cached_property
    def reach(self) -> Reach:
        """Between which bounds values lie, whatever is learned."""
        shape = (self.spec.layers, self.spec.states, self.spec.actions)
        least, most = (np.zeros(shape), np.ones(shape)) if self.rewards is None else (self.rewards, self.rewards)
        if self.end is not None and self.rewards is None:
            least[:, self.end] = most[:, self.end] = self.end_reward
        bounds = reach((least, most), self.ways, self.allowed, self.spec.horizon)
        return bounds if self.returns is None else bounds.within(self.returns, (float(least.min()), float(most.max())))

    @property
    def worths(self) -> tuple[float, float]:
        """The least and the largest value of a policy, from the first step on."""
        low, high = self.reach.low[0], self.reach.high[0]
        if self.initial is None:
            return float(low[: self.states].min()), float(high[: self.states].max())
        return float(self.initial @ low), float(self.initial @ high)

    @property
    def acting(self) -> NDArray[np.bool_]:
        """(S, A): which pairs can be taken; none in the end state."""
        pairs = self.allowed.copy()
        if self.end is not None:
            pairs[self.end] = False
        return pairs

    def with_dynamics(self, model: str) -> Knowledge:
        """The same knowledge with `stationary` or `per-step` dynamics."""
        rewards = self.rewards
        if rewards is not None and model == STATIONARY and len(rewards) > 1:
            raise InvalidInput(
                "rewards-per-step",
                "Rewards that differ from step to step need a per-step model. Ask for --model per-step.",
            )
        spec = self.spec.with_dynamics(model)
        if rewards is not None:
            rewards = np.broadcast_to(rewards, (spec.layers, *rewards.shape[1:]))
        return replace(self, spec=spec, rewards=rewards)


def read_table(path: str | Path, name: str) -> NDArray[np.generic]:
    """A public table from an .npy file, or from an .npz file that holds one array or one of that name."""
    try:
        with open(path, "rb") as file:
            content = np.load(file, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return content
            key = name if name in content.files else content.files[0] if len(content.files) == 1 else None
            if key is None:
                raise FormatError(
                    "public-table-content",
                    f"{path} must hold one array, or one called {name!r}. It holds {len(content.files)}.",
                )
            return np.asarray(content[key])
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, FormatError):
            raise
        missing = isinstance(error, FileNotFoundError)
        reason = "There is no such file." if missing else "Save one with numpy.save or numpy.savez."
        raise FormatError(
            "public-table-unreadable",
            f"{path} must be a table of numpy for {name}, and cannot be read as one. {reason}",
        ) from error


def _mask(name: str, value: ArrayLike, shapes: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """A table of yes and no, in one of the given shapes."""
    table = np.asarray(value)
    if table.shape not in shapes:
        raise validation.wrong_shape(name, " or ".join(map(str, shapes)), table.shape)
    if table.dtype.kind not in "biu" or (table.dtype != np.bool_ and not np.isin(table, (0, 1)).all()):
        raise validation.refusal(
            "not-true-or-false", name, "a table of true and false", str(table.dtype), "Write (probabilities > 0)."
        )
    return table.astype(np.bool_)


def _possible(support: ArrayLike | None, spec: Spec, ends: bool, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(S, A, S) which transitions can happen, an end state included; no pair that is allowed may lead nowhere."""
    states, actions = spec.states, spec.actions
    mask: NDArray[np.bool_] | None = None
    if support is not None:
        widths = (states, states + 1) if ends else (states,)
        mask = _mask("support", support, tuple((states, actions, width) for width in widths))
    if spec.horizon == 1:
        return np.ones((states + ends, actions, 0), dtype=np.bool_)
    possible = np.ones((states + ends, actions, states + ends), dtype=np.bool_)
    if mask is not None:
        possible[:states, :, : mask.shape[2]] = mask
    if ends:
        possible[states] = False
        possible[states, :, states] = True
    _no_dead_ends(possible, allowed)
    return possible


def _no_dead_ends(support: NDArray[np.bool_], allowed: NDArray[np.bool_]) -> None:
    nowhere = allowed & ~support.any(axis=2)
    if nowhere.any():
        state, action = (int(i) for i in np.argwhere(nowhere)[0])
        raise InvalidInput(
            "support-empty",
            f"support must leave every allowed pair somewhere to go. State {state}, action {action} has nowhere. "
            "Mark a next state, or forbid the action with allowed.",
        )


def _rewards(value: ArrayLike, spec: Spec, ends: bool, end_reward: float) -> NDArray[np.float64]:
    """(L, S, A) with the end state's rewards added."""
    shape = (spec.states, spec.actions)
    table = np.asarray(value)
    if table.ndim == 3 and spec.layers > 1:
        table = validation.array("rewards", value, (spec.horizon, *shape))
    else:
        table = np.broadcast_to(validation.array("rewards", value, shape), (spec.layers, *shape))
    if table.min() < 0 or table.max() > 1:
        raise validation.refusal(
            "scaled-rewards-out-of-range", "rewards", "in [0, 1] after scaling", f"[{table.min():g}, {table.max():g}]"
        )
    full = np.full((spec.layers, spec.states + ends, spec.actions), end_reward)
    full[:, : spec.states] = table
    return full


def _returns(value: tuple[float, float], horizon: int) -> tuple[float, float]:
    """The part of a range of returns that this many rewards in [0, 1] can reach."""
    low, high = (min(max(validation.number("return range", bound), 0.0), float(horizon)) for bound in value)
    if low >= high:
        raise validation.refusal(
            "return-range-outside", "return range", f"a range that overlaps [0, {horizon}] after scaling", value
        )
    return low, high


def _initial(value: ArrayLike, states: int, ends: bool) -> NDArray[np.float64]:
    law = validation.probabilities("initial", validation.array("initial", value, (states,)))
    return np.append(law, np.zeros(int(ends)))
