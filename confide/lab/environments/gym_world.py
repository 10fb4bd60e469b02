"""A known model as a world of Gymnasium. Imported only when asked for: it needs Gymnasium at once."""

from __future__ import annotations

from typing import Any

import gymnasium

from ...mdp import Model
from ...validation import Json
from .registry import RewardScale


class ModelWorld(gymnasium.Env[int, int]):
    """Plays a model for H steps. A reward is the greatest or the least that people know, with the model's mean."""

    def __init__(self, model: Model, scale: RewardScale) -> None:
        self.model, self.scale = model, scale
        self.observation_space = gymnasium.spaces.Discrete(model.spec.states)  # type: ignore[assignment]
        self.action_space = gymnasium.spaces.Discrete(model.spec.actions)  # type: ignore[assignment]
        self.elapsed, self.state = 0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Json] | None = None) -> tuple[int, dict[str, Json]]:
        """A new person in a first state."""
        super().reset(seed=seed)
        self.elapsed, self.state = 0, self._draw(self.model.initial)
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Json]]:
        """One step; the last is marked as truncated."""
        where = (min(self.elapsed, self.model.spec.layers - 1), self.state, int(action))
        rewarded = self.np_random.random() < self.model.rewards[where]
        self.state = self._draw(self.model.transitions[where])
        self.elapsed += 1
        reward = self.scale.high if rewarded else self.scale.low
        return self.state, reward, False, self.elapsed >= self.model.horizon, {}

    def _draw(self, chances: Any) -> int:
        return int(self.np_random.choice(len(chances), p=chances))
