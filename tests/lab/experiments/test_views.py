"""Views say in tables and pictures what parts gave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confide.lab.experiments import cost
from confide.lab.experiments.experiment import catalogue
from confide.lab.experiments.instances import InstancePanels
from confide.lab.experiments.linear_verdicts import all_verdicts
from confide.lab.experiments.part import PartResult
from confide.lab.experiments.verdict import EXPERIMENTS as VERDICTS
from confide.lab.experiments.view import Histograms, Over, Ratios, Regret, Slopes, Values, pairs_of, ratio, slope
from confide.learning.learners import make
from confide.protocol.verdicts import cells


def found(label: str, power: float = 0.5, factor: float = 1.0, seeds: int = 8) -> PartResult:
    x = np.geomspace(10, 1e6, 6)
    luck = np.random.default_rng(len(label)).normal(1.0, 0.02, (seeds, 1))
    return PartResult(label, x, factor * x**power * luck, "1-DP, local", 2.0)


@pytest.mark.parametrize("power", [0.5, 1.0, -1.0])
def test_a_slope_is_the_power(power: float) -> None:
    value, low, high = slope(found("a", power))
    assert value == pytest.approx(power) and low <= value <= high
    rows = Slopes("t", (("a, over people", "0.5"),)).table([found("a, over people", power)])
    assert rows[1][0] == "a, over people" and rows[1][3].startswith(f"{power:.2f}") and rows[1][4] == "0.5"


def test_a_slope_that_seeds_disagree_on_has_a_wide_interval() -> None:
    x = np.geomspace(10, 1000, 3)
    rows = np.stack([x**power for power in (0.2, 0.4, 0.6, 0.8)])
    value, low, high = slope(PartResult("a", x, rows, ""))
    assert low < value < high and high - low > 0.05


def test_ratios_are_of_means_with_an_interval_that_covers_them() -> None:
    one, other = found("a", factor=1.0), found("bb", factor=4.0)
    value, low, high = ratio(one, other)
    assert value == pytest.approx(one.final.mean() / other.final.mean()) and low < value < high
    assert high < 1.5 * value and low > value / 1.5
    rows = Ratios("t").table([found("X: sound", factor=4.0), found("X: tight")])
    assert rows[1][0] == "X" and rows[1][-1].startswith(
        f"{ratio(found('X: tight'), found('X: sound', factor=4.0))[0]:.3g}"
    )


def _costs() -> list[PartResult]:
    names = ("PRIVATE-UCB-VI, joint", "PUCB, joint", "LDP-PSRL, epsilon 2", "LDP-OBI, epsilon 2, laplace")
    factors = ((4.0, 1.0), (2.0, 4.0), (2.0, 1.0), (8.0, 1.0))
    return [
        found(f"{name}: {kind}", factor=factor)
        for name, both in zip(names, factors, strict=True)
        for kind, factor in zip(("sound", "tight"), both, strict=True)
    ]


def test_learners_that_are_one_planner_have_one_row() -> None:
    """Ratios 1/4, 2 and 1/8, whose geometric mean is 0.4; chance makes them a hundredth larger or smaller."""
    heads, *rows = cost.headline(_costs())
    assert [row[0] for row in rows] == [cost.PLANNER, "`psrl`"]
    given = dict(zip(heads, rows[0], strict=True))
    assert given["against, made sound"] == "PRIVATE-UCB-VI, PUCB, LDP-OBI" and given["comparisons"] == "3"
    assert given["surely behind"] == "1", "ours has twice the loss of one of them"
    assert 0.38 < float(given["ours / sound"]) < 0.42
    whole = cost.Costs("t").table(_costs())
    assert [row[0] for row in whole] == ["ours", cost.PLANNER, "", "", "`psrl`"]
    assert [row[1] for row in whole[1:]] == [
        "PRIVATE-UCB-VI, joint",
        "PUCB, joint",
        "LDP-OBI, epsilon 2, laplace",
        "LDP-PSRL, epsilon 2",
    ]


def test_our_side_is_named_after_what_runs() -> None:
    """Learners that are said to be one planner plan by the same function; others are named as they are called."""
    named = {}
    for part in catalogue()["ours/cost-of-privacy"].parts[1::2]:
        learner = getattr(part, "learner", None) or part.choices.get("learner", "apvi")
        named.setdefault(cost.OURS[part.label.partition(",")[0]], set()).add(learner)
    ours = named.pop(cost.PLANNER)
    assert ours == {"ucbvi", "obi", "pucb"} and all(f"`{name}`" in cost.PLANNER for name in ours)
    assert len({make(name).plan for name in ours}) == 1
    assert named == {f"`{name}`": {name} for name in ("po", "psrl", "ucrl-vtr", "apvi", "pevi")}


def test_pairs_go_by_name(tmp_path: Path) -> None:
    """Of an experiment that is half run, what has no other side is left out, and nothing is paired with a stranger."""
    kinds = ("sound", "tight")
    whole = [found(f"{name}: {kind}") for name in ("A", "B", "C") for kind in kinds]
    assert [one.label for pair in pairs_of(whole[1:5]) for one in pair] == ["B: sound", "B: tight"]
    for suffix, start in ((".svg", b"<!--Matplotlib"), (".png", b"\x89PNG")):
        (drawn,) = Ratios("t").draw(whole[1:5], tmp_path, suffix)
        assert drawn.read_bytes().startswith(start)


def test_regret_compares_pairs() -> None:
    rows = Regret("t", ((0, 1),)).table([found("sound", factor=4.0), found("tight")])
    assert rows[0][-1] == "ratio" and rows[1][-1] == "" and rows[2][-1].endswith("of sound")
    assert len(Regret("t").table([found("sound")])[0]) == 3


def test_places_that_a_part_lacks_stay_empty() -> None:
    short = PartResult("short", np.array([10.0]), np.ones((1, 1)), "")
    rows = Values("t", "value").table([found("long"), short])
    assert rows[2][2] == "1" and set(rows[2][3:]) == {""} and "" not in rows[1]
    rows = Over("t", "people", "regret").table([found("long"), short])
    assert rows[2][1] == "1" and set(rows[2][2:]) == {""}


@pytest.mark.parametrize(
    ("view", "pictures"),
    [
        (Regret("t", ((0, 1),)), 1),
        (Regret("t", per_person=True), 2),
        (Values("t", "value", (("the best", 3.0),)), 1),
        (Over("t", "people", "regret"), 1),
        (Histograms("t", "sum"), 1),
        (Slopes("t", ()), 2),
    ],
)
def test_every_view_draws(view: Regret, pictures: int, tmp_path: Path) -> None:
    parts = [found("A, over people"), found("A, over epsilon", -1.0)]
    for suffix, start in ((".svg", b"<!--Matplotlib"), (".png", b"\x89PNG")):
        drawn = view.draw(parts, tmp_path, suffix)
        assert len(set(drawn)) == pictures
        assert all(path.suffix == suffix and path.read_bytes().startswith(start) for path in drawn)


def test_a_picture_for_each_epsilon(tmp_path: Path) -> None:
    """Fifteen curves in one picture are too many to distinguish."""
    parts = [found(f"LDP-OBI, {name}, {epsilon}") for epsilon in ("0.2", "20") for name in ("laplace", "bounded")]
    drawn = InstancePanels("t").draw(parts, tmp_path, ".svg")
    assert [path.name for path in drawn] == ["regret-0.2.svg", "regret-20.svg"] and all(map(Path.is_file, drawn))
    assert sorted(tmp_path.iterdir()) == sorted(drawn)


def test_verdicts_are_those_of_the_command(tmp_path: Path) -> None:
    (experiment,) = VERDICTS
    assert experiment.view.table([])[1:] == [cells(one) for one in all_verdicts()]
    assert experiment.view.draw([], tmp_path, ".png")[0].stat().st_size > 10_000
