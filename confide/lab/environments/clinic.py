"""A small clinic: patients with a chronic illness, three treatments, and doctors who mostly do what was always done."""

from __future__ import annotations

import numpy as np

from ...mdp import Model, Policy
from .registry import register

STATES = ("well", "mild", "moderate", "severe", "critical", "gone")
ACTIONS = ("wait", "tablets", "injection")

BETTER = np.array([[0.10, 0.15, 0.10], [0.25, 0.50, 0.40], [0.15, 0.35, 0.55], [0.05, 0.20, 0.50], [0.02, 0.10, 0.35]])
"""(5, 3) how likely a visit helps: injections pay off from moderate on, tablets before."""

WORSE = np.array([[0.10, 0.05, 0.15], [0.30, 0.10, 0.20], [0.40, 0.25, 0.15], [0.50, 0.35, 0.20], [0.55, 0.40, 0.25]])

USUAL = np.array([[0.8, 0.15, 0.05], [0.5, 0.4, 0.1], [0.3, 0.5, 0.2], [0.2, 0.6, 0.2], [0.2, 0.5, 0.3], [1, 0, 0]])
"""(6, 3) what doctors do now."""

WORTH = np.array([1.0, 0.8, 0.5, 0.2, 0.1, 0.0])
"""The value of a visit in each state to the patient; an injection takes 0.05 off."""


@register("clinic", horizon=8)
def clinic(horizon: int) -> Model:
    """A small clinic: six states of health, three treatments, known rewards; a patient gone does not return."""
    states, actions = len(STATES), len(ACTIONS)
    transitions = np.zeros((1, states, actions, states))
    for s in range(states - 1):
        for a in range(actions):
            better = BETTER[s, a] if s > 0 else 0.0
            transitions[0, s, a, s - 1 if s > 0 else 0] += better
            transitions[0, s, a, s + 1] += WORSE[s, a]
            transitions[0, s, a, s] += 1 - better - WORSE[s, a]
    transitions[0, -1, :, -1] = 1.0
    rewards = np.clip(np.tile(WORTH[:, None], (1, actions)) - 0.05 * (np.arange(actions) == 2), 0.0, 1.0)
    return Model(transitions, rewards[None], np.array([0.1, 0.35, 0.3, 0.2, 0.05, 0.0]), horizon)


def practice(horizon: int) -> Policy:
    """The policy of doctors now, the same at every step."""
    return Policy(np.repeat(USUAL[None], horizon, axis=0))
