"""One person's episode where a public description says what is observed: `episode.act({"age": 41, "plan": "pro"})`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from ...data.trajectories.observed import ObservedEpisodes
from ...errors import ConfideError
from ...mdp.described import Array, DescribedFeatures
from ...mdp.feature_policy import FeaturePolicy
from .episode import Episode
from .notices import quiet
from .sending import chance

if TYPE_CHECKING:
    from ...mdp.feature_policy import Followed
    from .device import Device


class ObservedEpisode(Episode):
    """`act` on what is observed, by name; actions come back by name. Nothing here raises, and nothing observed is told.

    What the description does not know (a missing name, another category) ends what is reported; a number outside of its range is
    moved to the nearest end.
    """

    def __init__(
        self, device: Device, policy: Followed | None, token: str, followed: int, features: DescribedFeatures
    ) -> None:
        super().__init__(device, policy, token, followed)
        self._features = features
        self._seen: list[Array] = []
        self._next: Array | None = None

    @quiet(0)
    def act(self, observed: Mapping[str, object]) -> str:  # type: ignore[override]
        """The name of the action to take: by the policy of the day, or at random where there is none yet."""
        features, step = self._features, len(self._actions)
        row = self._encoded(observed)
        if row is None or self._policy is None:
            action = int(chance() * features.actions)
        else:
            policy = cast(FeaturePolicy, self._policy)
            action = int(policy.chosen(min(step, policy.horizon - 1), features.all_x(row[None]))[0])
        if row is not None and not self._over and step < self._horizon() and len(self._rewards) == step:
            self._seen.append(row)
            self._actions.append(action)
        return features.actions_named[action]

    @quiet()
    def observe(self, reward: float, next_state: Mapping[str, object] | None = None, action: str | None = None) -> None:
        """Note what the action earned, in [0, 1], and what is observed next, where there is a next step.

        action: the name of what was done, where that was not what `act` said.
        """
        if self._over or len(self._rewards) == len(self._actions):
            return
        if action is not None:
            if action not in self._features.actions_named:
                self._over = True
                self.tell("input", "An action was given that the contract does not know; the rest is not reported.")
                return
            self._actions[-1] = self._features.actions_named.index(action)
        self._rewards.append(self._earned(reward))
        self._next = None if next_state is None else self._encoded(next_state)

    def lived(self) -> ObservedEpisodes:
        """The episode so far. A last step of several without a known next state is left out."""
        steps, seen = len(self._rewards), list(self._seen[: len(self._rewards) + 1])
        if len(seen) == steps and self._next is not None:
            seen.append(self._next)
        if len(seen) == steps and self._horizon() > 1:
            steps = max(steps - 1, 0)
        observations = np.array(seen, dtype=np.float64).reshape(1, len(seen), len(self._features.inputs))
        return ObservedEpisodes(
            observations[:, : steps + 1],
            np.array(self._actions[:steps], dtype=np.int64)[None],
            np.array(self._rewards[:steps], dtype=np.float64)[None],
        )

    def _horizon(self) -> int:
        contract = self._device.contract
        return 0 if contract is None else contract.design.question.spec.horizon

    def _encoded(self, observed: Mapping[str, object]) -> Array | None:
        """What is observed, as numbers; None, with a notice, if the description does not know it."""
        try:
            return self._features.encode(observed)
        except (ConfideError, TypeError, AttributeError):
            self._over = True
            self.tell("input", "Something was observed that the contract does not describe; the rest is not reported.")
            return None
