"""The cost of privacy: under the same guarantee, the published algorithms made sound beside ours, for every algorithm.

A learner with a bonus has the scale of it (LDP-UCRL-VTR: the constant c; DP-VAPVI: its constant and lambda) that did best on seeds
other than those reported, among the same values. `TUNED` holds the choices for the pairs that no other experiment has. Each side
has its own true guarantee, which the table shows: trees of Laplace noise keep pure epsilon, where ours has a delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ...privacy import Central, Guarantee, Joint, Local, Shuffle
from ...protocol.papers import POOLED
from ...validation import Json
from . import offline, online, vtr
from .curve import Curve
from .experiment import Experiment, TableRow
from .facts import Facts
from .part import ExperimentPart, PartResult
from .view import Ratios, pairs_of, ratio

GRID = (0.001, 0.01, 0.1, 1.0, 10.0)
"""Every value that was tried, on seeds of another root (500): three, and ten for LDP-PSRL; planning after every person."""

TUNED: dict[str, tuple[float | None, float | None]] = {
    f"PRIVATE-UCB-PO, joint, {POOLED}": (0.001, None),
    f"PRIVATE-UCB-PO, local, epsilon 10, {POOLED}": (0.001, None),
    f"PUCB, joint, {POOLED}": (0.001, None),
    "LDP-PSRL, epsilon 2": (None, None),
    "SHUFFLED-OBI, in disjoint batches": (0.1, None),
}
"""The scale of either side; None where there is nothing to scale."""


GROWING = {"schedule": "growth:1.01", "model": "stationary"}
"""Of sound sides that would plan after every one of 10^6 people: less often is faster, and less noise in a tree. Counts are
pooled over steps, as ours are."""


def pair(curve: Curve, mechanism: str, sound: Mapping[str, Json] = MappingProxyType({})) -> list[Curve]:
    """The curve sound, with this mechanism and choices `sound` of its own, and then tight."""
    name, privacy = curve.label, curve.privacy
    return [
        replace(
            curve,
            label=f"{name}: {kind}",
            privacy=replace(privacy, delta=0.0) if chosen == "tree-laplace" else privacy,
            choices={
                "calibration": kind,
                "mechanism": chosen,
                **({} if scale is None else {"bonus_scale": scale}),
                **(sound if kind == "sound" else {}),
                **curve.choices,
            },
        )
        for kind, scale, chosen in zip(("sound", "tight"), TUNED[name], (mechanism, "auto"), strict=True)
    ]


def own_pairs() -> list[Curve]:
    """The curves of pairs that no other experiment has."""
    joint = Joint(1.0, 1e-6)
    small: dict[str, Json] = {"horizon": 2, "schedule": "growth:1.01"}

    def river(name: str, learner: str, promise: Guarantee, **choices: Json) -> Curve:
        return Curve(name, learner, "riverswim/6", promise, 1e6, {**choices, "horizon": 20})

    return [
        *pair(river(f"PRIVATE-UCB-PO, joint, {POOLED}", "po", joint), "tree-laplace", GROWING),
        *pair(river(f"PRIVATE-UCB-PO, local, epsilon 10, {POOLED}", "po", Local(10.0)), "laplace", GROWING),
        *pair(river(f"PUCB, joint, {POOLED}", "pucb", joint), "tree-laplace", GROWING),
        *pair(river("SHUFFLED-OBI, in disjoint batches", "obi", Shuffle(1.0, 1e-6), batch=2000, honest=1.0), "auto"),
        *pair(Curve("LDP-PSRL, epsilon 2", "psrl", "random/2x2", Local(2.0), 1e8, small), "laplace"),
    ]


def _others() -> list[ExperimentPart]:
    """The curves of pairs of other experiments, under the names of their algorithms."""
    parts_found: list[ExperimentPart] = []
    names = {
        "ours/joint-riverswim": "PRIVATE-UCB-VI, ",
        "ours/local-riverswim": "PRIVATE-UCB-VI, ",
        "ours/local-random-0.2": "LDP-OBI, epsilon 0.2, ",
        "ours/local-random-2": "LDP-OBI, epsilon 2, ",
        "ours/local-random-20": "LDP-OBI, epsilon 20, ",
        "ldp-ucrl-vtr/figure-2-3": "LDP-UCRL-VTR, ",
    }
    for experiment in (*online.EXPERIMENTS, *vtr.EXPERIMENTS):
        if experiment.address not in names:
            continue
        view: Any = experiment.view
        parts = experiment.parts
        for sound, tight in view.pairs:
            own = parts[sound].label.replace(": sound", "").replace("sound, ", "")
            name = names[experiment.address] + own
            for index, kind in ((sound, "sound"), (tight, "tight")):
                part = parts[index]
                parts_found.append(replace(part, label=f"{name}: {kind}", seeds=experiment.seeds))
    return parts_found + _logged()


def _logged() -> list[ExperimentPart]:
    """The curves of pairs that learn from logged episodes: the gap to the best policy."""
    rho = 0.5
    printed, ours = offline.DP_APVI, offline.OURS
    linear = offline.linear_pair(10.0)
    return [
        *(
            offline.OfflineCurve(
                f"DP-APVI, rho 0.5: {kind}", Central(rho=rho), (1000.0,), "clinic", choices=own, measure=offline.GAP
            )
            for kind, own in (("sound", printed), ("tight", ours))
        ),
        *(
            replace(curve, label=f"DP-VAPVI, rho 10: {kind}")
            for curve, kind in zip(linear, ("sound", "tight"), strict=True)
        ),
    ]


FEW_SEEDS = 5
"""With fewer, an interval over seeds says nothing."""

PLANNER = "our planner (`ucbvi`, `obi`, `pucb`)"
OURS = {
    **dict.fromkeys(("PRIVATE-UCB-VI", "LDP-OBI", "SHUFFLED-OBI", "PUCB"), PLANNER),
    "PRIVATE-UCB-PO": "`po`",
    "LDP-PSRL": "`psrl`",
    "LDP-UCRL-VTR": "`ucrl-vtr`",
    "DP-APVI": "`apvi`",
    "DP-VAPVI": "`pevi`",
}
"""What stands on our side, by the published algorithm: in our form the learners that count are one planner."""


def _published(sound: PartResult) -> str:
    """The published algorithm of a pair."""
    return sound.label.partition(",")[0]


def _grouped(results: Sequence[PartResult]) -> dict[str, list[tuple[PartResult, PartResult]]]:
    """Pairs of sound and tight, by what stands on our side."""
    groups: dict[str, list[tuple[PartResult, PartResult]]] = {name: [] for name in OURS.values()}
    for sound, tight in pairs_of(results):
        groups[OURS[_published(sound)]].append((sound, tight))
    return {name: pairs for name, pairs in groups.items() if pairs}


def headline(results: Sequence[PartResult]) -> list[TableRow]:
    """One row for each learner of ours: against whom, how often, the geometric mean of its ratios and their range."""
    rows: list[TableRow] = [
        ("ours", "against, made sound", "comparisons", "ours / sound", "least to most", "surely behind")
    ]
    for name, pairs in _grouped(results).items():
        ratios = [ratio(tight, sound) for sound, tight in pairs]
        values = [each.value for each in ratios]
        mean = math.exp(sum(map(math.log, values)) / len(values))
        against = ", ".join(dict.fromkeys(_published(sound) for sound, _ in pairs))
        span = f"{min(values):.2g} to {max(values):.2g}" if len(values) > 1 else ""
        rows.append((name, against, str(len(pairs)), f"{mean:.2g}", span, str(sum(each.above_one for each in ratios))))
    return rows


@dataclass(frozen=True)
class Costs(Ratios):
    """Ratios, in groups by what stands on our side."""

    def table(self, results: Sequence[PartResult]) -> list[TableRow]:
        """Both sides of each pair; our side is named once."""
        heads, *_ = super().table(results)
        rows: list[TableRow] = [("ours", "against", *heads[1:])]
        for name, pairs in _grouped(results).items():
            pair_rows = super().table([result for pair in pairs for result in pair])[1:]
            rows += [(name if index == 0 else "", *row) for index, row in enumerate(pair_rows)]
        return rows


def _seen(facts: Facts) -> str:
    pairs = [(sound.label.removesuffix(": sound"), ratio(tight, sound)) for sound, tight in pairs_of(facts.results)]
    behind = [name for name, each in pairs if each.above_one]
    unsure = [name for name, each in pairs if not (each.above_one or each.below_one)]
    values = [each.value for _, each in pairs]
    least = min(pairs, key=lambda pair: pair[1].value)
    sentences = []
    if min(len(result.rows) for result in facts.results) < FEW_SEEDS:
        less = sum(value < 1 for value in values)
        sentences.append(
            f"Of {len(pairs)} rows ours loses less in {less}; none of it is sure, with so few seeds and people."
        )
    else:
        more = f"Ours surely loses more in {len(behind)} of {len(pairs)} rows ({', '.join(behind)})" if behind else ""
        less = sum(each.below_one for _, each in pairs)
        sentences.append(
            f"{more}, and less in {less}"
            if behind
            else f"Ours surely loses less in {less} of {len(pairs)} rows, and more in none"
        )
        sentences[0] += f"; in {len(unsure)} seeds do not tell ({'; '.join(unsure)})." if unsure else "."
    sentences.append(
        f"In {sum(value < 0.1 for value in values)} it is less than a tenth; least, {least[1][0]:.2g}, in {least[0]}."
    )
    sentences.append(
        "`ucbvi`, `obi` and `pucb` are one planner in our form, so that rows of PRIVATE-UCB-VI, LDP-OBI, SHUFFLED-OBI "
        "and PUCB have the same learner on our side, under different guarantees. Each side's own true guarantee stands in "
        "its row: published noise that is larger than its claim needs keeps more than was requested."
    )
    return " ".join(sentences)


EXPERIMENTS = (
    Experiment(
        "ours/cost-of-privacy",
        "The cost of privacy",
        "What does each published algorithm lose under the same guarantee, and what do we? Sound is the algorithm with the "
        "noise that its claim really needs; tight is ours.",
        _seen,
        "Each pair at the scale of its own experiment",
        15.0,
        (*own_pairs(), *_others()),
        10,
        Costs("Loss under the same guarantee: ours over the published algorithm made sound"),
        quick_seeds=1,
        headline=headline,
    ),
)
