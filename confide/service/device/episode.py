"""One person's episode, while it lasts: in memory only, and gone when its report is drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from ...data.trajectories.observed import ObservedEpisodes
from ...data.trajectories.trajectory import Trajectory
from ...mdp.policy import Policy
from ...protocol.kinds.counts import COUNTED
from .notices import quiet
from .sending import chance

if TYPE_CHECKING:
    from ...mdp.feature_policy import Followed
    from .device import Device
    from .store import KeptEpisode


class Episode:
    """`act` in a state, `observe` what it led to, and `finish`. Nothing here raises.

    States may be given, and actions come back, by number or by the contract's label.
    """

    def __init__(self, device: Device, policy: Followed | None, token: str, followed: int) -> None:
        """token: names the report that is to be drawn; empty if this person's was spent. followed: the policy's round."""
        self._device, self._policy, self.token, self.followed = device, policy, token, followed
        self._states: list[int] = []
        self._actions: list[int] = []
        self._rewards: list[float] = []
        self._last: int | None = None
        self._over = False

    @property
    def reports(self) -> bool:
        """Whether a report will be sent about it."""
        return bool(self.token)

    def tell(self, kind: str, text: str) -> None:
        """Log a notice and pass it on, by the device."""
        self._device.tell(kind, text)

    @quiet(0)
    def act(self, state: int | str) -> int | str:
        """The action to take in a state: by the policy of the day, or at random where there is none yet."""
        contract = self._device.contract
        if contract is None:
            return 0
        labels = contract.document["labels"]
        spec = contract.design.question.spec
        where = _number(state, labels["states"])
        step = len(self._rewards)
        if where is None:
            self._over = True
            self.tell("input", "A state was given that the contract does not know; the rest is not reported.")
        if where is None or self._policy is None:
            action = int(chance() * spec.actions)
        else:
            row = cast(Policy, self._policy).probabilities[min(step, spec.horizon - 1), where]
            action = _drawn(row.tolist())
        if where is not None and not self._over and step < spec.horizon:
            # An action whose outcome was never observed gives way to the next.
            self._states[step:], self._actions[step:] = [where], [action]
        return labels["actions"][action] if isinstance(state, str) else action

    @quiet(None)
    def observe(self, reward: float, next_state: int | str | None = None, action: int | str | None = None) -> None:
        """Note the reward of the action, in [0, 1], and the state that it led to, where that is known.

        action: what was done, where that was not what `act` said.
        """
        contract = self._device.contract
        if contract is None or self._over or len(self._rewards) == len(self._actions):
            return
        if action is not None:
            done = _number(action, contract.document["labels"]["actions"])
            if done is None:
                self._over = True
                self.tell("input", "An action was given that the contract does not know; the rest is not reported.")
                return
            self._actions[-1] = done
        self._rewards.append(self._earned(reward))
        self._last = None if next_state is None else _number(next_state, contract.document["labels"]["states"])

    def _earned(self, reward: float) -> float:
        """A reward, clipped to [0, 1]."""
        earned = float(reward)
        if 0 <= earned <= 1:
            return earned
        self.tell("input", "A reward outside [0, 1] was given; it was clipped.")
        return min(1.0, max(0.0, earned)) if math.isfinite(earned) else 0.0

    @quiet(None)
    def finish(self) -> None:
        """The episode is over: its report is drawn, once, and kept until it is acknowledged."""
        self._device.conclude(self)

    def kept(self) -> KeptEpisode:
        """What happened so far, as it is kept for a later run."""
        return {
            "states": list(self._states),
            "actions": list(self._actions),
            "rewards": list(self._rewards),
            "last": self._last,
            "over": self._over,
        }

    def restore(self, kept: KeptEpisode) -> None:
        """Go on after what was kept."""
        self._states, self._last, self._over = list(kept["states"]), kept["last"], kept["over"]
        self._actions, self._rewards = list(kept["actions"]), list(kept["rewards"])

    def lived(self) -> Trajectory | ObservedEpisodes:
        """The trajectory so far. A last step without a known next state is left out if the contract's question needs it."""
        steps = len(self._rewards)
        states = self._states[: steps + 1]
        if len(states) == steps and self._last is not None:
            states = [*states, self._last]
        if len(states) == steps and self._needs_last():
            steps = max(steps - 1, 0)
        return Trajectory(
            np.array(states or [0], dtype=np.int64),
            np.array(self._actions[:steps], dtype=np.int64),
            np.array(self._rewards[:steps], dtype=np.float64),
        )

    def _needs_last(self) -> bool:
        contract = self._device.contract
        counts = None if contract is None else contract.design.question.counted
        return contract is not None and (counts is None or counts.last == COUNTED)


def _number(label: int | str, labels: list[str]) -> int | None:
    """The number of a label, or the number itself; None if there is no such."""
    if isinstance(label, str):
        return labels.index(label) if label in labels else None
    number = int(label)
    return number if 0 <= number < len(labels) else None


def _drawn(chances: list[float]) -> int:
    """A place in a list, as likely as the list says."""
    if 1.0 in chances:
        return chances.index(1.0)
    point, total = chance() * sum(chances), 0.0
    for place, likely in enumerate(chances):
        total += likely
        if point < total:
            return place
    return len(chances) - 1
