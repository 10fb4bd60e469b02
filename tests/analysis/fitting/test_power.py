"""The gain that would have been found: it is, about as often as stated; and where none would have been, that is what is said."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import confide as cf
from confide.analysis.fitting.findings import LearningTask, Units
from confide.analysis.fitting.learning import learning_result
from confide.analysis.fitting.plan import COUNTS, together_read
from confide.analysis.fitting.power import CHANCE, FACTORS, Rehearsal
from confide.cli.learner import show_worth
from confide.learning.learners.apvi import Apvi
from confide.learning.planning.dispersed import best_value, dispersed
from confide.learning.planning.ope import foreseen, policy_values, replica, worth
from confide.mechanisms.noise import ReplayableNoise
from tests.analysis.fitting.logs import columns, episodes
from tools.coverage import released_fit
from tools.power import ROWS, LoggedWorld, found, gain_in, scaled, stated, with_gain

FALSE_ALARM = 1e-6
FITS = 40
LEAST, MOST = CHANCE, 0.5
"""The stated gain is taken to be found in this share of fits at least, and half of it in that share at most."""

UNSEEN = LoggedWorld("clinic", 8, None, 1000, 0.02)
"""A log in which nothing exceeds the noise, so that nothing would be found."""


def fitted(row: LoggedWorld, seed: int = 0) -> tuple[Any, dict[str, Any], Any]:
    """The data, its releases, and what was learned of a log where actions hardly differ."""
    model, usual = row.world()
    data = row.logged(scaled(model, usual, 0.05), usual, seed)
    learned, releases = released_fit(data, row.rho, ReplayableNoise(seed))
    return data, releases, learned


def rehearsal(row: LoggedWorld) -> Rehearsal:
    data, releases, learned = fitted(row)
    return Rehearsal(Apvi(data.knowledge), together_read(releases)[COUNTS], learned, learned.evidence.practice)


def test_the_stated_gain_is_found_as_often_as_stated() -> None:
    """By the tails of the binomial law: fits on logs of a world whose best policy gains what was stated, and half of it."""
    from scipy.stats import binom

    row = ROWS[0]
    gain = stated(row, 3)
    assert 0 < gain < gain_in(*row.world())
    assert found(row, gain, FITS) >= binom.ppf(FALSE_ALARM / 2, FITS, LEAST) > 0.2 * FITS
    assert found(row, gain / 2, FITS) <= binom.isf(FALSE_ALARM / 2, FITS, MOST) < 0.9 * FITS


def test_the_same_release_says_the_same_and_more_noise_finds_no_less() -> None:
    one = rehearsal(ROWS[0])
    gains = [one.found(ratio) for ratio in (0.0, 1.0, 1.0, 2.0)]
    assert gains[1] == gains[2] is not None
    assert gains[0] is not None and gains[3] is not None and gains[0] < gains[1] < gains[3]


def test_where_nothing_would_have_been_found_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The interval around no gain is narrow, and says nothing of what could have been seen."""
    data, releases, _ = fitted(UNSEEN)
    units = Units.of(data.describe())
    findings = learning_result(LearningTask(Apvi(data.knowledge), None, data.knowledge, units), releases).findings
    power, possible = findings["power"], 8 - findings["practice"]["value"]
    assert findings["gain"]["high"] < possible
    assert power["gain"] is None and power["chance"] == CHANCE and power["largest"] == pytest.approx(possible)
    assert [row["gain"] for row in power["guarantees"]][:2] == [None, None]
    show_worth({**findings, "gain": {"value": 0.0, "low": -0.1, "high": 0.1, "sure": False}})
    said = capsys.readouterr().out
    assert "no difference was found; not even the largest possible gain, " in said
    assert "would have been found with 80 % chance" in said and "could not have been seen" not in said


def test_what_is_said_of_a_gain_that_would_have_been_found(capsys: pytest.CaptureFixture[str]) -> None:
    data, releases, _ = fitted(ROWS[0])
    units = Units.of(data.describe())
    findings = learning_result(LearningTask(Apvi(data.knowledge), None, data.knowledge, units), releases).findings
    power = findings["power"]
    assert power["gain"] == pytest.approx(rehearsal(ROWS[0]).found(), rel=0.5)
    gains = [row["gain"] for row in power["guarantees"]]
    assert len(gains) == len(FACTORS) + 1 and power["gain"] == gains[FACTORS.index(1.0)]
    known = [math.inf if gain is None else gain for gain in gains]
    assert known == sorted(known, reverse=True)  # a weaker guarantee finds no less, and none finds most
    show_worth({**findings, "gain": {**findings["gain"], "sure": False}})
    assert " a person would have been found with 80 % chance" in capsys.readouterr().out
    show_worth({**findings, "gain": {**findings["gain"], "sure": True}})
    assert "would have been found" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "declared",
    [{}, {"columns": "next_state="}, {"model": "per-step"}, {"model": "per-step", "columns": "next_state="}],
    ids=str,
)
@pytest.mark.parametrize("known", [False, True])
def test_every_kind_of_log_has_a_power(declared: dict[str, Any], known: bool) -> None:
    table = {"rewards": np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])} if known else {}
    data = cf.trajectories.read(columns(episodes(200)), states=3, actions=2, horizon=4, **declared, **table)
    learned, releases = released_fit(data, 5.0)
    one = Rehearsal(Apvi(data.knowledge), together_read(releases)[COUNTS], learned, learned.evidence.practice)
    gain = one.found(0.0)
    assert gain is None or 0 < gain <= 4


def test_in_rare_worlds_the_better_an_action_is_the_less_often_it_is_chosen() -> None:
    """By what it pays and where it leads; and nothing else is changed: each state has the same draws as without."""
    model = rehearsal(ROWS[0]).plan.model
    states = model.rows.practice.shape[1]
    values = np.arange(float(states))
    worlds = [dispersed(model, 0.9, 8, 1000.0, np.random.default_rng(3), kind) for kind in (None, values)]
    scores = [world.rewards[0, :, 1:] + world.rows.after(0, values)[:, 1:] for world in worlds]
    paid = [world.rewards[0, :, 1:] for world in worlds]
    for state in range(states):
        assert np.allclose(np.sort(paid[0][state]), np.sort(paid[1][state]))
        rarest = np.lexsort((model.behaviour[0, state], ~model.covered[0, state]))
        assert (np.diff(scores[1][state, rarest]) <= 1e-9).all()
    assert not np.allclose(scores[0], scores[1])


def test_worlds_keep_what_the_release_says_of_states_and_differ_in_actions() -> None:
    """At size 0 all actions are alike; around that P V scatters with a standard deviation of z sd_p(V), by its standard error."""
    from scipy.stats import norm

    one = rehearsal(ROWS[0])
    model, rng = one.plan.model, np.random.default_rng(5)
    alike = dispersed(model, 0.0, 8, 1000.0, rng)
    assert best_value(alike) == pytest.approx(worth(alike, None), abs=1e-9)
    assert float((alike.visits / model.counted).sum()) == pytest.approx(8000.0)
    np.testing.assert_allclose(alike.rows.practice.sum(axis=-1), 1.0)
    value, size = policy_values(alike, np.eye(4)[np.zeros((8, 6), dtype=int)])[0][1], 0.3
    usual = alike.rows.after(0, value)[:, 1:]
    spread = np.sqrt(np.maximum(alike.rows.after(0, value**2)[:, 1:] - usual**2, 0.0))
    off = [
        (dispersed(model, size, 8, 1000.0, rng).rows.after(0, value)[:, 1:] - usual) / (size * np.maximum(spread, 1e-9))
        for _ in range(1000)
    ]
    squares = np.array(off)[:, spread > 0.1] ** 2
    reach = -norm.ppf(FALSE_ALARM / 2) * float(squares.std()) / math.sqrt(squares.size)
    assert abs(float(squares.mean()) - 1) < reach < 0.5  # half the size would make it a quarter


def test_simulated_releases_have_the_luck_and_the_noise_of_real_ones() -> None:
    """The variance of a cell is louder^2 (count + ratio^2 sigma^2), both ways, and so is that of the noise alone."""
    from scipy.stats import chi2

    one = rehearsal(ROWS[0])
    release = replace(one.release, visited=None)
    world, rng, louder = (
        dispersed(one.plan.model, 0.3, 8, 4000.0, np.random.default_rng(1)),
        np.random.default_rng(2),
        1.5,
    )
    ways = world.knowledge.ways
    expected = ways.each(world.moves) * world.rows.chances
    for ratio in (0.0, 2.0):
        variance = louder**2 * (expected + (ratio * one.plan.model.noise / math.sqrt(1 + 0.49)) ** 2)
        drawn = [ways.picked(replica(release, world, rng, ratio, louder).counts.transitions) for _ in range(30)]
        standard = float((((np.array(drawn) - expected) ** 2)[:, expected > 20] / variance[expected > 20]).sum())
        many = 30 * int((expected > 20).sum())
        low, high = chi2.ppf(FALSE_ALARM / 4, many), chi2.isf(FALSE_ALARM / 4, many)
        assert low < standard < high
        assert not low < 4 / 9 * standard < high and not low < 9 / 4 * standard < high


def test_what_is_unknown_is_held_against_a_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    one = rehearsal(ROWS[0])
    before = one._one(0.5, 1.0, np.random.default_rng(0))

    def doubted(evidence: Any, policy: Any) -> Any:
        return replace(foreseen(evidence, policy), unknown=8.0)

    monkeypatch.setattr("confide.analysis.fitting.power.foreseen", doubted)
    assert before[0] > 0.9 and one._one(0.5, 1.0, np.random.default_rng(0))[0] < 1e-6


def test_a_world_is_scaled_to_a_gain() -> None:
    model, usual = ROWS[0].world()
    assert gain_in(with_gain(model, usual, 0.4), usual) == pytest.approx(0.4)
    with pytest.raises(ValueError, match="can be gained"):
        with_gain(model, usual, 5.0)
