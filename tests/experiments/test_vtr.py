"""Figure 2 as data: every curve of the paper is there, pairs compare like with like, and a small version runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from confide.experiments.vtr import EPSILONS, EXPERIMENTS, GRIDS


def test_every_curve_is_there_and_its_constant_was_tried() -> None:
    assert len(EXPERIMENTS) == 4
    for experiment in EXPERIMENTS.values():
        assert len(experiment.curves) == 1 + 3 * len(EPSILONS)
        for curve in experiment.curves:
            assert curve.choices["c"] in GRIDS[curve.label.split(",")[0]]
        for sound, tight in experiment.pairs:
            one, other = experiment.curves[sound], experiment.curves[tight]
            assert (one.choices["calibration"], other.choices["calibration"]) == ("sound", "tight")
            assert (one.privacy, one.world) == (other.privacy, other.world)


@pytest.mark.slow
def test_a_small_version_runs() -> None:
    experiment = EXPERIMENTS["ldp-ucrl-vtr/figure-2-3"]
    few = replace(
        experiment, curves=(*experiment.curves[:2], experiment.curves[4], experiment.curves[7]), pairs=((1, 2),)
    )
    runs = few.run("quick")
    assert [run.trust for run in runs] == ["none", "local", "local", "joint"]
    assert few.table(runs)[2].startswith("| epsilon 0.1 |")
