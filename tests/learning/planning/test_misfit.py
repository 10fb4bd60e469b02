"""A model that seems wrong about current practice: whether that is chance or not, the interval holds."""

from __future__ import annotations

import numpy as np
import pytest

from confide.learning.planning import ope
from tools.coverage import counted_fit
from tools.coverage_logs import VARIANTS, drawn_world, logged


@pytest.mark.parametrize("wrong", [-2.5, 2.5])
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_an_alarm_that_may_be_false_widens_and_never_excludes(
    monkeypatch: pytest.MonkeyPatch, wrong: float, kept: float
) -> None:
    """At two deviations one alarm in twenty is chance: where a policy left practice, that made a sure gain of it."""
    model, usual = drawn_world(3, VARIANTS[0])
    data = logged(model, usual, 3000, VARIANTS[0], np.random.default_rng(1))
    _, learned = counted_fit(data, 5.0)
    evidence = learned.evidence
    assert evidence is not None
    policy = np.zeros_like(learned.extended)
    policy[..., 0], policy[..., 1] = kept, 1 - kept
    calm = {}
    for name, statement in (("chance", 0.0), ("alarm", wrong)):
        monkeypatch.setattr(ope, "_misfit", lambda *_, statement=statement: statement)
        calm[name] = evidence.compare(policy)
    chance, alarm = calm["chance"], calm["alarm"]
    for truth in (chance.low, chance.high):  # no shift, or all of it in one of the two sums
        assert alarm.low <= truth <= alarm.high
    assert (
        alarm.low <= max(chance.value - wrong, -model.horizon)
        and min(chance.value - wrong, model.horizon) <= alarm.high
    )
