"""What the dashboard says of releases: values with intervals that hold, the outlook, the guarantee, and what may not be shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from confide.data import privatizers
from confide.data.privatizers import drawn
from confide.data.statistics.tabular import counted_steps
from confide.data.trajectories import Trajectory
from confide.mdp import Spec
from confide.mechanisms.noise import ReplayableNoise
from confide.privacy import Guarantee, Local, Schedule
from confide.privacy.guarantee import JOINT, SHUFFLE
from confide.protocol.design import Design, Request, make
from confide.protocol.kinds import CountQuestion
from confide.protocol.kinds.asked_return import KIND as ASKED_RETURN
from confide.protocol.kinds.asked_return import AskedReturnQuestion
from confide.protocol.outlook import people_needed, typical_error
from confide.protocol.releases import open_aggregate, release_bytes
from confide.protocol.trusts.mixing import Mixing
from confide.service.contract import Head, SignedHead
from confide.service.dashboard.mean_return import CONFIDENCE, mean_return
from confide.service.dashboard.story import MOST_ROUNDS, guarantee_in_words, outlook, shown_rounds, standing, story_of
from tests.service.contract.example import PRIVATE, SPEC, contract, design

ALARM = 1e-6
MANY = 300
PAID = 0.3
"""How likely every step of every user pays."""


def totals(made: Design, people: int, luck: np.random.Generator) -> np.ndarray:
    """Exact sums of answers: every user takes all steps in the first pair, stays there, and is paid now and then."""
    question = made.question
    cells = np.zeros((question.rows, question.width))
    if question.kind == "step":
        cells[0, :2] = luck.multinomial(people, [1 - PAID, PAID])
        return cells
    if (
        question.kind == ASKED_RETURN
    ):  # the first step decides whether all pay or none, so that no table of states holds
        returned = luck.binomial(people, 1 / question.one_in)
        cells[0, -1], cells[-1, :2] = people - returned, luck.multinomial(returned, [1 - PAID, PAID])
        return cells
    if question.kind == "asked":
        asked = luck.multinomial(people, np.full(question.rows, 1 / question.rows))
        cells[:, -1] = asked
        there = slice(None, None, SPEC.states * SPEC.actions)  # the first pair, at every step
        cells[there, :2] = luck.multinomial(asked[there], [1 - PAID, PAID])
        cells[there, -1] = 0
        return cells
    steps = people * SPEC.horizon
    earned = luck.binomial(steps, PAID)
    values = {"visits": steps, "rewards": earned, "centred": earned - steps / 2, "transitions": steps}
    for part, where in question.slices.items():
        cells[0, where.start] = values[part]
    return cells


def intervals(made: Design, rounds: tuple[int, ...]) -> list[tuple[float, float]]:
    """What is said of the last of some rounds, many times."""
    results = []
    for seed in range(MANY):
        luck, aggregate, before, release = np.random.default_rng(seed), open_aggregate(made), None, None
        for people in rounds:
            before = release
            exact = totals(made, people, luck)
            many = exact.sum(axis=1).astype(np.int64) if made.question.rows > 1 else np.array([people])
            for part in drawn(made, exact, many, luck):
                aggregate.take_sum(part)
            release = aggregate.close()
        assert release is not None
        judgement = mean_return(made, release, before)
        assert judgement is not None
        results.append((judgement.value, judgement.high))
    return results


@pytest.mark.parametrize(
    ("mechanism", "rounds"),
    [
        *((mechanism, rounds) for mechanism in ("k-ary", "unary", "laplace") for rounds in ((4000,), (3000, 4000))),
        ("asked-k-ary", (3000, 4000)),
        pytest.param("asked-subset", (3000, 4000), marks=pytest.mark.service),
    ],
)
def test_intervals_hold_what_people_earn_and_are_not_much_too_wide(mechanism: str, rounds: tuple[int, ...]) -> None:
    """False alarms: `ALARM` that too many miss; half the width must miss more than that. Of pairs only per-step models tell."""
    epsilon, spec = (2.0, replace(SPEC, dynamics="per-step")) if mechanism.startswith("asked") else (4.0, SPEC)
    check_intervals(intervals(design(Local(epsilon), people=7000, rounds=7, mechanism=mechanism, spec=spec), rounds))


@pytest.mark.parametrize("rounds", [(20_000,), (10_000, 20_000)])
def test_so_do_those_of_returns_where_the_table_is_not_markov(rounds: tuple[int, ...]) -> None:
    """The whole episode pays or none of it, which no pair tells; people come back to a pair, and the model is stationary."""
    chosen = {"mechanism": "asked-k-ary", "spec": SPEC}
    made = design(Local(2.0), people=30_000, rounds=3, **chosen)
    family = AskedReturnQuestion(made.question.counts, one_in=10)
    check_intervals(intervals(replace(made, question=family), rounds))


@pytest.mark.service
def test_so_do_those_of_steps_that_were_shuffled() -> None:
    mixed = {"mechanism": "shuffled-step", "mixing": Mixing(4000)}
    promise = Guarantee(SHUFFLE, 2.0, 1e-6)
    check_intervals(
        intervals(make(Request(CountQuestion(SPEC), promise, Schedule.sized(8000, 4000), **mixed)), (4000,))
    )


def check_intervals(found: list[tuple[float, float]]) -> None:
    """As many hold as should, and not all of half the width."""
    true, allowed = SPEC.horizon * PAID, binom.isf(ALARM, MANY, 1 - CONFIDENCE)
    errors = np.array([abs(value - true) for value, _ in found])
    widths = np.array([high - value for value, high in found])
    assert (errors > widths).sum() <= allowed
    assert (errors > widths / 2).sum() > allowed
    assert abs(np.mean([value for value, _ in found]) - true) < 6 * widths.max() / np.sqrt(MANY)


def test_under_a_budget_the_interval_holds_what_was_counted_and_what_may_be_missing() -> None:
    """Every user stays in one pair and is paid now and then; a budget of 6 counts its first two visits, of four steps."""
    promise = Guarantee(JOINT, 1.0, 1e-6)
    made = make(Request(CountQuestion(SPEC), promise, Schedule.batches(8000, 2), budget=6))
    spec, many, allowed = SPEC, 4000, binom.isf(ALARM, MANY, 1 - CONFIDENCE)
    lived = Trajectory.checked(spec, [0] * 5, [0] * 4, [0.0] * 4)
    counted = int(counted_steps(made.question, lived).sum())
    assert made.question.kind == "budgeted" and counted == 2
    missed, widths = 0, []
    for seed in range(MANY):
        luck = np.random.default_rng(seed)
        earned = luck.binomial(many * counted, PAID)
        exact = {"centred": earned - many * counted / 2, "halves": many * counted / 2, "transitions": many * counted}
        totals = np.zeros((1, made.question.width))
        for part, where in made.question.counts.slices.items():
            totals[0, where.start] = exact[part]
        aggregate = privatizers.open_aggregate(made, ReplayableNoise(seed), simulated=True)
        for part in drawn(made, totals, np.array([many]), luck):
            aggregate.take_sum(part)
        judgement = mean_return(made, aggregate.close(), None)
        assert judgement is not None and not judgement.whole
        missed += not judgement.low <= spec.horizon * PAID <= judgement.high
        widths.append((counted * PAID - judgement.low, judgement.high - counted * PAID - (spec.horizon - counted)))
    assert missed <= allowed
    # If what is not counted paid nothing, or everything, the ends would be just beyond it.
    for side in np.array(widths).T:
        assert (side < 0).sum() <= allowed and np.abs(side).max() < 1


def test_what_a_question_does_not_tell_is_not_said() -> None:
    made = design(Local(4.0), people=300)
    aggregate = open_aggregate(made)
    luck = np.random.default_rng(0)
    for part in drawn(made, totals(made, 100, luck), np.array([100]), luck):
        aggregate.take_sum(part)
    release = aggregate.close()
    assert mean_return(made, release, None) is not None
    assert mean_return(made, release, release) is None  # no one in between
    pairs = design(Local(4.0), people=300, mechanism="asked-k-ary")
    aggregate = open_aggregate(pairs)
    for part in drawn(
        pairs,
        np.eye(pairs.question.width)[np.full(pairs.question.rows, -1)] * 50,
        np.full(pairs.question.rows, 50),
        luck,
    ):
        aggregate.take_sum(part)
    assert mean_return(pairs, aggregate.close(), None) is None  # people come back, and no one says how often


def test_the_outlook_says_when_the_average_count_stands_out() -> None:
    made = contract(design(Local(1.0), people=20_000, rounds=10))
    forecast = outlook(made)
    assert (np.diff(forecast["error"]) < 0).all() and forecast["people"][-1] == 20_000
    assert forecast["needed"] == np.ceil(people_needed(made.design))
    assert typical_error(made.design, forecast["needed"]) == pytest.approx(1.0, rel=0.02)
    assert made.ends[forecast["round"] - 1] >= forecast["needed"] > made.ends[forecast["round"] - 2]
    assert outlook(contract(design(Local(1.0), people=2000, rounds=10)))["round"] is None


def test_what_pairs_would_save_is_what_the_page_on_contracts_says() -> None:
    page = (Path(__file__).parents[3] / "docs" / "service" / "contract.md").read_text(encoding="utf-8")
    needed = [
        people_needed(design(Local(2.0), 100_000, 20, Spec(6, 2, 20), mechanism)) for mechanism in ("subset", "auto")
    ]
    assert f"after {needed[1]:,.0f} people instead of {needed[0]:,.0f}." in page


def test_the_guarantee_in_words() -> None:
    """An even guess becomes e/(1+e) = 73.2 % at most under epsilon 1, rounded up."""
    words = guarantee_in_words(contract(design(Local(1.0))))
    assert (words["sure"], words["odds"], words["delta"], words["formal"]) == (
        73.2,
        "2.72",
        None,
        "1-DP, local",
    )
    assert "the operator of this service" in words["sentence"]


def test_a_story_of_closed_rounds(tmp_path) -> None:
    made = contract(design(Local(4.0), people=300, rounds=3))
    aggregate, luck = open_aggregate(made.design), np.random.default_rng(1)
    kept = {}
    for number in (1, 2):
        for part in drawn(made.design, totals(made.design, 100, luck), np.array([100]), luck):
            aggregate.take_sum(part)
        kept[number] = release_bytes.to_bytes(aggregate.close())
    head = SignedHead.signed(Head(made.digest.hex(), 3, "0" * 64, "1" * 64, "2" * 64, 200, False), PRIVATE)
    document = json.loads(json.dumps(story_of(made, head, kept.get)))
    assert [(row["round"], row["people"], row["bytes"]) for row in document["rounds"]] == [
        (number, 100 * number, len(kept[number])) for number in (1, 2)
    ]
    assert all(
        row["mean_return"]["low"] <= row["mean_return"]["value"] <= row["mean_return"]["high"]
        for row in document["rounds"]
    )
    assert document["ends"] == [100, 200, 300] and story_of(made, None, kept.get)["rounds"] == []


def test_many_rounds_are_thinned() -> None:
    shown = shown_rounds(5000)
    assert len(shown) == MOST_ROUNDS and shown[0] == 1 and shown[-1] == 5000 and shown_rounds(3) == [1, 2, 3]


def test_only_local_trust_shows_the_open_round_and_refusals() -> None:
    made = contract(design(people=30, rounds=3))
    head = SignedHead.signed(Head(made.digest.hex(), 2, "0" * 64, "1" * 64, "2" * 64, 10, False), PRIVATE)
    given = standing(made, head, 17, {"garbage": 3})
    assert (given["people"], given["refusals"], given["live"], given["closes"]) == (17, {"garbage": 3}, True, 20)
    for trust in ("joint", "shuffle", "a word that nobody knows"):
        made.document["trust"] = trust
        given = standing(made, head, 17, {"garbage": 3})
        assert (given["people"], given["refusals"], given["live"]) == (10, None, False)
