"""A run records what its numbers come from, and keeps seeds that are its own only."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import confide as cf
from confide import loading
from confide.analysis.results import Run
from confide.cli import run
from confide.compiled import PACKAGE
from confide.lab.environments.gym import from_gymnasium
from confide.lab.simulation import Choices, Setting, complete
from confide.lab.simulation.record import RECORD, differences, record_of, sources_hash
from confide.lab.simulation.simulate import run_seed
from confide.lab.studies.seeds import FinishedSeed, KeptSeeds

OWN = """
from confide.lab.environments import register
from confide.lab.environments.riverswim import riverswim
@register("{name}", example="{name}/3")
def build(states: int, horizon: int):
    '''A river.'''
    return riverswim(states, horizon)
"""


class Paid(gymnasium.RewardWrapper[Any, Any]):
    def __init__(self, world: Any, factor: float) -> None:
        super().__init__(world)
        self.factor = factor

    def reward(self, reward: Any) -> float:
        return float(reward) * self.factor


def setting(**choices: Any) -> Setting:
    return complete(Choices.of("ucbvi", "riverswim/3", episodes=100, seeds=2, horizon=3, **choices))


def test_the_record_names_code_packages_and_world() -> None:
    record = record_of(setting().environment, setting().choices)
    assert record["packages"]["numpy"] == np.__version__ and record["world"]["name"] == "riverswim/3"
    git = ["git", "-C", str(PACKAGE.parent), "rev-parse", "HEAD"]
    if (PACKAGE.parent / ".git").exists():
        assert record["confide"]["commit"] == subprocess.run(git, capture_output=True, text=True).stdout.strip()
    assert len(sources_hash()) == 64 and record["confide"]["sources"] == sources_hash()
    per_step = complete(Choices.of("ucbvi", "riverswim/3", episodes=10, horizon=3, model="per-step"))
    other = record_of(per_step.environment, per_step.choices)
    assert record["world"]["tables"] != other["world"]["tables"]


def test_a_wrapped_world_is_recorded_with_its_wrappers_and_their_parameters() -> None:
    plain = from_gymnasium(gymnasium.make("FrozenLake-v1"), 10)
    assert plain.name == "FrozenLake-v1"
    runs = [
        cf.simulate("ucbvi", from_gymnasium(Paid(gymnasium.make("FrozenLake-v1"), factor), 5, (0, 2)), None, 5, 1)
        for factor in (0.5, 2.0)
    ]
    assert [run.environment for run in runs] == [
        "FrozenLake-v1 in Paid(factor=0.5)",
        "FrozenLake-v1 in Paid(factor=2.0)",
    ]
    made_of = runs[1].config[RECORD]["world"]["made_of"]
    assert made_of[0].endswith("Paid(factor=2.0)") and "map_name=4x4" in made_of[-1]
    (difference,) = differences(*(run.config[RECORD]["world"] for run in (runs[0], plain_name(runs[1], runs[0]))))
    where = f"{__name__}.Paid"
    assert difference == f"made_of[0] was {where}(factor=0.5) and is {where}(factor=2.0)", (
        "the rest of the stack is alike"
    )


def test_a_wrapper_of_ones_own_has_the_name_of_its_file_wherever_that_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_FILES", {})
    text = "import gymnasium\nclass Slow(gymnasium.Wrapper):\n    pass\n"
    names = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my_worlds.py").write_text(text)
        slow = loading.load_file(tmp_path / folder / "my_worlds.py").Slow
        names.append(from_gymnasium(slow(gymnasium.make("FrozenLake-v1")), 5, (0, 1)).made_of[0])
    assert names == ["my_worlds.Slow()"] * 2


def plain_name(run: Run, other: Run) -> Run:
    """The run with the name of the other's world, so that records differ in what the world is made of alone."""
    run.config[RECORD]["world"]["name"] = other.config[RECORD]["world"]["name"]
    return run


def test_differences_are_said_one_by_one() -> None:
    before = {"packages": {"numpy": "1", "scipy": "2"}, "files": [{"name": "a.py", "sha256": "0" * 64, "text": "x"}]}
    now = {"packages": {"numpy": "3", "scipy": "2"}, "files": [{"name": "b.py", "sha256": "1" * 64, "text": "y"}]}
    assert differences(before, before) == []
    assert differences(before, now) == [
        "packages.numpy was 1 and is 3",
        f"file a.py was of hash {'0' * 16} and is not there",
        f"file b.py was not there and is of hash {'1' * 16}",
    ]


def test_imported_files_are_copied_and_again_says_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loading, "_FILES", {})
    file, folder = tmp_path / "river.py", tmp_path / "run"
    file.write_text(OWN.format(name="recorded"))
    words = ["--import", str(file), "simulate", "recorded/3", "--trust", "none", "--episodes", "50", "--seeds", "2"]
    assert run([*words, "--out", str(folder)]) == 0
    text = file.read_text()
    file.write_text(text + "\n# edited after it was run\n")
    (entry,) = Run.load(folder).config[RECORD]["files"]
    assert entry == {"name": "river.py", "sha256": hashlib.sha256(text.encode()).hexdigest(), "text": text}
    capsys.readouterr()
    assert run([*words, "--out", str(folder)]) == 0 and "was saved in" in capsys.readouterr().err
    assert run(["simulate", "--again", str(folder)]) == 0
    assert "since" not in capsys.readouterr().err
    monkeypatch.setattr(loading, "_FILES", {str(file): b"another"})
    assert run([*words[2:], "--out", str(folder)]) == 2, "what another file gave is not taken for this one's"
    config = json.loads((folder / "config.json").read_text())
    config["config"][RECORD]["packages"]["numpy"] = "1.0"
    (folder / "config.json").write_text(json.dumps(config))
    capsys.readouterr()
    assert run(["simulate", "--again", str(folder)]) == 0
    said = capsys.readouterr().err
    assert f"packages.numpy was 1.0 and is {np.__version__}" in said
    assert f"file river.py was of hash {entry['sha256'][:16]} and is of hash" in said


def test_kept_seeds_are_those_of_the_same_run_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = setting()
    kept, finished = KeptSeeds.of(mine, tmp_path / "run"), FinishedSeed(run_seed(mine, 1), 2.5)
    kept.put(1, finished)
    (again,) = kept.get(2).values()
    assert again.seconds == 2.5 and (again.outcome.regret == finished.outcome.regret).all()
    assert again.outcome.final_value == finished.outcome.final_value
    assert (again.outcome.policy == finished.outcome.policy).all()
    assert KeptSeeds.of(setting(), tmp_path / "run").get(2).keys() == {1}
    others = (setting(failure=0.2), setting(seed=1), setting(schedule="every"))
    assert not any(KeptSeeds.of(other, tmp_path / "run").get(2) for other in others)
    monkeypatch.setattr(loading, "_FILES", {"own.py": b"another"})
    assert not KeptSeeds.of(mine, tmp_path / "run").get(2)


def test_a_kept_seed_that_is_torn_is_run_again(tmp_path: Path) -> None:
    mine = setting()
    kept = KeptSeeds.of(mine, tmp_path / "run")
    for index in range(2):
        kept.put(index, FinishedSeed(run_seed(mine, index), 1.0))
    first = min(kept.folder.iterdir())
    first.write_bytes(first.read_bytes()[:-40])
    assert kept.get(2).keys() == {1}
