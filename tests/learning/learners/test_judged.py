"""What is asked of a pair where no gain would be sure, and how much a judgement must say against a policy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from confide.lab.simulation.offline import OfflineSetting, prepare_offline
from confide.lab.simulation.streams import spawn
from confide.learning.learners import apvi
from confide.learning.planning.estimates import Difference
from confide.learning.planning.evaluation import policy_value
from confide.learning.planning.logged import logged_model
from confide.learning.planning.ope import Evidence, difference, foreseen
from confide.learning.planning.practice import practice_in
from confide.learning.planning.thinning import thinned
from confide.mdp import Policy
from confide.privacy import Central
from confide.protocol.releases import Counts

WORLD = "random/6x4?seed=100"
"""A world to tune on."""


def setting(people: int) -> OfflineSetting:
    rng = np.random.default_rng(8)
    usual = np.repeat(rng.dirichlet(np.ones(4), (1, 6)), 12, axis=0)
    return prepare_offline(WORLD, Central(rho=0.1), people, behaviour=Policy(usual), horizon=12, judge="none")


def gains(people: int) -> list[float]:
    """By how much what is learned is better than current practice, for 40 seeds."""
    chosen, results = setting(people), []
    for root in spawn(31, 40):
        plan = chosen.learned(root)
        value = policy_value(chosen.model, Policy(plan.followed_by(chosen.behaviour.probabilities)))
        results.append(value - policy_value(chosen.model, chosen.behaviour))
    return results


def test_few_people_change_more_where_nothing_would_be_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    bold = gains(400)
    with monkeypatch.context() as patch:
        patch.setattr(apvi, "LIKELY", 0.0)
        patch.setattr(apvi, "HINTED", math.inf)
        careful = gains(400)
    better = np.array(bold) - np.array(careful)
    # The same releases: each seed alone is sampling error, their mean is positive by more than two of its standard errors.
    assert better.mean() > 2 * better.std(ddof=1) / math.sqrt(len(better)) > 0


def test_many_people_learn_what_stands_out_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gains(200_000)
    monkeypatch.setattr(apvi, "HINTED", math.inf)  # would take nothing if it were asked
    assert gains(200_000) == before


def test_what_is_foreseen_does_not_look_at_the_counts_that_judge() -> None:
    chosen = setting(3000)
    release = chosen.release(spawn(1, 1)[0])
    choosing, judging = thinned(release, logged_model(release, chosen.knowledge))
    plan = chosen.learner.plan(choosing)
    others = replace(judging, counts=Counts(*(table + 50.0 for table in judging.counts)))
    practice = practice_in(release, chosen.knowledge)
    one, other = (Evidence(plan.model, part, practice, 3.0) for part in (judging, others))
    assert foreseen(one, plan.extended) == foreseen(other, plan.extended)
    assert difference(one, plan.extended).value != difference(other, plan.extended).value


@pytest.mark.parametrize(("deviations", "kept"), [(-0.9, False), (-1.1, True)])
def test_a_judgement_must_speak_against_a_policy(
    monkeypatch: pytest.MonkeyPatch, deviations: float, kept: bool
) -> None:
    # By hand: a judgement with a deviation of 0.5, below zero by less or more than that.
    said = Difference(0.0, 0.16, 0.09, 0.0, guess=deviations * 0.5)
    monkeypatch.setattr(apvi, "difference", lambda evidence, policy: said)
    chosen = setting(20_000)
    plan = chosen.learner.judged(chosen.release(spawn(1, 1)[0]))
    assert bool(plan.kept.all()) == kept


def test_an_estimate_says_what_the_model_says_and_its_interval_what_is_possible() -> None:
    """A policy of actions that hardly anyone tried: the interval reaches from what is least to what is most possible there."""
    usual = np.full((12, 6, 4), [1.0, 0.0, 0.0, 0.0])
    chosen = prepare_offline(WORLD, Central(rho=1.0), 3000, behaviour=Policy(usual), horizon=12, judge="none")
    release = chosen.release(spawn(1, 1)[0])
    evidence = chosen.learner.judged(release).evidence
    assert evidence is not None
    untried = np.zeros_like(usual)
    untried[..., 3] = 1.0
    reach, first = chosen.knowledge.reach, chosen.model.initial
    low, high = (float(first @ table[0, :, 3]) for table in (reach.least, reach.most))
    estimate = evidence.evaluate(untried)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.5) and high - low < 11.5
    assert low < estimate.value < high and abs(estimate.value - (low + high) / 2) > 0.2
