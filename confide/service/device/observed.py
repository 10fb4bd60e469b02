"""One person's episode where a public description says what is observed: `episode.act({"age": 41, "plan": "pro"})`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    from .store import KeptEpisode


NO_REWARD = 0.0
"""The outcome of a choice of which none was known by the time of sending."""


class ObservedEpisode(Episode):
    """`act` on what is observed, by name; actions come back by name. Nothing here raises, and nothing observed is revealed.

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
        self._awaited = False

    @quiet(0)
    def act(self, observed: Mapping[str, object]) -> str:  # type: ignore[override]
        """The name of the action to take: by the policy of the day, or at random where there is none yet."""
        return self._taken(observed, range(self._features.actions))

    @quiet(0)
    def choose(self, context: Mapping[str, object], actions: Sequence[str] | None = None) -> str:
        """The action to take, of those on offer (None: of all), where its reward comes later: tell it by `reward`.

        For contracts of one step with a window. The report leaves at the time that was drawn when the episode began, with the
        reward that came until then, or with `NO_REWARD`: one that left when the reward came would tell when that was.
        """
        names = self._features.actions_named
        if self._horizon() != 1 or not self._windowed():
            self._ended("Choices need a contract of one step with a window; nothing is reported.")
        if actions is not None and not set(actions) <= set(names):
            self._ended("An action is on offer that the contract does not know; nothing is reported.")
            return actions[int(chance() * len(actions))]
        self._awaited = True
        return self._taken(context, [names.index(each) for each in actions or names])

    def reward(self, value: float) -> None:
        """Note the reward of the choice, in [0, 1], whenever that is known; after its report was drawn, it changes nothing."""
        self.observe(value)

    def _taken(self, observed: Mapping[str, object], offered: Sequence[int]) -> str:
        """The name of the best action on offer, noted as the one that was taken."""
        features, step = self._features, len(self._rewards)
        row = self._encoded(observed)
        if row is None or self._policy is None:
            action = offered[int(chance() * len(offered))]
        else:
            policy = cast(FeaturePolicy, self._policy)
            weights = policy.weights[min(step, policy.horizon - 1)]
            action = offered[int(features.scores(features.all_x(row[None]), weights)[0, offered].argmax())]
        if row is not None and not self._over and step < self._horizon():
            # An action whose outcome was never observed gives way to the next.
            self._seen[step:], self._actions[step:] = [row], [action]
        return features.actions_named[action]

    @quiet(None)
    def observe(  # type: ignore[override]
        self, reward: float, next_state: Mapping[str, object] | None = None, action: str | None = None
    ) -> None:
        """Note the reward of the action, in [0, 1], and what is observed next, where there is a next step.

        action: the name of what was done, where that was not what `act` said.
        """
        if self._over or len(self._rewards) == len(self._actions):
            return
        if action is not None:
            if action not in self._features.actions_named:
                self._ended("An action was given that the contract does not know; the rest is not reported.")
                return
            self._actions[-1] = self._features.actions_named.index(action)
        self._rewards.append(self._earned(reward))
        self._next = None if next_state is None else self._encoded(next_state)

    def kept(self) -> KeptEpisode:
        """What was observed and happened so far, as it is kept for a later run."""
        known = super().kept()
        known["states"] = [each.tolist() for each in self._seen]
        known["last"] = [self._awaited, None if self._next is None else self._next.tolist()]
        return known

    def restore(self, kept: KeptEpisode) -> None:
        """Go on after what was kept."""
        awaited, after = kept["last"]
        super().restore({**kept, "states": [], "last": None})
        self._seen = [np.array(each, dtype=np.float64) for each in kept["states"]]
        self._awaited, self._next = awaited, None if after is None else np.array(after, dtype=np.float64)

    def lived(self) -> ObservedEpisodes:
        """The episode so far. A last step of several without a known next state is left out; a choice whose reward did not come
        has `NO_REWARD`."""
        rewards = list(self._rewards)
        if self._awaited and len(rewards) < len(self._actions):
            rewards.append(NO_REWARD)
        steps, seen = len(rewards), list(self._seen[: len(rewards) + 1])
        if len(seen) == steps and self._next is not None:
            seen.append(self._next)
        if len(seen) == steps and self._horizon() > 1:
            steps = max(steps - 1, 0)
        observations = np.array(seen, dtype=np.float64).reshape(1, len(seen), len(self._features.inputs))
        return ObservedEpisodes(
            observations[:, : steps + 1],
            np.array(self._actions[:steps], dtype=np.int64)[None],
            np.array(rewards[:steps], dtype=np.float64)[None],
        )

    def _horizon(self) -> int:
        contract = self._device.contract
        return 0 if contract is None else contract.design.question.spec.horizon

    def _encoded(self, observed: Mapping[str, object]) -> Array | None:
        """What is observed, as numbers; None, with a notice, if the description does not know it."""
        try:
            return self._features.encode(observed)
        except (ConfideError, TypeError, AttributeError):
            self._ended("Something was observed that the contract does not describe; the rest is not reported.")
            return None

    def _windowed(self) -> bool:
        contract = self._device.contract
        return contract is not None and contract.window > 0

    def _ended(self, sentence: str) -> None:
        self._over = True
        self.tell("input", sentence)
