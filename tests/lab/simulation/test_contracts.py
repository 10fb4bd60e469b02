"""Contracts in a row, simulated: a successor begins where the one before it ended, and without what was released it does not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from confide.lab.simulation.contracts import run_contracts
from confide.lab.simulation.simulate import prepare
from confide.privacy import Guarantee, Joint, Local, Shuffle
from tests.refusals import refused

ROW = [(Joint(1.0, 1e-6), 3000), (Local(4.0), 3000), (Shuffle(1.0, 1e-6), 8000)]


@pytest.mark.parametrize(("guarantee", "users"), ROW)
def test_a_successor_begins_where_the_one_before_it_ended(guarantee: Guarantee, users: int) -> None:
    setting = prepare("ucbvi", "riverswim/3", guarantee, users, horizon=10, schedule=None)
    warm = [run_contracts(setting, 3, seed) for seed in range(2)]
    cold = [run_contracts(setting, 2, seed, warm=False) for seed in range(2)]
    assert [run[0] for run in warm] == [run[0] for run in cold], "the same seeds"
    gain = setting.optimal_value - setting.random_value
    drops = [before.last - after.first for run in warm for before, after in pairwise(run)]
    assert np.mean(drops) < 0.2 * gain
    assert np.mean([run[1].first for run in cold]) < setting.random_value + 0.01
    assert np.mean([run[2].mean for run in warm]) > np.mean([run[1].mean for run in cold])


def test_contracts_in_a_row_are_for_learners_from_counts() -> None:
    with refused("contracts-need-groups"):
        run_contracts(prepare("linear", "covariates/2", Joint(1.0, 1e-6), 1000), 2, 0)
