"""One person's Gram sums, and the most she can move them: found by trying everything on tiny problems."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from confide.data.statistics.mixture import gram_cells
from confide.data.trajectories import Trajectory
from confide.errors import InvalidInput, PrivacyError
from confide.mdp import PER_STEP, STATIONARY, MixtureFeatures, Spec
from confide.protocol.kinds.mixture import (
    CENTRED,
    RAW,
    UNIT,
    MixtureForm,
    MixtureQuestion,
    mixture_sensitivity,
    step_square,
)
from tests.refusals import refused

RANGES = np.array([2.0, 1.0, 0.0])
GRID = 2.0**-30


def episodes(spec: Spec) -> list[Trajectory]:
    """All of them, shorter ones too, as devices see them."""
    results = []
    for steps in range(spec.horizon + 1):
        for states in itertools.product(range(spec.states), repeat=steps + 1):
            for actions in itertools.product(range(spec.actions), repeat=steps):
                results.append(Trajectory(np.array(states), np.array(actions, dtype=np.int64), np.zeros(steps)))
    return results


def brute(form: MixtureForm, values: list[np.ndarray]) -> float:
    """The largest l2 distance between two people's cells over the given value functions."""
    worst = 0.0
    for table in values:
        question = MixtureQuestion(form, table)
        cells = np.unique([gram_cells(question, episode, GRID) for episode in episodes(form.spec)], axis=0) * GRID
        worst = max(worst, float(np.linalg.norm(cells[:, None] - cells, axis=-1).max()))
    return worst


def tables(form: MixtureForm, rng: np.random.Generator, many: int) -> list[np.ndarray]:
    """Random value functions in their range, and corners of it."""
    shape = (form.spec.horizon + 1, form.spec.states)
    top = np.append(form.ranges[0], form.ranges)[:, None]
    corners = [top * (rng.random(shape) < 0.5) for _ in range(many)]
    return [top * np.ones(shape), *corners, *(top * rng.random(shape) for _ in range(many))]


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("scaling", [RAW, UNIT, CENTRED])
@pytest.mark.parametrize("model", [PER_STEP, STATIONARY])
def test_one_hot_sensitivity_is_reached_and_never_passed(model: str, scaling: str, even: bool) -> None:
    spec = Spec(2, 2, 3, model)
    form = MixtureForm(spec, MixtureFeatures.one_hot(2, 2), RANGES, scaling, even)
    stated = mixture_sensitivity(form).l2
    result = brute(form, tables(form, np.random.default_rng(0), 4))
    assert result <= stated * (1 + 1e-6)
    if scaling == RAW:  # reached by the largest value function, in which all states have the same value
        assert result == pytest.approx(stated, rel=1e-6)
        v4 = [16.0, 1.0]
        each = [(4 + (6 if even else 4)) * v for v in v4]
        assert stated == pytest.approx(math.sqrt(sum(each)) if model == PER_STEP else sum(map(math.sqrt, each)))
    else:
        assert result > 0.7 * stated


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("scaling", [RAW, UNIT, CENTRED])
def test_general_sensitivity_is_never_passed(scaling: str, even: bool) -> None:
    rng = np.random.default_rng(1)
    for draw in range(3):
        table = rng.normal(size=(2, 2, 2, 2)) * rng.choice([0.2, 1.0, 3.0])
        form = MixtureForm(Spec(2, 2, 3, PER_STEP), MixtureFeatures.from_array(table), RANGES, scaling, even)
        assert brute(form, tables(form, rng, 2)) <= mixture_sensitivity(form).l2 * (1 + 1e-6), draw


@pytest.mark.parametrize(("weight", "even", "worst"), [(0.5, False, 4.0), (1.0, True, 4.5)])
def test_the_worst_two_people_of_general_features(weight: float, even: bool, worst: float) -> None:
    """||phi_V|| <= v: 4 v^4 with symmetric noise, 4.5 v^4 with the paper's, and both are reached somewhere."""
    angles = np.linspace(0, 2 * np.pi, 721)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    y = x[:1]  # by symmetry of the Frobenius part only for weight 1/2
    best = 0.0
    for other in x[::6] if even else y:
        gram = x[:, :, None] * x[:, None, :] - np.outer(other, other)
        square = (gram**2).sum(axis=(1, 2)) / 2 + ((x - other) ** 2).sum(axis=1)
        if even:
            square += (gram[:, [0, 1], [0, 1]] ** 2).sum(axis=1) / 2
        best = max(best, float(square.max()))
    assert best == pytest.approx(worst, rel=1e-3)
    turn = np.zeros((2, 1, 2, 2))  # phi_V(0) = -phi_V(1), of norm max V: neither acute nor disjoint
    turn[0, 0, 0], turn[1, 0, 0] = (1, 0), (-1, 0)
    form = MixtureForm(Spec(2, 1, 2, PER_STEP), MixtureFeatures.from_array(turn), np.array([1.0, 0.0]), RAW, even)
    assert step_square(form, 0) == pytest.approx(worst)


def test_the_formula_sheet() -> None:
    """H = 6, ||phi_V|| <= max V: D^2 = 4, 3 and 4.5 times the sum of (H-h)^4."""
    ranges = np.arange(5.0, -1.0, -1.0)
    total = float((ranges**4).sum())
    turn = np.zeros((2, 1, 2, 2))
    turn[0, 0, 0], turn[1, 0, 0] = (1, 0), (-1, 0)
    straight = np.abs(turn)
    for table, even, factor in ((turn, False, 4), (straight, False, 3), (turn, True, 4.5)):
        form = MixtureForm(Spec(2, 1, 6, PER_STEP), MixtureFeatures.from_array(table), ranges, RAW, even)
        assert mixture_sensitivity(form).l2 ** 2 == pytest.approx(factor * total)


def test_centring_one_hot_divides_by_sixteen() -> None:
    """In units of v: the range [0, 1] against [-1, 1], which is twice as wide, so its square counts four times."""
    spec, features = Spec(5, 2, 4, PER_STEP), MixtureFeatures.one_hot(5, 2)
    unit, centred = (MixtureForm(spec, features, np.array([3.0, 2, 1, 0]), scaling) for scaling in (UNIT, CENTRED))
    assert step_square(unit, 0) == pytest.approx(35) == step_square(centred, 0)
    shifted = (step_square(centred, 0), (1 / 2) ** 4)
    assert shifted[0] * shifted[1] == pytest.approx(step_square(unit, 0) / 16)


def test_cells_are_what_they_say() -> None:
    form = MixtureForm(Spec(2, 2, 3, PER_STEP), MixtureFeatures.one_hot(2, 2), RANGES)
    values = np.array([[2.5, 1.0], [2.0, 0.5], [1.0, 0.25], [0.0, 0.0]])
    person = Trajectory(np.array([1, 0, 1, 1]), np.array([0, 1, 0]), np.zeros(3))
    gram, vector = form.unpack(gram_cells(MixtureQuestion(form, values), person, GRID) * GRID)
    expected, target = np.zeros((2, 4, 2, 2)), np.zeros((2, 4, 2))
    expected[0, 2], target[0, 2] = np.outer(values[1], values[1]), values[1] * values[1, 0]
    expected[1, 1], target[1, 1] = np.outer(values[2], values[2]), values[2] * values[2, 1]
    np.testing.assert_allclose(gram, expected, atol=1e-8)
    np.testing.assert_allclose(vector, target, atol=1e-8)
    pooled = MixtureForm(Spec(2, 2, 3), MixtureFeatures.one_hot(2, 2), RANGES)
    both, sums = pooled.unpack(gram_cells(MixtureQuestion(pooled, values), person, GRID) * GRID)
    np.testing.assert_allclose(both, expected.sum(axis=0, keepdims=True), atol=1e-8)
    np.testing.assert_allclose(sums, target.sum(axis=0, keepdims=True), atol=1e-8)


def test_rounding_is_charged() -> None:
    form = MixtureForm(Spec(2, 2, 3, PER_STEP), MixtureFeatures.one_hot(2, 2), RANGES)
    coarse, exact = mixture_sensitivity(form, 0.25), mixture_sensitivity(form)
    assert coarse.cells == 2 * 2 * 5
    assert coarse.l2 == pytest.approx(exact.l2 + 0.25 * math.sqrt(20))


def test_what_a_device_refuses() -> None:
    form = MixtureForm(Spec(2, 2, 3, PER_STEP), MixtureFeatures.one_hot(2, 2), RANGES)
    question = MixtureQuestion(form, np.zeros((4, 2)))
    none = np.zeros(0)
    with refused("last-state-unknown"):
        gram_cells(question, Trajectory(np.array([0, 1]), np.array([0, 0]), np.zeros(2)), GRID)
    with pytest.raises(InvalidInput, match="at most 3 steps"):
        gram_cells(question, Trajectory(np.zeros(5, dtype=int), np.zeros(4, dtype=int), none), GRID)
    with refused("index-out-of-range: states"):
        gram_cells(question, Trajectory(np.array([0, 7, 0, 0]), np.zeros(3, dtype=int), none), GRID)


def test_a_norm_above_its_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    form = MixtureForm(Spec(2, 2, 3, PER_STEP), MixtureFeatures.one_hot(2, 2), RANGES)
    values = np.array([[2.5, 2.5], [2.0, 2.0], [1.0, 1.0], [0.0, 0.0]])
    person = Trajectory(np.array([1, 0, 1, 1]), np.array([0, 1, 0]), np.zeros(3))
    gram_cells(MixtureQuestion(form, values), person, GRID)
    monkeypatch.setattr(MixtureFeatures, "norms", lambda *_: (1.0, 1.0))
    tighter = MixtureForm(form.spec, form.features, RANGES)
    with pytest.raises(PrivacyError, match="norm bound"):
        gram_cells(MixtureQuestion(tighter, values), person, GRID)
