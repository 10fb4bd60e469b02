"""PRIVATE-UCB-VI and PRIVATE-UCB-PO of Chowdhury and Zhou (2022) as printed: their noise, their bonuses, counts of every step.

Only the schedule is a liberty: a policy is planned at every 1 % of growth, so that the numbers of people at which something is
learned can be had. How much that changes is measured where a plan for every person can be had too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...privacy import Guarantee, Joint, Local
from ...validation import Json
from .curve import Curve
from .experiment import Experiment
from .facts import Claim, Facts, number
from .instances import InstanceRegret, Instances
from .part import PartResult
from .reference import REFERENCE, reference_of

WORLD, HORIZON, PEOPLE, SEEDS = "random/2x2", 2, 1e9, 10
FEW = 10_000
GROWTH, EVERY = "growth:1.01", "every"
ALGORITHMS = {"PRIVATE-UCB-VI": "ucbvi", "PRIVATE-UCB-PO": "po"}
TRUSTS: dict[str, tuple[Guarantee, str]] = {
    "joint 1": (Joint(1.0), "tree-laplace"),
    "local 1": (Local(1.0), "laplace"),
}

SCALES = (0.0, 0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
TUNED: dict[str, float] = {
    "PRIVATE-UCB-VI, tuned, joint 1": 0.01,
    "PRIVATE-UCB-PO, tuned, joint 1": 0.0,
    "PRIVATE-UCB-VI, tuned, local 1": 0.001,
    "PRIVATE-UCB-PO, tuned, local 1": 0.0,
}
"""The scale of the bonus that did best among `SCALES`, on worlds that are not shown: `python -m tools.tuning`."""
TUNING_WORLDS = 10


def _side(label: str, trust: str, people: float = PEOPLE, **choices: Json) -> Instances:
    """An algorithm under a trust model, as printed where nothing else is said."""
    guarantee, mechanism = TRUSTS[trust]
    printed: dict[str, Json] = {
        "calibration": "paper",
        "mechanism": mechanism,
        "horizon": HORIZON,
        "schedule": GROWTH,
    }
    learner = ALGORITHMS[label.partition(",")[0].partition(" as")[0]]
    return Instances.of(Curve(label, learner, WORLD, guarantee, people, {**printed, **choices}))


def _tuned(label: str, scale: float) -> Instances:
    """The same made sound, with its bonus scaled."""
    return _side(label, label.rpartition(", ")[2], calibration="sound", bonus_scale=scale)


def tuning_side(label: str, scale: float) -> Instances:
    """A published side at a scale, in worlds that no page shows."""
    return replace(_tuned(label, scale), first=0)


def _ours(trust: str) -> Instances:
    guarantee, _ = TRUSTS[trust]
    return Instances.of(Curve(f"ours, {trust}", "ucbvi", WORLD, guarantee, PEOPLE, {"horizon": HORIZON}))


def _printed(name: str, trust: str) -> str:
    return f"{name} as printed, {trust}"


def _few(name: str, trust: str, schedule: str) -> str:
    plans = "a plan for every person" if schedule == EVERY else "a plan at 1 % of growth"
    return f"{name} as printed, {FEW:,} people, {plans}, {trust}"


@dataclass(frozen=True)
class WithMany(InstanceRegret):
    """Only those with all people are drawn."""

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw the regret of those that have as many people as any."""
        most = max(float(result.x[-1]) for result in results)
        return InstanceRegret.draw(self, [result for result in results if result.x[-1] > most / 2], folder, suffix)


def _epsilon(result: PartResult) -> float:
    """The epsilon of a pure guarantee in words."""
    return float(result.guarantee.partition("-DP")[0])


def _kept(results: Sequence[PartResult]) -> str:
    """Their guarantees, each once."""
    return ", ".join(dict.fromkeys(result.guarantee for result in results))


def _seen(facts: Facts) -> list[Claim | str]:
    claims: list[Claim | str] = []
    for trust in TRUSTS:
        printed = [facts.of(_printed(name, trust)) for name in ALGORITHMS]
        tuned = [facts.of(f"{name}, tuned, {trust}") for name in ALGORITHMS]
        every = [facts.of(_few(name, trust, EVERY)) for name in ALGORITHMS]
        ours = facts.of(f"ours, {trust}")
        claims += [
            facts.judged(
                f"As printed both have learned with {PEOPLE:.0e} people under {trust}: in no world do the last people lose "
                "a tenth of what acting at random loses",
                all(InstanceRegret.stuck(result).startswith("0 of") for result in printed),
                "stuck are "
                + ", ".join(
                    f"{InstanceRegret.stuck(result)} ({name})" for name, result in zip(ALGORITHMS, printed, strict=True)
                ),
            ),
            facts.judged(
                f"The printed noise keeps the claimed epsilon of 1 under {trust} with a plan for every person",
                all(_epsilon(result) <= 1 for result in every),
                f"it keeps {_kept(every)} with {FEW:,} people; with a plan at every 1 % of growth, and so fewer releases, "
                f"{_kept(printed)} with {PEOPLE:.0e}",
            ),
            facts.judged(
                f"At the same true guarantee, {trust}, confide with default settings loses less than both, tuned",
                all(ours.final.mean() < result.final.mean() for result in tuned),
                f"means {number(float(ours.final.mean()))}, beside "
                + ", ".join(
                    f"{number(float(result.final.mean()))} ({name})"
                    for name, result in zip(ALGORITHMS, tuned, strict=True)
                ),
            ),
        ]
    names = list(ALGORITHMS)
    joint, local = ([facts.at(_printed(name, trust)) for name in names] for trust in TRUSTS)
    ratios = [facts.ratio(_few(name, trust, GROWTH), _few(name, trust, EVERY)) for name in names for trust in TRUSTS]
    return [
        *claims,
        facts.of_paper(
            "Joint privacy costs less than local privacy",
            all(one < other for one, other in zip(joint, local, strict=True)),
            "; ".join(
                f"{name}: {number(one)} and {number(other)}"
                for name, one, other in zip(names, joint, local, strict=True)
            ),
        ),
        facts.of_paper(
            "PRIVATE-UCB-VI, whose bound has sqrt(S) for S, loses less than PRIVATE-UCB-PO",
            joint[0] < joint[1] and local[0] < local[1],
            f"under joint privacy {number(joint[0])} and {number(joint[1])}, under local privacy {number(local[0])} and "
            f"{number(local[1])}",
        ),
        facts.judged(
            f"A plan at every 1 % of growth, in place of one for every person, changes regret by less than a tenth with {FEW:,} "
            "people",
            all(0.9 < ratio < 1.1 for ratio in ratios),
            f"ratios of means {', '.join(f'{ratio:.2f}' for ratio in ratios)}",
        ),
        f"Without privacy confide with default settings has {number(facts.at(REFERENCE))}.",
    ]


EXPERIMENTS = (
    Experiment(
        "private-ucb/as-printed",
        "PRIVATE-UCB-VI and PRIVATE-UCB-PO as printed",
        "The paper has no experiments. Its algorithms keep epsilon-JDP with a noise of 3H log(K)/epsilon, and epsilon-LDP with "
        "3H/epsilon; joint privacy costs a lower-order term, local privacy multiplies regret.",
        _seen,
        f"{SEEDS} random worlds, S = A = H = 2, epsilon 1, {PEOPLE:.0e} people, a policy at every 1 % of growth; and "
        f"{FEW:,} people with a policy for each of them",
        4.0,
        (
            *(_side(_printed(name, trust), trust) for trust in TRUSTS for name in ALGORITHMS),
            *(_tuned(label, scale) for label, scale in TUNED.items()),
            *map(_ours, TRUSTS),
            reference_of(_ours("joint 1")),
            *(
                _side(_few(name, trust, schedule), trust, FEW, schedule=schedule)
                for name in ALGORITHMS
                for trust in TRUSTS
                for schedule in (EVERY, GROWTH)
            ),
        ),
        SEEDS,
        WithMany("random worlds, 2 states, 2 actions, 2 steps, epsilon 1"),
        quick_seeds=2,
    ),
)
