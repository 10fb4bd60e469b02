"""A study: axes, checkpoints, interruptions, tables, pictures and comparisons, in one object."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.cli import run as command
from confide.compiled import PACKAGE
from confide.errors import FormatError, InvalidInput, NoiseWarning, RecordWarning
from confide.lab.simulation.simulate import run_seed
from confide.lab.studies import seeds as seeds_module
from confide.learning.planning.evaluation import optimal_value, policy_value
from tests.analysis.results.example import example_run
from tests.refusals import refused

SMALL: dict[str, Any] = {"episodes": 60, "horizon": 3, "engine": "plain", "schedule": "batches:20"}
LEARNERS = ["ucbvi", "psrl", "ucbvi?bonus=hoeffding"]


def small(folder: Path | None = None, **more: Any) -> cf.Study:
    chosen = {"learner": LEARNERS, "environment": ["riverswim/3", "chain/3"], "seeds": 3, **SMALL, **more}
    return cf.Study(folder=folder, **chosen)


@pytest.fixture(scope="module")
def done() -> cf.Study:
    return small().run()


def test_a_list_is_an_axis(done: cf.Study) -> None:
    assert len(done) == 6 and list(done.values[0]) == ["learner", "world"]
    assert done.values[5] == {"learner": "ucbvi?bonus=hoeffding", "world": "chain/3"}
    wide = cf.Study(
        "ucbvi",
        "riverswim/3",
        [cf.Joint(1, 1e-6), cf.Local(2)],
        episodes=[10, 100],
        horizon=[2, 3],
        bonus=["tight", "private"],
    )
    assert len(wide) == 16 and set(wide.values[0]) == {"guarantee", "episodes", "horizon", "bonus"}
    assert wide.cells[0].label == "(1, 1e-06)-DP, joint, episodes 10, horizon 2, tight"
    with pytest.raises(InvalidInput, match="same values"):
        cf.Study(["ucbvi", "ucbvi"], "riverswim/3")
    with refused("study-axis-empty"):
        cf.Study([], "riverswim/3")


def test_a_cell_is_what_simulate_gives(done: cf.Study) -> None:
    one = cf.simulate("ucbvi", "chain/3", seeds=3, bonus="hoeffding", **SMALL)
    assert np.array_equal(done.runs[5].regret, one.regret) and done.runs[5].learner == "ucbvi?bonus=hoeffding"


def test_nothing_is_said_before_it_is_run() -> None:
    study = small()
    with pytest.raises(InvalidInput, match="0 of 6 runs"):
        study.table()
    assert "0 of 6 runs finished" in repr(study)


@pytest.mark.parametrize("again", ["the same object", "another object"])
def test_an_interrupted_study_goes_on_to_the_same_digits(
    again: str, done: cf.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[int] = []

    def until_interrupted(setting: Any, index: int) -> Any:
        if len(played) == 7:
            raise KeyboardInterrupt
        played.append(index)
        return run_seed(setting, index)

    study = small(tmp_path / "study")
    with monkeypatch.context() as patch:
        patch.setattr(seeds_module, "run_seed", until_interrupted)
        with pytest.raises(KeyboardInterrupt):
            study.run()
    assert study.missing_seeds == 18 - 7 and len(list((tmp_path / "study").glob(".*.seeds/*.npz"))) == 1
    more = study if again == "the same object" else small(tmp_path / "study")
    counted: list[int] = []
    monkeypatch.setattr(
        seeds_module, "run_seed", lambda setting, index: counted.append(index) or run_seed(setting, index)
    )
    more.run()
    assert len(counted) == 11 and [run.regret.tolist() for run in more.runs] == [
        run.regret.tolist() for run in done.runs
    ]
    assert not list((tmp_path / "study").glob(".*"))
    counted.clear()
    assert small(tmp_path / "study").run().table() == done.table() and not counted
    loaded = cf.Study.load(tmp_path / "study")
    assert sorted(loaded.table().splitlines()) == sorted(done.table().splitlines())


def test_workers_change_no_digit(done: cf.Study, tmp_path: Path) -> None:
    spread = small(tmp_path / "study", environment="chain/3").run(workers=2)
    assert [run.regret.tolist() for run in spread.runs] == [done.runs[number].regret.tolist() for number in (1, 3, 5)]


OWN = """
import sys
import confide as cf
from confide.learning.learners import make

@cf.register("learner", "mine")
def build():
    return make("ucbvi", bonus="hoeffding")

if __name__ == "__main__":
    chosen = dict(episodes=60, horizon=3, engine="plain", schedule="batches:20")
    study = cf.Study(["mine", "ucbvi"], "chain/3", seeds=2, folder=sys.argv[1], **chosen)
    print(study.run(workers=2).runs[0].regret.tolist())
    print([file["name"] for file in study.runs[0].config["record"]["files"]], study.runs[1].config["record"]["files"])
"""


@pytest.mark.service
def test_a_learner_of_a_script_works_in_other_processes_and_is_recorded(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(OWN)
    words = [sys.executable, "-P", str(script), str(tmp_path / "study")]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    found = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
    assert found.returncode == 0, found.stderr
    digits, files = found.stdout.splitlines()
    expected = cf.simulate("ucbvi", "chain/3", seeds=2, bonus="hoeffding", **SMALL)
    assert json.loads(digits) == expected.regret.tolist() and files == "['mine.py'] []"
    script.write_text(OWN + "\n# edited\n")
    again = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
    assert again.returncode == 1 and "a file of yours that has changed" in again.stderr, "another file is another study"


def test_only_what_differs_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an edit of one's own learner the cells of the baselines are kept, and runs of other sources are named."""
    chosen = {"environment": "chain/3", "folder": tmp_path / "study", "seeds": 2, **SMALL}
    study = cf.Study(["ucbvi", "psrl"], **chosen).run()
    with refused("study-cell-differs"):
        cf.Study(["ucbvi", "psrl"], **{**chosen, "episodes": 40}).run()
    played: list[str] = []

    def counted(setting: Any, index: int) -> Any:
        played.append(setting.choices.learner)
        return run_seed(setting, index)

    monkeypatch.setattr(seeds_module, "run_seed", counted)
    config = next(tmp_path.glob("study/*psrl*/config.json"))
    document = json.loads(config.read_text())
    document["config"]["record"]["files"] = [{"name": "mine.py", "sha256": "0" * 64, "text": ""}]
    config.write_text(json.dumps(document))
    again = cf.Study(["ucbvi", "psrl"], **chosen).run(replace=True)
    assert played == ["psrl", "psrl"] and again.table() == study.table()
    document["config"]["record"].update(files=[], confide={"version": "0.1.0", "sources": "1" * 64})
    config.write_text(json.dumps(document))
    with pytest.warns(RecordWarning, match="1 of 2"):
        cf.Study(["ucbvi", "psrl"], **chosen).run()
    assert len(played) == 2, "it is taken, and said"
    cf.Study(["ucbvi", "psrl"], **chosen).run(replace=True)
    assert len(played) == 4


def test_what_has_no_name_is_run_and_not_kept(tmp_path: Path) -> None:
    worlds = [cf.environments.make("riverswim/3", horizon=3), cf.environments.make("chain/3", horizon=3)]
    chosen = {name: value for name, value in SMALL.items() if name != "horizon"}
    study = cf.Study("ucbvi", worlds, seeds=1, **chosen).run()
    assert "chain/3" in study.table()
    with pytest.raises(InvalidInput, match="have names"):
        cf.Study("ucbvi", worlds, seeds=1, folder=tmp_path / "study", **chosen).run()
    with pytest.raises(FormatError, match="no runs"):
        cf.Study.load(tmp_path)


def test_tables(done: cf.Study) -> None:
    text, values, latex = (done.table(form) for form in ("text", "csv", "latex"))
    assert len(text.splitlines()) == 1 + 1 + 6 + 1 and "3 seeds may miss" in text and "60 episodes, 3 seeds" in text
    first = values.splitlines()[1].split(",")
    assert first[:3] == ["ucbvi", "riverswim/3", "3"] and float(first[3]) == done.runs[0].regret[:, -1].mean()
    assert latex.count(r"\\") == 7 and r"\toprule" in latex and "% no privacy" in latex
    columns = done.to_dict()
    assert list(columns) == ["learner", "world", "seed", "episodes", "regret"]
    assert columns["regret"].tolist() == [value for run in done.runs for value in run.regret.ravel().tolist()]
    assert list(dict.fromkeys(columns["learner"])) == LEARNERS and columns["seed"].max() == 2
    with pytest.raises(InvalidInput, match="form"):
        done.table("word")


def test_pictures_have_a_panel_for_each_world(done: cf.Study, tmp_path: Path) -> None:
    axes = done.plot(tmp_path / "study.svg", facet="world", band="interval")
    assert [each.get_title(loc="left") for each in axes] == ["riverswim/3", "chain/3"]
    assert [len(each.lines) for each in axes] == [3, 3] and (tmp_path / "study.svg").is_file()
    assert [each.get_title(loc="left") for each in done.plot(facet="learner")] == LEARNERS
    with refused("study-facet"):
        done.plot(facet="colour")


def test_comparisons_are_paired_on_shared_seeds_and_corrected(done: cf.Study) -> None:
    found = done.compare("ucbvi", "psrl")
    assert [each.place for each in found] == ["riverswim/3", "chain/3"] and {each.test for each in found} == {
        "paired t-test"
    }
    assert all(each.adjusted is not None and each.p is not None and each.adjusted >= each.p for each in found)
    assert all(str(each).startswith(f"{each.place}: {each.verdict} (ucbvi / psrl") for each in found)
    assert {each.test for each in done.compare("ucbvi", "psrl", paired=False)} == {"Welch's t-test"}
    with refused("study-compare-values"):
        done.compare("ucbvi", "chain/3")


def test_python_hears_what_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    few = {"episodes": 100, "horizon": 3, "seeds": 1}
    with pytest.warns(NoiseWarning, match="100 episodes of riverswim/3") as heard:
        cf.simulate("ucbvi", "riverswim/3", cf.Joint(0.1, 1e-6), **few)
    assert {each.filename for each in heard} == {__file__}, "it points at the user's own line"
    with pytest.warns(NoiseWarning, match="drowns") as heard:
        cf.Study("ucbvi", "riverswim/3", [cf.Joint(0.1, 1e-6), cf.NoPrivacy()], **few).run()
    assert {each.filename for each in heard} == {__file__}
    with pytest.warns(NoiseWarning) as heard:
        cf.Study(["ucbvi", "ucbvi?bonus=hoeffding"], "riverswim/3", cf.Joint(0.1, 1e-6), **few).run()
    assert len(heard) == 1, "what two learners share is said once"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cf.simulate("ucbvi", "riverswim/3", **few)
    words = "simulate riverswim/3 --horizon 3 --epsilon 0.1 --delta 1e-6 --episodes 100 --seeds 1"
    assert command(words.split()) == 0
    assert "confide: warning: with (0.1, 1e-06)-DP, joint the noise drowns" in capsys.readouterr().err


def test_the_share_of_random_is_of_the_random_policys_regret(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "simulate chain/3 --horizon 3 --trust none --episodes 60 --seeds 2 --engine plain --schedule batches:20 --json"
    )
    assert command(words.split()) == 0
    found = json.loads(capsys.readouterr().out)
    model = cf.environments.make("chain/3", horizon=3).model
    assert model is not None
    random = policy_value(model, cf.mdp.Policy(np.full((3, 3, 2), 0.5)))
    expected = found["regret"]["mean"] / (60 * (optimal_value(model) - random))
    assert found["share_of_random"] == pytest.approx(expected) and 0 < expected < 1
    assert example_run(measure="return", optimal_value=math.nan).share_of_random is None
