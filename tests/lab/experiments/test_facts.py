"""What a page says is read from its data; what its data does not show is not published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lab.experiments.experiment import Experiment
from confide.lab.experiments.facts import Facts, number
from confide.lab.experiments.part import PAPER, QUICK, PartResult
from confide.lab.experiments.publishing import (
    PAGE,
    draw_missing,
    folder_of,
    missing_pictures,
    publish,
    publish_gallery,
    read_data,
)
from confide.lab.experiments.view import Values

X = np.array([10.0, 100.0])
RESULTS = [
    PartResult("one", X, np.array([[4.0, 1.0], [6.0, 3.0]]), "1-DP, local", 1.0),
    PartResult("two", X, np.array([[8.0, 8.0], [8.0, 8.0]]), "2-DP, local", 1.0),
]


def seen(facts: Facts) -> str:
    smaller = facts.claim(facts.at("one") < facts.at("two"), "one is smaller")
    return f"{smaller}: {number(facts.at('one'))} < {number(facts.at('two', 10))}."


def experiment(text=seen) -> Experiment:
    return Experiment("test/two", "Two", "Asked?", text, "small", 0.1, (), 2, Values("t", "value"))


def test_numbers_are_those_of_the_data() -> None:
    facts = Facts("test/two", PAPER, RESULTS)
    assert (facts.at("one"), facts.at("one", 10)) == (2.0, 5.0)
    assert facts.ratio("one", "two") == 0.25 and facts.among(["two", "one"]) == ["one", "two"]
    assert facts.finals("one").tolist() == [1.0, 3.0] and facts.power("two") == pytest.approx(0.0)
    assert [number(value) for value in (0.0, 0.0004, 0.25, 12.34, 1234.5, 2.5e6)] == [
        "0",
        "0.0004",
        "0.25",
        "12.3",
        "1,234",
        "2.5e+06",
    ]
    for label, place in (("three", None), ("one", 50)):
        with pytest.raises(InvalidInput, match="no data of"):
            facts.at(label, place)
    assert Facts("test/two", QUICK, RESULTS).at("one", 50) == 5.0  # the nearest that there is


def test_a_claim_that_is_false_is_not_published(tmp_path: Path) -> None:
    folder = publish(experiment(), PAPER, RESULTS, tmp_path)
    assert "one is smaller: 2 &lt; 8." in (folder / PAGE).read_text(encoding="utf-8")
    turned = [PartResult("one", X, 9 * RESULTS[0].rows, "", 1.0), RESULTS[1]]
    with pytest.raises(InvalidInput, match="one is smaller"):
        publish(experiment(), PAPER, turned, tmp_path / "other")
    assert not folder_of(tmp_path / "other", "test/two", PAPER).exists()
    quick = publish(experiment(), QUICK, turned, tmp_path)
    assert "too small to show" in (quick / PAGE).read_text(encoding="utf-8")


def test_data_comes_back_from_the_page(tmp_path: Path) -> None:
    folder = publish(experiment("Nothing."), PAPER, RESULTS, tmp_path)
    for one, other in zip(RESULTS, read_data(folder), strict=True):
        assert one.label == other.label
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.x, other.x)


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    """However long it took this time; and a picture that is missing is drawn again, from the data alone, to the same bytes."""
    only = {"test/two": experiment()}

    def written() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    folder = publish(experiment(), PAPER, RESULTS, tmp_path)
    publish_gallery(only, tmp_path)
    first = written()
    publish(experiment(), PAPER, [replace(result, seconds=3600.0) for result in RESULTS], tmp_path)
    publish_gallery(only, tmp_path)
    assert written() == first

    (picture,) = folder.glob("*.svg")
    picture.unlink()
    assert missing_pictures(tmp_path) == [picture] == draw_missing(only, tmp_path)
    assert written() == first and missing_pictures(tmp_path) == []
