"""Records of simulated people follow the world and the behaviour they were drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lab.environments import clinic
from confide.lab.simulation.offline_log import draw_records

PEOPLE, VISITS = 30_000, 3


def test_frequencies_are_the_probabilities():
    """All cells with 500 visits or more: within 5 deviations, which fixed seeds reach once in 1e6."""
    world, usual = clinic.clinic(VISITS), clinic.practice(VISITS)
    table = draw_records(world, usual, PEOPLE, np.random.default_rng(3))
    assert all(len(column) == PEOPLE * VISITS for column in table.values())
    first = table["step"] == 0
    starts = np.bincount(table["state"][first], minlength=6) / PEOPLE
    np.testing.assert_allclose(starts, world.initial, atol=5 * 0.5 / np.sqrt(PEOPLE))
    checked = 0
    for state, action in np.ndindex(6, 3):
        here = table["state"] == state
        mine = here & (table["action"] == action)
        if mine.sum() < 500:
            continue
        share = np.bincount(table["next_state"][mine], minlength=6) / mine.sum()
        near = 5 * 0.5 / np.sqrt(mine.sum())
        np.testing.assert_allclose(share, world.transitions[0, state, action], atol=near)
        assert mine.sum() / here.sum() == pytest.approx(
            usual.probabilities[0, state, action], abs=5 * 0.5 / np.sqrt(here.sum())
        )
        assert table["reward"][mine].mean() == pytest.approx(world.rewards[0, state, action], abs=near)
        checked += 1
    assert checked > 10


def test_rows_are_chained_and_labelled():
    table = draw_records(
        clinic.clinic(VISITS), clinic.practice(VISITS), 50, np.random.default_rng(0), clinic.STATES, clinic.ACTIONS
    )
    inside = table["step"][1:] > 0
    assert (table["state"][1:][inside] == table["next_state"][:-1][inside]).all()
    assert set(table["state"]) <= set(clinic.STATES) and set(table["action"]) <= set(clinic.ACTIONS)
    with pytest.raises(InvalidInput):
        draw_records(clinic.clinic(VISITS), clinic.practice(VISITS), 0, np.random.default_rng(0))
