"""The forecast of half the possible gain: a prior of the right sizes, a search that interpolates, and one number everywhere."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from confide.cli import run
from confide.lab.environments import make
from confide.lab.experiments.worlds import EVALUATION, TUNING, family
from confide.lab.simulation import half_gain as module
from confide.lab.simulation import simulate
from confide.lab.simulation.half_gain import HalfGain, beside, half_gain, people_until_half, prior
from confide.mdp import Spec
from confide.privacy import Joint, Local, Shuffle
from confide.service.contract.folder import Folder
from confide.service.dashboard.story import outlook
from tests.refusals import refused
from tools import half_gain as tool

SIZES = ["--epsilon", "3", "--delta", "1e-4", "--json"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two worlds, and at most 3,162 people."""
    half_gain.cache_clear()
    monkeypatch.setattr(module, "WORLDS", 2)
    monkeypatch.setattr(module, "PEOPLE", module.PEOPLE[:4])


@pytest.mark.parametrize("spec", [Spec(6, 2, 20), Spec(5, 3, 8, "per-step"), Spec(4, 3, 1), Spec(1, 3, 1)], ids=str)
def test_the_prior_has_worlds_of_these_sizes_that_no_list_has(spec: Spec) -> None:
    worlds = prior(spec)
    assert len({world.address for world in worlds}) == module.WORLDS and all(world.spec == spec for world in worlds)
    known = {make(world).address for world in EVALUATION} | {make(*world).address for world in TUNING}
    assert not known & {world.address for world in worlds}
    families = {family(world.address) for world in worlds}
    assert families <= {"random", "illness", "climb", "arms"} and (spec.horizon == 1) == (families == {"arms"})


def test_between_two_numbers_of_people_logarithms_are_interpolated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of 0.75 with 316 people and of 0.25 with 1,000: half of it is had at their geometric mean."""
    shares = dict(zip(module.PEOPLE, [1.0, 0.75, 0.25], strict=False))
    monkeypatch.setattr(module, "_share", lambda world, promise, people, seeds, choices: shares.get(people, 0.0))
    assert people_until_half("random/2x2", Local(1.0)) == pytest.approx(math.sqrt(316 * 1000))
    monkeypatch.setattr(module, "_share", lambda *arguments: 0.1)
    assert people_until_half("random/2x2", Local(1.0)) == 100
    monkeypatch.setattr(module, "_share", lambda *arguments: 0.51)
    assert people_until_half("random/2x2", Local(1.0)) == math.inf


def test_half_is_had_where_it_says() -> None:
    """In one world, with the seeds it was found by: a quarter of the people has less, four times as many have more."""
    world, promise = "illness/5x3?seed=77", Joint(1.0, 1e-6)
    found = people_until_half(world, promise)
    shares = [simulate("ucbvi", world, promise, round(found * by), 2).share_of_random for by in (0.25, 4)]
    assert 300 < found < 30_000 and shares[0] > 0.5 > shares[1]


def test_what_was_found_is_kept(small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    numbers = iter([100.0, 900.0])
    monkeypatch.setattr(module, "people_until_half", lambda *arguments, **choices: next(numbers))
    first = half_gain(Spec(2, 2, 2), Local(1.0))
    assert first == HalfGain(300.0, 100.0, 900.0) and len(list(tmp_path.rglob("*.json"))) == 1
    half_gain.cache_clear()
    assert half_gain(Spec(2, 2, 2), Local(1.0)) == first, "nothing is simulated again"
    beyond = iter([math.inf, math.inf])
    monkeypatch.setattr(module, "people_until_half", lambda *arguments, **choices: next(beyond))
    assert half_gain(Spec(2, 2, 2), Local(0.1)).as_json() == {"people": None, "low": None, "high": None}


def test_sentences() -> None:
    assert HalfGain(12_345.0, 4_321.0, 98_765.0).sentence == (
        "half of the possible gain from about 12,000 people (4,300 to 99,000)"
    )
    assert HalfGain(math.inf, 5e6, math.inf).sentence.startswith("half of the possible gain takes more than 10,000,000")
    assert list(beside(Shuffle(2.0, 1e-5))) == ["shuffle", "local", "joint"]
    assert beside(Local(2.0))["joint"] == Joint(2.0, 1e-6) and beside(Local(rho=1.0)) == {"local": Local(rho=1.0)}


def test_attempts_are_judged_as_the_forecast_is() -> None:
    """Of 24 numbers of which a quarter each is far below and far above, the middle half is right and the mean of all is not."""
    many = [1.0] * 8 + [1000.0] * 12 + [2000.0] * 4
    row = tool.HalfGainRow("chain/4", None, str(Local(1.0)), true=1000.0, forecast=4000.0, many=many)
    beyond = replace(row, true=math.inf, forecast=math.inf, many=[math.inf] * tool.MANY)
    text = tool.attempts([row, beyond, replace(row, many=None)])
    assert "as built: 1 of 2" in text and "\nmedian of 24 worlds: 2 of 2" in text
    assert "geometric mean of 24 worlds: 1 of 2" in text


def test_kept_rows_are_read_as_they_were(tmp_path: Path) -> None:
    row = tool.HalfGainRow("chain/4", None, str(Local(1.0)), true=math.inf, many=[1.0, 2.5])
    tool.write([row, replace(row, world="chain/5", many=None)], tmp_path / "rows.json")
    assert list(tool.kept(tmp_path / "rows.json").values()) == [row, replace(row, world="chain/5", many=None)]
    assert (tmp_path / "rows.json").read_text().count("many") == 1


def test_simulation_service_and_dashboard_say_the_same(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["simulate", "random/2x2", "--horizon", "2", "--trust", "joint", "--episodes", "100", "--seeds", "1"]
    assert run([*arguments, *SIZES, "--forecast"]) == 0
    told = json.loads(capsys.readouterr().out)["forecast"]
    assert list(told) == ["(3, 0.0001)-DP, joint", "3-DP, local", "(3, 0.0001)-DP, shuffle"]
    sizes = ["--states", "2", "--actions", "2", "--horizon", "2", "--trust", "joint", "--people", "100"]
    assert run(["service", "new", str(tmp_path / "tea"), *sizes, *SIZES, "--open", "--forecast"]) == 0
    assert json.loads(capsys.readouterr().out)["forecast"] == told["(3, 0.0001)-DP, joint"]
    contract = Folder(tmp_path / "tea").contract()
    assert outlook(contract)["half"] == told["(3, 0.0001)-DP, joint"]
    document = json.loads(contract.data)
    document["learner"]["forecast"]["low"] = "few"
    with refused("contract-unreadable"):
        type(contract).from_bytes(json.dumps(document).encode())
