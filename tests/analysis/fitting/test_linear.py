from __future__ import annotations

import json

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting import refit
from confide.analysis.fitting.judging import judge
from confide.analysis.results.fit import Fit
from confide.errors import BudgetExceeded, FormatError, InvalidInput
from confide.lab.environments import linear_mdp, make
from confide.learning.planning import policy_value
from confide.privacy import Ledger
from confide.protocol.kinds import gram
from confide.protocol.kinds import values as values_kind
from confide.protocol.kinds.gram import VARIANCE, GramForm
from tests.refusals import refused

HORIZON, PEOPLE = 5, 4000


def records(seed: int = 0, early: bool = False) -> dict[str, np.ndarray]:
    """Arrays of a log of the linear process; `early`: every tenth person leaves after two steps."""
    rng = np.random.default_rng(seed)
    model, usual = make("linear-mdp", HORIZON).model, linear_mdp.practice(HORIZON).probabilities
    state, rows = rng.integers(2, size=PEOPLE), []
    people = np.arange(PEOPLE)
    for h in range(HORIZON):
        action = rng.choice(100, size=PEOPLE, p=usual[h, 0])
        paid = (rng.random(PEOPLE) < model.rewards[h, state, action]).astype(float)
        after = (rng.random(PEOPLE) > model.transitions[h, state, action, 0]).astype(np.int64)
        here = (people % 10 > 0) | (h < 2) if early else np.ones(PEOPLE, dtype=bool)
        rows.append(np.stack([people, np.full(PEOPLE, h), state, action, paid, after])[:, here])
        state = after
    table = np.concatenate(rows, axis=1)
    table = table[:, np.lexsort((table[1], table[0]))]
    names = ("user", "step", "state", "action", "reward", "next_state")
    return {
        name: column if name == "reward" else column.astype(np.int64) for name, column in zip(names, table, strict=True)
    }


def opened(early: bool = False, **more):
    return cf.trajectories.read(
        records(early=early), states=2, actions=100, horizon=HORIZON, fixed_length=not early, **more
    )


def learned(tmp_path, promise=None, learner="vapvi", early=False, **more) -> Fit:
    features = linear_mdp.features()
    return cf.fit(
        opened(early),
        learner=learner,
        privacy=promise or cf.Central(rho=50.0),
        features=features,
        ledger=tmp_path / "ledger.json",
        budget=100.0,
        **more,
    )


@pytest.mark.parametrize("learner", ["vapvi", "pevi"])
def test_a_linear_fit_learns_and_promises(tmp_path, learner):
    fit = learned(tmp_path, learner=learner, out=tmp_path / "policy")
    model = make("linear-mdp", HORIZON).model
    usual = policy_value(model, linear_mdp.practice(HORIZON))
    assert policy_value(model, fit.policy) > usual + 0.5
    assert fit.certificate.guarantee.rho == pytest.approx(50.0)
    assert fit.certificate.mechanisms[0]["statistics"] == (5 * HORIZON - 3 if learner == "vapvi" else 2 * HORIZON)
    again = Fit.load(tmp_path / "policy")
    np.testing.assert_array_equal(again.policy.probabilities, fit.policy.probabilities)
    spent = json.loads((tmp_path / "ledger.json").read_text())["entries"]
    assert [one["rho"] for one in spent] == pytest.approx([50.0])
    with pytest.raises(BudgetExceeded):
        learned(tmp_path, cf.Central(rho=60.0))


def test_episodes_may_end_early(tmp_path):
    fit = learned(tmp_path, early=True)
    assert fit.policy.probabilities.shape == (HORIZON, 2, 100) and fit.values.shape == (HORIZON + 1, 2)


def test_answers_have_bytes_that_only_fit_their_form(tmp_path):
    fit = learned(tmp_path)
    form = GramForm(linear_mdp.features(), HORIZON, centred=True)
    answers = [gram.release_from_bytes(body, form) for name, body in sorted(fit.releases.items()) if name != "values"]
    assert [(one.question.step, one.question.kind) for one in answers] == form.questions
    assert [one.to_bytes() for one in answers] == [fit.releases[f"gram-{i:04d}"] for i in range(len(answers))]
    worth = values_kind.values_from_bytes(fit.releases["values"])
    assert worth.to_bytes() == fit.releases["values"] and worth.users == PEOPLE
    for body, wanted in (
        (fit.releases["gram-0000"][:-3], form),
        (fit.releases["gram-0000"], GramForm(linear_mdp.features(), 2)),
    ):
        with pytest.raises(FormatError):
            gram.release_from_bytes(body, wanted)
    for body in (fit.releases["values"][:-3], fit.releases["gram-0000"], b""):
        with pytest.raises(FormatError):
            values_kind.values_from_bytes(body)


def test_what_a_linear_fit_says_is_about_the_truth(tmp_path):
    """Practice and policy lie in their intervals, whose ends are in order; the gain is their difference."""
    fit = learned(tmp_path)
    model = make("linear-mdp", HORIZON).model
    findings = fit.findings
    usual, now = policy_value(model, linear_mdp.practice(HORIZON)), policy_value(model, fit.policy)
    assert findings["practice"]["low"] < usual < findings["practice"]["high"] < findings["practice"]["low"] + 0.3
    assert findings["low"] < now < findings["high"] and findings["low"] <= findings["value"] <= findings["high"]
    assert findings["lower"] == findings["low"]
    assert findings["gain"]["value"] == pytest.approx(findings["value"] - findings["practice"]["value"])
    assert fit.as_json()["gain"] == findings["gain"]


def test_bonus_scale_reaches_the_learner(tmp_path):
    fit = learned(tmp_path, scale=1e6)
    assert fit.values.max() == 0  # so much pessimism leaves nothing sure


def test_halves_are_asked_apart(tmp_path):
    fit = learned(tmp_path, split=True, out=tmp_path / "policy")
    assert fit.certificate.mechanisms[0]["split"] and any(
        "halves" in assumptions for assumptions in fit.certificate.assumptions
    )
    assert fit.certificate.guarantee.rho == pytest.approx(50.0)
    form = GramForm(linear_mdp.features(), HORIZON, centred=True, split=True)
    answers = [gram.release_from_bytes(body, form) for name, body in fit.releases.items() if name != "values"]
    assert {one.users for one in answers} == {PEOPLE // 2}
    # Where noise is small, the constant feature's sum tells how many people an answer is about.
    best = np.linalg.lstsq(linear_mdp.features().phi.reshape(200, -1), np.ones(200), rcond=None)[0]
    for one in answers:
        if one.question.kind == VARIANCE:
            assert best @ one.matrix[0] @ best == pytest.approx(PEOPLE / 2, abs=400)
    assert policy_value(make("linear-mdp", HORIZON).model, fit.policy) > 1.5
    with pytest.raises(InvalidInput, match="split"):
        learned(tmp_path, learner="pevi", split=True)


def test_a_refit_decides_anew_at_the_first_step_only(tmp_path):
    fit = learned(tmp_path, out=tmp_path / "policy")
    same = refit(tmp_path / "policy")
    np.testing.assert_array_equal(same.policy.probabilities, fit.policy.probabilities)
    np.testing.assert_array_equal(same.values, fit.values)
    assert same.findings == fit.findings
    other = refit(tmp_path / "policy", scale=1000.0, out=tmp_path / "other")
    assert other.values[0].max() == 0 < fit.values[0].min()
    np.testing.assert_array_equal(other.policy.probabilities[1:], fit.policy.probabilities[1:])
    np.testing.assert_array_equal(other.values[1:], fit.values[1:])
    assert other.certificate.as_json() == fit.certificate.as_json() and other.releases == fit.releases
    assert other.findings["value"] < fit.findings["value"]
    again = refit(tmp_path / "other")  # what was decided there stays decided
    np.testing.assert_array_equal(again.values, other.values)
    printed = refit(fit, pessimism="printed", constant=0.01)
    assert printed.config["first_step"] == {"pessimism": "printed", "constant": 0.01}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"learner": "apvi"}, "release-of-another-learner"),
        ({"learner": "pevi"}, "release-of-another-learner"),
        ({"split": True}, "refit-changes-question"),
        ({"features": np.ones((2, 100, 3))}, "refit-changes-question"),
        ({"pessimism": "gloom"}, "unknown-name: pessimism"),
    ],
)
def test_what_a_refit_refuses(tmp_path, words, says):
    with refused(says):
        refit(learned(tmp_path), **words)


def test_what_a_linear_fit_refuses(tmp_path):
    with pytest.raises(InvalidInput, match="delta"):
        learned(tmp_path, cf.Central(epsilon=1.0))
    with refused("features-of-other-sizes"):
        cf.fit(
            opened(),
            learner="vapvi",
            privacy=cf.Central(rho=1),
            features=np.ones((3, 2, 2)),
            ledger=tmp_path / "ledger.json",
        )


def test_the_state_after_the_last_step_need_not_be_told(tmp_path):
    """After the last step nothing has the value anything; so a log without it teaches the same."""
    data = cf.trajectories.read(
        records(), states=2, actions=100, horizon=HORIZON, fixed_length=True, columns="next_state="
    )
    words = {"learner": "vapvi", "features": linear_mdp.features(), "budget": 1e7}
    untold = cf.fit(data, privacy=cf.Central(rho=1e5), ledger=tmp_path / "a.json", **words)
    given = cf.fit(opened(), privacy=cf.Central(rho=1e5), ledger=tmp_path / "b.json", **words)
    np.testing.assert_allclose(untold.values, given.values, atol=0.1)


def test_another_policy_cannot_be_judged_from_linear_answers(tmp_path):
    with refused("release-of-linear-learner"):
        judge(learned(tmp_path), np.zeros(2, dtype=np.int64))


def test_actions_that_are_not_allowed_are_never_taken(tmp_path):
    allowed = np.zeros((2, 100), dtype=bool)
    allowed[:, 1:4] = True
    document = records()
    document["action"] = document["action"] % 3 + 1
    data = cf.trajectories.read(document, states=2, actions=100, horizon=HORIZON, fixed_length=True, allowed=allowed)
    words = {
        "features": linear_mdp.features(),
        "ledger": tmp_path / "ledger.json",
        "budget": 1.0,
        "out": tmp_path / "p",
    }
    fit = cf.fit(data, "vapvi", cf.Central(rho=0.5), **words)
    assert allowed[0][fit.policy.actions].all()
    assert allowed[0][refit(tmp_path / "p", scale=0.0).policy.actions].all()


def test_only_gaussian_noise(tmp_path):
    with pytest.raises(InvalidInput, match="Gaussian"):
        learned(tmp_path, mechanism="laplace")


def test_a_calibration_is_taken_whole_or_refused(tmp_path):
    """A learner that was built for another one than the fit's is refused, and nothing is charged."""
    ledger = tmp_path / "ledger.json"
    for learner, options in (
        ("apvi", {"calibration": "loose"}),
        (cf.learners.make("apvi", calibration="paper"), {}),
        (cf.learners.make("apvi"), {"calibration": "sound"}),
    ):
        with pytest.raises(InvalidInput, match="calibration"):
            cf.fit(opened(), learner=learner, privacy=cf.Central(rho=1), ledger=ledger, budget=5.0, **options)
    assert not ledger.exists() or Ledger(ledger).balance().charges == ()


@pytest.mark.parametrize("calibration", ["paper", "sound"])
def test_a_fit_as_its_paper_has_it_is_charged_for_what_it_keeps(tmp_path, calibration):
    fit = learned(tmp_path, cf.Central(rho=1.0), calibration=calibration)
    assert fit.certificate.calibration == calibration and fit.config["calibration"] == calibration
    assert "values" not in fit.releases and fit.findings["value"] is None  # papers judge nothing
    again = refit(fit)
    np.testing.assert_array_equal(again.policy.probabilities, fit.policy.probabilities)
