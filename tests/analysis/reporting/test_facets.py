"""Thirty curves in one picture: each has a style of its own, nothing overlaps, nothing leaves the page."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from confide.analysis.reporting.facets import FacetCurve, facet_figure, styles_of
from confide.analysis.reporting.intervals import mean_band, mean_interval
from confide.errors import InvalidInput
from tests.refusals import refused

LEARNERS = [f"learner-{number}" for number in range(5)]
GUARANTEES = ["(1, 1e-06)-DP, joint", "2-DP, local", "no privacy"]


def curves(worlds: int = 2, calibrations: tuple[str, ...] = ("sound", "tight")) -> list[FacetCurve]:
    rng, x = np.random.default_rng(0), np.unique(np.geomspace(1, 1e5, 60).astype(np.int64))
    return [
        FacetCurve(
            f"world {world}",
            {"learner": learner, "guarantee": guarantee, "calibration": calibration},
            x,
            np.outer(rng.uniform(0.8, 1.2, 5), x**0.7) * rng.uniform(1, 50),
        )
        for world, learner, guarantee, calibration in product(range(worlds), LEARNERS, GUARANTEES, calibrations)
    ]


def test_thirty_curves_have_styles_and_ten_lines_of_legend() -> None:
    styles, legend = styles_of(curves(1))
    assert len(styles) == 30 and len({repr(sorted(style.items())) for style in styles.values()}) == 30
    assert [text for text, style in legend if not style] == ["learner", "guarantee", "calibration"]
    assert len(legend) == 3 + 5 + 3 + 2


def test_more_values_than_colours_have_a_line_each() -> None:
    x, rows = np.array([1, 2]), np.ones((2, 2))
    many = [FacetCurve("w", {"learner": f"l{number}"}, x, rows) for number in range(30)]
    styles, legend = styles_of(many)
    assert len({repr(style) for style in styles.values()}) == 30 == len(legend)


@pytest.mark.parametrize("log", [False, True])
def test_everything_lies_on_the_page_and_apart(log: bool, tmp_path: Path) -> None:
    axes = facet_figure(curves(), tmp_path / "figure.png", log=log)
    assert axes.shape == (2,) and (tmp_path / "figure.png").stat().st_size > 10_000
    figure = axes[0].figure
    figure.draw_without_rendering()
    page, legend = figure.bbox, figure.legends[0]
    texts = [text.get_window_extent() for text in legend.get_texts()]
    panels = [each.get_tightbbox() for each in axes]
    for box in [*texts, *panels, legend.get_window_extent()]:
        assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
    for one, other in [(a, b) for i, a in enumerate(texts) for b in texts[:i]]:
        assert not one.overlaps(other)
    assert not any(panel.overlaps(legend.get_window_extent()) for panel in panels) and not panels[0].overlaps(panels[1])
    assert all(len(each.lines) == 30 for each in axes)


def test_the_band_is_the_interval_of_the_table() -> None:
    rows = np.random.default_rng(1).lognormal(0, 1.0, (5, 12))
    low, high = mean_band(rows)
    for column, *ends in zip(rows.T, low, high, strict=True):
        expected = mean_interval(column)
        if expected.low is None:
            assert np.isnan(ends).all()
        else:
            assert ends == pytest.approx([expected.low, expected.high])
    shifted = rows - 3
    assert mean_band(shifted)[0][0] == pytest.approx(mean_interval(shifted[:, 0]).low)
    assert np.isnan(mean_band(rows[:1])).all()


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match="band"):
        facet_figure(curves(1), band="wide")
    with refused("panels-no-curve"):
        facet_figure([])
