"""From trusting the server to trusting only the device, at one epsilon of the sums.

Table 1 of Garcelon, Perchet, Pike-Burke and Pirotta (2021), *Bridging the Gap between Local and Joint Differential Privacy in
RL*: what it is about, with guarantees that are true. As printed it stands in docs/shuffle.md.

The table interpolates by its burn-in. The true way to interpolate is the batch: the noise of a device that keeps a local
epsilon suffices once enough people are summed. `BATCHES` says how many that are; larger batches promise more, so none is
smaller than `LEAST`. The ends are learners under joint privacy with a policy for every `LEAST` people, and under local
privacy with the epsilon of the sums.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..audit.shuffle_attacks import shuffled_history
from ..designs.shuffle import BITS, STEP, smallest_batch
from ..mdp import Spec
from ..privacy import Joint, Local, Shuffle
from ..questions import CountQuestion, StepQuestion
from ..questions.bits import BitQuestion
from ..questions.counts import REWARDS, TRANSITIONS
from ..reporting.tradeoff import tradeoff_figure
from .curve import Curve
from .experiment import Experiment
from .part import PAPER, Found
from .view import Regret, said

PROMISE = Shuffle(1.0, 1e-6)
WORLD, HORIZON, EPISODES, SEEDS = "riverswim/6", 20, 1e7, 10
SPEC = Spec(6, 2, HORIZON)
LEAST = 1000

BATCHES: dict[str, dict[float, int]] = {
    STEP: {1.5: 28, 2.0: 53, 3.0: 134, 4.0: 275, 6.0: 907, 8.0: 2633, 10.0: 7331, 12.0: 20102, 14.0: 54821},
    BITS: {8.0: 15, 16.0: 59, 32.0: 236, 64.0: 980, 96.0: 2356, 128.0: 4585, 160.0: 8029, 200.0: 14920},
}
"""By mechanism and local epsilon: the smallest batch whose sums keep the promise."""


def found_batch(mechanism: str, local: float) -> int:
    """What `BATCHES` holds, computed."""
    counts = CountQuestion(SPEC, (REWARDS, TRANSITIONS))
    return smallest_batch(StepQuestion(counts) if mechanism == STEP else BitQuestion(counts), PROMISE, local)


def _label(mechanism: str, local: float) -> str:
    return f"{mechanism}, local {local:g}"


def _curve(mechanism: str, local: float) -> Curve:
    choices = {"batch": max(LEAST, BATCHES[mechanism][local]), "local_epsilon": local, "mechanism": mechanism}
    return Curve(_label(mechanism, local), "obi", WORLD, PROMISE, EPISODES, {"horizon": HORIZON, **choices})


def _ends() -> tuple[Curve, Curve]:
    often = {"horizon": HORIZON, "schedule": f"batches:{EPISODES / LEAST:.0f}"}
    joint, local = Joint(PROMISE.epsilon, PROMISE.delta), Local(PROMISE.epsilon)
    return (
        Curve("joint", "obi", WORLD, joint, EPISODES, often),
        Curve("local", "obi", WORLD, local, EPISODES, often),
    )


@dataclass(frozen=True)
class Interpolation:
    """Regret against local epsilon at fixed epsilon of the sums; the last two parts are the ends."""

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """Mechanism, batch, what is truly promised, regret with its 95 % interval."""
        rows: list[Sequence[str]] = [("", "batch", "true guarantee", "final regret")]
        sizes = [f"{max(LEAST, batch):,}" for batches in BATCHES.values() for batch in batches.values()]
        for one, size in zip(found, [*sizes, f"{LEAST:,}", f"{LEAST:,}"], strict=True):
            rows.append((one.label, size, one.guarantee, said(one.final)))
        return rows

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """Regret against local epsilon, with the ends as dashed lines."""
        final = {one.label: one.final for one in found}
        series = []
        for mechanism, batches in BATCHES.items():
            places = list(batches)
            rows = [final[_label(mechanism, local)] for local in places]
            series.append((mechanism, places, [list(seed) for seed in zip(*rows, strict=True)]))
        levels = [(f"{name} learner", final[name]) for name in ("joint", "local")]
        title = f"{WORLD}, {HORIZON} steps, {found[0].x[-1]:,.0f} people; the sums keep {PROMISE}"
        label = "local epsilon, which each device keeps by itself"
        return [tradeoff_figure(series, levels, folder / f"tradeoff{suffix}", title, label, "regret")]


@dataclass(frozen=True)
class History:
    """The attack on Theorem 6: what one release keeps, and what releases before and after a person give away."""

    label: str
    people: int
    trials: int = 1_000_000

    def promise(self) -> str:
        """What is left to promise."""
        return f"none at the epsilon of one release; {LOCALLY}"

    def find(self, scale: str, seeds: int) -> Found:
        """(seeds, 4): epsilon of one release at delta 1e-6; the least true one; log-ratio; least true delta at the first."""
        started = time.perf_counter()
        trials = self.trials if scale == PAPER else self.trials // 10
        rows = []
        for seed in range(seeds):
            breach = shuffled_history(trials, seed, self.people)
            claimed = breach.claimed.epsilon or 0.0
            rows.append(
                (claimed, breach.least_epsilon(breach.claimed.delta), breach.log_ratio, breach.least_delta(claimed))
            )
        return Found(self.label, np.arange(1.0, 5.0), np.array(rows), self.promise(), time.perf_counter() - started)


LOCALLY = "the devices' own local guarantee stays"


@dataclass(frozen=True)
class Broken:
    """Claimed and found, for each number of people."""

    def table(self, found: Sequence[Found]) -> list[Sequence[str]]:
        """The four numbers."""
        rows: list[Sequence[str]] = [
            (
                "people",
                "epsilon of one release, delta 1e-6",
                "epsilon at least, delta 1e-6",
                "log-ratio of the event",
                "delta at least, at the epsilon of one release",
            )
        ]
        return rows + [(one.label, *(f"{value:.3g}" for value in one.mean)) for one in found]

    def draw(self, found: Sequence[Found], folder: Path, suffix: str) -> list[Path]:
        """Two lines over people."""
        places = [float(one.label.replace(",", "")) for one in found]
        series = [
            (name, places, np.stack([one.rows[:, column] for one in found], axis=1))
            for column, name in ((0, "one release alone keeps"), (1, "all releases together: at least"))
        ]
        title = "Reshuffling the whole history before every episode"
        target = folder / f"history{suffix}"
        return [tradeoff_figure(series, [], target, title, "people", "epsilon at delta 1e-6")]


def _repair() -> Experiment:
    """SHUFFLED-OBI as printed, which keeps its local guarantee only, beside disjoint batches, which keep both."""
    local = 10.0
    told = {"horizon": HORIZON}
    curves = (
        Curve(
            "SHUFFLED-OBI as printed",
            "obi",
            WORLD,
            PROMISE,
            1e6,
            {**told, "calibration": "paper", "local_epsilon": local, "burn_in": 10_000},
        ),
        Curve(
            "disjoint batches",
            "obi",
            WORLD,
            PROMISE,
            1e6,
            {**told, "batch": max(LEAST, BATCHES[STEP][local]), "local_epsilon": local, "mechanism": STEP},
        ),
        Curve("joint, one curator", "obi", WORLD, Joint(PROMISE.epsilon, PROMISE.delta), 1e6, told),
        Curve("local", "obi", WORLD, Local(PROMISE.epsilon), 1e6, told),
    )
    return Experiment(
        "shuffled-obi/repair",
        "SHUFFLED-OBI as printed, and in disjoint batches",
        "SHUFFLED-OBI shuffles all reports so far before every episode, after a burn-in; it is said to be jointly "
        "private.",
        SEEN["repair"],
        "RiverSwim, 6 states, 20 steps, 10^6 people, local epsilon 10, 10 seeds",
        3.0,
        curves,
        10,
        Regret("RiverSwim under shuffling"),
    )


SEEN = {
    "table-1": "With guarantees that are true regret does interpolate, by the size of the batch: at epsilon 1 of the "
    "sums a device that keeps a local epsilon of 8 by itself leaves a small part of what local privacy "
    "costs. The joint learner stays ahead, because a curator re-uses its noise, and every batch has fresh "
    "noise. Beyond the lowest point more local epsilon only means larger batches, in which everyone waits.",
    "theorem-6": "False. The person before is given one action and the person after another 1.4 to 1.7 times as often "
    "in one world as in the other, at any number of people, while the epsilon that one release keeps "
    "goes to zero: from 1,000 people on every epsilon below 0.38 is refuted at delta 1e-6, with "
    "confidence 0.999. Releases before and after a person differ by that person's report alone, so "
    "shuffling hides nothing there. What holds is the devices' own local guarantee.",
    "repair": "As printed the algorithm learns nothing in 10^6 episodes, and keeps no more than its local guarantee. "
    "Disjoint batches keep both promises and learn.",
}
EXPERIMENTS = (
    Experiment(
        "shuffled-obi/table-1",
        "From trusting the device to trusting the server",
        "Table 1: SHUFFLED-OBI interpolates between local and joint privacy, and so does its regret, by its burn-in.",
        SEEN["table-1"],
        f"RiverSwim, 6 states, 20 steps, {EPISODES:.0e} people, {SEEDS} seeds",
        2.5,
        (*(_curve(mechanism, local) for mechanism, batches in BATCHES.items() for local in batches), *_ends()),
        SEEDS,
        Interpolation(),
        quick_seeds=1,
    ),
    Experiment(
        "shuffled-obi/theorem-6",
        "The theorem that fails: reshuffling the history",
        "Theorem 6: if all reports so far are shuffled before every episode, the whole run is jointly private with "
        "the epsilon of one release, because each release is shuffled.",
        SEEN["theorem-6"],
        "1 state, 2 actions, 1 step, flip probability 1/4, 10^6 trials in each world",
        1.5,
        tuple(History(f"{many:,}", many) for many in (300, 1000, 3000, 10_000, 30_000)),
        3,
        Broken(),
    ),
    _repair(),
)
