"""Worlds that no one tuned on: the two lists stay apart, sides are distinguished, and the view counts what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confide.errors import InvalidInput
from confide.lab.environments import make
from confide.lab.experiments.part import QUICK, PartResult
from confide.lab.experiments.world_view import (
    MANY,
    OPEN,
    OUR_NOISE,
    OUR_PLANNER,
    OURS,
    POLICY,
    PRINTED,
    SOUND,
    Worlds,
    bad,
    by_promise,
    compared,
    named,
    pooled,
    random_loss,
)
from confide.lab.experiments.worlds import (
    EVALUATION,
    EXPERIMENTS,
    FRESH,
    PROMISES,
    SCALES,
    TUNING,
    Contender,
    by_side,
    contenders,
    family,
    headline,
    joined,
    parts,
    world_words,
)
from confide.privacy import Joint
from confide.protocol.papers import POOLED
from tests.refusals import refused


def test_no_world_is_on_both_lists() -> None:
    """Not by its address, nor by being the same world under another name."""
    evaluated, tuned = [make(world) for world in EVALUATION], [make(*world) for world in TUNING]
    assert not {one.address for one in evaluated} & {one.address for one in tuned}
    for one in evaluated:
        for other in tuned:
            assert one.model is not None and other.model is not None
            same = one.model.transitions.shape == other.model.transitions.shape
            assert not same or not np.array_equal(one.model.transitions, other.model.transitions)


def test_there_are_enough_worlds_and_something_to_learn_in_each() -> None:
    assert len(set(EVALUATION)) == len(EVALUATION) == 40 and len(FRESH) == 16 and set(FRESH) < set(EVALUATION)
    assert not {family(world) for world in FRESH} & {family(world) for world, _ in TUNING}
    assert sum(make(world).spec.layers > 1 for world in FRESH) == 4
    assert len({family(world) for world in EVALUATION}) >= 6
    assert {family(world) for world in EVALUATION} - {family(world) for world, _ in TUNING} >= {
        "chain",
        "grid",
        "clinic",
    }
    assert all(random_loss(world) > 1e-3 for world in EVALUATION)


def test_scales_are_half_decades() -> None:
    assert len(SCALES) == 9 and SCALES[0] == 0.001 and SCALES[-1] == 10.0
    assert np.allclose(np.diff(np.log10(SCALES)), 0.5, atol=1e-3)


def test_every_world_has_every_side() -> None:
    result = contenders("clinic")
    assert len(result) == 4 * len(PROMISES) + 2 + 4 and len({one.label for one in result}) == len(result)
    ours = [one for one in result if one.label.endswith("; ours")]
    assert all(not one.scales and "bonus_scale" not in one.choices and "bonus" not in one.choices for one in ours)
    by_policy = [one for one in result if one.label.endswith(POLICY)]
    assert {one.label.partition("; ")[0] for one in by_policy} == {"joint", "local 4"}
    assert all(one.learner == "po" and not one.choices and not one.scales for one in by_policy)


def test_parts_that_were_stored_stay_valid() -> None:
    """What a stored part is found by is the repr of its settings: fields that are added would lose every one of them."""
    one = by_side("joint", contenders("chain/4"))[SOUND]
    assert one.label == "joint; chain/4; sound at its best"
    assert repr(replace(one, label="")) == (
        f"Contender(label='', learner='ucbvi', world='chain/4', privacy={Joint(1.0, 1e-6)!r}, people=1000000.0, "
        "choices={'calibration': 'sound', 'mechanism': 'tree-gaussian', 'schedule': 'growth:1.01'}, "
        f"scales={SCALES!r}, whole=False)"
    )


def test_the_published_side_counts_by_step_or_pools_whichever_does_better() -> None:
    """Tried on other seeds; where a world changes by the step, or a paper counts all steps together, there is no choice."""
    ways = {
        world: {one.label.partition("; ")[0]: one.pooled for one in contenders(world) if one.label.endswith(SOUND)}
        for world in ("chain/4", "courier/4?seed=33")
    }
    assert ways["chain/4"] == {
        "joint": (False, True),
        **dict.fromkeys(("local 1", "local 4", "shuffle", OPEN), (False,)),
    }
    assert set(ways["courier/4?seed=33"].values()) == {(False,)}
    choices = {"calibration": "sound", "mechanism": "tree-gaussian", "schedule": "growth:1.5", "horizon": 2}
    one = Contender(
        named("joint", "b", SOUND), "ucbvi", "random/2x2?seed=100", Joint(10.0, 1e-2), 1e5, choices, (0.01,)
    )
    apart, together = (replace(one, pooled=(way,)).compute(QUICK, 2) for way in (False, True))
    chosen = replace(one, pooled=(False, True)).compute(QUICK, 2)
    assert pooled(together) == f", {POOLED}" and pooled(apart) == ""
    assert np.array_equal(chosen.rows, (together if pooled(chosen) else apart).rows)
    assert not np.array_equal(apart.rows, together.rows)


def test_the_published_side_spends_all_of_epsilon() -> None:
    """Its paper prints more noise than its claim takes; so it is asked for more, until what is true is what was guaranteed."""
    (one,) = (one for one in contenders("random/2x2?seed=17") if one.label == "local 4; random/2x2?seed=17; " + SOUND)
    result = replace(one, scales=(0.1,)).compute(QUICK, 1)
    assert one.whole and result.guarantee == "4-DP, local"
    assert replace(one, scales=(0.1,), whole=False).compute(QUICK, 1).guarantee == "3.33334-DP, local"


def test_losing_nothing_at_all_has_a_ratio() -> None:
    nothing, little, much = (part("joint", "one", OURS, regret) for regret in (0.0, 0.5, 20.0))
    for other in (nothing, little):  # seeds that agree have the width that other runs had
        value, low, high = compared(nothing, other)
        assert value == 1.0 and low is not None and high is not None and 0.5 < low < 1 < high < 2
    assert compared(much, nothing)[0] == pytest.approx(20.4) and compared(nothing, much)[0] == pytest.approx(1 / 20.4)


def test_a_learner_of_ones_own_joins() -> None:
    one = joined("psrl", ("joint",))
    assert len(one.parts) == 3 * len(EVALUATION) and one.address == "yours/psrl"
    known = {part.label: part for part in contenders("clinic")}
    assert all(
        known[part.label] == part for part in one.parts if "; clinic; psrl" not in part.label and part.label in known
    )
    rows = {SOUND: 10.0, OURS: 4.0, "psrl": 2.0}
    results = [
        PartResult(named("joint", world, side), np.array([1e6, np.nan]), np.full((3, 2), much), "g")
        for world in ("a", "b")
        for side, much in rows.items()
    ]
    table = one.view.table(results)
    assert table[1][5:7] == ("0.2; behind in 0", "0.5; behind in 0") and len(table) == 4
    with pytest.raises(InvalidInput, match="logged"):
        joined("apvi")
    with pytest.raises(InvalidInput, match="guarantee"):
        joined("psrl", ("jont",))


def test_one_seed_bears_no_interval_and_no_verdict() -> None:
    results = [
        PartResult(named("joint", "a", side), np.array([1e6, np.nan]), np.full((1, 2), much), "g")
        for side, much in {SOUND: 10.0, OURS: 4.0, "psrl": 40.0}.items()
    ]
    rows = joined("psrl", ("joint",)).view.table(results)
    assert rows[1][5:7] == ("4; behind in -", "10; behind in -") and rows[2][5:7] == ("4 (-)", "10 (-)")


def test_a_contender_has_the_best_of_its_scales() -> None:
    """A hopeless scale loses on tuning seeds, so the other one is run; and it can be seen which."""
    choices = {"calibration": "sound", "mechanism": "tree-gaussian", "schedule": "growth:1.5", "horizon": 2}
    one = Contender("a; b; c", "ucbvi", "random/2x2?seed=100", Joint(10.0, 1e-2), 1e5, choices, (0.001, 10.0))
    result = one.compute(QUICK, 2)
    assert result.rows.shape == (2, 2) and result.x[0] == 1e3 and result.x[1] in (0.001, 0.01, 0.1)
    assert "joint" in result.guarantee


def part(promise: str, world: str, side: str, regret: float, lost: float = 0.0) -> PartResult:
    rows = np.array([[regret * (1 + 0.01 * seed), lost] for seed in range(5)])
    return PartResult(named(promise, world, side), np.array([1e6, 0.1]), rows, "some promise")


def test_the_view_counts(tmp_path: Path) -> None:
    """Ours is 4 times better in one world and twice as bad in the other: geometric mean sqrt(1/2), behind in one."""
    results = []
    for world, ours in (("chain/4", 25.0), ("chain/5", 200.0)):
        sides = (
            (OURS, ours, 0.0),
            (SOUND, 100.0, 0.5),
            (OUR_PLANNER, 50.0, 0.0),
            (OUR_NOISE, 80.0, 0.0),
            (POLICY, 2 * ours, 0.0),
        )
        results += [part("joint", world, side, regret, lost) for side, regret, lost in sides]
        results += [part(OPEN, world, side, regret) for side, regret in ((OURS, 1.0), (SOUND, 5.0), (PRINTED, 9.0))]
    rows = Worlds("t").table(results)
    together = rows[1]
    ours, sound = (
        100 * np.median([1.02 * lost / (1e6 * random_loss(world)) for world, lost in zip(worlds, each, strict=True)])
        for worlds, each in ((("chain/4", "chain/5"), (25.0, 200.0)), (("chain/4", "chain/5"), (100.0, 100.0)))
    )
    shares = f"{ours:.2g} %; {sound:.2g} %"
    assert headline(results)[1][2:] == (
        "0.71",
        "1 (chain/5)",
        shares,
        "0 of 10; 10 of 10",
        "71",
        "2",
    )
    words = world_words(results)
    assert "Joint: 0.71 times as much, behind in 1." in words and "0 of 10 runs stuck, 0.2 times UCB-VI" in words
    assert together[4] == "0.707; behind in 1; worst 2 (chain/5)"
    assert together[5:7] == (f"{sound:.2g} %; {ours:.2g} %", "10 of 10; 0 of 10")
    assert together[7:10] == ("0.5", "0.8", "2; worst 2 (chain/5)")
    assert "policy optimisation, with default settings too, loses 2 times what ours does, in 2 worlds." in words
    assert rows[-1][4] == "0.2; of what is printed 0.111"
    assert len(rows) == 1 + 1 + 4 + 1 and len({len(row) for row in rows}) == 1
    pictures = Worlds("t").draw(results, tmp_path, ".svg")
    assert [path.name for path in pictures] == ["worlds.svg"] and "joint" in pictures[0].read_text()


def test_bad_runs_are_counted() -> None:
    """Acting at random loses 1000: a run that loses 21 is bad, and one that loses 19 is not."""
    results = []
    for world, regrets in (("chain/4", [1.0, 21.0, 19.0]), ("chain/5", [20.0, 30.0])):
        rows = np.array([[regret, 0.0, regret / 1000] for regret in regrets])
        results.append(PartResult(named(OPEN, world, MANY), np.array([1e6, np.nan, 1000.0]), rows, "no privacy"))
        results.append(part(OPEN, world, OURS, 1.0))
    assert bad(by_promise(results)[OPEN]) == (2, 5, 0.03, "chain/5")
    assert bad(by_promise(results[1::2])[OPEN])[:2] == (0, 0)
    words = world_words(results)
    assert "2 of 5 runs without privacy lose over 2% of what" in words and "the worst loses 3.00%, in chain/5." in words
    assert Worlds("t").table(results)[-1][3] == "bad 2 of 5"


def test_many_runs_say_what_acting_at_random_loses() -> None:
    one = next(one for one in contenders("random/2x2?seed=17") if one.label.endswith(MANY))
    result = one.compute(QUICK, 2)
    assert one.seeds == 21 and result.rows.shape == (2, 3) and result.x[0] == 1e4  # type: ignore[attr-defined]
    assert result.x[2] == pytest.approx(1e4 * random_loss(one.world))
    assert np.allclose(result.rows[:, 2], result.rows[:, 0] / result.x[2])


def test_what_was_not_run_is_left_out(tmp_path: Path) -> None:
    """A world without the other side is no dot and in no mean; nothing breaks where a side is missing everywhere."""
    results = [
        part("joint", "chain/4", OURS, 25.0),
        part("joint", "chain/4", SOUND, 100.0),
        part("joint", "chain/5", OURS, 1.0),
        part("local", "chain/4", OURS, 1.0),
    ]
    rows = Worlds("t").table(results)
    assert rows[1][1] == "all 1, geometric means" and rows[1][4].startswith("0.25; behind in 0")
    assert [row[:2] for row in rows[2:]] == [("joint", "chain/4"), ("joint", "chain/5"), ("local", "chain/4")] and rows[
        3
    ][4] == ""
    (row,) = headline(results)[1:]
    assert row[:4] == ("joint", "1, 1e+06, 5", "0.25", "0") and row[5:] == ("0 of 10; 0 of 5", *["not run"] * 2)
    assert Worlds("t").draw(results, tmp_path, ".svg")


def test_the_headline_comes_first_and_every_family_early() -> None:
    labels = [one.label.split("; ") for one in parts()]
    assert len(labels) == len(EVALUATION) * (4 * len(PROMISES) + 2 + 4)
    first = labels[: len(EVALUATION) * (2 * len(PROMISES) + 2)]
    assert {side.partition(",")[0] for _, _, side in first} == {OURS, SOUND}
    assert len({family(world) for _, world, _ in labels[: 10 * len({family(world) for world in EVALUATION})]}) == 15


def test_one_cell_can_be_run_alone() -> None:
    (experiment,) = EXPERIMENTS
    chosen = experiment.only("joint; *" + OUR_NOISE).parts
    assert [part.label.split("; ")[::2] for part in chosen] == [["joint", OUR_NOISE]] * len(EVALUATION)
    with refused("experiment-part-unknown", match="random/2x2"):
        experiment.only("joint, " + OUR_NOISE)


def test_pages_show_what_was_found() -> None:
    """The blocks of the pages are those that `tools.headline` makes of the data, and so is the headline."""
    from confide.lab.experiments.publishing import HEADLINE, markdown, read_data
    from tools.headline import FOLDER, PAGES, filled

    assert markdown(headline(read_data(FOLDER))) == (FOLDER / HEADLINE).read_text(encoding="utf-8")
    for page in PAGES:
        assert filled(page) == page.read_text(encoding="utf-8")


def test_the_comparison_of_the_readme_is_of_two_sides_alone() -> None:
    """Ratios 1/4 and 1; the regret of random actions is known; a world without the other side is left out."""
    from tools.headline import comparison

    worlds = ("random/2x2?seed=17", "chain/4")
    at_random = [1e6 * random_loss(world) for world in worlds]
    results = [part("joint", worlds[0], OURS, at_random[0] / 8), part("joint", worlds[0], SOUND, at_random[0] / 2, 0.5)]
    results += [part("joint", worlds[1], side, at_random[1] / 4) for side in (OURS, SOUND)]
    results += [
        part("joint", "grid/2x2", OURS, 1.0),
        part(OPEN, worlds[0], OURS, 1.0),
        part(OPEN, worlds[0], SOUND, 1.0),
    ]
    expected = ("(1, 1e-06)-DP, joint; 1,000,000", "0.5; behind in 0 of 2", "19 %; 38 %", "0 of 10; 5 of 10")
    assert comparison(results)[1:] == [expected]


def test_the_research_log_names_the_worlds_where_ours_is_stuck() -> None:
    """Most stuck first; a world in which no run is, and another side, are not named."""
    from tools.headline import weak

    lost = {"random/2x2?seed=17": [0.2, 0.0, 0.0], "chain/4": [0.0, 0.3, 0.9], "grid/2x2": [0.1, 0.0, 0.0]}
    results = [
        replace(part("joint", world, OURS, 1.0), rows=np.array([[1.0, each] for each in shares]))
        for world, shares in lost.items()
    ]
    results += [part("joint", "grid/2x2", SOUND, 1.0, 0.5), part(OPEN, "grid/2x2", OURS, 1.0, 0.5)]
    assert weak(results)[1:] == [("(1, 1e-06)-DP, joint", "`chain/4` 2, `random/2x2?seed=17` 1")]


def test_pictures_need_dots(tmp_path: Path) -> None:
    from confide.analysis.reporting.figures import strip_figure

    with refused("picture-no-strip"):
        strip_figure([], tmp_path / "a.svg", "t", "c", "l")
