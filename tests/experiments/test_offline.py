from __future__ import annotations

import csv

import numpy as np

from confide.experiments.offline import EXPERIMENTS, GAP, VALUE, OfflineCurve, OfflineExperiment
from confide.privacy import Central


def test_an_experiment_runs_draws_and_tells(tmp_path):
    curves = (
        OfflineCurve("ours", Central(rho=0.5), (100, 10_000), "clinic"),
        OfflineCurve("no privacy", None, (100, 10_000), "clinic"),
    )
    tiny = OfflineExperiment("tiny", "A clinic: ours.", curves, 2, VALUE)
    runs = tiny.run("paper")
    assert runs[0].rows.shape == (2, 2) and runs[0].rows[:, 1].mean() > runs[0].rows[:, 0].mean()
    assert tiny.draw(runs, tmp_path / "values.png").stat().st_size > 10_000
    table = tiny.table(runs)
    assert len(table) == 4 and f"{runs[1].rows[:, 1].mean():.3f}" in table[3]
    with open(runs[0].save(tmp_path / "ours") / "points.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_allclose([float(row["seed 1"]) for row in rows], runs[0].rows[1])


def test_linear_curves_measure_the_gap():
    curve = OfflineCurve("PEVI", None, (5, 400), "linear-mdp", True, {"learner": "pevi", "horizon": 4})
    points = curve.run(2)
    assert points.rows.shape == (2, 2) and points.rows[:, 1].mean() < points.rows[:, 0].mean()


def test_every_experiment_says_what_it_shows():
    assert {one.measure for one in EXPERIMENTS.values()} == {GAP, VALUE}
    for address, one in EXPERIMENTS.items():
        assert one.address == address and ":" in one.shows and len({c.label for c in one.curves}) == len(one.curves)
