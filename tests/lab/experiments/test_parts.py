"""Parts are pure functions of settings and seeds; what they gave is kept, and found again."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from confide.lab.experiments.curve import Curve, Sweep, rescheduled
from confide.lab.experiments.experiment import Experiment, compute
from confide.lab.experiments.offline import GAP, VALUE, Bound, OfflineCurve
from confide.lab.experiments.part import (
    LEAST_PEOPLE,
    MOST_PLACES,
    PAPER,
    QUICK,
    ExperimentPart,
    PartResult,
    ResultStore,
    thinned,
)
from confide.lab.experiments.view import Regret
from confide.lab.simulation import simulate
from confide.lab.simulation.offline import prepare_offline
from confide.lab.studies.spreading import TaskEngine
from confide.learning.planning.evaluation import optimal_value
from confide.privacy import Central, Local

SMALL = Curve("small", "obi", "random/2x2", Local(2.0), 3000, {"horizon": 2, "schedule": "growth:1.5"})


def test_a_curve_is_what_simulate_gives() -> None:
    result = SMALL.compute(PAPER, 2)
    run = simulate("obi", "random/2x2", Local(2.0), 3000, 2, horizon=2, schedule="growth:1.5")
    np.testing.assert_array_equal(result.final, run.regret[:, -1])
    kept = np.searchsorted(run.checkpoints, result.x)
    np.testing.assert_array_equal(result.rows, run.regret[:, kept])
    assert result.guarantee == str(run.certificate.guarantee)


def test_quick_takes_fewer_people_but_growth_takes_them_all() -> None:
    assert SMALL.compute(QUICK, 1).x[-1] == 3000
    batches = replace(SMALL, episodes=1e6, choices={"horizon": 2, "schedule": "batches:600"})
    assert batches.at(QUICK) == (10_000, {"horizon": 2, "schedule": "batches:6"})
    assert batches.at(PAPER) == (1e6, batches.choices)
    assert replace(batches, episodes=5e4).at(QUICK)[0] == LEAST_PEOPLE, "fewer would show nothing"
    assert replace(batches, episodes=300).at(QUICK) == (300, batches.choices)


def test_the_promise_of_a_papers_constants_is_the_true_one() -> None:
    printed = replace(SMALL, learner="ucbvi", choices={"calibration": "paper", "mechanism": "laplace", "horizon": 2})
    assert printed.promise() == "4-DP, local"  # twice what it claims
    assert replace(SMALL, privacy=Local(1.0)).promise() == "1-DP, local"


def test_a_sweep_has_the_ends_of_its_curves_over_its_unit() -> None:
    curves = tuple(replace(SMALL, episodes=many) for many in (300, 3000))
    result = Sweep("sweep", (300.0, 3000.0), curves, (10.0, 100.0)).compute(PAPER, 2)
    ends = np.stack([curve.compute(PAPER, 2).final for curve in curves], axis=1)
    np.testing.assert_allclose(result.rows, ends / [10.0, 100.0])
    assert result.guarantee == "2-DP, local"


@dataclass(frozen=True)
class Asleep(ExperimentPart):
    """A part that waits."""

    label: str = "asleep"

    def promise(self) -> str:
        return ""

    def compute(self, scale: str, seeds: int) -> PartResult:
        time.sleep(0.2)
        return PartResult(self.label, np.ones(1), np.ones((seeds, 1)), "", 0.2)


def test_seconds_are_those_of_a_core_not_of_a_clock() -> None:
    """A busy machine makes a run late, not dear."""
    assert compute(Asleep(), PAPER, 1).seconds < 0.1


def test_another_schedule_is_for_growth_alone() -> None:
    batches, every = replace(SMALL, choices={"schedule": "batches:10"}), partial(rescheduled, schedule="every")
    assert rescheduled(SMALL, "every").choices["schedule"] == "every"
    assert rescheduled(batches, "every") == batches
    assert Sweep("s", (1.0,), (SMALL,)).changed(every).curves[0].choices["schedule"] == "every"
    assert Bound("b", "clinic", (10.0,), 0.5, True).changed(every) == Bound("b", "clinic", (10.0,), 0.5, True)


def test_thinning_keeps_the_ends() -> None:
    x = np.arange(1, 10_001)
    places, rows = thinned(x, np.stack([x, 2.0 * x]))
    assert places[0] == 1 and places[-1] == 10_000 and MOST_PLACES // 2 < len(places) <= MOST_PLACES + 1
    np.testing.assert_array_equal(rows[1], 2 * places)


def test_what_was_found_is_read_back(tmp_path: Path) -> None:
    store, result = ResultStore(tmp_path / "parts"), SMALL.compute(PAPER, 2)
    assert store.get(SMALL, PAPER, 2) is None
    store.put(SMALL, PAPER, 2, result)
    back = store.get(replace(SMALL, label="another name"), PAPER, 2)
    assert back is not None and back.guarantee == result.guarantee
    np.testing.assert_array_equal(back.rows, result.rows)
    np.testing.assert_array_equal(back.x, result.x)
    others = [
        (SMALL, QUICK, 2),
        (SMALL, PAPER, 3),
        (replace(SMALL, episodes=3001), PAPER, 2),
        (replace(SMALL, privacy=Local(2.5)), PAPER, 2),
        (replace(SMALL, choices={**SMALL.choices, "bonus_scale": 0.5}), PAPER, 2),
    ]
    assert all(store.get(*other) is None for other in others)
    store.place(SMALL, PAPER, 2).write_bytes(b"not Parquet")
    assert store.get(SMALL, PAPER, 2) is None


@dataclass(frozen=True)
class Counted(ExperimentPart):
    """A part that leaves a mark whenever it is run."""

    label: str
    marks: Path
    fails: bool = False

    def promise(self) -> str:
        return "none"

    def compute(self, scale: str, seeds: int) -> PartResult:
        if self.fails:
            raise KeyboardInterrupt
        with open(self.marks, "a", encoding="utf-8") as file:
            file.write(f"{self.label}\n")
        return PartResult(self.label, np.array([1.0, 2.0]), np.full((seeds, 2), 3.0), "none")


def _experiment(*parts: Counted) -> Experiment:
    return Experiment("test/one", "One", "", "", "", 0.0, parts, 4, Regret("One"))


def test_an_interrupted_experiment_goes_on_where_it_stopped(tmp_path: Path) -> None:
    store, marks = ResultStore(tmp_path / "parts"), tmp_path / "marks"
    first, second = Counted("a", marks), Counted("b", marks)
    with pytest.raises(KeyboardInterrupt):
        _experiment(first, replace(second, fails=True)).run(PAPER, store)
    done: list[int] = []
    # Labels are no part of what a part is, so `b` stands apart by another field.
    result = _experiment(first, replace(second, marks=tmp_path / "others")).run(PAPER, store, progress=done.append)
    assert marks.read_text(encoding="utf-8") == "a\n"
    assert (tmp_path / "others").read_text(encoding="utf-8") == "b\n"
    assert done == [1, 2] and [one.label for one in result] == ["a", "b"]
    assert all(len(one.rows) == 4 for one in result)


def test_a_curve_may_have_as_many_seeds_as_elsewhere(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "parts")
    parts = (SMALL, replace(SMALL, privacy=Local(5.0), seeds=3))
    result = Experiment("test/three", "Three", "", "", "", 0.0, parts, 2, Regret("Three")).run(PAPER, store)
    assert [len(one.rows) for one in result] == [2, 3]
    # The number of seeds is no part of what a curve is: another experiment finds the same result.
    assert store.get(replace(parts[1], seeds=None), PAPER, 3) is not None
    quick = Experiment("test/three", "Three", "", "", "", 0.0, parts, 2, Regret("Three"), quick_seeds=1)
    assert [len(one.rows) for one in quick.run(QUICK, store)] == [1, 1]


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    parts = (SMALL, replace(SMALL, privacy=Local(5.0)))
    experiment = Experiment("test/two", "Two", "", "", "", 0.0, parts, 2, Regret("Two"))
    alone = experiment.run(PAPER, ResultStore(tmp_path / "a"))
    together = experiment.run(PAPER, ResultStore(tmp_path / "b"), TaskEngine(workers=2))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)


def test_a_cluster_finds_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    experiment = Experiment("test/two", "Two", "", "", "", 0.0, (SMALL,), 2, Regret("Two"))
    alone = experiment.run(PAPER, ResultStore(tmp_path / "a"))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        there = experiment.run(
            PAPER, ResultStore(tmp_path / "b"), TaskEngine("dask", scheduler=cluster.scheduler_address)
        )
    np.testing.assert_array_equal(there[0].rows, alone[0].rows)


def test_logged_people_give_values_or_gaps() -> None:
    curve = OfflineCurve("ours", Central(rho=0.5), (100, 10_000), "clinic")
    values, gaps = curve.compute(PAPER, 2), replace(curve, measure=GAP).compute(PAPER, 2)
    best = optimal_value(prepare_offline("clinic", None, 1).model)
    assert curve.measure == VALUE and values.guarantee == "0.5-zCDP, central"
    assert values.rows.shape == (2, 2) and values.mean[1] > values.mean[0]
    np.testing.assert_allclose(values.rows + gaps.rows, best)
    assert replace(curve, few=1).compute(QUICK, 1).rows.shape == (1, 1)


def test_linear_curves_measure_the_gap() -> None:
    curve = OfflineCurve("PEVI", None, (5, 400), "linear-mdp", True, {"learner": "pevi", "horizon": 4})
    result = curve.compute(PAPER, 2)
    assert result.rows.shape == (2, 2) and result.mean[1] < result.mean[0]


def test_the_bound_falls_as_its_terms_say() -> None:
    main, whole = (
        Bound("b", "clinic", (100.0, 10_000.0), 0.5, all_of_it).compute(PAPER, 1).rows[0] for all_of_it in (False, True)
    )
    assert main[0] / main[1] == pytest.approx(10)
    rest = whole - main
    assert (rest > 0).all() and rest[0] / rest[1] == pytest.approx(100)
    # Four times the budget halves what privacy adds, and changes nothing else.
    richer = Bound("b", "clinic", (100.0, 10_000.0), 2.0, True).compute(PAPER, 1).rows[0]
    unbounded = Bound("b", "clinic", (100.0, 10_000.0), 1e12, True).compute(PAPER, 1).rows[0]
    np.testing.assert_allclose((richer - unbounded) * 2, whole - unbounded, rtol=1e-4)
