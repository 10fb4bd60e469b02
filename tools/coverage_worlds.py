"""Worlds that are not tables: `./run coverage --families`. What was recorded is not all that matters, and the truth is known.

Each family draws people, of whom a state is recorded and more is hidden; their practice may see what is hidden. The truth about
a policy, or an adoption of a share of it, is computed. Goals, each of which must
hold in every row that it is about: the adoption's interval holds in 92 % of the fits wherever chances of actions are right;
"better" is wrong in at most 2.5 %; without the table being wrong at most 3 % of fits raise an alarm.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import confide as cf
from confide.analysis.fitting.adopting import Inquiry
from confide.analysis.fitting.alarms import ALARMS
from confide.analysis.fitting.engines import Engine, count
from confide.analysis.fitting.findings import Units, first_states, in_people_units, judgement
from confide.analysis.fitting.fit import prepare
from confide.analysis.fitting.learning import learn
from confide.data.trajectories import Dataset, read
from confide.mechanisms.noise import NoiseSource, SecureNoise
from tools.coverage_document import written

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

COVERED, WRONG, FALSE_ALARMS = 0.92, 0.025, 0.03
RHOS = (0.5, 2.0)
CELLS = 1000
"""Cells of a hidden number, in which gains are computed."""

FIRST = 7000
"""The seed of the first log; worlds have fixed laws, or are drawn by numbers of their own."""


class Walkers(NamedTuple):
    """Walkers in the middle of their episodes: what is recorded, what is hidden of them, and what they did before (-1: nothing)."""

    state: Integers
    hidden: Array
    before: Integers


WorldStart = Callable[[int, np.random.Generator], Walkers]
PracticeLaw = Callable[[Walkers], Array]
"""(n, A) chances of actions."""
WorldStep = Callable[[Walkers, Integers, np.random.Generator], tuple[Array, Walkers]]
"""Rewards in {0, 1}, and people afterwards."""


@dataclass(frozen=True)
class WorldFamily:
    """A kind of world. right: chances of actions depend on what is recorded; table: states tell all that matters."""

    name: str
    states: int
    actions: int
    horizon: int
    begin: WorldStart
    practice: PracticeLaw
    step: WorldStep
    gain: Callable[[Array, float], float]
    """What an adoption of a share of a policy (H, S, A+1) gains over practice."""
    right: bool = True
    table: bool = False
    logged: bool = False
    leaves: Callable[[Walkers, Integers], Array] | None = None
    """(n,) the chance to be lost to follow-up after an action, where people may be."""
    weighs: Callable[[Walkers], Array] | None = None
    """(n,) how many of the population people stand for by where they begin; of all, one over that has the mean 1."""

    def logged_people(self, people: int, rng: np.random.Generator) -> Walkers:
        """People who are logged: of all, or the less often the more they stand for."""
        if self.weighs is None:
            return self.begin(people, rng)
        many = self.begin(4 * people, rng)
        often = 1 / self.weighs(many)
        mine = np.flatnonzero(rng.random(4 * people) < often / often.max())[:people]
        return Walkers(*(part[mine] for part in many))

    def records(self, people: int, rng: np.random.Generator) -> dict[str, Any]:
        """The log of people who follow current practice."""
        here, columns, leaving = self.logged_people(people, rng), [], []
        people = len(here.state)
        weight = None if self.weighs is None else self.weighs(here)
        for h in range(self.horizon):
            chances = self.practice(here)
            action = drawn(chances, rng)
            reward, after = self.step(here, action, rng)
            chance = chances[np.arange(people), action]
            columns.append((np.full(people, h), here.state, action, reward, after.state, chance))
            if self.leaves is not None:
                leaving.append((h + 1 < self.horizon) & (rng.random(people) < self.leaves(here, action)))
            here = after
        names = ("step", "state", "action", "reward", "next_state", "chance")
        log = {name: np.stack([one[i] for one in columns], axis=1).ravel() for i, name in enumerate(names)}
        log = {"user": np.repeat(np.arange(people), self.horizon), **log}
        if weight is not None:
            log["weight"] = np.repeat(weight, self.horizon)
        if not leaving:
            return log
        lost = np.stack(leaving, axis=1)
        there = (np.cumsum(lost, axis=1) - lost == 0).ravel()
        return {**{name: column[there] for name, column in log.items()}, "lost": lost.ravel()[there].astype(np.int64)}

    def earned(self, policy: Array, alpha: float, people: int, seed: int) -> float:
        """The mean return of this many people who follow a share of a policy, which tests hold against what is computed."""
        rng = np.random.default_rng(seed)
        here, earned = self.begin(people, rng), np.zeros(people)
        for h in range(self.horizon):
            usual = self.practice(here)
            advice = policy[h, here.state]
            mixed = (1 - alpha) * usual + alpha * (advice[:, :1] * usual + advice[:, 1:])
            reward, here = self.step(here, drawn(mixed, rng), rng)
            earned += reward
        return float(earned.mean())

    def read(self, people: int, rng: np.random.Generator) -> Dataset:
        """The log as a data set."""
        records = self.records(people, rng)
        more: dict[str, Any] = {"propensity": "chance", "propensity_floor": 0.02} if self.logged else {}
        if not self.logged:
            del records["chance"]
        if self.leaves is not None:
            more["lost"] = "lost"
        if self.weighs is not None:
            more |= {"weight": "weight", "weight_bound": max(WEIGHTS)}
        sizes = {"states": self.states, "actions": self.actions, "horizon": self.horizon}
        return read(records, **sizes, fixed_length=True, **more)


def drawn(chances: Array, rng: np.random.Generator) -> Integers:
    """(n,) an action for each row of chances (n, A)."""
    sums = np.cumsum(chances, axis=1)
    return np.minimum((rng.random((len(sums), 1)) > sums).sum(axis=1), chances.shape[1] - 1)


def two(often: Array) -> Array:
    """Chances of two actions, the second of which is taken that often."""
    return np.stack([1 - often, often], axis=1)


def paid(chance: Array, rng: np.random.Generator) -> Array:
    """Rewards of 0 or 1."""
    return np.asarray(rng.random(len(chance)) < np.clip(chance, 0, 1), dtype=np.float64)


class HiddenLaw(NamedTuple):
    """A world in which one hidden number of [0, 1) decides about all, in narrow cells: recorded (X, S) chances of states,
    usual (X, S, A), pays (X, A) and moves (X, A, X). All numbers begin as often."""

    recorded: Array
    usual: Array
    pays: Array
    moves: Array

    @classmethod
    def of(
        cls,
        recorded: Callable[[Array], Array],
        usual: Callable[[Array, int], Array],
        pays: Callable[[Array, int], Array],
        after: Callable[[Array, Array, int], Array],
    ) -> HiddenLaw:
        """The law of worlds of two actions, from functions of the hidden number, the state, the action and a uniform draw."""
        x, cells = (np.arange(CELLS) + 0.5) / CELLS, np.arange(CELLS)
        drawn_numbers, actions = (np.arange(CELLS // 2) + 0.5) / (CELLS // 2), range(2)
        moves, states = np.zeros((CELLS, 2, CELLS)), recorded(x)
        for action in actions:
            for number in drawn_numbers:
                there = np.minimum((CELLS * after(x, np.full(CELLS, number), action)).astype(np.int64), CELLS - 1)
                np.add.at(moves, (cells, action, there), 1 / len(drawn_numbers))
        practice = np.stack([usual(x, state) for state in range(states.shape[1])], axis=1)
        return cls(states, practice, np.stack([pays(x, action) for action in actions], axis=1), moves)

    def gain(self, horizon: int, policy: Array, alpha: float) -> float:
        """What an adoption of a policy (H, S, A+1) gains, to about a ten-thousandth."""
        worth = []
        for share in (alpha, 0.0):
            values = np.zeros(len(self.pays))
            for h in range(horizon - 1, -1, -1):
                mixed = (1 - share) * self.usual + share * (policy[h, :, :1] * self.usual + policy[h, :, 1:])
                values = np.einsum("xs,xsa,xa->x", self.recorded, mixed, self.pays + self.moves @ values)
            worth.append(float(values.mean()))
        return worth[0] - worth[1]


class WalkLaw(NamedTuple):
    """How people of a world walk."""

    begin: WorldStart
    practice: PracticeLaw
    step: WorldStep


def hidden_number(name: str, sizes: tuple[int, int], law: HiddenLaw, walk: WalkLaw, **about: Any) -> WorldFamily:
    """The world of one hidden number. sizes: recorded states and the horizon."""
    return WorldFamily(name, sizes[0], 2, sizes[1], *walk, partial(law.gain, sizes[1]), **about)


@cache
def cut_covariate(name: str, bins: int) -> WorldFamily:
    """A covariate in [0, 1] that decides about all; its bin is recorded. Treating helps where it is high, and harms elsewhere."""

    def bin_of(x: Array) -> Integers:
        return np.minimum((bins * x).astype(np.int64), bins - 1)

    def pays(x: Array, treated: Any) -> Array:
        return 0.25 + 0.5 * (1 - x) + np.where(np.equal(treated, 1), 0.5 * (x - 0.45), 0.0)

    def after(x: Array, number: Array, treated: Any) -> Array:
        return np.clip(0.7 * x + 0.3 * number + np.where(np.equal(treated, 1), -0.2 * x, 0.05), 0, 1 - 1e-9)

    def often(state: Any) -> Any:  # by the bin: practice sees no more than is recorded
        return 0.3 + 0.4 * (state + 0.5) / bins

    def begin(people: int, rng: np.random.Generator) -> Walkers:
        x = rng.random(people)
        return Walkers(bin_of(x), x, np.full(people, -1))

    def step(here: Walkers, action: Integers, rng: np.random.Generator) -> tuple[Array, Walkers]:
        reward = paid(pays(here.hidden, action), rng)
        x = after(here.hidden, rng.random(len(action)), action)
        return reward, Walkers(bin_of(x), x, action)

    law = HiddenLaw.of(
        lambda x: np.eye(bins)[bin_of(x)], lambda x, state: two(np.full(len(x), often(state))), pays, after
    )
    return hidden_number(name, (bins, 5), law, WalkLaw(begin, lambda here: two(often(here.state)), step))


class FiniteLaw(NamedTuple):
    """A world with finitely many kinds of moments Z, of which a state is recorded: state (Z,), begins (Z,), usual (Z, A),
    pays (Z, A)
    and moves (Z, A, Z)."""

    state: Integers
    begins: Array
    usual: Array
    pays: Array
    moves: Array

    def gain(self, horizon: int, policy: Array, alpha: float) -> float:
        """What an adoption of a policy (H, S, A+1) gains, exactly."""
        worth = []
        for share in (alpha, 0.0):
            values = np.zeros(len(self.state))
            for h in range(horizon - 1, -1, -1):
                advice = policy[h, self.state]
                mixed = (1 - share) * self.usual + share * (advice[:, :1] * self.usual + advice[:, 1:])
                values = (mixed * (self.pays + self.moves @ values)).sum(axis=1)
            worth.append(float(self.begins @ values))
        return worth[0] - worth[1]


def finite(name: str, sizes: tuple[int, int, int], law: FiniteLaw, **about: Any) -> WorldFamily:
    """The world of a finite law, in which every gain can be computed. sizes: recorded states, actions and the horizon."""
    states, actions, horizon = sizes

    def seen(moment: Integers, before: Integers) -> Walkers:
        return Walkers(law.state[moment], moment.astype(np.float64), before)

    def begin(people: int, rng: np.random.Generator) -> Walkers:
        return seen(rng.choice(len(law.begins), people, p=law.begins), np.full(people, -1))

    def practice(here: Walkers) -> Array:
        return np.asarray(law.usual[here.hidden.astype(np.int64)])

    def step(here: Walkers, action: Integers, rng: np.random.Generator) -> tuple[Array, Walkers]:
        moment = here.hidden.astype(np.int64)
        return paid(law.pays[moment, action], rng), seen(drawn(law.moves[moment, action], rng), action)

    return WorldFamily(name, states, actions, horizon, begin, practice, step, partial(law.gain, horizon), **about)


def repeated_dose(name: str, avoided: bool, logged: bool = False, horizon: int = 8) -> WorldFamily:
    """A second dose in a row harms, which states do not show. avoided: practice knows, and hardly ever gives one."""
    states = 4
    state, dosed = np.divmod(np.arange(2 * states), 2)  # a moment: how ill, and whether a dose was given before
    often = np.where(dosed == 1, 0.15, 0.6) if avoided else np.full(2 * states, 0.5)
    harms = dosed == 1
    pays = 0.35 + 0.1 * (states - 1 - state) / states
    moves = np.zeros((2 * states, 2, 2 * states))
    for moment in range(2 * states):
        ways = [(-1, 0, 1), (0, 1) if harms[moment] else (-1, 0)]
        for action, by in enumerate(ways):
            for each in by:
                after = min(max(state[moment] + each, 0), states - 1)
                moves[moment, action, 2 * after + action] += 1 / len(by)
    begins = np.where(dosed == 0, 1 / states, 0.0)
    law = FiniteLaw(state, begins, two(often), np.stack([pays, pays + np.where(harms, -0.35, 0.25)], axis=1), moves)
    return finite(name, (states, 2, horizon), law, logged=logged)


def third_dose(name: str) -> WorldFamily:
    """A third dose in a row harms much, which neither states nor the action before show; practice gives every second one."""
    states = 4
    state, doses = np.divmod(
        np.arange(3 * states), 3
    )  # a moment: how ill, and how many doses were given without a pause
    harms = doses == 2
    pays = 0.35 + 0.1 * (states - 1 - state) / states
    moves = np.zeros((3 * states, 2, 3 * states))
    for moment in range(3 * states):
        for action in range(2):
            for each in (0, 1) if action and harms[moment] else (-1, 0, 0, 1):
                after = min(max(state[moment] + each, 0), states - 1)
                then = min(doses[moment] + 1, 2) if action else 0
                moves[moment, action, 3 * after + then] += 1 / (2 if action and harms[moment] else 4)
    treated = pays + np.where(harms, -0.35, 0.2)
    begins = np.where(doses == 0, 1 / states, 0.0)
    law = FiniteLaw(state, begins, two(np.full(3 * states, 0.5)), np.stack([pays, treated], axis=1), moves)
    return finite(name, (states, 2, 8), law)


def hidden_kinds(name: str, seen: bool, logged: bool = False, horizon: int = 5) -> WorldFamily:
    """Two kinds of people, of whom one gains by treatment and one loses; nothing recorded tells. seen: practice knows the kind."""
    states = 4
    state, kind = np.divmod(np.arange(2 * states), 2)
    often = np.where(kind == 1, 0.75, 0.25) if seen else np.full(2 * states, 0.5)
    pays = 0.4 + 0.05 * state
    moves = np.zeros((2 * states, 2, 2 * states))
    for moment in range(2 * states):
        for each in (-1, 0, 1):
            after = min(max(state[moment] + each, 0), states - 1)
            moves[moment, :, 2 * after + kind[moment]] += 1 / 3
    law = FiniteLaw(
        state,
        np.full(2 * states, 0.5 / states),
        two(often),
        np.stack([pays, pays + np.where(kind == 1, 0.3, -0.4)], axis=1),
        moves,
    )
    return finite(name, (states, 2, horizon), law, right=not seen, logged=logged)


@cache
def indication(name: str, strength: float, logged: bool = False, horizon: int = 5) -> WorldFamily:
    """The ill are treated more often, how ill is not recorded, and treating does no good: the untreated look better off."""
    states = 3

    def pays(ill: Array, treated: Any) -> Array:
        return 0.8 - 0.6 * ill - np.where(np.equal(treated, 1), 0.08, 0.0)

    def usual(ill: Array) -> Array:  # the more ill (near 1) the more often they are left without the costly action
        return two(np.clip(0.5 + strength * (0.5 - ill), 0.03, 0.97))

    def after(ill: Array, number: Array, _: Any) -> Array:
        return np.clip(0.8 * ill + 0.2 * number, 0, 1)

    def begin(people: int, rng: np.random.Generator) -> Walkers:
        return Walkers(rng.integers(states, size=people), rng.random(people), np.full(people, -1))

    def step(here: Walkers, action: Integers, rng: np.random.Generator) -> tuple[Array, Walkers]:
        reward = paid(pays(here.hidden, action), rng)
        ill = after(here.hidden, rng.random(len(action)), action)
        return reward, Walkers(rng.integers(states, size=len(ill)), ill, action)

    law = HiddenLaw.of(lambda x: np.full((len(x), states), 1 / states), lambda x, _: usual(x), pays, after)
    walk = WalkLaw(begin, lambda here: usual(here.hidden), step)
    return hidden_number(name, (states, horizon), law, walk, right=False, logged=logged)


def markov(name: str, number: int, sizes: tuple[int, int, int] = (12, 3, 8), rare: float = 1.0) -> WorldFamily:
    """A random table, which is the world. rare: the rate of rewards."""
    states, actions, _ = sizes
    rng = np.random.default_rng([FIRST, number])
    moves = rng.dirichlet(np.full(states, 0.3), (states, actions))
    pays, usual = rare * rng.random((states, actions)), rng.dirichlet(np.full(actions, 2.0), states)
    usual = 0.9 * usual + 0.1 / actions
    law = FiniteLaw(np.arange(states), np.full(states, 1 / states), usual, pays, moves)
    return finite(name, sizes, law, table=True)


def drop_out(name: str, informative: bool) -> WorldFamily:
    """A table whose people are lost: all alike, or, if that is informative, those who are ill and were treated more than others."""
    states, rng = 4, np.random.default_rng([FIRST, 44])
    state = np.arange(states)
    pays = np.stack([0.7 - 0.15 * state, 0.6 - 0.15 * state], axis=1)
    worse, better = (rng.dirichlet(np.full(states, 0.5), states) for _ in range(2))
    moves = np.stack(
        [
            0.6 * np.eye(states)[np.minimum(state + 1, 3)] + 0.4 * worse,
            0.6 * np.eye(states)[np.maximum(state - 1, 0)] + 0.4 * better,
        ],
        axis=1,
    )
    law = FiniteLaw(state, np.full(states, 1 / states), two(0.3 + 0.1 * state), pays, moves)

    def leaves(here: Walkers, action: Integers) -> Array:
        told = 0.02 + 0.08 * here.state + np.where(action == 1, 0.1, 0.0)
        return told if informative else np.full(len(action), 0.12)

    return finite(name, (states, 2, 6), law, table=True, leaves=leaves)


WEIGHTS = 0.75, 1.5
"""Sampling weights of people who begin ill, and of the others."""


def weighted(name: str) -> WorldFamily:
    """A table whose people were logged more often the worse they begin; those who begin well gain by treatment, the others lose."""
    states = 4
    state, rng = np.arange(states), np.random.default_rng([FIRST, 45])
    pays = np.stack([np.full(states, 0.4), 0.25 + 0.1 * state], axis=1)
    moves = 0.7 * np.eye(states)[:, None] + 0.3 * rng.dirichlet(np.ones(states), (states, 2))
    law = FiniteLaw(state, np.full(states, 1 / states), two(np.full(states, 0.5)), pays, moves)

    def weighs(here: Walkers) -> Array:
        return np.where(here.state < states // 2, *WEIGHTS)

    return finite(name, (states, 2, 5), law, table=True, weighs=weighs)


FAMILIES: tuple[Callable[[int], WorldFamily], ...] = (
    lambda number: markov("fresh tables", number),
    lambda number: markov("rare rewards", number, (6, 2, 5), 0.05),
    lambda number: cut_covariate("covariate, 10 bins", 10),
    lambda number: cut_covariate("covariate, 2 bins", 2),
    lambda number: repeated_dose("histories", avoided=False),
    lambda number: repeated_dose("histories, avoided", avoided=True),
    lambda number: hidden_kinds("hidden kinds", seen=False),
    lambda number: hidden_kinds("hidden kinds, seen", seen=True),
    lambda number: hidden_kinds("hidden kinds, seen, logged", seen=True, logged=True),
    lambda number: indication("indication, mild", 0.3),
    lambda number: indication("indication, strong", 0.9),
    lambda number: indication("indication, strong, logged", 0.9, logged=True),
    lambda number: drop_out("drop-out, random", informative=False),
    lambda number: drop_out("drop-out, informative", informative=True),
    lambda number: repeated_dose("histories, avoided, logged", avoided=True, logged=True),
    lambda number: weighted("weights"),
    lambda number: repeated_dose("histories, 2 steps", avoided=False, horizon=2),
    lambda number: repeated_dose("histories, avoided, 2 steps", avoided=True, horizon=2),
    lambda number: third_dose("histories, third dose"),
    lambda number: hidden_kinds("hidden kinds, seen, 2 steps", seen=True, horizon=2),
    lambda number: hidden_kinds("hidden kinds, seen, logged, 2 steps", seen=True, logged=True, horizon=2),
    lambda number: indication("indication, strong, 2 steps", 0.9, horizon=2),
    lambda number: indication("indication, strong, logged, 2 steps", 0.9, logged=True, horizon=2),
)


def judged_fit(
    data: Dataset, rho: float, share: float = 0.3, noise: NoiseSource | None = None, **choices: Any
) -> tuple[dict[str, Any], Any]:
    """What a fit and those who judge say, and the policy: all of a fit but the ledger, the rehearsals and the files. noise: secure
    unless another is given. choices: further ones of the fit.
    """
    source, simulated = noise or SecureNoise(), noise is not None
    words: dict[str, Any] = {"judge": share, "ledger": Path("nowhere.json"), "budget": 100.0, **choices}
    order = prepare(data, "apvi", cf.Central(rho=rho), **words)
    assert order.judge is not None
    counted = count(data, order.plan.question, Engine(workers=1), judging=order.judging).checked()
    releases = dict(order.plan.release(counted, source, simulated=simulated))
    plan: Any = learn(order.learner, None, first_states(data.knowledge, releases), releases)
    in_units = in_people_units(Units.of(data.describe()), data.knowledge.spec.horizon)
    assert counted.judging is not None
    inquiry = Inquiry(order.judge, counted.judging, source, releases, simulated)
    plan = inquiry.taken(plan)
    table = judgement(plan.evidence, plan, in_units)
    return {**table, **inquiry(plan, table, in_units)}, plan


class FittedTruth(NamedTuple):
    """What one fit said, held against the truth: all that tallies add up. judged: whether an adoption was; the five after it are
    about that."""

    table: bool
    unalarmed: bool
    table_sure: bool
    table_wrong: bool
    better: bool
    wrong_better: bool
    alarms: list[str]
    judged: bool
    adoption: bool
    sure: bool
    wrong_adoption: bool
    alpha: float
    width: float
    true_gain: float
    whole_gain: float
    estimate: float
    tested: list[float]


def outcome(family: WorldFamily, said: dict[str, Any], plan: Any) -> FittedTruth:
    """What a fit said of a policy, held against the truth."""
    whole, gain, judged = family.gain(plan.extended, 1.0), said["gain"], said["judged"]
    covered, sure, better = bool(gain["low"] <= whole <= gain["high"]), bool(gain["sure"]), bool(said["recommended"])
    table = covered, not covered and not said["alarms"], sure, sure and whole <= 0, better, better and whole <= 0
    if judged is None:
        nothing = False, False, False, False, 0.0, 0.0, 0.0, whole, 0.0, []
        return FittedTruth(*table, list(said["alarms"]), *nothing)
    truth = family.gain(plan.extended, judged["alpha"])
    held, above = bool(judged["low"] <= truth <= judged["high"]), bool(judged["sure"])
    numbers = float(judged["alpha"]), float(judged["high"] - judged["low"]), truth, whole, float(judged["gain"])
    numbers = *numbers, list(said.get("tested", []))
    return FittedTruth(*table, list(said["alarms"]), True, held, above, above and truth <= 0, *numbers)


def misses(family: WorldFamily, outcomes: Sequence[FittedTruth]) -> list[str]:
    """The goals that are not met, in words."""
    found, fits = [], len(outcomes)
    judged = [one for one in outcomes if one.judged]
    if (family.right or family.logged) and judged and sum(one.adoption for one in judged) < COVERED * len(judged):
        found.append("adoption covered")
    wrong = sum(one.wrong_better for one in outcomes), sum(one.wrong_adoption for one in outcomes)
    if max(wrong) > WRONG * fits:
        found.append("wrongly better")
    if family.table and sum(bool(one.alarms) for one in outcomes) > FALSE_ALARMS * fits:
        found.append("false alarms")
    return found


OF_ALL = (
    "judged",
    "table",
    "unalarmed",
    "table_sure",
    "table_wrong",
    "better",
    "wrong_better",
    "sure",
    "wrong_adoption",
)
OF_JUDGED = ("adoption", "alpha", "width", "true_gain")


def row_of(family: WorldFamily, people: int, outcomes: Sequence[FittedTruth], seconds: float = 0.0) -> dict[str, Any]:
    """Plain numbers, as shares of fits; of the adoption of those in which one was judged."""
    fits, judged = max(len(outcomes), 1), [one for one in outcomes if one.judged]
    shares = {name: sum(getattr(one, name) for one in outcomes) / fits for name in OF_ALL}
    means = {name: sum(getattr(one, name) for one in judged) / max(len(judged), 1) for name in OF_JUDGED}
    alarms = {name: sum(name in one.alarms for one in outcomes) / fits for name in ALARMS}
    alarms["any"] = sum(bool(one.alarms) for one in outcomes) / fits
    about = {"family": family.name, "people": people, "fits": len(outcomes)}
    return {**about, **shares, **means, "alarms": alarms, "misses": misses(family, outcomes), "seconds": seconds}


class FamilyFit(NamedTuple):
    """One fit of a family: its number, how many people, and which fit it is."""

    number: int
    people: int
    again: int


def fitted(task: FamilyFit, rhos: tuple[float, ...] = RHOS) -> FittedTruth:
    """One fit, compared with the truth."""
    number, people, again = task
    family = FAMILIES[number](again % 20)
    data = family.read(people, np.random.default_rng([FIRST, number, again, people]))
    said, plan = judged_fit(data, rhos[again % len(rhos)])
    return outcome(family, said, plan)


HEADER = (
    "family                       people   fits  judged adopt'n table  sure wrong better wrong table: sure wrong"
    "  alarms R P B D"
)


def shown(row: dict[str, Any]) -> str:
    """A row of the table."""
    alarms = " ".join(f"{row['alarms'][name]:.2f}" for name in ALARMS)
    numbers = [
        row[name] for name in ("judged", "adoption", "table", "sure", "wrong_adoption", "better", "wrong_better")
    ]
    shares = "".join(f"{number:7.3f}" for number in numbers)
    rest = f"{row['table_sure']:7.2f}{row['table_wrong']:6.2f}   {alarms}"
    means = f"  alpha {row['alpha']:.2f} width {row['width']:.3g} true {row['true_gain']:+.3g}"
    missed = f"   MISSED: {', '.join(row['misses'])}" if row["misses"] else ""
    return f"{row['family']:28}{row['people']:8,}{row['fits']:5}{shares}{rest}{means}{missed}  ({row['seconds']:.0f} s)"


def document_row(row: dict[str, Any]) -> list[str]:
    """A row of the table in docs/research/coverage.md, in per cent."""
    of_all = [f"{100 * row[name]:.1f}" for name in ("judged", "adoption", "table", "sure", "wrong_adoption", "better")]
    alarms = [f"{100 * row['alarms'][name]:.0f}" for name in ALARMS]
    wrong = f"{100 * row['wrong_better']:.1f}"
    means = [f"{row['alpha']:.2f}", f"{row['width']:.3g}", f"{row['true_gain']:+.3g}"]
    return [row["family"], f"{row['people']:,}", str(row["fits"]), *of_all, wrong, *alarms, *means]


def _timed(task: FamilyFit) -> tuple[FamilyFit, FittedTruth, float]:
    started = time.process_time()
    found = fitted(task)
    return task, found, time.process_time() - started


class KeptOutcomes:
    """Outcomes of fits in a file, one JSON line each, so that a run can be stopped and gone on with. path: None keeps none."""

    def __init__(self, path: Path | None) -> None:
        """What the file holds; a line that was cut off is passed over."""
        self._path = path
        self.found: dict[tuple[str, int, int], tuple[FittedTruth, float]] = {}
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    name, people, again, seconds, *numbers = json.loads(line)
                except ValueError:
                    continue
                self.found[name, people, again] = FittedTruth(*numbers), seconds

    def keep(self, name: str, task: FamilyFit, found: FittedTruth, seconds: float) -> None:
        """Write one down."""
        self.found[name, task.people, task.again] = found, seconds
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps([name, task.people, task.again, round(seconds, 2), *found]) + "\n")

    def row(self, family: WorldFamily, people: int, fits: int) -> dict[str, Any]:
        """The row of the first this many fits, as far as they were made."""
        mine = [self.found[key] for again in range(fits) if (key := (family.name, people, again)) in self.found]
        return row_of(family, people, [one for one, _ in mine], sum(seconds for _, seconds in mine))


def measured_families(
    only: str,
    sizes: Sequence[int],
    fits: int,
    jobs: int,
    as_json: bool,
    kept: Path | None = None,
    minutes: float = math.inf,
    write: bool = False,
) -> int:
    """All families whose name contains `only`, with this many people and fits each; 1 if a goal is missed.

    kept: where outcomes are kept; fits that it holds are not made again. minutes: no fit is begun after that. Fits are made in
    turns, the first of every row and so on, so that a run that is stopped has about as many of each.
    """
    outcomes, ends = KeptOutcomes(kept), time.monotonic() + 60 * minutes
    families = [(number, make(0)) for number, make in enumerate(FAMILIES) if only in make(0).name]
    tasks = [
        FamilyFit(number, people, again)
        for again in range(fits)
        for number, family in families
        for people in sizes
        if (family.name, people, again) not in outcomes.found
    ]
    names = {number: family.name for number, family in families}
    due = (task for task in tasks if time.monotonic() < ends)
    with ProcessPoolExecutor(jobs) as pool:
        for task, found, seconds in map(_timed, due) if jobs == 1 else _few_at_a_time(pool, due, jobs):
            outcomes.keep(names[task.number], task, found, seconds)
    rows = [outcomes.row(family, people, fits) for _, family in families for people in sizes]
    rows = [row for row in rows if row["fits"]]
    if as_json:
        print(json.dumps({"rows": rows}))
    else:
        print("\n".join([HEADER, *map(shown, rows)]))
    if write:
        written([document_row(row) for row in rows])
    return int(any(row["misses"] for row in rows))


def _few_at_a_time(
    pool: ProcessPoolExecutor, tasks: Iterator[FamilyFit], jobs: int
) -> Iterator[tuple[FamilyFit, FittedTruth, float]]:
    """Results as they come; no more tasks are taken than can be worked on soon."""
    running = {pool.submit(_timed, task) for task in itertools.islice(tasks, 2 * jobs)}
    while running:
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for one in done:
            yield one.result()
        running |= {pool.submit(_timed, task) for task in itertools.islice(tasks, len(done))}
