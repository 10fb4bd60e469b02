"""Would logged propensities help a private answer? Two ways to judge a policy from a one-step log, at the same price.

counts: what a fit releases, noisy visits and centred rewards of every pair of state and action; a pair's reward is their ratio.
weights: each row counts f / p of its reward, p its logged propensity and f a public floor below all of them, so that no row
counts more than once and the sensitivity is that of counts; divided by f this is inverse propensity weighting. Both add the
same Gaussian noise. `python -m benchmarks.propensity` prints the table in docs/decisions/0008-propensities.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OneStepLog:
    """A one-step log of many repetitions of this many people: (R, n) states, actions, rewards and logged propensities."""

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    rewards: Array
    propensities: Array


@dataclass(frozen=True)
class ConfoundedWorld:
    """States, actions, and whether a cause of people's own, which no column has, moves both what is done and what it pays."""

    states: int
    actions: int
    hidden: bool

    def drawn(self, people: int, repetitions: int, rng: np.random.Generator) -> tuple[OneStepLog, Array, float]:
        """A log; the mean reward of every pair (S, A) if it were chosen for every user; and the least propensity."""
        mean = np.linspace(0.2, 0.6, self.states * self.actions).reshape(self.states, self.actions)
        usual = rng.dirichlet(np.full(self.actions, 3.0), size=self.states)
        usual = 0.5 * usual + 0.5 / self.actions
        shape = (repetitions, people)
        states, luck = rng.integers(self.states, size=shape), rng.integers(2, size=shape)
        first = np.zeros(self.actions)
        first[0] = 1.0
        # Where a cause is hidden, the lucky half is given the first action twice as often as the other.
        chances = np.stack([usual, 0.5 * usual + 0.5 * first]) if self.hidden else np.stack([usual, usual])
        below = chances.cumsum(axis=-1)[luck, states]
        actions = (rng.random(shape)[..., None] > below[..., :-1]).sum(axis=-1)
        paid = np.clip(mean[states, actions] + (0.3 * (luck - 0.5) if self.hidden else 0.0), 0.0, 1.0)
        rewards = (rng.random(shape) < paid).astype(np.float64)
        return OneStepLog(states, actions, rewards, chances[luck, states, actions]), mean, float(chances.min())


def errors(
    world: ConfoundedWorld, people: int, rho: float, repetitions: int = 200, seed: int = 0
) -> tuple[float, float]:
    """Root mean squared errors of the value of `always the last but one action, or the first in the last state`."""
    rng = np.random.default_rng(seed)
    log, mean, floor = world.drawn(people, repetitions, rng)
    chosen = np.full(world.states, world.actions - 2)
    chosen[-1] = 0
    truth = float(mean[np.arange(world.states), chosen].mean())
    # One row moves visits by 1 and centred rewards by 1/2: l2^2 = 2 (1 + 1/4), as a fit prices it. Of weights it moves one by 1.
    noisy = {"counts": np.sqrt(2.5 / (2 * rho)), "weights": np.sqrt(2.0 / (2 * rho))}
    declared = {
        "visits": _sums(world, log, np.ones_like(log.rewards)),
        "centred": _sums(world, log, log.rewards - 0.5),
        "weighted": _sums(world, log, log.rewards * floor / log.propensities),
    }
    for name, size in (("visits", "counts"), ("centred", "counts"), ("weighted", "weights")):
        declared[name] = declared[name] + rng.normal(scale=noisy[size], size=declared[name].shape)
    at = np.arange(world.states), chosen
    share = 1 / world.states  # public here: how often each state comes, which both need alike
    ratio = declared["centred"][:, *at] / np.maximum(declared["visits"][:, *at], 1.0)
    counted = 0.5 + np.clip(ratio, -0.5, 0.5).mean(axis=-1)
    weighted = np.clip(declared["weighted"][:, *at] / (floor * share * people), 0.0, 1.0).mean(axis=-1)
    return tuple(float(np.sqrt(((estimate - truth) ** 2).mean())) for estimate in (counted, weighted))  # type: ignore[return-value]


def _sums(world: ConfoundedWorld, log: OneStepLog, numbers: Array) -> Array:
    """(R, S, A) of a number of every row."""
    sums = np.zeros((len(numbers), world.states, world.actions))
    rows = np.arange(len(numbers))[:, None]
    np.add.at(sums, (rows, log.states, log.actions), numbers)
    return sums


def table(repetitions: int = 200) -> str:
    """The measurement, as Markdown."""
    lines = [
        "| choices depended on | states, actions | people | rho | error by counts | error by weights |",
        "|---|---|---|---|---|---|",
    ]
    for hidden in (False, True):
        for states, actions in ((3, 5), (10, 10)):
            for people, rho in ((1000, 0.1), (10_000, 0.1), (100_000, 0.1)):
                many = min(repetitions, 2_000_000 // people)
                counted, weighted = errors(ConfoundedWorld(states, actions, hidden), people, rho, many)
                on = "state and hidden luck" if hidden else "the state"
                lines.append(f"| {on} | {states}, {actions} | {people:,} | {rho:g} | {counted:.3f} | {weighted:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
