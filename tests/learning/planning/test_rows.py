"""Rows over possible cells give what whole tables give; so does the induction over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from confide.learning.planning.induction import GREEDY, MAXIMISE, backward_induction
from confide.learning.planning.logged import LoggedModel, logged_model
from confide.learning.planning.pessimism import _workspace, adaptive
from confide.learning.planning.rows import TransitionRows, crossed
from confide.mdp import Spec
from confide.mdp.knowledge import Knowledge
from confide.mdp.possible_cells import PossibleCells
from confide.privacy import Guarantee
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.counts import unpack
from confide.protocol.releases import CountRelease
from confide.protocol.releases.release import Radius

STATES, ACTIONS, HORIZON, SCALE = 7, 3, 5, 0.3


def whole(rows: TransitionRows) -> np.ndarray:
    """(L, S, A+1, S)."""
    return np.concatenate([rows.practice[:, :, None], rows.ways.tables(rows.chances)], axis=2)


def model_of(seed: int, kind: str, noise: float = 3.0) -> LoggedModel:
    rng = np.random.default_rng(seed)
    support = rng.random((STATES, ACTIONS, STATES)) < 0.5
    support[..., 0] = True
    spec = Spec(STATES, ACTIONS, HORIZON, kind)
    question = CountQuestion(spec, ("centred", "transitions"))
    counts = rng.poisson(20.0, question.cells) + noise * rng.standard_normal(question.cells)
    centred = question.slices["centred"]
    counts[centred] = 20.0 * STATES * (rng.random(counts[centred].size) - 0.5)
    radius = Radius(*[3 * noise] * 5)
    release = CountRelease(question, 500, unpack(question, counts), radius, 0.05, Guarantee.none())
    return logged_model(release, Knowledge.declared(spec, support, ends=False))


@pytest.mark.parametrize("kind", ["stationary", "per-step"])
def test_means_and_flows(kind: str) -> None:
    rows, rng = model_of(0, kind).rows, np.random.default_rng(1)
    dense, values, mass = whole(rows), rng.random(STATES), rng.random((STATES, ACTIONS + 1))
    np.testing.assert_allclose(dense.sum(axis=-1), 1.0)
    for layer in range(len(rows)):
        np.testing.assert_allclose(rows.after(layer, values), dense[layer] @ values)
        np.testing.assert_allclose(rows.flow(layer, mass), np.einsum("sa,sat->t", mass, dense[layer]))
    weights, after = rng.random((HORIZON, STATES, ACTIONS)), rng.random((HORIZON, STATES))
    wanted = np.einsum("hsa,ht->sat", weights, after)[None]
    np.testing.assert_allclose(crossed(rows.ways, weights, after), rows.ways.picked(wanted)[0])


@pytest.mark.parametrize("kind", ["stationary", "per-step"])
@pytest.mark.parametrize("practice", [True, False])
def test_the_induction_is_the_one_over_whole_tables(kind: str, practice: bool) -> None:
    for seed in range(3):
        model: Any = model_of(seed, kind)
        width = SCALE * np.sqrt(model.reward_variance)
        width[..., 1:][~model.tried] = np.inf
        if not practice:
            width[..., 0] = np.where(model.tried.any(axis=-1), np.inf, width[..., 0])
        shape = (HORIZON, STATES, ACTIONS + 1)
        results = [(np.empty(shape), np.empty((HORIZON + 1, STATES))) for _ in range(2)]
        work = _workspace(model.knowledge.spec, whole(model.rows), model.rewards, width, SCALE**2 * model.spread)
        backward_induction(work, MAXIMISE, 0.0, 1.0, GREEDY, *results[0])
        adaptive(model, SCALE, practice, *results[1])
        np.testing.assert_array_equal(results[0][0], results[1][0])
        np.testing.assert_allclose(results[0][1], results[1][1])
        assert model.tried.any() and (results[0][0].argmax(axis=-1) > 0).any()


def test_a_row_that_leads_nowhere_is_empty() -> None:
    ways = PossibleCells.of(np.array([[[True, False], [False, False]]]))
    rows = TransitionRows(np.eye(2)[None], ways, np.ones((1, 1)))
    assert ways.shape == (1, 2, 2) and len(rows) == 1 and rows.size == 5
