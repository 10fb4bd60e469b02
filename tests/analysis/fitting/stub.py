"""A learner for tests of the plumbing: it remembers what it was given and takes the most frequent action."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from confide.mdp.knowledge import Knowledge
from confide.protocol.releases import CountRelease


class FrequentResult(NamedTuple):
    policy: np.ndarray
    values: np.ndarray


class Frequent:
    """The action most often taken in each state; its value is a constant a step, times the scale."""

    name = "frequent"

    def __init__(self, knowledge: Knowledge, pessimism: str = "adaptive", worth: float = 0.5) -> None:
        self.knowledge, self.pessimism, self.worth = knowledge, pessimism, worth
        self.told: list[tuple[CountRelease, Any, Any]] = []

    def plan(
        self, release: CountRelease, scale: float | None = None, initial: np.ndarray | None = None
    ) -> FrequentResult:
        self.told.append((release, scale, initial))
        spec = self.knowledge.spec
        visits = np.broadcast_to(release.counts.visits, (spec.horizon, spec.states, spec.actions))
        policy = np.eye(spec.actions)[np.where(self.knowledge.allowed, visits, -np.inf).argmax(axis=-1)]
        left = np.arange(spec.horizon, -1, -1.0)[:, None]
        worth = self.worth * (1.0 if scale is None else scale)
        return FrequentResult(policy, np.broadcast_to(worth * left, (spec.horizon + 1, spec.states)).copy())
