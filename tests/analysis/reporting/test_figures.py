"""Pictures show what they are given, in any order of magnitude, without a word of complaint."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from confide.analysis.reporting.figures import (
    COLOURS,
    DASHES,
    MOST_POINTS,
    NamedCurve,
    check_picture,
    regret_figure,
    spread,
)
from confide.errors import InvalidInput

EPISODES = np.unique(np.geomspace(1, 1e8, 50).astype(np.int64))


def curve(name: str, factor: float = 1.0, seeds: int = 3) -> NamedCurve:
    return name, EPISODES, factor * np.sqrt(EPISODES) * np.linspace(0.8, 1.2, seeds)[:, None]


def words(path: Path) -> str:
    """The text of an SVG."""
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [{}, {"log_x": True, "log_y": True}, {"per_episode": True}, {"measure": "return"}])
def test_an_svg_says_what_it_shows(tmp_path: Path, options: dict[str, Any]) -> None:
    path = regret_figure([curve("sound", 10), curve("tight")], tmp_path / "a.svg", "riverswim/6", **options)
    xml.parse(path)
    measured = options.get("measure", "regret")
    axis = f"{measured} per episode" if options.get("per_episode") else f"cumulative {measured}"
    for text in ("riverswim/6", "sound", "tight", "episodes", axis, "mean over seeds"):
        assert text in words(path), text
    assert all(colour.lower() in words(path) for colour in COLOURS[:2])


def test_the_same_curves_give_the_same_bytes(tmp_path: Path) -> None:
    for suffix in ("svg", "png"):
        one, two = (regret_figure([curve("a")], tmp_path / f"{name}.{suffix}", "title").read_bytes() for name in "xy")
        assert one == two


def test_a_png_is_one(tmp_path: Path) -> None:
    path = regret_figure([curve("a")], tmp_path / "A.PNG")
    assert path.read_bytes().startswith(b"\x89PNG") and path.name == "A.PNG"


def test_each_line_of_a_png_keeps_its_own_colour(tmp_path: Path) -> None:
    curves = [curve(str(index), 1 + index) for index in range(len(COLOURS))]
    with Image.open(regret_figure(curves, tmp_path / "many.png")) as picture:
        drawn = np.asarray(picture.convert("RGB"), dtype=int).reshape(-1, 3)
    for colour in COLOURS:
        wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        assert np.abs(drawn - wanted).max(axis=1).min() <= 8, colour


def test_one_seed_has_no_band(tmp_path: Path) -> None:
    path = regret_figure([curve("a", seeds=1)], tmp_path / "a.svg")
    assert "mean over seeds" not in words(path)


@pytest.mark.parametrize(
    ("episodes", "rows"),
    [
        ([1], [[0.0]]),
        ([1, 10], [[0.0, 0.0]]),
        ([1, 10], [[-1.0, -3.0]]),
        ([7], [[3.0], [4.0]]),
        ([1, 10**15], [[1e-300, 1e15]]),
        ([1, 2], [[-1.0, 1.0]]),
    ],
)
def test_odd_curves_are_drawn_without_a_warning(tmp_path: Path, episodes: list[int], rows: list[list[float]]) -> None:
    for odd in (False, True):
        regret_figure([("odd", episodes, rows)], tmp_path / "a.png", log_x=odd, log_y=odd, per_episode=odd)


def test_more_curves_than_colours_are_told_apart_by_dashes(tmp_path: Path) -> None:
    many = [curve(f"number {index}", 1 + index) for index in range(2 * len(COLOURS))]
    path = regret_figure(many, tmp_path / "a.svg")
    assert "stroke-dasharray" in words(path)
    assert len(DASHES) * len(COLOURS) >= 28


def test_long_curves_are_thinned_to_a_small_file(tmp_path: Path) -> None:
    x = np.arange(1, 200_001)
    path = regret_figure([("long", x, np.sqrt(x)[None].repeat(2, axis=0))], tmp_path / "a.svg", log_x=True)
    assert path.stat().st_size < 250 * MOST_POINTS


def test_the_users_settings_are_left_alone(tmp_path: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    regret_figure([curve("a")], tmp_path / "a.png")
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["regret.gif", "regret", "missing/regret.png", "folder.png"])
def test_a_place_for_no_picture_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InvalidInput):
        check_picture(tmp_path / name)
    with pytest.raises(InvalidInput):
        regret_figure([curve("a")], tmp_path / name)


@pytest.mark.parametrize(
    "curves", [[], [("a", [1, 2], [[1.0]])], [("a", [], [[]])], [("a", [0, 1], [[0.0, 1.0]])], [("a", [[1]], [[1.0]])]]
)
def test_what_is_no_curve_is_refused(tmp_path: Path, curves: list[NamedCurve]) -> None:
    with pytest.raises(InvalidInput):
        regret_figure(curves, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = regret_figure([curve("a")], tmp_path / "a.png")
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="disk full"):
        regret_figure([curve("b", 7)], path)
    assert path.read_bytes() == before and [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


@given(st.integers(1, 12).flatmap(lambda n: arrays(float, n, elements=st.floats(0, 1))), st.floats(0.01, 0.08))
def test_labels_keep_their_order_and_do_not_overlap(wanted: np.ndarray, height: float) -> None:
    heights = np.full(wanted.size, height)
    placed = spread(wanted, heights)
    order = np.argsort(wanted, kind="stable")
    assert all(above - below >= height * (1 - 1e-9) for below, above in pairwise(placed[order]))
    assert placed.min() >= height / 2 - 1e-9 and placed.max() <= 1 - height / 2 + 1e-9


def test_labels_that_do_not_touch_stay_where_they_are() -> None:
    wanted = np.array([0.9, 0.1, 0.5])
    assert np.allclose(spread(wanted, np.full(3, 0.1)), wanted)


def test_two_labels_at_one_place_part_evenly() -> None:
    assert np.allclose(spread(np.array([0.5, 0.5]), np.array([0.1, 0.1])), [0.45, 0.55])
