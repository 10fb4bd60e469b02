"""`confide forecast`: what privacy will cost, from the noise of the real act."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from confide.analysis.fitting.forecast import forecast
from confide.analysis.fitting.plan import PREVIOUS_SHARE, RETURNS_SHARE, STARTS_SHARE
from confide.cli import run
from confide.privacy import Central, Joint, Local
from confide.protocol.trusts.budgets import VISITED_SHARE

SIZES = ["--states", "20", "--actions", "5", "--horizon", "10"]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["forecast", *SIZES, "--rho", "0.5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # (P, Rc) under a budget of H: l2^2 = 3 H; shares are kept for first states, returns and visits.
    assert document["noise"] == pytest.approx(math.sqrt(30 / (1 - STARTS_SHARE - RETURNS_SHARE - VISITED_SHARE)))
    assert document["needed_with_support"] < document["needed"]
    errors = [row["private"] for row in document["rows"]]
    assert errors == sorted(errors, reverse=True)
    assert all(row["chance"] <= row["supported"] <= row["private"] <= 1 for row in document["rows"])


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["forecast", *SIZES, "--epsilon", "1"]) == 0
    printed = capsys.readouterr().out
    assert (
        "1-DP, central: discrete-laplace noise" in printed
        and "exceeds the noise from" in printed
        and "1,000,000" in printed
    )
    assert run(["forecast", *SIZES, "--epsilon", "1", "--trust", "local"]) == 0
    assert "for 1,000 people" in capsys.readouterr().out


def test_rows_begin_where_the_numbers_of_the_user_are(capsys: pytest.CaptureFixture[str]) -> None:
    few, many = forecast(3, 2, 5, Central(rho=1.0)), forecast(700, 20, 20, Central(rho=0.1))
    for result in (few, many):
        first, least = result.rows[0].people, min(result.needed, result.needed_supported)
        assert (first == 10 or 10 * first <= least < 100 * first) and result.rows[-1].people > result.needed
    assert [row.people for row in forecast(3, 2, 5, Central(rho=1.0), people=412).rows if row.people % 10] == [412]
    assert run(["forecast", *SIZES, "--rho", "1", "--people", "2345"]) == 0
    assert "2,345 " in capsys.readouterr().out


def test_how_many_people_are_needed() -> None:
    """Known rewards, fewer states than steps: sigma = H sqrt(2/(2 rho 0.92)), and m = n H/(S A) must reach 2 sigma sqrt(w)."""
    result = forecast(20, 5, 40, Central(rho=0.5), next_states=4, rewards_known=True, judge="none")
    sigma = 40 * math.sqrt(2 / (1 - STARTS_SHARE - RETURNS_SHARE))
    assert result.noise == pytest.approx(sigma)
    assert result.needed == pytest.approx(2 * sigma * math.sqrt(20) * 2.5, rel=2e-3)
    assert result.needed_supported == pytest.approx(2 * sigma * math.sqrt(4) * 2.5, rel=2e-3)
    words: dict[str, Any] = {"model": "per-step", "next_states": 4, "rewards_known": True, "judge": "none"}
    per_step = forecast(20, 5, 10, Central(rho=0.5), **words)
    assert per_step.needed == pytest.approx(
        2 * math.sqrt(20 / (1 - STARTS_SHARE - RETURNS_SHARE)) * math.sqrt(20) * 100, rel=2e-3
    )


def test_who_judges_is_not_counted() -> None:
    """Of 2,000 people on: a tenth of the guarantee for actions by the one before, and seven in ten people for the rest."""
    words: dict[str, Any] = {"states": 20, "actions": 5, "horizon": 40, "next_states": 4, "rewards_known": True}
    alone, usual, always = (forecast(privacy=Central(rho=0.5), **words, judge=judge) for judge in ("none", "auto", 0.3))
    left = 1 - STARTS_SHARE - RETURNS_SHARE
    times = math.sqrt(left / (left - PREVIOUS_SHARE)) / 0.7
    for one, other in ((alone.needed, always.needed), (alone.needed_supported, always.needed_supported)):
        assert other == pytest.approx(one * times, rel=2e-3)
    assert usual.needed == (alone.needed if alone.needed < 2000 else always.needed)
    assert usual.needed_supported == (alone if alone.needed_supported < 2000 else always).needed_supported
    rows = {row.people: row for row in usual.rows}
    assert all(rows[row.people] == row for row in alone.rows if row.people < 2000 and row.people in rows)
    assert any(rows[row.people] == row for row in always.rows if row.people >= 2000 and row.people in rows)


def test_how_many_people_first_visits_need() -> None:
    """A budget of H: sigma^2 = 2 H/(2 rho 0.82) in a cell, 2 H/(2 rho 0.1) in visits by themselves; both tell a row's sum."""
    result = forecast(20, 5, 10, Central(rho=0.5), next_states=4, rewards_known=True)
    cell, visits = 20 / (1 - STARTS_SHARE - RETURNS_SHARE - VISITED_SHARE), 20 / VISITED_SHARE
    assert result.noise == pytest.approx(math.sqrt(cell))
    for needed, width in ((result.needed, 20), (result.needed_supported, 4)):
        deviation = 1 / math.sqrt(1 / (width * cell) + 1 / visits)
        assert needed == pytest.approx(2 * deviation * 10, rel=5e-3)


def test_devices_need_many_more_people() -> None:
    central, local = (forecast(5, 2, 5, trust) for trust in (Central(1.0), Local(1.0)))
    assert local.needed > 20 * central.needed


def test_what_cannot_be_forecast(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["forecast", *SIZES]) == 2
    assert "A forecast needs a guarantee" in capsys.readouterr().err
    assert run(["forecast", *SIZES, "--rho", "1", "--next-states", "21"]) == 2
    assert "at most 20" in capsys.readouterr().err
    with pytest.raises(Exception, match="central or local"):
        forecast(2, 2, 2, Joint(1.0))
