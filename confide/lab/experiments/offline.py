"""Learning from logged people: the simulations of Qiao and Wang (2023), and what privacy costs in two clinics.

Constants were chosen on seeds that are not reported (77), in the same worlds. In the linear process every side was tuned alike,
at the same true guarantee: over the grids of `axes`, by the mean gap over 20, 100, 500 and 1,000 people. What was found at every
point stands in `docs/reproductions/tuning.json` (`python -m tools.tuning`); `TUNED` is the best of each.

The scale of APVI and DP-APVI is one of 0 to 1, the shift of our regression one of 0 to 8. The pessimism
of our `apvi` (2 deviations, actions that stand out by 1) was chosen on ICU-Sepsis, on other draws of the same world.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...learning.planning.evaluation import occupancy, optimal, optimal_value, policy_value
from ...mdp import Policy
from ...privacy import Central, Certificate, Guarantee, NoPrivacy
from ...protocol.trusts.budgets import ALL
from ...validation import Json
from ..simulation.offline import prepare_offline
from ..simulation.offline_linear import simulate_linear
from ..simulation.streams import spawn
from .experiment import Experiment
from .facts import Seen
from .offline_seen import seen_1a, seen_1b, seen_clinic, seen_icu, seen_theorem
from .part import PAPER, PartResult
from .view import Values

VALUE, GAP = "value of the learned policy", "sub-optimality"
REPORTED = 2024
"""The seed of the linear curves: none of those on which anything was chosen."""

EPISODES = (5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class OfflineCurve:
    """A learner under a promise, at several numbers of people; quickly, at the first `few` of them.

    `linear` learns from features, and measures the gap to the best policy; else from counts, and `measure` says what.
    """

    label: str
    privacy: Guarantee | None
    people: tuple[float, ...]
    world: str
    linear: bool = False
    choices: dict[str, Any] = field(default_factory=dict)
    measure: str = VALUE
    few: int = 100
    whole: bool = False
    """Whether it is asked for as much rho as makes its true one what is promised: printed noise can be more than that takes."""

    def promise(self) -> str:
        """The guarantee that was asked for, which is kept, in words."""
        return str(self.privacy or NoPrivacy())

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Learn at every number of people, `seeds` times."""
        started = time.perf_counter()
        people = self.people if scale == PAPER else self.people[: self.few]
        certificates, values = zip(*(self._at(int(many), seeds) for many in people), strict=True)
        guarantee = "; ".join(
            dict.fromkeys(str(promise.true) for certificate in certificates for promise in certificate.promises)
        )
        took = time.perf_counter() - started
        return PartResult(self.label, np.array(people, dtype=np.float64), np.stack(values, axis=1), guarantee, took)

    def _at(self, people: int, seeds: int) -> tuple[Certificate, NDArray[np.float64]]:
        if self.linear:
            promise = self.privacy
            if self.whole and promise is not None:
                promise = Central(rho=_asked(self.choices["learner"], promise.rho or math.nan))
            run = simulate_linear(self.world, promise, people, seeds, **self.choices)
            return run.certificate, run.suboptimality
        setting = prepare_offline(self.world, self.privacy, people, visits=ALL, **self.choices)
        plans = [setting.learned(root) for root in spawn(0, seeds)]
        usual = setting.behaviour.probabilities
        values = np.array([policy_value(setting.model, Policy(plan.followed_by(usual))) for plan in plans])
        return setting.certificate(), values if self.measure == VALUE else optimal_value(setting.model) - values


@dataclass(frozen=True)
class Bound:
    """The bound of Theorem 3.3 at several numbers of people: its main term, and all of it with hidden constants at 1."""

    label: str
    world: str
    people: tuple[float, ...]
    rho: float
    whole: bool
    failure: float = 0.05

    def promise(self) -> str:
        """Empty: a bound promises nothing about people."""
        return ""

    def compute(self, scale: str, seeds: int) -> PartResult:
        """Compute the bound at every number of people: one row."""
        setting = prepare_offline(self.world, None, 1, model="per-step")
        model = setting.model
        horizon, states, actions = model.horizon, model.spec.states, model.spec.actions
        best, values = optimal(model)
        reached, logged = occupancy(model, best), occupancy(model, setting.behaviour)
        layers = np.minimum(np.arange(horizon), len(model.transitions) - 1)
        moves = model.transitions[layers]  # (H, S, A, S)
        following = values[1:]  # (H, S)
        mean = np.einsum("hsat,ht->hsa", moves, following)
        spread = np.einsum("hsat,ht->hsa", moves, following**2) - mean**2
        log = math.log(horizon * states * actions / self.failure)
        covered = (reached > 0) & (logged > 0)
        share = np.sqrt(np.maximum(spread, 0)[covered] * log / logged[covered])
        main = 4 * math.sqrt(2) * float((reached[covered] * share).sum())
        error = 4 * math.sqrt(horizon * math.log(4 * horizon * states**2 * actions / self.failure) / self.rho)
        rest = (horizon**3 + states * horizon**2 * error) / float(logged[logged > 0].min())
        people = np.array(self.people, dtype=np.float64)
        bound = main / np.sqrt(people) + (rest / people if self.whole else 0.0)
        return PartResult(self.label, people, bound[None], "", 0.0)


PEVI, VAPVI, OWN = "PEVI", "VAPVI", "ours"
LAMBDA = 1 / 7
"""lambda = 1 of the paper, whose features have norm sqrt(7), for the same features divided by that."""

TUNED: dict[tuple[str, float | None], tuple[float, float]] = {
    (PEVI, None): (0.001, 0.001),
    (VAPVI, None): (0.1, 0.3),
    (OWN, None): (0.01, 1.0),
    (PEVI, 1.0): (100.0, 0.0001),
    (VAPVI, 1.0): (10.0, 0.01),
    (OWN, 1.0): (100.0, 0.0),
    (PEVI, 10.0): (100.0, 0.0001),
    (VAPVI, 10.0): (100.0, 0.0),
    (OWN, 10.0): (100.0, 0.0),
    (PEVI, 100.0): (100.0, 0.0001),
    (VAPVI, 100.0): (100.0, 0.01),
    (OWN, 100.0): (10.0, 0.0),
}
"""By algorithm and rho: lambda in units of the paper's, and the factor on pessimism (of ours: deviations)."""


TUNING_ROOT, TUNING_SEEDS, TUNING_PEOPLE = 77, 5, (20, 100, 500, 1000)
_FACTORS = {
    PEVI: ("c", (0.0, 0.0001, 0.001, 0.01, 0.1)),
    VAPVI: ("C", (0.0, 0.01, 0.1, 0.3, 1.0)),
    OWN: ("deviations", (0.0, 0.3, 1.0, 3.0)),
}
_LAMBDAS = {False: (1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0), True: (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)}


def axes(name: str, rho: float | None) -> dict[str, tuple[float, ...]]:
    """What was tried for a side: lambda in units of the paper's, less of it without privacy, and the factor on pessimism."""
    factor, values = _FACTORS[name]
    return {"lambda": _LAMBDAS[rho is not None], factor: values}


def side_name(name: str, rho: float | None) -> str:
    """The label of a tuned side."""
    if rho is None:
        return f"{name}, no privacy" if name == OWN else name
    return f"{name}, rho {rho:g}" if name == OWN else f"DP-{name}, rho {rho:g}"


@cache
def _asked(learner: str, rho: float) -> float:
    """The rho to ask for so that the noise of `sound` truly keeps rho: that of DP-VAPVI is a little more than its claim takes, and
    PEVI asks two of its five statistics.
    """
    asked = rho
    while True:
        choices: dict[str, Any] = {"learner": learner, "calibration": "sound", "split": False}
        run = simulate_linear("linear-mdp", Central(rho=asked), 2, 1, **choices)
        kept = run.certificate.promises[0].true.rho or rho
        if 0 <= rho - kept <= 1e-9 * rho:
            return asked
        asked *= rho / kept if kept < rho else 1 - 1e-10


def linear_side(
    name: str,
    rho: float | None,
    ridge: float,
    factor: float,
    people: tuple[float, ...] = EPISODES,
    seed: int = REPORTED,
) -> OfflineCurve:
    """The curve of PEVI or VAPVI, made sound where it is private, or of ours: each at a true guarantee of rho."""
    choices: dict[str, Any] = {"ridge": ridge * LAMBDA, "seed": seed}
    if name == OWN:
        choices |= {"bonus_scale": factor, "learner": "pevi"}
    else:
        choices |= {"calibration": "sound", "split": False, "constant": factor, "learner": name.lower()}
    privacy = None if rho is None else Central(rho=rho)
    return OfflineCurve(side_name(name, rho), privacy, people, "linear-mdp", True, choices, whole=name != OWN)


def _tuned(name: str, rho: float | None = None) -> OfflineCurve:
    """A side with the constants that did best on other seeds."""
    return linear_side(name, rho, *TUNED[name, rho])


def linear_pair(rho: float) -> tuple[OfflineCurve, OfflineCurve]:
    """The curves of DP-VAPVI made sound, and of ours, tuned alike, at the same true guarantee."""
    return _tuned(VAPVI, rho), _tuned(OWN, rho)


def _printed(learner: str, rho: float | None, label: str = "", **choices: Any) -> OfflineCurve:
    """The curve of an algorithm as printed: lambda = 1, c or C = 1, and of DP-VAPVI E/2 added to matrices and D/K; data is not
    split, as in the paper's simulation.
    """
    name = f"DP-{learner} as printed, rho {rho:g}" if rho else f"{learner} as printed"
    privacy = None if rho is None else Central(rho=rho)
    options = {"seed": REPORTED, "learner": learner.lower(), "calibration": "paper", "split": False, **choices}
    return OfflineCurve(label or name, privacy, EPISODES, "linear-mdp", True, options)


def _counts(label: str, world: str, people: tuple[float, ...], rho: float | None, **choices: Any) -> OfflineCurve:
    measure = choices.pop("measure", VALUE)
    few = choices.pop("few", 100)
    promise = None if rho is None else Central(rho=rho)
    return OfflineCurve(label, promise, people, world, choices=choices, measure=measure, few=few)


def _lines(world: str) -> tuple[tuple[str, float], ...]:
    """Lines of a picture: the values of current practice and of the best policy."""
    setting = prepare_offline(world, None, 1)
    practice = policy_value(setting.model, setting.behaviour)
    return ("current practice", practice), ("the best policy", optimal_value(setting.model))


@dataclass(frozen=True)
class Beside(Values):
    """Values beside current practice and the best policy of a world, which are worked out when they are drawn."""

    world: str = ""

    def draw(self, results: Sequence[PartResult], folder: Path, suffix: str) -> list[Path]:
        """Draw one picture."""
        return Values(self.title, self.measure, _lines(self.world)).draw(results, folder, suffix)


OURS: dict[str, Json] = {"model": "per-step"}
DP_APVI: dict[str, Json] = {**OURS, "calibration": "sound", "bonus_scale": 1e-5}
_FEW = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def _clinic() -> Experiment:
    curves = [
        _counts("APVI", "clinic", _FEW, None, **DP_APVI),
        _counts("ours, no privacy", "clinic", _FEW, None, **OURS),
    ]
    for rho in (0.05, 0.5):
        curves += [
            _counts(f"DP-APVI, rho {rho:g}", "clinic", _FEW, rho, **DP_APVI),
            _counts(f"ours, rho {rho:g}", "clinic", _FEW, rho, **OURS),
        ]
    return Experiment(
        "ours/offline-clinic",
        "A small clinic: DP-APVI as published, and ours",
        "What does privacy cost an analyst with logged episodes? Six states, three treatments, eight visits, told per "
        "step.",
        seen_clinic,
        "100 to 100,000 people, 5 seeds",
        0.1,
        tuple(curves),
        5,
        Beside("A small clinic", VALUE, world="clinic"),
    )


def _icu() -> Experiment:
    people = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
    choices: dict[str, Any] = {"few": 2}
    curves = [_counts("no privacy", "icu-sepsis", people, None, **choices)]
    curves += [_counts(f"rho {rho:g}", "icu-sepsis", people, rho, **choices) for rho in (5.0, 0.5, 0.05)]
    curves += [
        _counts(f"rho {rho:g}, no public support", "icu-sepsis", people, rho, support=False, **choices)
        for rho in (5.0, 0.5)
    ]
    return Experiment(
        "ours/icu-sepsis",
        "ICU-Sepsis: what is learned from the clinicians' own records",
        "How many patients does a private policy need before it beats the clinicians? 716 states, 25 doses, 20 steps.",
        seen_icu,
        "10^4 to 10^9 patients, 3 seeds",
        9.0,
        tuple(curves),
        3,
        Beside("ICU-Sepsis, 716 states, 25 doses, 20 steps", VALUE, world="icu-sepsis"),
        quick_seeds=1,
    )


def _theorem() -> Experiment:
    people = tuple(10.0**power for power in (2, 3, 4, 5, 6, 7, 8, 9))
    rho = 0.5
    shared: dict[str, Any] = {"measure": GAP}
    sound = {**OURS, "calibration": "sound", "bonus_scale": 1.0}
    return Experiment(
        "offline/theorem-3.3",
        "The bound of Theorem 3.3, and what is measured",
        "DP-APVI's sub-optimality is at most 4 sqrt(2) times a sum over what the best policy visits of sqrt(variance "
        "x log/(n x how often it is logged)), plus a lower-order term (H^3 + S H^2 E_rho)/(n d_min): privacy appears "
        "in the latter only.",
        seen_theorem,
        "The small clinic, 6 states, 3 treatments, 8 visits, per step, rho 0.5, 100 to 10^9 people, 5 seeds",
        0.1,
        (
            Bound("the bound, hidden constants 1", "clinic", people, rho, True),
            Bound("its main term alone", "clinic", people, rho, False),
            _counts("DP-APVI as printed", "clinic", people, rho, **OURS, calibration="paper", **shared),
            _counts("APVI as printed", "clinic", people, None, **OURS, calibration="paper", **shared),
            _counts("DP-APVI as printed, with a public table of transitions", "clinic", people, rho, **sound, **shared),
            _counts("DP-APVI, tuned", "clinic", people, rho, **DP_APVI, **shared),
            _counts("APVI, tuned", "clinic", people, None, **DP_APVI, **shared),
            _counts("ours", "clinic", people, rho, **OURS, **shared),
        ),
        5,
        Values("A small clinic, rho 0.5", GAP, log=True),
    )


def _figure(letter: str, title: str, paper: str, seen: Seen, curves: tuple[OfflineCurve, ...]) -> Experiment:
    return Experiment(
        f"offline/figure-1{letter}",
        title,
        paper,
        seen,
        "Two states, 100 actions, d = 10, H = 20, 5 to 1,000 episodes, 20 seeds",
        1.0,
        curves,
        20,
        Values("The linear process of the paper, 20 steps", GAP),
        quick_seeds=1,
    )


LENGTH = 389.0
"""The rho that the printed noise for rho 10 keeps where features have norm sqrt(7), as in the simulation: see `verdicts`."""

EXPERIMENTS = (
    _figure(
        "a",
        "PEVI, VAPVI and DP-VAPVI",
        "DP-VAPVI does slightly worse than VAPVI and comes near to it as episodes grow; it does better than PEVI.",
        seen_1a,
        (
            _printed(PEVI, None),
            _printed(VAPVI, None),
            _printed(VAPVI, 10.0),
            _printed(VAPVI, 10.0, "DP-VAPVI as printed without D/K, rho 10", remainder=0.0),
            *(_tuned(name, rho) for rho in (None, 10.0) for name in (PEVI, VAPVI, OWN)),
            linear_side(VAPVI, LENGTH, *TUNED[VAPVI, 100.0]),
        ),
    ),
    _figure(
        "b",
        "DP-VAPVI at several budgets",
        "The larger the budget, the nearer is DP-VAPVI to VAPVI.",
        seen_1b,
        (
            _printed(VAPVI, None),
            *(_printed(VAPVI, rho) for rho in (1.0, 10.0, 100.0)),
            _tuned(VAPVI),
            *(_tuned(name, rho) for rho in (1.0, 10.0, 100.0) for name in (PEVI, VAPVI, OWN)),
        ),
    ),
    _theorem(),
    _clinic(),
    _icu(),
)
