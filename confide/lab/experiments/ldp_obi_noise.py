"""Histograms of what a server sees: figures 8 and 9 of Garcelon, Perchet, Pike-Burke and Pirotta (2021)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...data.privatizers import open_aggregate
from ...mdp import Spec
from ...privacy import Local, NoPrivacy, Schedule
from ...protocol.design import Design, Request, make
from ...protocol.kinds import CountQuestion
from ...protocol.kinds.counts import DROPPED, REWARDS, TRANSITIONS, VISITS
from ...validation import Json
from ..simulation import prepare
from ..simulation.batched import group_drawing
from ..simulation.streams import spawn, streams
from .experiment import Experiment
from .facts import Claim, Facts
from .part import ExperimentPart, PartResult
from .view import Histograms

WORLD, EPSILONS = "random/2x2", (0.2, 2.0, 20.0)
QUESTION = CountQuestion(Spec(2, 2, 2), (VISITS, REWARDS, TRANSITIONS), DROPPED)


@cache
def _device(epsilon: float) -> Design:
    """Laplace noise as the paper prints it."""
    return make(Request(QUESTION, Local(epsilon), Schedule.every(1000), "paper", "laplace", "ldp-obi"))


@dataclass(frozen=True)
class Noised(ExperimentPart):
    """The privatised reward sum of state 0 and action 1, drawn again and again; no epsilon is the sum itself.

    people: learners of UCB-VI, new ones in every draw; None is one person whose exact sum is `own` in every draw.
    """

    label: str
    epsilon: float | None
    people: int | None = 1000
    own: float = 0.0
    draws: int = 1000

    def promise(self) -> str:
        """The guarantee of the mechanism, in words."""
        return str(NoPrivacy() if self.epsilon is None else _device(self.epsilon).guarantee)

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Draw the sums: one row."""
        started = time.perf_counter()
        sums = np.full(self.draws, self.own) if self.people is None else _paid(self.people, self.draws)
        row = np.array([self._noised(own, root) for own, root in zip(sums, spawn(1, self.draws), strict=True)])
        took = time.perf_counter() - started
        return PartResult(self.label, np.arange(1.0, self.draws + 1), row[None], self.promise(), took)

    def _noised(self, own: float, root: np.random.SeedSequence) -> float:
        if self.epsilon is None:
            return own
        totals, place = np.zeros(QUESTION.cells), QUESTION.slices[REWARDS].start + 1
        totals[place] = own
        device, bits, people = _device(self.epsilon).randomizer, QUESTION.trials, self.people or 1
        summed = device.sum_of(totals, people, bits, streams(root).noise)
        return float(device.estimate(summed, people, bits)[place])


@cache
def _paid(people: int, draws: int) -> NDArray[np.float64]:
    """(draws,) what UCB-VI's people were paid for action 1 in state 0, with a new policy at every 10 % of growth."""
    printed = {"calibration": "sound", "model": "stationary", "bonus": "hoeffding"}
    choices: dict[str, Json] = {"horizon": 2, "schedule": "growth:1.1", **printed}
    setting = prepare("ucbvi", WORLD, None, people, **choices)
    sums = np.zeros(draws)
    for index, root in enumerate(spawn(0, draws)):
        rng = streams(root)
        draw_sums, aggregate = group_drawing(setting, rng.world, rng.noise), open_aggregate(setting.design)
        state = setting.begin(rng.policy)
        for group, people in enumerate(np.diff(setting.schedule.ends, prepend=0)):
            for total in draw_sums(setting.design.question, state.policies, int(people), group):
                aggregate.take_sum(total)
            release = aggregate.close()
            state = setting.learner.learn(state, release)
        sums[index] = release.counts.rewards[0, 0, 1]
    return sums


def _seen_8(facts: Facts) -> list[Claim]:
    spread = {result.label: float(result.rows.std()) for result in facts.results}
    noise = {epsilon: math.sqrt(1000) * math.sqrt(2) * 6 * 2 / epsilon for epsilon in EPSILONS}
    deviations = ", ".join(f"{spread[f'epsilon {epsilon:g}']:,.0f}" for epsilon in EPSILONS)
    return [
        facts.judged(
            "Privatised sums vary by what noise and people together have, sqrt(1,000) times sqrt(2) 6H/epsilon and what exact sums "
            "vary by, to within a tenth",
            all(abs(spread[f"epsilon {e:g}"] / math.hypot(noise[e], spread["no privacy"]) - 1) < 0.1 for e in EPSILONS),
            f"exact sums have a standard deviation of {spread['no privacy']:.0f}; privatised ones {deviations} at epsilon 0.2, 2 "
            "and 20",
        )
    ]


def _seen_9(facts: Facts) -> list[Claim | str]:
    near, far = (float(facts.of(f"epsilon {epsilon}, sum 0").rows.std()) for epsilon in (20, 2))
    return [
        facts.of_paper(
            "Two people are almost indistinguishable at epsilon 20, of those that are furthest apart: sums of 0 and 2",
            near >= 1,
            f"the noise has a deviation of {near:.2g}, so that they can be distinguished rather well, as an epsilon of 20 allows; "
            f"at epsilon 2 it is {far:.2g}, and they cannot",
        ),
        "Two random trajectories of two steps, as in the paper, mostly differ by less.",
    ]


HISTOGRAMS = (
    Experiment(
        "ldp-obi/figure-8",
        "What a server sees: reward sums of 1,000 people",
        "Histograms of the summed rewards of state 0 and action 1 over 1,000 people of UCB-VI, as they are and "
        "privatised with Laplace noise at epsilon 0.2, 2 and 20: privatised sums vary far more.",
        _seen_8,
        "1,000 people, 1,000 draws",
        0.2,
        (
            *(Noised(f"epsilon {epsilon:g}", epsilon) for epsilon in EPSILONS),
            Noised("no privacy", None),
        ),
        1,
        Histograms(
            "Reward sum of state 0, action 1, over 1,000 people", "reward sum", "1,000 draws of people and noise"
        ),
    ),
    Experiment(
        "ldp-obi/figure-9",
        "What a server sees: one person or another",
        "Histograms of one episode's privatised reward sum for two random trajectories at epsilon 20: the two are "
        "almost indistinguishable.",
        _seen_9,
        "1 person, 1,000 draws",
        0.1,
        (
            *(Noised(f"epsilon 20, sum {own:g}", 20.0, None, own) for own in (0.0, 2.0)),
            *(Noised(f"epsilon 2, sum {own:g}", 2.0, None, own) for own in (0.0, 2.0)),
        ),
        1,
        Histograms("Privatised reward sum of one episode", "privatised reward sum", "1,000 draws of noise"),
    ),
)
