"""A fit is attacked by its replica: the same noise, made-up people; what was found stays with the certificate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confide.analysis.fitting.adopting import JudgePlan
from confide.analysis.results.fit import Fit
from confide.cli import run
from confide.errors import InvalidInput, PrivacyError
from confide.lab.audit import audit_fit, audit_plan, replicas
from confide.lab.audit.fits import UNCENTRED, count_plan, linear_plan, log_of
from confide.lab.audit.people import pairs
from confide.mdp import Spec
from confide.mechanisms.gaussian import Gaussian
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Central, Certificate
from tests.analysis.fitting import logs

SAMPLES = 2000


def attacked(plan: Any, samples: int = SAMPLES, judge: JudgePlan | None = None) -> dict[str, Any]:
    return audit_plan(plan, judge, samples, ReplayableNoise(3))


def test_the_replica_of_a_larger_fit_has_its_noise_and_says_what_was_attacked() -> None:
    finding = attacked(count_plan(Spec(5, 3, 4), Central(rho=0.5)))
    assert 0 < finding["lower_bound"] <= finding["certified_epsilon"]
    assert finding["samples"] == SAMPLES and finding["whole_runs"] >= 250 and "horizon of 4" in finding["attacked"]
    stated = count_plan(Spec(2, 2, 4), Central(rho=0.5)).certificate("none").with_audit(finding)
    assert Certificate.from_json(stated.as_json()) == stated
    assert "epsilon at least" in str(stated) and "2,000 samples" in str(stated)


def test_what_was_weighed_by_propensities_is_attacked_too() -> None:
    options = {"propensity": "p", "propensity_floor": 0.1}
    finding = attacked(count_plan(Spec(3, 3, 1), Central(rho=0.5), **options))
    assert 0 < finding["lower_bound"] <= finding["certified_epsilon"]


def test_those_who_judge_are_attacked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the noise in what they are asked is noticed; so is a plan whose noise is another than the replica's."""
    plan, promise = count_plan(Spec(3, 2, 3), Central(rho=0.5), judged=True), Central(rho=0.5)
    judge = JudgePlan.of(0.3, promise)
    finding = attacked(plan, judge=judge)
    assert 0 < finding["lower_bound"] <= finding["certified_epsilon"]
    with pytest.raises(InvalidInput, match="no replica"):
        attacked(plan, judge=JudgePlan.of(0.3, Central(rho=0.4)))
    grouped = attacked(plan, judge=JudgePlan.of(0.3, promise, groups=("f", "m", "other")))
    assert 0 < grouped["lower_bound"] <= grouped["certified_epsilon"]
    true = Gaussian.steps

    def half(self: Gaussian, noise: Any, shape: tuple[int, ...]) -> Any:
        cells = tuple(shape)[-1:]
        return true(replace(self, sigma=self.sigma / 2) if cells in ((2,), (15,), (1,)) else self, noise, shape)

    monkeypatch.setattr(Gaussian, "steps", half)
    with pytest.raises(PrivacyError, match="proves an epsilon"):
        attacked(plan, 20_000, judge)


def test_an_audit_changes_nothing_of_what_is_promised() -> None:
    plain = count_plan(Spec(2, 2, 1), Central(1.0)).certificate("none")
    given = plain.with_audit({"lower_bound": 0.5, "delta": 0.0})
    assert given.digest == plain.digest and given != plain


def test_other_noise_than_that_of_the_replica_is_refused() -> None:
    plan = count_plan(Spec(2, 2, 2), Central(rho=0.5))
    design = plan.designs["counts"]
    other = replace(design, act=replace(design.act, mechanism=replace(design.mechanism, sigma=1.0)))
    with pytest.raises(InvalidInput, match="no replica"):
        attacked(replace(plan, designs={**plan.designs, "counts": other}))


def test_a_fit_whose_noise_is_half_of_what_it_says_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Gaussian.steps

    def half(self: Gaussian, noise: Any, shape: tuple[int, ...]) -> Any:
        return true(replace(self, sigma=self.sigma / 2), noise, shape)

    monkeypatch.setattr(Gaussian, "steps", half)
    with pytest.raises(PrivacyError, match="proves an epsilon"):
        attacked(count_plan(Spec(2, 2, 2), Central(1.0, 0.01)), 20_000)


@pytest.mark.slow
@pytest.mark.parametrize(("split", "weighted"), [(False, True), (True, True), (False, False)])
def test_linear_fits_have_replicas_too(split: bool, weighted: bool) -> None:
    plan = linear_plan(Spec(2, 2, 2, "per-step"), Central(rho=0.5), split, 0.9 * UNCENTRED, weighted)
    finding = attacked(plan, 1000)
    assert finding["lower_bound"] <= finding["certified_epsilon"] and finding["whole_runs"] >= 250


def test_the_replica_of_a_fit_asks_as_its_learner_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without weights half as many questions share the guarantee, and each has less noise: another replica would be refused."""
    plan = linear_plan(Spec(2, 2, 2, "per-step"), Central(rho=0.5), weighted=False)
    other = linear_plan(Spec(2, 2, 2, "per-step"), Central(rho=0.5))
    ours, theirs = (each.certificate("none").mechanisms for each in (plan, other))
    assert replicas._alike(ours, ours) and not replicas._alike(ours, theirs)

    def stop(*arguments: Any) -> None:
        raise InvalidInput("far-enough", "far enough")

    monkeypatch.setattr(replicas, "audit", stop)
    spec = Spec(1, 1, 2, "per-step")  # states that are vectors count as one
    vectors = log_of(spec, [[pairs(spec)[0][0]]], fixed_length=True).with_dynamics("per-step")
    bandits = [linear_plan(Spec(2, 2, 1, "per-step"), Central(rho=0.5), weighted=one) for one in (False, True)]
    for each in (plan, other, replace(plan, data=vectors), *bandits):
        with pytest.raises(InvalidInput, match="far enough"):
            attacked(each)


def test_the_commands_keep_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(replicas, "SAMPLES", SAMPLES)
    monkeypatch.setattr(audit_plan, "__defaults__", (None, SAMPLES, ReplayableNoise(4)))
    monkeypatch.setattr(audit_fit, "__defaults__", (SAMPLES, ReplayableNoise(5)))
    data, out = logs.write(tmp_path / "log.parquet", logs.episodes(40)), tmp_path / "policy"
    sizes = ["--states", str(logs.STATES), "--actions", str(logs.ACTIONS), "--horizon", str(logs.HORIZON)]
    assert run(["fit", str(data), *sizes, "--rho", "0.5", "--budget", "1", "--audit", "--out", str(out)]) == 0
    capsys.readouterr()
    stored = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert 0 <= stored["audit"]["lower_bound"] <= stored["audit"]["certified_epsilon"]
    assert "epsilon at least" in (out / "report.html").read_text(encoding="utf-8")
    assert run(["certificate", str(out), "--audit", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["audit"] != stored["audit"] and {**again, "audit": None} == {**stored, "audit": None}
    assert Fit.load(out).certificate.audit == again["audit"]
    assert run(["certificate", str(out / "certificate.json"), "--audit"]) == 2
    assert "needs the folder of a fit" in capsys.readouterr().err
