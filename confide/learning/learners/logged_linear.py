"""A linear model of described features from one release about a log: what practice could do better.

Rewards and increments of next features are estimated by `planning.moments` (squares, with partial pooling among actions), each at
its mean, since a log needs no exploration. The plan goes backwards over public states as they are usually spread
(`described.usual`):

    Q_h(s, a) = 1/2 + m_{h+1} + psi(s)'v_{h+1} + <x(s, a), theta_a + W_a v_{h+1}>,    V_h = max_a Q_h, cut to [0, H-h],

m_h + psi(s)'v_h is fitted to V_h by least squares, and after an end every further step pays a public number. What does not depend
on the action is kept apart, so that x need not span psi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mdp.described import DescribedFeatures, usual
from ...mdp.feature_policy import FeaturePolicy
from ...protocol.kinds.moments import MomentsQuestion, MomentsRelease
from ..planning.moments import Disturbance, pooled
from .linear import scales

Array = NDArray[np.float64]

CHANGES = 0.25
"""Of the mean square of a next feature, what of its increment no state foresees."""
ENDS = 0.05
"""The variance of coming to an end at a step."""


class FeatureCritic(NamedTuple):
    """Q_h(s, a) = middle_h + <psi(s), slope_h> + <x(s, a), weights_h>. features: of states that go on; middle: (H,); slope: (H, q);
    weights: (H, blocks, d)."""

    features: DescribedFeatures
    middle: Array
    slope: Array
    weights: Array

    @property
    def policy(self) -> FeaturePolicy:
        """The action of the largest Q."""
        return FeaturePolicy(self.features, self.weights)

    def q(self, step: int, observations: Array) -> Array:
        """(n, A) values, cut to what the remaining steps can pay."""
        state = self.middle[step] + self.features.psi(observations) @ self.slope[step]
        scores = self.features.scores(self.features.all_x(observations), self.weights[step])
        return np.asarray(np.clip(state[:, None] + scores, 0.0, float(len(self.middle) - step)))


@dataclass(frozen=True)
class LoggedLinear:
    """features: the description that people gave. ends: whether episodes may come to an end before the horizon; end_reward: what
    every step after it pays, in [0, 1]."""

    features: DescribedFeatures
    horizon: int
    ends: bool = True
    end_reward: float = 0.0

    name = "linear"

    @property
    def question(self) -> MomentsQuestion:
        """What a log is counted for."""
        described = self.features.with_end() if self.ends and self.horizon > 1 else self.features
        return MomentsQuestion.logged(described, self.horizon)

    def learn(self, release: MomentsRelease) -> FeatureCritic:
        """The plan for the means of what is believed."""
        question, noise = release.question, float(release.noise.transitions)
        points, weighed = usual(self.features.inputs), scales(release.question)
        psi = self.features.psi(points)
        spread = np.full(question.targets, 0.25)
        if not question.single:
            spread[1 : 1 + psi.shape[1]] = CHANGES * (psi**2).mean(axis=0)
            spread[1 + psi.shape[1] :] = ENDS
        disturbed = Disturbance(spread, noise, noise / weighed**2)
        beliefs = pooled(release.gram, release.vector / weighed, disturbed)
        believed = beliefs.drawn(np.random.default_rng(0), 0.0)[0]
        return self._planned(points, psi, believed[..., 0], believed[..., 1:])

    def _planned(self, points: Array, psi: Array, rewards: Array, ahead: Array) -> FeatureCritic:
        """rewards: (blocks, d); ahead: (blocks, d, targets), that of an end last if there can be one."""
        x, ends = self.features.all_x(points), ahead.shape[-1] > psi.shape[1]
        fit = np.linalg.pinv(np.column_stack([np.ones(len(points)), psi]))
        middle, slope = np.zeros(self.horizon), np.zeros((self.horizon, psi.shape[1]))
        weights = np.zeros((self.horizon, *rewards.shape))
        level, ascent = 0.0, np.zeros(psi.shape[1])
        for step in reversed(range(self.horizon)):
            after = self.end_reward * (self.horizon - step - 1)
            values = np.append(ascent, after - level) if ends else ascent
            weights[step] = rewards + (ahead @ values if ahead.shape[-1] else 0.0)
            middle[step], slope[step] = 0.5 + level, ascent
            scores = middle[step] + psi @ slope[step] + self.features.scores(x, weights[step]).max(axis=1)
            level, *rest = fit @ np.clip(scores, 0.0, self.horizon - step)
            ascent = np.array(rest)
        return FeatureCritic(self.features, middle, slope, weights)
