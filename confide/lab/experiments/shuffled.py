"""From trusting the server to trusting only the device, at one epsilon of the sums.

Table 1 of Garcelon, Perchet, Pike-Burke and Pirotta (2021), *Bridging the Gap between Local and Joint Differential Privacy in
RL*: what it is about, with guarantees that are true. As printed it stands in docs/explanations/shuffling.md.

The table interpolates by its burn-in. The true way to interpolate is the batch: the noise of a device that keeps a local
epsilon suffices once enough people are summed. `BATCHES` says how many that are; larger batches guarantee more, so none is
smaller than `LEAST`. The ends are learners under joint privacy, and under local privacy with the epsilon of the sums, both
with default settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...analysis.reporting.figures import tradeoff_figure
from ...analysis.reporting.intervals import mean_interval
from ...mdp import Spec
from ...privacy import Joint, Local, Shuffle
from ...protocol.kinds import CountQuestion, StepQuestion
from ...protocol.kinds.bits import BitQuestion
from ...protocol.kinds.counts import REWARDS, TRANSITIONS
from ...protocol.shuffled_obi import bits_a_step, claimed_epsilon, counter_epsilon
from ...protocol.trusts.shuffle import BITS, STEP, smallest_batch
from ...validation import Json
from ..audit.shuffle_attacks import shuffled_history
from .curve import Curve, Sweep
from .experiment import Experiment
from .facts import Claim, Facts, number
from .instances import Instances, mean_random_loss
from .part import PAPER, ExperimentPart, PartResult
from .terms import ONE, ROOT_OF_PEOPLE, Terms, departure, fitted, told
from .view import Regret, Slopes

PROMISE = Shuffle(1.0, 1e-6)
WORLD, HORIZON, EPISODES, SEEDS = "riverswim/6", 20, 1e7, 10
SPEC = Spec(6, 2, HORIZON)
LEAST = 1000

BATCHES: dict[str, dict[float, int]] = {
    STEP: {1.5: 28, 2.0: 53, 3.0: 134, 4.0: 275, 6.0: 907, 8.0: 2633, 10.0: 7331, 12.0: 20102, 14.0: 54821},
    BITS: {8.0: 15, 16.0: 59, 32.0: 236, 64.0: 980, 96.0: 2356, 128.0: 4585, 160.0: 8029, 200.0: 14920},
}
"""By mechanism and local epsilon: the smallest batch whose sums keep the guarantee."""


def found_batch(mechanism: str, local: float) -> int:
    """The smallest batch of a mechanism and a local epsilon, computed: what `BATCHES` holds."""
    counts = CountQuestion(SPEC, (REWARDS, TRANSITIONS))
    return smallest_batch(StepQuestion(counts) if mechanism == STEP else BitQuestion(counts), PROMISE, local)


def _label(mechanism: str, local: float) -> str:
    return f"{mechanism}, local {local:g}"


def _curve(mechanism: str, local: float) -> Curve:
    batch = max(LEAST, BATCHES[mechanism][local])
    choices: dict[str, Json] = {"batch": batch, "local_epsilon": local, "mechanism": mechanism, "honest": 1.0}
    return Curve(_label(mechanism, local), "obi", WORLD, PROMISE, EPISODES, {"horizon": HORIZON, **choices})


def _ends() -> tuple[Curve, Curve]:
    joint, local = Joint(PROMISE.epsilon, PROMISE.delta), Local(PROMISE.epsilon)
    return (
        Curve("joint", "obi", WORLD, joint, EPISODES, {"horizon": HORIZON}),
        Curve("local", "obi", WORLD, local, EPISODES, {"horizon": HORIZON}),
    )


def _printed(local: float, people: int) -> float:
    """epsilon_c of Proposition 5 for devices that keep `local` by the paper's own account, once this many have been shuffled."""
    flip = 1 / (math.exp(local / (bits_a_step() * HORIZON)) + 1)
    return claimed_epsilon(flip, people, HORIZON, PROMISE.delta)


@dataclass(frozen=True)
class Interpolation:
    """Regret against local epsilon at fixed epsilon of the sums; the last two parts are the ends."""

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of mechanism, batch, true guarantee, what Proposition 5 prints for it, regret with its 95 % interval."""
        rows: list[Sequence[str]] = [("", "batch", "true guarantee", "epsilon_c of Proposition 5", "final regret")]
        sizes = [(max(LEAST, batch), local) for batches in BATCHES.values() for local, batch in batches.items()]
        for result, (size, local) in zip(results, [*sizes, (0, math.nan), (0, math.nan)], strict=True):
            printed = _printed(local, size) if size else math.nan
            batch, said = (f"{size:,}", f"{printed:.3g}" if printed < math.inf else FAILS) if size else ("", "")
            rows.append((result.label, batch, result.guarantee, said, mean_interval(result.final).text()))
        return rows

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Regret against local epsilon, with the ends as dashed lines."""
        final = {result.label: result.final for result in results}
        series = []
        for mechanism, batches in BATCHES.items():
            places = list(batches)
            rows = [final[_label(mechanism, local)] for local in places]
            series.append((mechanism, places, [list(seed) for seed in zip(*rows, strict=True)]))
        levels = [(f"{name} learner", final[name]) for name in ("joint", "local")]
        title = f"{WORLD}, {HORIZON} steps, {results[0].x[-1]:,.0f} people; the sums keep {PROMISE}"
        label = "local epsilon, which each device keeps by itself"
        return [tradeoff_figure(series, levels, folder / f"tradeoff{suffix}", title, label, "regret")]


@dataclass(frozen=True)
class History(ExperimentPart):
    """The attack on Theorem 6: what one release keeps, and what releases before and after a person give away."""

    label: str
    people: int
    trials: int = 1_000_000

    def promise(self) -> str:
        """The guarantee that is left, in words."""
        return f"none at the epsilon of one release; {LOCALLY}"

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Attack: (seeds, 4) epsilon of one release at delta 1e-6; the least true one; log-ratio; least true delta at the first."""
        started = time.perf_counter()
        trials = self.trials if scale == PAPER else self.trials // 10
        rows = []
        for seed in range(seeds):
            breach = shuffled_history(trials, seed, self.people)
            claimed = breach.claimed.epsilon or 0.0
            rows.append(
                (claimed, breach.least_epsilon(breach.claimed.delta), breach.log_ratio, breach.least_delta(claimed))
            )
        return PartResult(
            self.label, np.arange(1.0, 5.0), np.array(rows), self.promise(), time.perf_counter() - started
        )


LOCALLY = "the devices' own local guarantee stays"


FLIP, DELTA = 0.25, 1e-6
"""The flip probability and the delta of the attack."""


def said_by_papers(people: str) -> tuple[float, float]:
    """epsilon_c of Proposition 5, and of equation (113), as printed, for a number of people in words."""
    many = int(people.replace(",", ""))
    return claimed_epsilon(FLIP, many, 1, DELTA), counter_epsilon(FLIP, many, 1, DELTA)


FAILS = "its hypothesis fails"
"""What stands for a number where a proposition claims nothing."""


@dataclass(frozen=True)
class Broken:
    """Claimed and true epsilons, for each number of people."""

    def table(self, results: Sequence[PartResult]) -> list[Sequence[str]]:
        """Rows of the two printed and the four computed numbers."""
        rows: list[Sequence[str]] = [
            (
                "people",
                "epsilon_c of Proposition 5, as printed",
                "epsilon of equation (113), as printed",
                "epsilon of one release, delta 1e-6",
                "epsilon at least, delta 1e-6",
                "log-ratio of the event",
                "delta at least, at the epsilon of one release",
            )
        ]
        return rows + [
            (
                result.label,
                *(f"{value:.3g}" if value < math.inf else FAILS for value in said_by_papers(result.label)),
                *(f"{value:.3g}" for value in result.mean),
            )
            for result in results
        ]

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw two lines over people."""
        places = [float(result.label.replace(",", "")) for result in results]
        series = [
            (name, places, np.stack([result.rows[:, column] for result in results], axis=1))
            for column, name in ((0, "one release alone keeps"), (1, "all releases together: at least"))
        ]
        title = "Reshuffling the whole history before every episode"
        target = folder / f"history{suffix}"
        return [tradeoff_figure(series, [], target, title, "people", "epsilon at delta 1e-6")]


def _repair() -> Experiment:
    """The protocol and the planner of SHUFFLED-OBI, each as printed and as ours: two by two."""
    local, people = 10.0, 2e6
    shared: dict[str, Json] = {"horizon": HORIZON}
    history: dict[str, Json] = {"calibration": "paper", "local_epsilon": local, "burn_in": 10_000, "honest": 1.0}
    batches: dict[str, Json] = {
        "batch": max(LEAST, BATCHES[STEP][local]),
        "local_epsilon": local,
        "mechanism": STEP,
        "honest": 1.0,
    }
    sides: dict[str, dict[str, Json]] = {
        "SHUFFLED-OBI as printed": history,
        "printed protocol and noise, our planner": {**history, "bonus": "tight"},
        "disjoint batches, printed planner": {**batches, "bonus": "paper"},
        "disjoint batches, our planner": batches,
    }
    curves = (
        *(Curve(name, "obi", WORLD, PROMISE, people, {**shared, **choices}) for name, choices in sides.items()),
        Curve("joint, one curator", "obi", WORLD, Joint(PROMISE.epsilon, PROMISE.delta), people, shared),
        Curve("local", "obi", WORLD, Local(PROMISE.epsilon), people, shared),
    )
    return Experiment(
        "shuffled-obi/repair",
        "SHUFFLED-OBI as printed, and in disjoint batches",
        "SHUFFLED-OBI shuffles all reports so far before every episode, after a burn-in; it is said to be jointly "
        "private.",
        seen_repair,
        "RiverSwim, 6 states, 20 steps, 2 x 10^6 people, local epsilon 10, a burn-in of 10,000, 10 seeds",
        3.0,
        curves,
        10,
        Regret("RiverSwim under shuffling"),
    )


BURNS = (1e3, 1e4, 3e4, 1e5, 3e5, 6e5)
BURNED_PEOPLE = (1e4, 1e5, 1e6, 4e6)
BURNED = 1e6
BURNED_EPSILON = 20.0
SCALED = 0.03
"""The bonus scale that was tuned for LDP-OBI at the same epsilon: "LDP-OBI, laplace, tuned, 20" of `tuning.json`."""
BURN_SIDES = {"SHUFFLED-OBI as printed": 1.0, f"bonus scale {SCALED:g}": SCALED}
OVER_BURN = Terms((ONE, "tau"), np.ones_like, np.asarray)
BURN_FORMS = {"burn-in": OVER_BURN, "people": ROOT_OF_PEOPLE}


def _burn_in() -> Experiment:
    """Theorem 6 in its own form: regret over the burn-in tau at fixed K, and over K with tau = K^(1/3)."""

    def at(people: float, burn: float, scale: float) -> Instances:
        choices: dict[str, Json] = {
            "horizon": 2,
            "calibration": "paper",
            "local_epsilon": BURNED_EPSILON,
            "burn_in": int(burn),
            "honest": 1.0,
            "bonus_scale": scale,
        }
        return Instances.of(Curve("", "obi", "random/2x2", PROMISE, people, choices))

    parts: list[Sweep] = []
    for name, scale in BURN_SIDES.items():
        burned = tuple(at(BURNED, burn, scale) for burn in BURNS)
        grown = tuple(at(people, round(people ** (1 / 3)), scale) for people in BURNED_PEOPLE)
        parts += [
            Sweep(f"{name}, over burn-in", BURNS, burned),
            Sweep(f"{name}, over people", BURNED_PEOPLE, grown),
        ]
    return Experiment(
        "shuffled-obi/burn-in",
        "Theorem 6 in its own form: regret over the burn-in and over people",
        "Theorem 6: regret is at most of order sqrt(K) + tau H + sqrt(K) e^(epsilon/2)/(e^epsilon - 1), tau the people of the "
        "burn-in, who act at random.",
        seen_burn_in,
        f"20 random worlds, S = A = H = 2, local epsilon {BURNED_EPSILON:g}; over the burn-in at {BURNED:.0e} people, over people "
        "with a burn-in of K^(1/3)",
        8.0,
        tuple(parts),
        20,
        Slopes(
            "Random worlds, 2 states, 2 actions, 2 steps",
            tuple(
                (f"{name}, over {thing}", {"burn-in": "0; 1", "people": "0.5"}[thing])
                for name in BURN_SIDES
                for thing in BURN_FORMS
            ),
            tuple((f"{name}, over {thing}", terms) for name in BURN_SIDES for thing, terms in BURN_FORMS.items()),
        ),
        quick_seeds=1,
    )


def seen_burn_in(facts: Facts) -> list[Claim]:
    """The claims of the regret bound of Theorem 6, and of what the burn-in costs."""
    random = mean_random_loss(len(facts.results[0].rows))
    claims = []
    for name in BURN_SIDES:
        for thing, terms in BURN_FORMS.items():
            result = facts.of(f"{name}, over {thing}")
            fit, lost = fitted(result, terms), random * (result.x if thing == "people" else BURNED)
            form = {"burn-in": "a + b tau", "people": "a + b sqrt(K)"}[thing]
            claims.append(
                facts.of_paper(
                    f"{name}: over {thing} regret has the form of the theorem, {form}",
                    fit.holds,
                    f"{fit.text(terms)}, off by up to {fit.misfit:.0%}"
                    + told(departure(result, terms, lost if facts.scale == PAPER else None))
                    + (
                        f"; a person of the burn-in costs {number(fit.second.value)}, where acting at random loses {number(random)}"
                        if thing == "burn-in"
                        else ""
                    ),
                )
            )
    most = f"{next(iter(BURN_SIDES))}, over burn-in"
    return [
        *claims,
        facts.judged(
            "As printed a long burn-in costs something: with the longest regret is more than a tenth larger than with the shortest",
            facts.at(most) > 1.1 * facts.at(most, BURNS[0]),
            f"{number(facts.at(most, BURNS[0]))} with {BURNS[0]:,.0f} people and {number(facts.at(most))} with {BURNS[-1]:,.0f}, "
            f"of {BURNED:,.0f}",
        ),
    ]


def seen_table(facts: Facts) -> list[Claim | str]:
    """What is seen of Table 1."""
    best = facts.among([_label(STEP, local) for local in BATCHES[STEP]])[0]
    behind = [
        f"{label} ({number(facts.at(label))})"
        for mechanism, batches in BATCHES.items()
        for label in (_label(mechanism, local) for local in batches)
        if facts.at(label) > facts.at("local")
    ]
    return [
        facts.of_paper(
            "Regret interpolates between local and joint privacy, here with guarantees that are true, by the size of the batch",
            facts.at("joint") < facts.at(best) < facts.at("local"),
            f"at epsilon 1 of the sums the best of the devices that sample a step ({best}) has {number(facts.at(best))}, the "
            f"joint learner {number(facts.at('joint'))}, the local one {number(facts.at('local'))}",
        ),
        facts.judged(
            "All of these devices lose less than the local learner",
            not behind,
            f"above it are {', '.join(behind) or 'none'}",
        ),
        "The joint learner stays ahead, because a curator re-uses its noise, and every batch has fresh noise. Beyond the lowest "
        "point more local epsilon only means larger batches, and so later policies.",
    ]


def seen_theorem(facts: Facts) -> list[Claim | str]:
    """What is seen of Theorem 6."""
    later = [result for result in facts.results if result.label != "300"]
    alone, least, ratio = (np.array([result.mean[column] for result in later]) for column in range(3))
    said = {result.label: said_by_papers(result.label)[0] for result in facts.results}
    silent = [people for people, epsilon in said.items() if math.isinf(epsilon)]
    printed = {people: epsilon for people, epsilon in said.items() if people not in silent}
    first, last = next(iter(printed)), next(reversed(printed))
    beyond = next(10.0**power for power in range(5, 20) if claimed_epsilon(FLIP, 10**power, 1, DELTA) < ratio.min())
    return [
        facts.judged(
            "A run of releases is as private as one of them, which the proof relies on",
            bool((ratio <= 2 * alone).any()),
            "releases before and after a person differ by that person's report alone, so shuffling adds no privacy there: the "
            f"person before is given one action and the person after another {np.exp(ratio.min()):.2g} to "
            f"{np.exp(ratio.max()):.2g} times as often in one world as in the other, from 1,000 people on, while the epsilon "
            "that one release keeps goes to zero",
        ),
        facts.judged(
            "With confidence 0.999 more than the epsilon of one release is refuted at delta 1e-6, from 1,000 people on",
            bool((least > alone).all()),
            f"every epsilon below {least.min():.2g} is",
        ),
        facts.judged(
            "The hypothesis of Proposition 5 holds at all these numbers of people",
            not silent,
            f"it fails at {', '.join(silent) or 'none'}, and there it claims nothing",
        ),
        facts.judged(
            "The number that is printed, epsilon_c of Proposition 5, is refuted at these sizes",
            min(printed.values()) <= ratio.max(),
            f"it is vacuous: {number(printed[first])} at {first} people and {number(printed[last])} at {last}; below the "
            f"log-ratio of this event it falls at about {beyond:.0e} people",
        ),
        "What holds is the devices' own local guarantee.",
    ]


def seen_repair(facts: Facts) -> list[Claim | str]:
    """What is seen of the repair: what the protocol does, and what the bonus does."""
    printed, planner = "SHUFFLED-OBI as printed", "printed protocol and noise, our planner"
    batches, both = "disjoint batches, printed planner", "disjoint batches, our planner"
    return [
        "As printed the algorithm keeps no more than its local guarantee; disjoint batches keep both guarantees.",
        facts.judged(
            "It is the printed bonus, not the protocol, that keeps the algorithm from learning",
            min(facts.at(printed), facts.at(batches)) > 3 * max(facts.at(planner), facts.at(both)),
            f"with the printed planner regret is {number(facts.at(printed))} by the printed protocol and "
            f"{number(facts.at(batches))} in disjoint batches; with ours {number(facts.at(planner))} and {number(facts.at(both))}",
        ),
    ]


EXPERIMENTS = (
    Experiment(
        "shuffled-obi/table-1",
        "From trusting the device to trusting the server",
        "Table 1: SHUFFLED-OBI interpolates between local and joint privacy, and so does its regret, by its burn-in.",
        seen_table,
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
        seen_theorem,
        "1 state, 2 actions, 1 step, flip probability 1/4, 10^6 trials in each world",
        1.5,
        tuple(History(f"{many:,}", many) for many in (300, 1000, 3000, 10_000, 30_000)),
        3,
        Broken(),
    ),
    _repair(),
    _burn_in(),
)
