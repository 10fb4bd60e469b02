"""A fit file in place of flags: drafted from names and types, taken by every command, kept by results."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from confide.analysis.fitting.fit_file import SECTIONS, FitFile
from confide.cli import run
from confide.errors import ConfideError
from confide.learning.learners import catalogue
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, columns, episodes
from tests.analysis.fitting.stub import Frequent

LOG = episodes(120, seed=4)


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(catalogue._LISTINGS, "frequent", catalogue.LearnerListing("frequent", "for tests", Frequent))
    monkeypatch.chdir(tmp_path)
    table = columns(LOG)
    rows = [";".join(["Patient", "day", "zustand", "tat", "lohn"])]
    result = zip(*(table[name] for name in ("user", "step", "state", "action", "reward")), strict=True)
    rows += [
        f"{user};{step};s{state};{action};{str(reward).replace('.', ',')}"
        for user, step, state, action, reward in result
    ]
    Path("log.csv").write_text("\n".join(rows) + "\n")


def drafted(*words: str) -> Path:
    given = "step=day,state=zustand,action=tat,reward=lohn"
    assert run(["init", "log.csv", "--columns", given, *words]) == 0
    return Path("fit.toml")


def filled(path: Path, more: str = "") -> Path:
    text = path.read_text()
    states = json.dumps([f"s{number}" for number in range(STATES)])
    text = text.replace("# actions = 0 ", f"actions = {ACTIONS} #").replace("# horizon = 1 ", f"horizon = {HORIZON} #")
    text = text.replace('# states = ["well", "ill"]', f"states = {states} #").replace('"apvi"', '"frequent"')
    path.write_text(text.replace("# budget = 1.0", "budget = 1.0 #") + more)
    return path


def test_from_a_log_to_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    fit_file = filled(drafted())
    captured = capsys.readouterr()
    assert "rows, for your eyes only" in captured.err and f"{len(columns(LOG)['user']):,}" not in captured.out
    assert run(["check", str(fit_file)]) == 0
    assert run(["forecast", str(fit_file), "--json"]) == 0
    assert run(["fit", str(fit_file)]) == 0
    for command in ("certificate", "report", "budget"):
        assert run([command, str(fit_file)]) == 0
    assert run(["refit", str(fit_file), "--out", "again"]) == 0
    assert run(["budget", str(fit_file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["spent"] == pytest.approx(0.5)


def test_the_draft_holds_no_number_of_the_data() -> None:
    text = drafted().read_text()
    parsed = tomllib.loads(text)
    assert set(parsed) <= set(SECTIONS) and parsed["columns"]["user"] == "Patient" and "problem" in parsed
    assert parsed["problem"] == {} and parsed["labels"] == {}
    for many in (len(columns(LOG)["user"]), 120, STATES):
        assert f" {many} " not in text


def test_flags_override_and_results_keep_what_held() -> None:
    fit_file = filled(drafted())
    assert run(["fit", str(fit_file), "--rho", "0.25", "--out", "other"]) == 0
    kept = tomllib.loads(Path("other/fit.toml").read_text())
    assert kept["guarantee"]["rho"] == 0.25 and kept["columns"]["state"] == "zustand"
    assert kept["data"]["files"] == ["log.csv"] and kept["problem"]["horizon"] == HORIZON
    again = FitFile.read("other/fit.toml")
    assert again.options["horizon"] == HORIZON and again.options["labels"]["states"] == [f"s{n}" for n in range(STATES)]
    assert run(["fit", str(fit_file), "--epsilon", "0.5", "--delta", "1e-6", "--out", "third", "--json"]) == 0


def test_labels_from_the_data_must_be_confirmed_and_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    fit_file = filled(drafted("--draft-labels"))
    assert 'states = ["s0"' in fit_file.read_text()
    assert run(["check", str(fit_file)]) == 2
    assert "confirmed = true" in capsys.readouterr().err
    fit_file.write_text(fit_file.read_text().replace("confirmed = false", "confirmed = true"))
    assert run(["fit", str(fit_file)]) == 0
    assert run(["certificate", str(fit_file)]) == 0
    printed = capsys.readouterr().out
    assert "that a label occurs is not hidden" in printed and "labels, edges and tables, none" not in printed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[dta]\n", "Did you mean 'data'"),
        ("[problem]\nhorizn = 3\n", "Did you mean 'horizon'"),
        ("horizon = 3\n", "section [horizon] is not known"),
        ("[problem\n", "cannot be read as TOML"),
        ('[labels]\nsource = "magic"\n', 'must be "public" or "data"'),
        ('[labels]\nfile = "a.json"\nstates = ["a"]\n', "Leave one out"),
    ],
)
def test_a_fit_file_with_a_mistake_is_refused_by_name(text: str, says: str) -> None:
    Path("bad.toml").write_text(text)
    with pytest.raises(ConfideError) as refusal:
        _ = FitFile.read("bad.toml").options
    assert says in str(refusal.value)


def test_what_is_there_is_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    drafted()
    assert run(["init", "log.csv"]) == 2
    assert "is yours" in capsys.readouterr().err
    assert run(["fit", "nowhere.toml"]) == 2
    assert "confide init" in capsys.readouterr().err


def test_what_a_flag_would_say_is_told_as_the_fit_file_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    fit_file = drafted()
    assert run(["check", str(fit_file)]) == 2
    printed = capsys.readouterr().err
    assert "--horizon H, and declare --states and --actions or list them as --labels" in printed
    assert "In fit.toml that is horizon, states, actions in [problem] or [labels]." in printed
    filled(fit_file)
    fit_file.write_text(fit_file.read_text().replace("budget = 1.0 #", "# budget"))
    assert run(["check", str(fit_file)]) == 2
    assert "--budget RHO in a fit. In fit.toml that is rho, budget in [guarantee]." in capsys.readouterr().out
    assert run(["init", "log.csv"]) == 2
    assert "that is" not in capsys.readouterr().err  # a draft is mended by its own flags


def test_a_column_that_looks_like_propensities_is_named_and_not_read() -> None:
    Path("shop.csv").write_text("state,action,reward,propensity_score\n0,1,1,0.5\n")
    assert run(["init", "shop.csv", "--out", "shop.toml"]) == 0
    assert '\n# propensity = "propensity_score"' in Path("shop.toml").read_text()


def test_a_forecast_of_a_fit_file_says_what_its_check_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the next state is not logged visits are asked for too, which takes more noise."""
    rows = [f"u{u},{t},{(u + t) % 2},{t % 2},1" for u in range(30) for t in range(3)]
    Path("untold.csv").write_text("\n".join(["user,step,state,action,reward", *rows]))
    assert run(["init", "untold.csv", "--out", "untold.toml"]) == 0
    text = Path("untold.toml").read_text()
    for name, value in (("states", 2), ("actions", 2), ("horizon", 3)):
        text = re.sub(rf"^# {name} = \d+", f"{name} = {value}", text, count=1, flags=re.MULTILINE)
    Path("untold.toml").write_text(text.replace("# fixed_length", "fixed_length").replace("# budget", "budget"))
    results = []
    for command in ("check", "forecast"):
        capsys.readouterr()
        assert run([command, "untold.toml", "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["noise"] == pytest.approx(results[1]["noise"], rel=1e-6)
    assert results[0]["needed"] == pytest.approx(results[1]["needed"], abs=1)


def test_numbers_that_count_from_one_and_titles_above_a_header(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ones.csv").write_text("state,action,reward\n1,0,1\n2,1,0\n")
    assert run(["check", "ones.csv", "--states", "2", "--actions", "2", "--horizon", "1", "--rho", "1"]) == 2
    assert (
        "They count from 0 to 1: declare more, or list them in a file of labels (--labels)." in capsys.readouterr().out
    )
    Path("titled.csv").write_text("Report of May;;\nstate;action;reward\n1;0;1\n")
    assert run(["init", "titled.csv", "--out", "titled.toml"]) == 0
    assert "2 columns have no name. If lines stand above the header, say --skip-rows N" in capsys.readouterr().err
