"""Whether the gain that a fit says would have been found with 80 % chance is: `python -m tools.power`; --write.

In a named world the differences between the actions of a state are scaled until the best policy's gain over current practice is
the stated one, half of it, or half as much again. Current practice earns the same in all of these worlds. Then people are logged
and fits made, with secure noise, and those that are sure of their policy are counted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import confide as cf
from confide.analysis.fitting.plan import COUNTS, together_read
from confide.analysis.fitting.power import CHANCE, Rehearsal
from confide.data.trajectories import Dataset, read
from confide.lab.simulation.offline import practice_of
from confide.lab.simulation.offline_log import draw_records
from confide.learning.learners.apvi import Apvi
from confide.learning.planning.evaluation import optimal, policy_value
from confide.mdp import Model, Policy
from tools.coverage import released_fit
from tools.coverage_document import written

STATING, FITS = 5, 60
"""How many fits state a gain, of which the median is taken; and how many are made at each gain."""

SMALL = 0.05
"""The differences, as a share of the world's own, where gains are stated."""

TIMES = (0.5, 1.0, 1.5)
"""Of the stated gain, at which fits are made."""


@dataclass(frozen=True)
class LoggedWorld:
    """A world, how people act in it, how many are logged, and under which rho."""

    address: str
    horizon: int
    behaviour: str | None
    people: int
    rho: float

    def world(self) -> tuple[Model, Policy]:
        """The world, and current practice in it."""
        environment = cf.environments.make(self.address, self.horizon)
        assert environment.model is not None
        return environment.model, practice_of(environment, self.behaviour)

    def logged(self, model: Model, usual: Policy, seed: int) -> Dataset:
        """People who are logged in a world."""
        records = draw_records(model, usual, self.people, np.random.default_rng([seed, self.people]))
        states, actions = model.rewards.shape[1:]
        sizes = {"states": states, "actions": actions, "horizon": self.horizon}
        return read(records, **sizes, fixed_length=True, initial=model.initial)


ROWS = (
    LoggedWorld("clinic", 8, None, 4000, 2.0),
    LoggedWorld("clinic", 8, None, 20_000, 0.2),
    LoggedWorld("random/5x3?seed=7", 5, "uniform", 3000, 2.0),
    LoggedWorld("random/12x4?seed=8", 4, "uniform", 10_000, 2.0),
)


def scaled(model: Model, usual: Policy, size: float) -> Model:
    """The world with so much of the differences between actions, around what current practice makes of a state."""
    shares = usual.probabilities[0]
    transitions, rewards = model.transitions[0], model.rewards[0]
    law, paid = np.einsum("sa,sat->st", shares, transitions)[:, None], (shares * rewards).sum(axis=1, keepdims=True)
    moved, earned = law + size * (transitions - law), paid + size * (rewards - paid)
    return Model(moved[None], earned[None], model.initial, model.horizon)


def gain_in(model: Model, usual: Policy) -> float:
    """By how much the best policy is better than current practice."""
    return float(model.initial @ optimal(model)[1][0]) - policy_value(model, usual)


def with_gain(model: Model, usual: Policy, gain: float) -> Model:
    """The world scaled until the best policy gains so much; refused if it never does."""
    low, high = 0.0, 1.0
    if gain_in(model, usual) < gain:
        raise ValueError(f"At most {gain_in(model, usual):g} can be gained, and not {gain:g}. Log more people.")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if gain_in(scaled(model, usual, middle), usual) >= gain else (middle, high)
    return scaled(model, usual, high)


def stated(row: LoggedWorld, fits: int = STATING) -> float:
    """The gain that fits say would have been found, by their median, where there is next to none."""
    model, usual = row.world()
    gains = []
    for seed in range(fits):
        data = row.logged(scaled(model, usual, SMALL), usual, seed)
        learned, releases = released_fit(data, row.rho)
        release = together_read(releases)[COUNTS]
        gains.append(Rehearsal(Apvi(data.knowledge), release, learned, learned.evidence.practice).found() or np.inf)
    return float(np.median(gains))


def found(row: LoggedWorld, gain: float, fits: int = FITS) -> int:
    """How many fits are sure of their policy where the best one gains so much."""
    model, usual = row.world()
    world = with_gain(model, usual, gain)
    learned = (released_fit(row.logged(world, usual, 1000 + seed), row.rho)[0] for seed in range(fits))
    return sum(bool(one.evidence.compare(one.more).sure()) for one in learned)


def measured(row: LoggedWorld, fits: int = FITS) -> list[str]:
    """A row of the table."""
    gain = stated(row)
    shares = [f"{100 * found(row, times * gain, fits) / fits:.0f}" for times in TIMES]
    return [f"{row.address}, H={row.horizon}", f"{row.people:,}", f"{row.rho:g}", f"{gain:.3g}", *shares, str(fits)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The whole table."""
    reader = argparse.ArgumentParser(prog="python -m tools.power", description="Whether stated gains are found.")
    reader.add_argument("--fits", type=int, default=FITS, help="at each gain")
    reader.add_argument("--write", action="store_true", help="put the rows into the table of docs/research/coverage.md")
    options: Any = reader.parse_args(arguments)
    rows = []
    print(f"stated: found with {CHANCE:.0%} chance; then per cent found at {TIMES} times that", flush=True)
    for row in ROWS:
        rows.append(measured(row, options.fits))
        print(" | ".join(rows[-1]), flush=True)
    if options.write:
        written(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
