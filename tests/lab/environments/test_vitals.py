"""The world of six covariates: its log has the chances it says, and practice is neither best nor worst."""

from __future__ import annotations

import numpy as np

from confide.lab.environments import vitals
from confide.mdp.described import DescribedFeatures, polynomial
from confide.mdp.feature_policy import FeaturePolicy

PEOPLE = 20_000
FALSE_ALARM = 1e-6
"""Of every comparison: 4.9 deviations."""


def test_logged_chances_are_those_of_the_treatments() -> None:
    walked = vitals.walk(PEOPLE, np.random.default_rng(1))
    first = vitals.practice(walked.observations[:, 0])
    assert np.allclose(first.sum(axis=1), 1.0) and first.min() >= vitals.CHANCE / 4
    for action in range(4):
        apart = (walked.actions[:, 0] == action) - first[:, action]
        assert abs(apart.mean()) < 4.9 * apart.std() / PEOPLE**0.5
    assert np.allclose(first[np.arange(PEOPLE), walked.actions[:, 0]], walked.chances[:, 0])


def test_a_log_has_a_row_for_every_step_that_was_lived() -> None:
    columns = vitals.log(500, seed=2)
    assert list(columns) == [
        "patient",
        "step",
        *(each.name for each in vitals.INPUTS),
        "treatment",
        "stable",
        "chance",
    ]
    steps = np.bincount(columns["patient"])
    assert len(steps) == 500 and steps.max() == vitals.HORIZON and steps.min() < vitals.HORIZON
    assert (columns["step"] == np.concatenate([np.arange(n) for n in steps])).all()
    assert set(columns["treatment"]) == set(vitals.ACTIONS)
    for each in vitals.INPUTS:
        assert each.low <= columns[each.name].min() and columns[each.name].max() <= each.high


def test_what_to_do_depends_on_the_patient() -> None:
    """Each treatment for every user is worse than practice: 0.15 is ten deviations of the difference."""
    features = DescribedFeatures.over_cloud(vitals.INPUTS, vitals.ACTIONS, polynomial(vitals.INPUTS, 1))
    usual = vitals.value(people=PEOPLE)
    for action in range(4):
        weights = np.zeros((vitals.HORIZON, 4, features.dimension))
        weights[:, action, 0] = 1.0
        assert vitals.value(FeaturePolicy(features, weights), PEOPLE) < usual - 0.15
