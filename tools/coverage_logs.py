"""The logs of `./run coverage`: kinds of log in random worlds, and named worlds in which people follow a practice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.data.trajectories import Dataset, read
from confide.lab.simulation.offline_log import draw_records
from confide.mdp import Model, Policy

FIRST_WORLD = 70_000
"""The seed of the first random world."""


@dataclass(frozen=True)
class Variant:
    """A kind of log. horizon: None for one drawn with the world. sizes: states and actions, None for drawn ones. rate: rewards of 0
    or 1, whose mean of a pair is drawn between 0 and twice that. people: how many, None for both of the usual numbers. users: how
    people's 1 to `MOST` episodes are counted, None where every user has one.
    """

    name: str
    told: bool = True
    horizon: int | None = None
    sizes: tuple[int, int] | None = None
    rate: float | None = None
    people: int | None = None
    short: bool = False
    sparse: bool = False
    known: bool = False
    per_step: bool = False
    stepped: bool = False
    linear: bool = False
    large: bool = False
    answers: bool = False
    propensities: bool = False
    users: str | None = None


VARIANTS = (
    Variant("next state told"),
    Variant("next state not told", told=False),
    Variant("one step", horizon=1),
    Variant("one step, not told", told=False, horizon=1),
    Variant("two steps, not told", told=False, horizon=2),
    Variant("short episodes", short=True),
    Variant("short, not told", told=False, short=True),
    Variant("sparse rewards", sparse=True),
    Variant("sparse, not told", told=False, sparse=True),
    Variant("rewards known", known=True),
    Variant("known, not told", told=False, known=True),
    Variant("per-step", per_step=True),
    Variant("per-step, not told", told=False, per_step=True, short=True),
    Variant("per-step, known", per_step=True, known=True),
    Variant("practice by step", stepped=True),
    Variant("98 states, 5 actions", large=True),
    Variant("linear", linear=True),
)
ANSWERS = (
    Variant("compare, explain", answers=True),
    Variant("compare, explain: a single step", horizon=1, answers=True),
    Variant("compare, explain: short", short=True, answers=True),
    Variant("compare, explain: per-step", per_step=True, answers=True),
    Variant("compare, explain: not told", told=False, answers=True),
    Variant("compare: propensities", horizon=1, answers=True, propensities=True),
)
"""Logs of which several policies are compared, and the learned one is explained."""


MOST = 20
"""Episodes of one person, in logs of people who come again."""

RETURNING = tuple(
    Variant(f"1 to {MOST} {'short ' if short else ''}episodes, {users}", users=users, short=short)
    for short in (False, True)
    for users in (f"all:{MOST}", "limit", f"group:{MOST}")
)
"""Logs of people who come again, counted in each of the ways that there are."""

RATES = (0.003, 0.01, 0.1, 0.5)
"""Mean rewards, from rare to even."""

WIDE: dict[str, dict[str, Any]] = {
    "100 contexts": {"sizes": (100, 10), "horizon": 1},
    "60 states per-step": {"sizes": (60, 4), "horizon": 3, "per_step": True},
    "100 states": {"sizes": (100, 4), "horizon": 3},
}
RARE = tuple(
    Variant(f"{name}, rate {rate:g}{'' if told else ', not told'}", told, rate=rate, people=30_000, **shape)
    for name, shape in WIDE.items()
    for told in (True, False)
    for rate in RATES
)
"""Logs with many states and rewards of every rate: where visits are sums over many next states, and rewards are far from 1/2."""


@dataclass(frozen=True)
class Log:
    """A named world in which people follow a practice; exact: rewards are paid as they are, not drawn as 0 or 1."""

    address: str
    horizon: int
    people: int
    behaviour: str | None
    exact: bool

    @property
    def name(self) -> str:
        """Its address."""
        return self.address


LOGS = (
    Log("gymnasium:Taxi-v4", 50, 4_000, "soft:0.7", True),
    Log("gymnasium:CliffWalking-v1", 40, 4_000, "soft:0.5", True),
    Log("icu-sepsis", 20, 20_000, None, False),
)


def drawn_world(number: int, variant: Variant) -> tuple[Model, Policy]:
    """A world and what people do in it; with early ends the last state is the end."""
    rng = np.random.default_rng(FIRST_WORLD + number)
    states, actions, horizon = int(rng.integers(3, 9)), int(rng.integers(2, 5)), int(rng.integers(3, 9))
    if variant.large:
        states, actions, horizon = 98, 5, 10
    horizon, (states, actions) = variant.horizon or horizon, variant.sizes or (states, actions)
    layers = horizon if variant.per_step else 1
    moves = rng.dirichlet(np.full(states, rng.uniform(0.2, 1.0)), (layers, states, actions))
    if variant.large:
        moves = np.eye(states)[moves.argmax(axis=-1)]
    paid = rng.beta(0.7, 0.9, (layers, states, actions))
    if variant.rate is not None:
        paid = 2 * variant.rate * rng.random(paid.shape)
    if variant.sparse or variant.large:
        paid = np.where(rng.random(paid.shape) < 0.2, 0.6 * paid, 0.0)
    usual = rng.dirichlet(np.full(actions, rng.uniform(0.5, 2.0)), (horizon if variant.stepped else 1, states))
    law = rng.dirichlet(np.ones(states))
    if variant.propensities:
        usual = 0.5 * usual + 0.5 / actions  # logs of propensities have no tiny ones
    table = np.broadcast_to(usual, (horizon, states, actions))
    if not variant.short:
        return Model(moves, paid, law, horizon), Policy(table)
    stop = 0.5 * rng.random((layers, states, actions))
    ending = np.zeros((layers, states + 1, actions, states + 1))
    ending[:, :states, :, :states], ending[:, :states, :, states] = moves * (1 - stop)[..., None], stop
    ending[:, states, :, states] = 1.0
    table = np.concatenate([table, np.full((horizon, 1, actions), 1 / actions)], axis=1)
    return Model(ending, np.pad(paid, ((0, 0), (0, 1), (0, 0))), np.append(law, 0.0), horizon), Policy(table)


def logged(model: Model, usual: Policy, people: int, variant: Variant, rng: np.random.Generator) -> Dataset:
    """The records of this many people, read as a curator would read them."""
    return drawn_log(model, usual, people, variant, rng)[1]


def drawn_log(
    model: Model, usual: Policy, people: int, variant: Variant, rng: np.random.Generator
) -> tuple[dict[str, Any], Dataset]:
    """The records, and the same read."""
    many = np.ones(people, dtype=np.int64) if variant.users is None else rng.integers(1, MOST + 1, people)
    records: dict[str, Any] = draw_records(model, usual, int(many.sum()), rng)
    if variant.users is not None:
        records["episode"] = records["user"]
        records["user"] = np.repeat(np.arange(people), many)[records["user"]]
    states, actions = model.rewards.shape[1:]
    if variant.short:
        states -= 1
        alive = records["state"] < states
        records = {name: column[alive] for name, column in records.items()}
        records["next_state"] = np.where(records["next_state"] < states, records["next_state"], records["state"])
    declared: dict[str, Any] = {"model": "per-step" if variant.per_step or variant.linear else "stationary"}
    declared["users"] = variant.users or "one"
    if not variant.told:
        del records["next_state"]
    if variant.known:
        del records["reward"]
        declared["rewards"] = model.rewards[:, :states] if variant.per_step else model.rewards[0, :states]
    if variant.propensities:
        records["propensity"], declared["propensity_floor"] = drawn_propensities(usual.probabilities[0], records, rng)
        declared["propensity"] = "propensity"
    sizes = {"states": states, "actions": actions, "horizon": model.horizon}
    return records, read(records, **sizes, fixed_length=not variant.short, **declared)


def drawn_propensities(
    usual: NDArray[np.float64], records: dict[str, Any], rng: np.random.Generator
) -> tuple[NDArray[np.float64], float]:
    """What two practices would log whose mean is the usual one (S, A), each followed by half of the people; and their floor.

    Who follows which is drawn given what was done, so that the log stays what it is.
    """
    tilt = np.random.default_rng(usual.shape).random(usual.shape)
    tilt = 0.5 * (tilt - (usual * tilt).sum(axis=1, keepdims=True))
    both = np.stack([usual * (1 + tilt), usual * (1 - tilt)])
    here = both[:, records["state"], records["action"]]
    second = rng.random(here.shape[1]) < here[1] / here.sum(axis=0)
    return np.where(second, here[1], here[0]), float(both.min())
