"""Fitting: in the right order, charged before any noise, complete or absent, and nothing raw left behind."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide
from confide.analysis.fitting import Engine, check, engines, fit, prepare, refit
from confide.analysis.fitting.fit import Order
from confide.analysis.fitting.plan import RETURNS_SHARE, STARTS_SHARE
from confide.analysis.fitting.refit import releases_of
from confide.analysis.results.fit import FILES, Fit
from confide.data.trajectories import Dataset, read
from confide.errors import ConfideError, FormatError, InvalidInput, Unfinished
from confide.learning.learners.catalogue import _LISTINGS, LearnerListing
from confide.mechanisms.noise import ReplayableNoise, SecureNoise
from confide.privacy import Central, Guarantee, Joint, Ledger, NoPrivacy
from confide.protocol.trusts.central import std
from tests.analysis.fitting.logs import ACTIONS, HORIZON, STATES, Episode, columns, episodes, write
from tests.analysis.fitting.stub import Frequent
from tests.refusals import refused

SIZES = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON}
RHO = Central(rho=0.5)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.parquet", episodes(400, seed=1))


def opened(path: Any, **declared: Any) -> Dataset:
    return read(path, **SIZES, **declared)


def fitted(data: Dataset, privacy: Guarantee = RHO, **words: Any) -> Fit:
    return fit(data, Frequent(data.knowledge), privacy, **{"budget": 1.0, **words})


def prepared(data: Dataset, privacy: Guarantee = RHO, **words: Any) -> Order:
    return prepare(data, Frequent(data.knowledge), privacy, **words)


def spent(path: Path) -> tuple[float, ...]:
    ledger = Ledger(path.with_name(path.name + ".ledger.json"))
    return ledger.balance().charges if ledger.path.exists() else ()


def test_a_fit_and_all_that_it_leaves(log: Path, tmp_path: Path) -> None:
    data = opened(log)
    result = fitted(data, out=tmp_path / "policy")
    assert sorted(path.name for path in (tmp_path / "policy").iterdir()) == sorted(FILES)
    assert spent(log) == pytest.approx((0.5,))
    assert result.users == 400
    assert result.certificate.guarantee.rho == pytest.approx(0.5)
    assert result.certificate.noise == "plain"
    assert result.policy.probabilities.shape == (HORIZON, STATES, ACTIONS)
    # The stub says 0.5 a step, and the law of the first state sums to one.
    assert result.findings["lower"] == pytest.approx(0.5 * HORIZON)
    loaded = confide.load(tmp_path / "policy")
    assert loaded.as_json() == result.as_json()
    assert loaded.releases == result.releases
    assert np.array_equal(loaded.policy.probabilities, result.policy.probabilities)
    assert np.array_equal(loaded.values, result.values)
    assert loaded.act(0, 2) == result.policy.act(0, 2) == result.policy.actions[0, 2]
    assert np.array_equal(loaded.knowledge.support, data.knowledge.support)
    rows = (tmp_path / "policy" / "policy.csv").read_text().splitlines()
    assert rows[0] == "step,state,action,probability,value"
    assert len(rows) == 1 + HORIZON * STATES
    assert set(result.as_json()) == {
        "value",
        "low",
        "high",
        "lower",
        "alone",
        "practice",
        "gain",
        "recommended",
        "coverage",
        "needed",
        "power",
        "needed_to_be_sure",
        "assumes",
        "checks",
        "ended",
        "judged",
        "alarms",
        "groups",
        "users",
        "certificate",
    }


def test_the_released_counts_are_the_true_ones_with_the_stated_noise(log: Path) -> None:
    """At a huge rho the noise is small and the counts are those of the log, which shows that nothing else is added."""
    data = opened(log)
    exact = releases_of(fitted(data, Central(rho=1e6), budget=2e6))
    kept = np.zeros((STATES + 1, ACTIONS, STATES + 1))
    starts = np.zeros(STATES + 1)
    rewards = np.zeros((STATES + 1, ACTIONS))
    for one in episodes(400, seed=1):
        starts[one.states[0]] += 1
        for h, action in enumerate(one.actions):
            last = h + 1 == len(one.actions) < HORIZON
            kept[one.states[h], action, STATES if last else one.states[h + 1]] += 1
            rewards[one.states[h], action] += one.rewards[h]
    assert np.allclose(exact["counts"].counts.transitions[0], kept, atol=0.5)
    assert np.allclose(exact["counts"].counts.rewards[0], rewards, atol=1.0)
    assert np.allclose(exact["starts"].counts.visits[0, :, 0], starts, atol=0.5)


def test_the_learner_hears_the_release_and_the_law_of_first_states(log: Path) -> None:
    data = opened(log)
    learner = Frequent(data.knowledge)
    fit(data, learner, Central(rho=1e6), budget=2e6, scale=2.0)
    release, scale, initial = learner.told[0]
    assert release.question.parts == ("centred", "transitions") and scale == 2.0
    firsts = [one.states[0] for one in episodes(400, seed=1)]
    assert initial == pytest.approx([firsts.count(state) / 400 for state in range(STATES)] + [0.0], abs=2e-3)


def test_known_things_are_not_asked_for(log: Path) -> None:
    rewards, initial = np.full((STATES, ACTIONS), 0.5), np.full(STATES, 1 / 3)
    order = prepared(opened(log, rewards=rewards, initial=initial))
    assert list(order.plan.designs) == ["counts", "returns"]
    assert order.plan.question.parts == ("transitions",)
    # P alone, pooled, the last transition counted: l2^2 = 2 H^2 at rho 0.5, but for the share of the returns.
    assert std(order.plan.designs["counts"]) == pytest.approx(math.sqrt(2 / (1 - RETURNS_SHARE)) * HORIZON)
    # People's returns, as a share of the most they can earn: l2 = 1 for the mean and the spread together.
    assert order.plan.designs["returns"].mechanism.sigma == pytest.approx(math.sqrt(1 / (2 * RETURNS_SHARE * 0.5)))
    asked = prepared(opened(log)).plan
    assert std(asked.designs["starts"]) == pytest.approx(math.sqrt(1 / (STARTS_SHARE * 0.5)))
    untold = prepared(opened(log, columns="next_state=")).plan.question
    assert (untold.parts, untold.last) == (("visits", "centred", "transitions"), "dropped")
    per_step = prepared(opened(log, columns="next_state=", model="per-step"))
    assert (per_step.plan.question.parts, per_step.plan.question.last) == (("centred", "transitions"), "counted")
    never = np.ones((STATES, ACTIONS, STATES + 1), dtype=bool)
    never[0, 0, STATES] = False  # then the last step cannot be taken for the end either
    strict = opened(log, columns="next_state=", model="per-step", support=never)
    assert prepared(strict).plan.question.last == "dropped"


class Rarest(Frequent):
    """A learner that is derived from another one, and plans as that does."""

    name = "rarest"


def test_learners_of_ones_own_plan_themselves_or_as_what_they_are_derived_from(log: Path) -> None:
    for made in (Frequent, Rarest):
        assert fit(opened(log), made(opened(log).knowledge), RHO, budget=9.0).policy.probabilities.shape[0] == HORIZON
    with refused("learner-not-offline", match="Fraction"):
        fit(opened(log), Fraction(1, 2), RHO, budget=9.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("promise", "rho"),
    [(Central(rho=0.25), 0.25), (Central(1.0), 0.5), (Central(4.0), 4.0), (Central(1.0, 1e-6), 0.2367**2 / 2)],
    ids=str,
)
def test_every_promise_is_charged_in_rho(log: Path, promise: Guarantee, rho: float) -> None:
    fitted(opened(log), promise, budget=10.0)
    assert spent(log) == pytest.approx((rho,), rel=2e-3)


def test_what_is_left_is_all_that_can_be_spent(log: Path) -> None:
    data = opened(log)
    fitted(data)
    fitted(data, budget=None)
    assert spent(log) == pytest.approx((0.5, 0.5))
    with refused("budget-exceeded", match=r"rho = 0\.01"):
        fitted(data, Central(rho=0.01), budget=None)
    assert spent(log) == pytest.approx((0.5, 0.5))


def test_a_budget_is_asked_for_and_set_once(log: Path) -> None:
    data = opened(log)
    with refused("budget-missing"):
        fitted(data, budget=None)
    assert sorted(path.name for path in log.parent.iterdir()) == ["log.parquet"]
    fitted(data, Central(rho=0.1), budget=1.0)
    fitted(data, Central(rho=0.1), budget=1.0)
    with refused("budget-set-already", match=r"rho = 1\."):
        fitted(data, Central(rho=0.1), budget=2.0)
    with refused("not-positive: budget"):
        fitted(opened(write(log.with_name("b.parquet"), episodes(9))), budget=-1.0)


def test_arrays_and_queries_need_a_ledger_told(tmp_path: Path) -> None:
    data = read(columns(episodes(50)), **SIZES)
    with refused("ledger-place-unsaid"):
        fitted(data)
    fitted(data, ledger=tmp_path / "arrays.json")
    assert Ledger(tmp_path / "arrays.json").balance().charges == pytest.approx((0.5,))


def test_the_ledger_is_charged_before_any_noise_is_drawn(log: Path) -> None:
    class Failing(SecureNoise):
        """Breaks down at the first draw, and looks into the ledger first."""

        def discrete_gaussian(self, sigma: float, shape: Any) -> Any:
            assert spent(log) == pytest.approx((0.5,))
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fitted(opened(log), noise=Failing(), out=log.parent / "policy")
    assert spent(log) == pytest.approx((0.5,))
    assert sorted(path.name for path in log.parent.iterdir() if path.is_dir()) == []


def test_nothing_is_spent_where_anything_is_wrong(log: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.parquet", [Episode([0, 9], [0], [1.0])])
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "thesis.tex").touch()
    cases: list[tuple[Path, dict[str, Any]]] = [
        (bad, {}),
        (log, {"out": taken}),
        (log, {"out": tmp_path / "bad.parquet" / "policy"}),
        (log, {"mechanism": "magic"}),
        (log, {"failure": 7}),
        (log, {"privacy": NoPrivacy()}),
        (log, {"privacy": Joint(1.0)}),
        (log, {"privacy": Central(1.0), "mechanism": "gaussian"}),
    ]
    for path, words in cases:
        with pytest.raises(ConfideError):
            fitted(opened(path), **words)
        assert spent(path) == ()
    with refused("fit-guarantee-missing"):
        fit(opened(log), Frequent(opened(log).knowledge), budget=1.0)
    assert not (tmp_path / "log.parquet.ledger.json").exists()


def test_noise_that_can_be_replayed_is_refused(log: Path) -> None:
    with refused("noise-not-secure"):
        fitted(opened(log), noise=ReplayableNoise(0))
    assert spent(log) == ()


def test_a_full_disk_is_found_before_anything_is_spent(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with refused("folder-no-room"):
        fitted(opened(log), out=log.parent / "policy")
    assert spent(log) == ()
    assert [path.name for path in log.parent.iterdir()] == ["log.parquet"]


def test_a_disk_that_fills_up_while_writing_leaves_nothing(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fitted(opened(log), Central(rho=0.1), out=log.parent / "policy")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.savez_compressed", full)
    with refused("fit-unfinished") as failed:
        fitted(opened(log), Central(rho=0.1), out=log.parent / "policy", replace=True)
    monkeypatch.undo()
    kept: Any = failed.value.fit
    assert refit(kept, Frequent(kept.knowledge)).releases == kept.releases != old.releases
    assert confide.load(log.parent / "policy").releases == old.releases
    assert [path.name for path in log.parent.iterdir() if path.is_dir()] == ["policy"]


def test_killed_at_any_moment_the_old_or_the_new_is_there(log: Path, tmp_path: Path) -> None:
    """Killed while a file is written, before and after the names are exchanged, and not at all."""
    fitted(opened(log), Central(rho=0.1), out=tmp_path / "policy")
    old = confide.load(tmp_path / "policy").releases
    program = (
        "import sys, os, signal, numpy as np, pathlib\n"
        "from confide.analysis.results.fit import Fit\n"
        "import confide.analysis.results.folder as folder\n"
        "point = int(sys.argv[1]); seen = 0\n"
        "def dying(name, real):\n"
        "    def call(*a, **k):\n"
        "        global seen\n"
        "        seen += 1\n"
        "        if seen == point: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return real(*a, **k)\n"
        "    return call\n"
        "fit = Fit.load('policy')\n"
        "new = Fit(fit.policy, fit.values, fit.knowledge, {'counts': b'new', 'starts': b'new'}, fit.certificate,\n"
        "          fit.findings, fit.config, fit.states, fit.actions)\n"
        "np.savez_compressed = dying('npz', np.savez_compressed)\n"
        "folder._sync = dying('sync', folder._sync)\n"
        "folder._exchange = dying('exchange', folder._exchange)\n"
        "pathlib.Path.write_text = dying('text', pathlib.Path.write_text)\n"
        "pathlib.Path.write_bytes = dying('bytes', pathlib.Path.write_bytes)\n"
        "new.save('policy', replace=True)\n"
        "print('done')\n"
    )
    root = Path(__file__).resolve().parents[3]
    seen = set()
    for point in (4, 13, 14, 99):
        result = subprocess.run(
            [sys.executable, "-c", program, str(point)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(root), "PATH": "", "HOME": str(tmp_path)},
        )
        outcome = confide.load(tmp_path / "policy").releases
        assert outcome in (old, {"counts": b"new", "starts": b"new"}), result.stderr
        seen.add((result.returncode == 0, outcome == old))
    assert (False, True) in seen and (True, False) in seen


def test_an_existing_folder_is_replaced_only_if_asked(log: Path, tmp_path: Path) -> None:
    data = opened(log)
    first = fitted(data, Central(rho=0.1), out=tmp_path / "policy")
    with refused("folder-holds-result"):
        fitted(data, Central(rho=0.1), out=tmp_path / "policy")
    assert spent(log) == pytest.approx((0.1,))
    second = fitted(data, Central(rho=0.1), out=tmp_path / "policy", replace=True)
    assert first.releases != second.releases == confide.load(tmp_path / "policy").releases


def test_check_spends_and_writes_nothing(log: Path, tmp_path: Path) -> None:
    data = opened(log)
    result = check(data, Frequent(data.knowledge), RHO, budget=1.0, out=tmp_path / "policy")
    assert result.problems == () and result.users == 400 and result.cost == pytest.approx(0.5) and result.left == 1.0
    assert result.guarantee.rho == pytest.approx(0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_check_finds_everything_at_once(tmp_path: Path) -> None:
    table = columns([Episode([0, 1, 2], [0, 1], [0, 1]) for _ in range(5)])
    table["state"][0], table["action"][4], table["reward"][8] = 7, 7, math.nan
    path = write(tmp_path / "bad.parquet", [], **table)
    data = opened(path)
    result = check(data, Frequent(data.knowledge), RHO, out=tmp_path / "bad.parquet" / "policy")
    statement = " ".join(problem.sentence for problem in result.problems)
    for piece in ("no budget", "/bad.parquet/policy must", "Row 1 of", "Row 5 of", "Row 9 of"):
        assert piece in statement
    assert len(result.problems) == 5


def test_several_episodes_of_one_person(tmp_path: Path) -> None:
    both = [*columns(episodes(50, seed=1)).items()]
    options = {name: [*values, *columns(episodes(50, seed=2))[name]] for name, values in both}
    path = write(tmp_path / "log.parquet", [], **options)
    with refused("person-with-several-episodes"):
        fitted(opened(path))
    grouped = fitted(opened(path, users="group:2"), Central(rho=0.1))
    assert grouped.users == 50
    assert grouped.certificate.guarantee.unit == "one person's up to 2 trajectories"
    assert "charged as a group of 2" in grouped.certificate.assumptions[0]
    assert [row["release"] for row in grouped.certificate.mechanisms][:1] == ["counts"]
    sigmas = [row["sigma"] for row in grouped.certificate.mechanisms]
    single = prepared(opened(path, users="limit"), Central(rho=0.1), budget=1.0)
    assert sigmas[0] == pytest.approx(2 * std(single.plan.designs["counts"]))


def test_limited_to_one_episode_of_each(tmp_path: Path) -> None:
    options = {
        name: [*values, *columns(episodes(50, seed=2))[name]] for name, values in columns(episodes(50, seed=1)).items()
    }
    path = write(tmp_path / "log.parquet", [], **options)
    result = fitted(opened(path, users="limit"), Central(rho=1e6), budget=2e6)
    assert releases_of(result)["starts"].counts.visits.sum() == pytest.approx(50, abs=1)
    assert result.users == 50


def test_labels_reach_the_policy(tmp_path: Path) -> None:
    names, doings = ("well", "ill", "very ill"), ("wait", "treat")
    table = columns(episodes(100, seed=3))
    table["state"] = [names[state] for state in table["state"]]
    table["next_state"] = [names[state] for state in table["next_state"]]
    table["action"] = [doings[action] for action in table["action"]]
    path = write(tmp_path / "log.parquet", [], **table)
    data = read(path, horizon=HORIZON, labels={"states": names, "actions": doings})
    fitted(data, out=tmp_path / "policy")
    loaded = confide.load(tmp_path / "policy")
    assert loaded.act(0, "very ill") == doings[loaded.policy.act(0, 2)]
    with refused("unknown-name: state"):
        loaded.act(0, "iil")
    assert (tmp_path / "policy" / "policy.csv").read_text().splitlines()[2].startswith("0,ill,")


def test_nothing_raw_is_stored(tmp_path: Path) -> None:
    """What only the data knows (ids, exact counts, how many rows) is nowhere in the folder."""
    log = episodes(321, seed=9)
    rows = sum(len(one.actions) for one in log)
    path = write(tmp_path / "log.parquet", log, user=columns(log, ids=[f"secret-{n}" for n in range(321)])["user"])
    seen: list[Any] = []
    fitted(opened(path), out=tmp_path / "policy", on_counted=seen.append)
    assert seen[0].read == rows
    for file in (tmp_path / "policy").iterdir():
        assert b"secret" not in file.read_bytes()
    for name in ("config.json", "certificate.json", "report.html"):
        assert not re.search(rf"(?<![\d.]){rows}(?!\d)", (tmp_path / "policy" / name).read_text().replace(",", ""))


def test_refit_costs_nothing(log: Path, tmp_path: Path) -> None:
    data = opened(log)
    first = fitted(data, out=tmp_path / "policy")
    other = Frequent(first.knowledge, worth=0.25)
    again = refit(tmp_path / "policy", other, out=tmp_path / "other")
    assert spent(log) == pytest.approx((0.5,))
    assert again.certificate.as_json() == first.certificate.as_json()
    assert again.findings["lower"] == pytest.approx(0.25 * HORIZON)
    assert confide.load(tmp_path / "other").releases == first.releases
    release = other.told[0][0]
    assert np.array_equal(release.counts.transitions, releases_of(first)["counts"].counts.transitions)


def test_a_learner_that_fails_does_not_waste_what_was_paid(log: Path, tmp_path: Path) -> None:
    class Failing(Frequent):
        def plan(self, *_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("oh dear")

    data = opened(log)
    with refused("fit-unfinished"):
        fit(data, Failing(data.knowledge), RHO, budget=1.0, out=tmp_path / "policy")
    assert spent(log) == pytest.approx((0.5,))
    with refused("fit-waits-to-be-learned"):
        confide.load(tmp_path / "policy")
    kept = confide.load(tmp_path / ".policy.paid")
    assert (kept.policy.probabilities == 0.5).all() and kept.findings["lower"] is None
    with refused("release-waits"):
        fit(data, Frequent(data.knowledge), RHO, out=tmp_path / "policy")
    assert spent(log) == pytest.approx((0.5,))
    again = refit(tmp_path / ".policy.paid", Frequent(kept.knowledge), out=tmp_path / "policy")
    assert again.findings["lower"] == pytest.approx(0.5 * HORIZON) and again.releases == kept.releases
    assert not (tmp_path / ".policy.paid").exists()
    assert confide.load(tmp_path / "policy").findings["lower"] == again.findings["lower"]


@pytest.mark.parametrize("step", ["save", "_page", "findings"])
def test_whatever_fails_afterwards_the_release_is_kept(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("oh dear")

    place = (
        "confide.analysis.fitting.learning.findings"
        if step == "findings"
        else f"confide.analysis.results.fit.Fit.{step}"
    )
    monkeypatch.setattr(place, broken)
    with refused("fit-unfinished"):
        fitted(opened(log), out=tmp_path / "policy")
    monkeypatch.undo()
    assert spent(log) == pytest.approx((0.5,)) and not (tmp_path / "policy").exists()
    kept = confide.load(tmp_path / ".policy.paid")
    assert refit(tmp_path / "policy", Frequent(kept.knowledge), out=tmp_path / "policy").releases == kept.releases
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["policy"]


def test_a_release_that_cannot_be_kept_beside_its_folder_is_kept_elsewhere(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    real = Fit.keep

    def elsewhere(self: Fit, folder: Path) -> Path:
        if folder.parent == tmp_path:
            raise InvalidInput("no-space", "No space left on device.")
        return real(self, folder)

    monkeypatch.setattr(Fit, "keep", elsewhere)
    monkeypatch.setattr(Fit, "_page", lambda self: 1 / 0)
    with refused("fit-unfinished"):
        fitted(opened(log), out=tmp_path / "policy")
    (kept,) = (tmp_path / "temporary").glob("*/.policy.paid")
    assert confide.load(kept).users == 400


def test_without_a_folder_the_error_holds_the_release(log: Path) -> None:
    class Failing(Frequent):
        def plan(self, *_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("oh dear")

    data = opened(log)
    with pytest.raises(Unfinished, match=r"refit\(error\.fit, \.\.\.\)") as failed:
        fit(data, Failing(data.knowledge), RHO, budget=1.0)
    kept: Any = failed.value.fit
    assert refit(kept, Frequent(kept.knowledge)).users == 400


@pytest.mark.parametrize("scale", [math.nan, math.inf, -5.0, "x"])
def test_bad_options_are_found_before_anything_is_charged(log: Path, scale: Any) -> None:
    data = opened(log)
    with refused("out-of-range: bonus scale"):
        fit(data, "apvi", RHO, budget=1.0, scale=scale)
    with refused("out-of-range: option told_apart"):
        fit(data, "apvi", RHO, budget=1.0, told_apart=scale)
    assert [path.name for path in log.parent.iterdir()] == ["log.parquet"]


def test_choices_that_cannot_be_written_are_found_before_anything_is_charged(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: Any = LearnerListing("frequent-for-a-test", "", Frequent)  # type: ignore[arg-type]
    monkeypatch.setitem(_LISTINGS, "frequent-for-a-test", listed)
    data = opened(log)
    for out in (None, tmp_path / "policy"):
        with refused("fit-choices-not-plain"):
            fit(data, "frequent-for-a-test", RHO, budget=1.0, worth=object(), out=out)
    assert [path.name for path in log.parent.iterdir()] == ["log.parquet"]


def test_a_fit_killed_between_two_questions_stays_charged_whole(tmp_path: Path) -> None:
    from tests.analysis.fitting.test_linear import learned

    class Dying(SecureNoise):
        drawn = 0

        def discrete_gaussian(self, sigma: float, shape: Any) -> Any:
            Dying.drawn += 1
            if Dying.drawn == 4:
                raise KeyboardInterrupt
            return super().discrete_gaussian(sigma, shape)

    with pytest.raises(KeyboardInterrupt):
        learned(tmp_path, learner="vapvi", out=tmp_path / "policy", noise=Dying())
    assert Ledger(tmp_path / "ledger.json").balance().spent == pytest.approx(50.0)
    assert not (tmp_path / "policy").exists() and not (tmp_path / ".policy.paid").exists()


def test_how_long_it_took_is_not_written(log: Path, tmp_path: Path) -> None:
    fitted(opened(log), out=tmp_path / "policy")
    for file in (tmp_path / "policy").iterdir():
        assert b"seconds" not in file.read_bytes(), file.name


def test_a_charge_is_an_entry_and_bears_its_certificates_digest(log: Path, tmp_path: Path) -> None:
    import hashlib

    fitted(opened(log), out=tmp_path / "policy")
    (entry,) = Ledger(log.with_name("log.parquet.ledger.json")).balance().entries
    assert entry.rho == pytest.approx(0.5) and entry.command == "fit frequent, 0.5-zCDP, central"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry.date or "")
    assert entry.certificate == hashlib.sha256((tmp_path / "policy" / "certificate.json").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "file", [name for name in FILES if name not in ("report.html", "policy.csv", "card.json", "card.html")]
)
def test_a_damaged_folder_is_refused(log: Path, tmp_path: Path, file: str) -> None:
    fitted(opened(log), out=tmp_path / "policy")
    path = tmp_path / "policy" / file
    whole_file = path.read_bytes()
    for spoiled in (b"", whole_file[: len(whole_file) // 2], b"{}"):
        path.write_bytes(spoiled)
        with pytest.raises(FormatError):
            confide.load(tmp_path / "policy")
    path.unlink()
    with pytest.raises(FormatError):
        confide.load(tmp_path / "policy")


def test_threads_and_parts_change_nothing(tmp_path: Path) -> None:
    log = episodes(300, seed=5)
    for part in range(5):
        table = columns(log[part::5], ids=list(range(part, 300, 5)))
        write(tmp_path / f"part-{part}.parquet", [], **table)
    counts = []
    for workers in (1, 3):
        done: list[int] = []
        data = opened(tmp_path)
        exact = fit(
            data,
            Frequent(data.knowledge),
            Central(rho=1e9),
            budget=1e10,
            engine=Engine(workers=workers),
            progress=done.append,
        )
        assert done == [1, 2, 3, 4, 5]
        counts.append(np.rint(releases_of(exact)["counts"].counts.transitions))
    assert np.array_equal(counts[0], counts[1])


def test_engines_that_cannot_be() -> None:
    with pytest.raises(InvalidInput, match="go together"):
        Engine("dask")
    with pytest.raises(InvalidInput, match="go together"):
        Engine("threads", "tcp://host:1")
    with refused("unknown-name: engine"):
        Engine("spark")


@pytest.mark.slow
def test_a_real_cluster_counts_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    log = episodes(300, seed=5)
    for part in range(4):
        write(tmp_path / f"part-{part}.parquet", [], **columns(log[part::4], ids=list(range(part, 300, 4))))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        results = []
        for engine in (Engine("dask", cluster.scheduler_address), Engine()):
            data = opened(tmp_path)
            exact = fit(data, Frequent(data.knowledge), Central(rho=1e9), budget=1e10, engine=engine)
            results.append(np.rint(releases_of(exact)["counts"].counts.transitions))
    assert np.array_equal(*results)


@pytest.mark.slow
def test_a_cluster_without_workers_says_so_in_five_seconds() -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster:
        began = time.monotonic()
        with refused("dask-no-workers"):
            engines.connect(cluster.scheduler_address)
        assert time.monotonic() - began < 5


def test_configuration_is_plain_and_public(log: Path, tmp_path: Path) -> None:
    fitted(opened(log), out=tmp_path / "policy")
    config = json.loads((tmp_path / "policy" / "config.json").read_text())
    assert config["schema"] == "confide.fit/1" and config["learner"] == "frequent"
    assert config["privacy"] == {"epsilon": None, "delta": 0.0, "rho": 0.5}
