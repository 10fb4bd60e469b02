"""How many people are needed before anything can be learned: against the formula worked out by hand, and by the command."""

from __future__ import annotations

import math

import numpy as np
import pytest

from confide.lab.environments import Environment
from confide.lab.simulation import prepare
from confide.mdp import Model
from confide.privacy import Joint, Local
from confide.protocol.outlook import people_needed


def slot_machines(good: float, bad: float) -> Environment:
    """One state, two actions, one step."""
    model = Model(np.ones((1, 1, 2, 1)), np.array([[[bad, good]]]), np.ones(1), 1)
    return Environment(model.spec, model)


def test_by_hand() -> None:
    """The best arm is known by T (1/2 - r)^2 + C; the gap to acting at random is half that between the arms."""
    for promise, mechanism in ((Local(0.1), "laplace"), (Joint(0.01, 1e-6), "auto")):
        setting = prepare("ucbvi", slot_machines(0.52, 0.48), promise, 1000, mechanism=mechanism)
        _, noise = setting.design.errors_at(1000)
        one = (noise.transitions * (0.5 - 0.52) ** 2 + noise.centred) / (1000 if noise.own else 1)
        by_hand = one / 0.02**2 if noise.own else math.sqrt(one) / 0.02
        assert by_hand > 2 * people_needed(setting.design)
        assert setting.episodes_needed == pytest.approx(by_hand)


def test_what_is_far_away_takes_more_people() -> None:
    """The average count says nothing of a reward that hardly anyone comes to."""
    lake = prepare("ucbvi", "gymnasium:FrozenLake-v1", Local(1.0), 10**6)
    assert 10**6 < lake.episodes_needed < 10**8 and people_needed(lake.design) < 10**5
    easier = prepare("ucbvi", "gymnasium:FrozenLake-v1", Local(4.0), 10**6)
    assert easier.episodes_needed < 10**6
