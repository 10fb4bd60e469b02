"""A world like an intensive care unit's with six covariates: patients with sepsis, four treatments, steps of some hours.

Nothing in it was estimated from real patients. With every covariate in deviations from what is usual on the ward (age, heart,
pressure, lactate, oxygen, kidney; a raised kidney value is bad), fluids and vasopressors raise the pressure, but fluids cost oxygen
and kidneys that fail already, and vasopressors raise lactate where pressure is not low. A step pays 1 if the patient is stable at
its end. Patients may die after a step, and nothing is paid then. Practice treats low pressure and high lactate, hardly looking at
kidneys; so what to do depends on all that is recorded, and practice can be improved.

`log` draws what a hospital would have: one row a step, in clinical units, with the chance with which the treatment was chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validation
from ...mdp.described import Number
from ...mdp.feature_policy import FeaturePolicy

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

HORIZON = 8
ACTIONS = ("wait", "fluids", "vasopressor", "both")
FLUIDS, PRESSOR = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
INPUTS = (
    Number("age", 18, 98),
    Number("heart_rate", 50, 170),
    Number("pressure", 35, 115),
    Number("lactate", 0, 10),
    Number("oxygen", 76, 100),
    Number("creatinine", 0, 6),
)
"""The covariates with public ranges: what a chart of the ward has room for."""

MIDDLE = np.array([60.0, 105.0, 72.0, 4.0, 92.0, 2.0])
SCALE = np.array([14.0, 16.0, 11.0, 1.6, 3.0, 1.0])
"""One deviation of each covariate, in clinical units."""

CHANCE = 0.2
"""The share of decisions in which practice chooses among all treatments alike, so that none has a chance below 0.05."""

SIMULATED = 200_000
"""How many patients are walked to estimate the value of a policy: an error of about 0.004."""


class VitalsEpisodes(NamedTuple):
    """Patients who were walked: observations (n, H+1, 6), actions (n, H), rewards (n, H), chances of the actions (n, H), and how
    many steps each lived (n,); what comes later is nothing."""

    observations: Array
    actions: Integers
    rewards: Array
    chances: Array
    lengths: Integers

    @property
    def returns(self) -> Array:
        """(n,) how many steps patients were stable."""
        steps = np.arange(self.actions.shape[1])
        return np.asarray((self.rewards * (steps < self.lengths[:, None])).sum(axis=1))


def practice(observations: Array) -> Array:
    """(n, A) the chances with which clinicians choose, in (n, 6) observations."""
    z = (observations - MIDDLE) / SCALE
    low, lactate = -z[:, 2], z[:, 3]
    scores = np.stack([np.full(len(z), 0.9), 0.8 * low, 0.9 * low - 0.3, low + 0.4 * lactate - 0.6], axis=1)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances = (1 - CHANCE) * chances / chances.sum(axis=1, keepdims=True) + CHANCE / len(ACTIONS)
    return np.asarray(chances)


def start(people: int, rng: np.random.Generator) -> Array:
    """(n, 6) patients as they are admitted."""
    z = rng.standard_normal((people, 6))
    z[:, 3] += 0.5 - 0.4 * z[:, 2]
    z[:, 1] -= 0.4 * z[:, 2]
    return _charted(z)


def stable(observations: Array, actions: Integers) -> Array:
    """(n,) chances to be stable at the end of a step."""
    z = (observations - MIDDLE) / SCALE
    lift = 0.5 * FLUIDS[actions] * (1 - 0.5 * z[:, 5]) + 0.6 * PRESSOR[actions] * (1 + 0.4 * z[:, 5])
    pressure = z[:, 2] + lift
    score = 0.4 + 0.9 * pressure - 0.45 * np.maximum(pressure, 0.0) ** 2 - 0.7 * z[:, 3] + 0.5 * z[:, 4] - 0.4 * z[:, 5]
    score = score - 0.25 * np.abs(z[:, 1]) - 0.2 * z[:, 0] - 0.25 * PRESSOR[actions]
    return np.asarray(1 / (1 + np.exp(-score)))


def move(observations: Array, actions: Integers, rng: np.random.Generator) -> tuple[Array, NDArray[np.bool_]]:
    """(n, 6) the next observations, and (n,) who died."""
    z = (observations - MIDDLE) / SCALE
    fluids, pressor, e = FLUIDS[actions], PRESSOR[actions], 0.45 * rng.standard_normal(z.shape)
    age, heart, pressure, lactate, oxygen, kidney = z.T
    after = np.empty_like(z)
    after[:, 0] = age
    after[:, 1] = 0.75 * heart - 0.15 * pressure + 0.25 * pressor - 0.2 * fluids + e[:, 1]
    after[:, 2] = 0.75 * pressure + 0.4 * fluids * (1 - 0.4 * kidney) + 0.5 * pressor - 0.1 * lactate - 0.25 + e[:, 2]
    after[:, 3] = 0.85 * lactate - 0.2 * pressure + 0.3 * pressor * np.maximum(pressure, 0.0) - 0.05 * fluids + e[:, 3]
    after[:, 4] = 0.8 * oxygen - 0.25 * fluids * (1 + 0.5 * kidney) + 0.1 * (1 - fluids) + e[:, 4]
    after[:, 5] = 0.92 * kidney + 0.2 * fluids * np.maximum(kidney, 0.0) + 0.05 * lactate - 0.05 * pressure + e[:, 5]
    risk = 0.12 / (1 + np.exp(2.5 - 0.9 * after[:, 3] - 0.6 * after[:, 5] + 0.8 * after[:, 2] - 0.4 * age))
    return _charted(after), rng.random(len(z)) < risk


def walk(
    people: int, rng: np.random.Generator, policy: FeaturePolicy | None = None, share: float = 1.0
) -> VitalsEpisodes:
    """This many patients under a policy, or under practice."""
    seen = np.zeros((people, HORIZON + 1, 6))
    actions, lengths = np.zeros((people, HORIZON), dtype=np.int64), np.full(people, HORIZON)
    rewards, chances = np.zeros((people, HORIZON)), np.ones((people, HORIZON))
    seen[:, 0], alive = start(people, rng), np.ones(people, dtype=np.bool_)
    for step in range(HORIZON):
        here = seen[:, step]
        if policy is None or share < 1:
            usual = practice(here)
            drawn = rng.random((people, 1)) > np.cumsum(usual, axis=1)
            actions[:, step] = np.minimum(drawn.sum(axis=1), len(ACTIONS) - 1)
            chances[:, step] = usual[np.arange(people), actions[:, step]]
        if policy is not None:
            advised = policy.chosen(step, policy.features.all_x(here))
            followed = rng.random(people) < share if share < 1 else np.ones(people, dtype=np.bool_)
            actions[:, step] = np.where(followed, advised, actions[:, step])
        rewards[:, step] = alive * (rng.random(people) < stable(here, actions[:, step]))
        seen[:, step + 1], died = move(here, actions[:, step], rng)
        lengths[alive & died] = step + 1
        alive &= ~died
    return VitalsEpisodes(seen, actions, rewards, chances, lengths)


def value(policy: FeaturePolicy | None = None, people: int = SIMULATED, seed: int = 0, share: float = 1.0) -> float:
    """How many of the steps a patient is stable on average, under a policy or under practice. share: of decisions in which the
    policy is followed."""
    return float(walk(people, np.random.default_rng(seed), policy, share).returns.mean())


def log(people: int, seed: int = 0) -> dict[str, NDArray[np.generic]]:
    """The columns of a log: one row for every step that a patient lived, in order.

    patient, step from 0, the six covariates, treatment by name, stable (1 or 0), and chance, with which the treatment was chosen.
    """
    validation.integer("people", people, 1)
    walked = walk(people, np.random.default_rng(seed))
    there = np.arange(HORIZON) < walked.lengths[:, None]
    who, step = np.nonzero(there)
    columns: dict[str, NDArray[np.generic]] = {"patient": who, "step": step}
    seen = walked.observations[:, :-1][there]
    columns |= {each.name: np.round(seen[:, place], 1) for place, each in enumerate(INPUTS)}
    named = np.array(ACTIONS)[walked.actions[there]]
    return {**columns, "treatment": named, "stable": walked.rewards[there], "chance": walked.chances[there]}


def _charted(z: Array) -> Array:
    """(n, 6) in clinical units, within what a chart has room for."""
    low, high = np.array([(each.low, each.high) for each in INPUTS]).T
    return np.asarray(np.clip(MIDDLE + SCALE * z, low, high))
