"""The price of scores, by brute force over all pairs of points, and their bytes."""

from __future__ import annotations

import math

import msgpack
import numpy as np
import pytest

from confide.errors import FormatError, InvalidInput
from confide.protocol.kinds import judged
from confide.protocol.kinds.judged import (
    CELLS,
    GAIN,
    GROUPS,
    KIND,
    PARTS,
    POINTS,
    RESIDUALS,
    SIZES,
    SQUARE_UNIT,
    SQUARES,
    TESTS,
    WEIGHT,
    JudgedQuestion,
)
from confide.protocol.kinds.kind import read


def asked(part: str) -> JudgedQuestion:
    """The question of that part; of groups with three of them."""
    return JudgedQuestion(part, 3 if part == GROUPS else 0)


def answers(part: str, points: int) -> np.ndarray:
    """(n, cells) the answers of people at that many places of the range, at both ends too."""
    question = asked(part)
    if part == GROUPS:
        every = [
            np.array([[share, group]])
            for group in range(question.groups)
            for share in np.linspace(-1.0, 1.0, points // 3)
        ]
        return np.array([question.units(one, np.full((1, 2), 0.5)) for one in every]) * question.grid
    places = np.arange(CELLS) if part == SIZES else np.linspace(-1.0 if part == GAIN else 0.0, 1.0, points)
    if part == RESIDUALS:  # in all directions, beyond the length, rounded either way
        ways = np.random.default_rng(0).normal(size=(points // 4, TESTS))
        ways = np.concatenate([ways, -ways, 9 * np.eye(TESTS), -9 * np.eye(TESTS), np.full((1, TESTS), 0.3)])
        rounded = [np.full((1, TESTS), uniform) for uniform in (0.0, 1.0)]
        return np.array([question.units(way[None], word) for way in ways for word in rounded]) * question.grid
    return np.array([question.units(np.array([place]), np.array([0.5])) for place in places]) * question.grid


@pytest.mark.parametrize("part", PARTS)
def test_no_pair_of_people_is_further_apart_than_the_price(part: str) -> None:
    found, price = answers(part, 1001), asked(part).price()
    apart = np.abs(found[:, None] - found[None])
    furthest = math.sqrt((apart**2).sum(axis=-1).max())
    if part == RESIDUALS:  # the length leaves room for rounding
        assert price.l2 - 4 * math.sqrt(TESTS) / POINTS < furthest <= price.l2
    else:
        assert furthest == pytest.approx(price.l2, abs=1e-12 if part != GROUPS else 1e-2)
    assert apart.sum(axis=-1).max() <= price.l1 + 1e-12
    assert (apart > 0).sum(axis=-1).max() <= price.cells
    away = np.sqrt((found**2).sum(axis=-1).max())  # no one is put in their place
    assert away <= price.l2


def test_a_little_more_weight_on_the_square_would_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "SQUARES", SQUARES + 2)
    found = answers(GAIN, 4001)
    assert ((found[:, None] - found[None]) ** 2).sum(axis=-1).max() > 4 + 1e-6


def test_what_is_beyond_the_clip_is_cut_off() -> None:
    wild = np.array([np.inf, -np.inf, 1e300, -3.0, np.nan])
    question = JudgedQuestion(GAIN)
    for number in wild:
        assert np.abs(question.units(np.array([number]), np.array([0.9])) * question.grid).max() <= 1.0
    assert JudgedQuestion(SIZES).units(np.array([-5.0, 99.0, np.nan]), np.zeros(3)).tolist() == [
        1,
        *[0] * (CELLS - 2),
        2,
    ]
    far = np.full((1, TESTS), -np.inf)
    residuals = JudgedQuestion(RESIDUALS)
    assert 0.9 < np.linalg.norm(residuals.units(far, np.zeros((1, TESTS))) * residuals.grid) <= 1.0
    assert JudgedQuestion(WEIGHT).units(np.array([-5.0, 99.0, np.nan]), np.zeros(3)).tolist() == [POINTS]


def test_sums_tell_mean_and_square() -> None:
    rng = np.random.default_rng(0)
    y = rng.uniform(-1, 1, 5000)
    question = JudgedQuestion(GAIN)
    total, square = question.values(question.units(y, rng.random(5000)) * question.grid, 5000)
    assert total == pytest.approx(y.sum(), abs=5 * math.sqrt(5000) / POINTS)
    assert square == pytest.approx((y**2).sum(), abs=10 * math.sqrt(5000) / POINTS)
    assert SQUARES / SQUARE_UNIT == 1.65


def test_bytes() -> None:
    for part in PARTS:
        question = asked(part)
        assert read(KIND, question.to_bytes()) == question
    for bad in (
        b"",
        b"\\x00",
        msgpack.packb(["confide.judged-question/2", GAIN]),
        msgpack.packb([judged.FORMAT, "all"]),
    ):
        with pytest.raises(FormatError):
            JudgedQuestion.from_bytes(bad)
    with pytest.raises(InvalidInput):
        JudgedQuestion("everything")
    for part, groups in ((GROUPS, 0), (GROUPS, 21), (GAIN, 2)):
        with pytest.raises(InvalidInput):
            JudgedQuestion(part, groups)


def test_sums_of_groups_tell_means_squares_and_sizes() -> None:
    rng = np.random.default_rng(1)
    y, group = rng.uniform(-1, 1, 6000), rng.integers(3, size=6000)
    question = asked(GROUPS)
    units = question.units(np.column_stack([y, group]), rng.random((6000, 2)))
    found = question.values(units * question.grid, 6000).reshape(3, 3)
    for number, (total, square, size) in enumerate(found):
        mine = y[group == number]
        assert size == pytest.approx(len(mine)) and total == pytest.approx(mine.sum(), abs=0.3)
        assert square == pytest.approx((mine**2).sum(), abs=0.6)
    away = question.units(np.array([[0.5, 99.0], [np.nan, np.nan]]), np.zeros((2, 2))) * question.grid
    assert (away[2::3] == [0.5, 0.0, 0.5]).all(), "whoever is in none is put into the last, or the first"
