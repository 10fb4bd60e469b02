"""`sound` asks exactly the paper's question: each step apart where the paper counts so; pooling is a choice with a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from confide import Central, Guarantee, Joint, Local
from confide.cli import run
from confide.lab.experiments.experiment import catalogue
from confide.lab.simulation import prepare, simulate
from confide.lab.simulation.offline import prepare_offline
from confide.mdp import PER_STEP, STATIONARY
from confide.protocol.papers import POOLED

ONLINE = [("ucbvi", Joint(1.0, 1e-6)), ("po", Local(1.0)), ("pucb", Joint(1.0)), ("ucbvi", Local(1.0))]


@pytest.mark.parametrize("calibration", ["paper", "sound"])
@pytest.mark.parametrize(("learner", "promise"), ONLINE, ids=lambda value: str(value))
def test_each_step_is_counted_apart_where_the_paper_does(learner: str, promise: Guarantee, calibration: str) -> None:
    """The world is stationary; H tables of counts are asked for all the same, and the pooled one only by name."""
    words: dict[str, Any] = {"horizon": 4, "calibration": calibration}
    if promise.trust == "joint":
        words["mechanism"] = "tree-laplace"
    paper = prepare(learner, "riverswim/3", promise, 100, **words)
    assert paper.question.spec.dynamics == PER_STEP and paper.question.spec.layers == 4
    assert POOLED not in str(paper.certificate())
    pooled = prepare(learner, "riverswim/3", promise, 100, model=STATIONARY, **words)
    assert pooled.question.spec.layers == 1
    assert f"counts are {POOLED}, which" in str(pooled.certificate())


def test_what_is_ours_and_what_pools_in_its_paper_says_nothing() -> None:
    for learner, words in (("ucbvi", {}), ("obi", {"calibration": "sound"}), ("psrl", {"calibration": "sound"})):
        setting = prepare(learner, "riverswim/3", Local(1.0), 100, horizon=4, **words)
        assert setting.question.spec.layers == 1 and POOLED not in str(setting.certificate())
    single = prepare("ucbvi", "riverswim/3", Local(1.0), 100, horizon=1, calibration="sound", model=STATIONARY)
    assert POOLED not in str(single.certificate())  # one step is one step


def test_logged_counts_too() -> None:
    words: dict[str, Any] = {"privacy": Central(rho=0.5), "episodes": 100, "calibration": "sound"}
    paper, pooled = prepare_offline("clinic", **words), prepare_offline("clinic", model=STATIONARY, **words)
    assert paper.design.question.spec.dynamics == PER_STEP and POOLED not in str(paper.certificate())
    assert pooled.design.question.spec.dynamics == STATIONARY and POOLED in str(pooled.certificate())


def test_runs_and_tables_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words: dict[str, Any] = {"horizon": 2, "calibration": "sound", "schedule": "batches:2"}
    names = [
        simulate("ucbvi", "random/2x2", Local(1.0), 20, 1, **words, **one).name for one in ({}, {"model": STATIONARY})
    ]
    assert names == ["ucbvi, 1-DP, local", f"ucbvi {POOLED}, 1-DP, local"]
    line = "simulate random/2x2 --trust local --epsilon 1 --episodes 20 --seeds 1 --horizon 2 --schedule batches:2"
    assert run([*line.split(), "--compare", "calibration=sound,tight", "--model", STATIONARY]) == 0
    assert f"sound, {POOLED}" in " ".join(capsys.readouterr().out.split())
    out = tmp_path / "run"
    assert run([*line.split(), "--calibration", "sound", "--model", STATIONARY, "--out", str(out)]) == 0
    saved = json.loads((out / "certificate.json").read_text())
    assert [POOLED in said for said in saved["assumptions"]].count(True) == 1


def test_published_data_were_measured_as_their_parts_say() -> None:
    """Parts made sound whose paper counts each step apart name their model, and what is pooled has it in its label or page."""
    seen = set()
    for experiment in catalogue().values():
        for part in experiment.parts:
            for curve in getattr(part, "curves", (part,)):
                choices: dict[str, Any] = dict(getattr(curve, "choices", {}))
                private = getattr(curve, "privacy", None) is not None and curve.privacy.private
                if choices.get("calibration") != "sound" or getattr(curve, "learner", "") not in (
                    "ucbvi",
                    "po",
                    "pucb",
                ):
                    continue
                if getattr(curve, "pooled", ()) == (False, True):  # both are tried, and the table names what did better
                    seen.add(experiment.address)
                    continue
                if experiment.address in ("ours/rivals", "ours/worlds") and "model" not in choices:
                    continue  # in worlds that differ by step there is nothing to pool
                assert choices.get("model") in (PER_STEP, STATIONARY), part.label
                if private and choices["model"] == STATIONARY:
                    assert POOLED in part.label or POOLED in experiment.view.title, part.label
                    seen.add(experiment.address)
    assert seen == {
        "ldp-obi/lower-bound",
        "ours/cost-of-privacy",
        "ours/joint-riverswim",
        "ours/local-riverswim",
        "ours/rivals",
        "ours/worlds",
        "private-ucb/table-1-joint",
        "private-ucb/table-1-local",
    }
