"""Explains a policy: where it leaves current practice, the value of each difference, and on how much data that rests.

All of it is computed from the release, so it costs nothing. A difference is one state and action, with the steps at which the
policy takes it. Its value is judged by itself: every user follows current practice, but for this. Which differences
matter most is
said by the half of the release that chose, and their values by the half that judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from ...learning.planning.logged import noise_deviation
from ...learning.planning.ope import Evidence, policy_values
from ...mdp.knowledge import Knowledge
from ...protocol.releases import CountRelease
from ..reporting.stated import L, StatedDifference, StatedInterval

MOST = 10
NEGLIGIBLE = 0.005
"""The share of all differences together below which one is left out."""

LARGE = 10**6
"""From this many cells on differences are ranked, and not judged one by one."""


@dataclass(frozen=True)
class Different(Generic[L]):
    """In `state` the policy says `action` at these steps, where people mostly do `instead` (a share of the time).

    gain: of this difference alone, with low and high, a person, in people's units; None if it was not judged. rests: on how
    many counted steps of this state and action that rests, and the 95 % error of that number, both from the release.
    """

    state: L
    action: L
    steps: tuple[int, ...]
    instead: L
    share: float
    gain: StatedInterval | None
    rests: float
    error: float

    def as_json(self) -> StatedDifference[L]:
        """The difference as plain values."""
        return {
            "state": self.state,
            "action": self.action,
            "steps": list(self.steps),
            "instead": self.instead,
            "share": self.share,
            "gain": self.gain,
            "rests": self.rests,
            "error": self.error,
        }


def labelled(change: Different[int], states: Sequence[str], actions: Sequence[str]) -> Different[str]:
    """The difference with names in place of numbers."""
    names = states[change.state], actions[change.action], change.steps, actions[change.instead]
    return Different(*names, change.share, change.gain, change.rests, change.error)


def differences(
    evidence: Evidence,
    extended: NDArray[np.float64],
    release: CountRelease,
    in_units: Callable[..., StatedInterval],
    most: int = MOST,
    judged: bool | None = None,
) -> list[Different[int]]:
    """The differences that matter most, the greatest first, by numbers of states and actions. extended: (H, S, A+1).
    judged: whether each is judged by itself; by default where that is quick.
    """
    model, visits = evidence.model, release.counts.visits if release.visited is None else release.visited.counts
    noise = _visits_noise(release, model.knowledge)
    contributions = _contributions(evidence, extended)
    least = NEGLIGIBLE * float(np.maximum(contributions, 0.0).sum())
    pairs = [
        (s, a) for s, a in np.argwhere((contributions != 0) & (contributions >= least)) if s < model.knowledge.states
    ]
    pairs.sort(key=lambda pair: -contributions[pair[0], pair[1]])
    alone = model.rows.size < LARGE if judged is None else judged
    changes = []
    for s, a in pairs[:most]:
        steps_taken = extended[:, s, 1 + a] > 0
        behaviour = model.behaviour[:, s].mean(axis=0)
        gain = None
        if alone:
            only = np.zeros_like(extended)
            only[..., 0] = 1.0
            only[steps_taken, s] = 0.0
            only[steps_taken, s, 1 + a] = 1.0
            gain = in_units(evidence.compare(only), difference=True)
        changes.append(
            Different(
                int(s),
                int(a),
                tuple(int(step) for step in np.flatnonzero(steps_taken)),
                int(behaviour.argmax()),
                float(behaviour.max()),
                gain,
                float(max(visits[:, s, a].sum(), 0.0)),
                1.96 * float(noise[s, a]) * math.sqrt(len(visits)),
            )
        )
    return changes


def _visits_noise(release: CountRelease, knowledge: Knowledge) -> NDArray[np.float64]:
    """(S, A): the deviation of the noise in a pair's visits: that of one number, or of one for each state it may lead to."""
    if release.visited is not None:
        return np.full(knowledge.allowed.shape, math.sqrt(release.visited.variance))
    apart = release.visits_apart
    many = np.sqrt(knowledge.width) if apart is None else np.full(knowledge.allowed.shape, apart)
    return np.asarray(noise_deviation(release, knowledge) * many)


def _contributions(evidence: Evidence, extended: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S, A): by how much each difference is better than current practice, times how often the policy comes by."""
    model = evidence.model
    _, q = policy_values(model, extended)
    here, contributions = model.initial, np.zeros((extended.shape[1], extended.shape[2] - 1))
    for h in range(len(extended)):
        layer = h if len(model.rows) > 1 else 0
        contributions += here[:, None] * extended[h, :, 1:] * (q[h, :, 1:] - q[h, :, :1] + 1e-15)
        here = model.rows.flow(layer, here[:, None] * extended[h])
    return contributions
