from __future__ import annotations

import json

import numpy as np
import pytest

import confide as cf
from confide.environments import linear_mdp, make
from confide.errors import BudgetExceeded, FormatError, InvalidInput
from confide.planning import policy_value
from confide.releases import gram
from confide.results.fit import Fit

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
    spent = json.loads((tmp_path / "ledger.json").read_text())["charges"]
    assert spent == pytest.approx([50.0])
    with pytest.raises(BudgetExceeded):
        learned(tmp_path, cf.Central(rho=60.0))


def test_episodes_may_end_early(tmp_path):
    fit = learned(tmp_path, early=True)
    assert fit.policy.probabilities.shape == (HORIZON, 2, 100) and fit.values.shape == (HORIZON + 1, 2)


def test_answers_have_bytes_that_only_fit_their_form(tmp_path):
    fit = learned(tmp_path)
    form = gram.GramForm(linear_mdp.features(), HORIZON, centred=True)
    answers = [gram.from_bytes(body, form) for _, body in sorted(fit.releases.items())]
    assert [(one.question.step, one.question.kind) for one in answers] == form.questions
    assert gram.to_bytes(answers[0]) == fit.releases["gram-0000"]
    with pytest.raises(FormatError):
        gram.from_bytes(fit.releases["gram-0000"][:-3], form)
    with pytest.raises(FormatError):
        gram.from_bytes(fit.releases["gram-0000"], gram.GramForm(linear_mdp.features(), 2))


def test_what_a_linear_fit_refuses(tmp_path):
    with pytest.raises(InvalidInput, match="delta"):
        learned(tmp_path, cf.Central(epsilon=1.0))
    with pytest.raises(InvalidInput, match="tight"):
        learned(tmp_path, calibration="paper")
    with pytest.raises(InvalidInput, match="for 2 states and 100 actions"):
        cf.fit(
            opened(),
            learner="vapvi",
            privacy=cf.Central(rho=1),
            features=np.ones((3, 2, 2)),
            ledger=tmp_path / "ledger.json",
        )
    from confide.fitting import refit

    with pytest.raises(InvalidInput, match="Fit again"):
        refit(learned(tmp_path), learner="apvi")
