"""A small `./run coverage`: what fits say of random logs holds as often as it should."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tools.coverage import STATEMENTS, StatementTally, main, measure, measure_answers
from tools.coverage_document import written
from tools.coverage_logs import ANSWERS, VARIANTS, Variant
from tools.coverage_worlds import Walkers, WorldFamily, cut_covariate, indication, markov

FALSE_ALARM = 1e-6
"""That this many intervals miss, if each does with probability 5 %; over all rows and statements together."""

WORLDS, FITS, PEOPLE = 5, 4, 300


def most_misses(fits: int) -> int:
    from scipy.stats import binom

    return int(binom.isf(FALSE_ALARM / (len(VARIANTS) * len(STATEMENTS) + 4 * len(ANSWERS)), fits, 0.05))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_what_fits_say_is_true(variant: Variant) -> None:
    result = measure(variant, PEOPLE, 2 if variant.large else WORLDS, FITS)
    allowed = most_misses(result.fits)
    assert allowed < result.fits
    assert {name: result.fits - many <= allowed for name, many in result.held.items()} == dict.fromkeys(
        STATEMENTS, True
    )
    assert result.flat == 0 and result.wrong <= allowed


@pytest.mark.parametrize("variant", ANSWERS, ids=lambda variant: variant.name)
def test_what_is_compared_and_explained_is_true(variant: Variant) -> None:
    result = measure_answers(variant, 3000, 3, 3)
    assert result.fits - result.together <= most_misses(result.fits)
    assert result.differences - result.rests <= most_misses(result.differences)
    assert result.differences - result.gains <= most_misses(result.differences)
    assert result.differences > 0
    assert (
        result.weighed - result.by_weights <= most_misses(result.weighed)
        if variant.propensities
        else not result.weighed
    )


def test_rows_are_put_where_they_belong(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("a\n\n<!-- coverage: 3 -->\n\n| log | people | x |\n|---|---|---|\n| one | 3 | 9 |\n\nb\n")
    written([["two", "1,000", "8.0"], ["one", "3", "7.0"]], document)
    assert document.read_text().splitlines()[6:9] == ["| one | 3 | 7.0 |", "| two | 1,000 | 8.0 |", ""]
    with pytest.raises(ValueError, match="no table of 2"):
        written([["two", "1"]], document)


def test_a_row_notices_what_is_wrong() -> None:
    options = {"low": 1.0, "high": 1.0, "lower": 1.0, "practice": {"low": 0.0, "high": 2.0}}
    tally = StatementTally()
    tally.add({**options, "gain": {"low": 0.1, "high": 0.2, "sure": True}}, 0.5, 1.0, None)
    assert tally.held == {"value": 0, "practice": 1, "gain": 0, "lower": 0, "alone": 0}
    assert (tally.flat, tally.sure, tally.wrong, tally.ok) == (2, 1, 1, False)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "one step few", "--worlds", "2", "--fits", "2", "--jobs", "1", "--json"]) in (0, 1)
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "one step" and row["fits"] == 4


def test_worlds_that_are_no_tables_know_their_truth() -> None:
    """Where the table is the world, people who follow a policy gain what its model says, by five standard errors."""
    from confide.learning.planning.evaluation import policy_value
    from confide.mdp import Model, Policy

    family, rng = markov("one", 3, (3, 2, 4)), np.random.default_rng(0)
    assert family.table and family.right
    law = family.gain.func.__self__  # type: ignore[attr-defined]
    moves, pays = law.moves, law.pays
    here = Walkers(np.arange(3), np.arange(3.0), np.full(3, -1))
    usual = family.practice(here)
    policy = rng.dirichlet(np.ones(3), (4, 3))  # with practice as the first action
    model = Model(moves, pays, np.full(3, 1 / 3), 4)
    taken = policy[..., 1:] + policy[..., :1] * usual
    mixed = 0.5 * taken + 0.5 * usual
    exact = policy_value(model, Policy(mixed)) - policy_value(model, Policy(np.broadcast_to(usual, mixed.shape)))
    people = 200_000
    assert family.gain(policy, 0.5) == pytest.approx(exact)
    walked = family.earned(policy, 0.5, people, 1) - family.earned(policy, 0.0, people, 2)
    assert abs(walked - exact) < 5 * 2.0 * np.sqrt(2 / people)


@pytest.mark.parametrize("family", [cut_covariate("x", 3), indication("ill", 0.9)], ids=lambda one: one.name)
def test_gains_where_a_number_is_hidden_are_those_of_people_who_walk(family: WorldFamily) -> None:
    """By five standard errors: returns of five steps deviate by less than 1.3."""
    rng, people = np.random.default_rng(1), 100_000
    policy = rng.dirichlet(np.full(3, 0.5), (family.horizon, family.states))
    walked = family.earned(policy, 0.6, people, 1) - family.earned(policy, 0.0, people, 2)
    assert abs(walked - family.gain(policy, 0.6)) < 5 * 1.3 * np.sqrt(2 / people)


def test_a_row_of_families_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--families",
        "--only",
        "seen, logged, 2",
        "--people",
        "2000",
        "--worlds",
        "1",
        "--fits",
        "2",
        "--jobs",
        "1",
    ]
    main([*words, "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["fits"] == 2 and row["people"] == 2000 and row["wrong_better"] == 0
    assert set(row["alarms"]) == {"residual", "propensity", "balance", "disagreement", "any"}
