"""Judges several policies from one release: as many as one likes, for the price of the release."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import validation
from ...errors import FormatError, InvalidInput
from ...learning.learners.apvi import Apvi, plan_of
from ...learning.planning.ope import Evidence, worth
from ...learning.planning.propensities import weighed_worth
from ...mdp import CURRENT_PRACTICE, Policy
from ...mdp.knowledge import read_table
from ...protocol.releases import CountRelease
from ..reporting import drawing, pages
from ..reporting.stated import ComparedRow, ComparisonDocument, StatedGain, StatedInterval
from ..results.fit import Fit
from ..results.folder import CONFIG
from .alarms import CONFOUNDING, silenced
from .findings import Units, first_states, in_people_units
from .judging import as_policy, check_allowed, no_evidence
from .learning import OfflineLearner, learn, make_learner
from .plan import COUNTS, RETURNS, WEIGHED
from .refit import recollection, releases_of

PRACTICE, LEARNED, UNIFORM, ALWAYS = "practice", "learned", "uniform", "always"
ASSUMES = {
    "value": "doubly robust: right if the release's visits or its values are; the interval counts noise and sampling error",
    "model": "fitted Q: what the release's own model says, taken as true; no interval, and it flatters what it chose",
    "weighed": "inverse propensities: right if the logged ones are, whatever choices depended on; nothing is assumed of states",
}
"""What each estimate assumes."""


@dataclass(frozen=True)
class Compared:
    """One policy: its value and how much more it is than that of current practice, both with `low` and `high`, in people's units.
    model: what the release's model says by itself. changed: the share of steps and states where it leaves current practice.
    weighed: its value by logged propensities, with `low` and `high`, where these were given and it is a policy of its own.
    """

    name: str
    value: StatedInterval
    gain: StatedGain
    model: float
    changed: float
    weighed: StatedInterval | None = None

    def as_json(self) -> ComparedRow:
        """The comparison's row as plain values."""
        document: ComparedRow = {
            "policy": self.name,
            "value": self.value["value"],
            "low": self.value["low"],
            "high": self.value["high"],
            "gain": self.gain,
            "model": self.model,
            "changed": self.changed,
        }
        if self.weighed is not None:
            document["weighed"] = self.weighed
        return document


@dataclass(frozen=True)
class Comparison:
    """Policies compared with current practice. confidence: with which all intervals hold together. alarms: of the fit, by which
    nothing is called better by the table alone.
    """

    rows: tuple[Compared, ...]
    confidence: float
    alarms: tuple[str, ...] = ()

    def as_json(self) -> ComparisonDocument:
        """The stable machine-readable form."""
        return {
            "confidence": self.confidence,
            "policies": [row.as_json() for row in self.rows],
            "assumes": self.assumes,
            "alarms": list(self.alarms),
        }

    @property
    def assumes(self) -> dict[str, str]:
        """What each estimate that is there assumes."""
        weighed = any(row.weighed is not None for row in self.rows)
        return {name: text for name, text in ASSUMES.items() if name != "weighed" or weighed}

    def picture(self) -> str:
        """Values with their intervals, as an SVG file."""
        return drawing.alone(self._drawn(drawing.WIDE))

    def page(self) -> str:
        """The picture in an HTML page."""
        sure = f"All intervals hold together with {100 * self.confidence:g}&nbsp;% confidence."
        body = f"<h1>Policies compared</h1><figure>{drawing.both(self._drawn)}<figcaption>{sure}</figcaption></figure>"
        return pages.page("Policies compared", body)

    def _drawn(self, width: int) -> str:
        rows = [(row.name, row.value["value"], row.value["low"], row.value["high"], None) for row in self.rows]
        return drawing.intervals(rows, "value", width)

    def _repr_html_(self) -> str:
        """The picture as HTML, which a notebook shows."""
        return f'{pages.NOTEBOOK}<div class="confide">{drawing.both(self._drawn)}</div>'


Judged: TypeAlias = "Policy | ArrayLike | str | Path | None"
"""A policy by its name, file or folder, or as a table; None is current practice."""


def evidence_of(fit: Fit) -> tuple[Evidence, NDArray[np.float64]]:
    """The evidence that policies are judged by, and the learned policy (H, S, A+1), current practice as its first action."""
    knowledge, releases = fit.knowledge, releases_of(fit)
    initial = first_states(knowledge, releases)
    learner: OfflineLearner = Apvi(knowledge)
    if fit.config.get("learner") == learner.name:
        learner = make_learner(learner.name, knowledge, dict(fit.config.get("options") or {}))
    plan, asking = plan_of(learn(learner, fit.config.get("scale"), initial, releases)), recollection(fit, releases)
    if asking is not None and plan is not None:
        plan = asking.taken(plan)
    if plan is None or plan.evidence is None:
        plan = Apvi(knowledge).judged(releases[COUNTS], None, initial, releases.get(RETURNS))
    if plan.evidence is None:
        raise no_evidence()
    return plan.evidence, plan.extended


def compare(fit: Fit, policies: Mapping[str, Judged] | None = None, confidence: float = 0.95) -> Comparison:
    """Judge policies from a fit's release, with intervals that hold together. By default current practice and what was learned.

    A policy is `practice`, `learned`, `uniform`, `always:ACTION`, a file (see `read_policy`), the folder of another fit of
    the same problem, or what `judge` takes. None but the learned one may have been chosen with a look at this release.
    """
    evidence, learned = evidence_of(fit)
    chosen = {PRACTICE: PRACTICE, LEARNED: LEARNED} if policies is None else dict(policies)
    if not chosen:
        raise InvalidInput(
            "nothing-to-compare", "There is nothing to compare. Name policies: practice, learned, or files."
        )
    tables = {name: learned if policy == LEARNED else extended_of(policy, fit) for name, policy in chosen.items()}
    weighed, floor = releases_of(fit).get(WEIGHED), fit.config.get("propensity_floor")
    comparison = judged(evidence, tables, Units.of(fit.config), confidence, weighed, floor)
    if not silenced(fit.findings):
        return comparison
    doubted = tuple(replace(row, gain={**row.gain, "sure": False}) for row in comparison.rows)
    return replace(comparison, rows=doubted, alarms=tuple(fit.findings.get("alarms") or (CONFOUNDING,)))


def judged(
    evidence: Evidence,
    tables: Mapping[str, NDArray[np.float64]],
    units: Units,
    confidence: float,
    weighed: CountRelease | None = None,
    floor: float | None = None,
) -> Comparison:
    """The comparison of policies (H, S, A+1), current practice first, by name. weighed, floor: rewards weighed by
    propensities not below it."""
    knowledge = evidence.model.knowledge
    sure = _each(validation.between("confidence", confidence, 0.5, 1 - 1e-6), tables.values(), weighed is not None)
    in_units = in_people_units(units, knowledge.spec.horizon)
    rows = []
    for name, table in tables.items():
        changed, by_weights = None if _as_now(table) else table, None
        gain = evidence.compare(table, sure)
        more: StatedGain = {**in_units(gain, difference=True), "sure": gain.sure()}
        if changed is None:
            more = {"value": 0.0, "low": 0.0, "high": 0.0, "sure": False}
        if weighed is not None and floor is not None and (table[0, : knowledge.states, 0] == 0).all():
            policy, noise = table[0, :, 1:] * knowledge.acting, weighed.noise.transitions
            by_weights = in_units(weighed_worth(weighed.counts.rewards[0], policy, weighed.users, floor, noise, sure))
        rows.append(
            Compared(
                name,
                in_units(evidence.evaluate(changed, sure)),
                more,
                units.total(knowledge.spec.horizon, worth(evidence.model, changed)),
                float((table[:, : knowledge.states, 0] < 1).mean()),
                by_weights,
            )
        )
    return Comparison(tuple(rows), confidence)


def _as_now(table: NDArray[np.float64]) -> bool:
    return bool((table[..., 0] == 1).all())


def _each(confidence: float, tables: Iterable[NDArray[np.float64]], weighed: bool) -> float:
    """The confidence of each interval with which all hold together: a value for every policy, and for all but current
    practice a gain, and a value by propensities where there are any.
    """
    many = sum(1 if _as_now(table) else 2 + weighed for table in tables)
    return 1 - (1 - confidence) / many


def extended_of(policy: Judged, fit: Fit) -> NDArray[np.float64]:
    """A policy by its name, file, folder or table, as (H, S, A+1) over all states, current practice as its first action."""
    knowledge = fit.knowledge
    spec, states = knowledge.spec, knowledge.states
    table = np.zeros((spec.horizon, spec.states, spec.actions + 1))
    table[..., 0] = 1.0
    if isinstance(policy, str | Path):
        policy = _named(str(policy), fit)
    if policy is None:
        return table
    known = policy if isinstance(policy, Policy) else as_policy(policy, knowledge)
    choices, now = known.probabilities, known.unchanged
    if choices.shape != (spec.horizon, states, spec.actions):
        raise validation.wrong_shape("policy", (spec.horizon, states, spec.actions), choices.shape)
    stays = np.zeros(choices.shape[:2], dtype=np.bool_) if now is None else now
    check_allowed(np.where(stays[..., None], 0.0, choices), knowledge)
    table[:, :states, 0] = stays
    table[:, :states, 1:] = np.where(stays[..., None], 0.0, choices)
    return table


def _named(word: str, fit: Fit) -> Policy | NDArray[np.generic] | None:
    """The policy that a name stands for; None is current practice."""
    knowledge = fit.knowledge
    if word == PRACTICE:
        return None
    if word == UNIFORM:
        may = knowledge.allowed[: knowledge.states]
        return np.asarray(may / may.sum(axis=1, keepdims=True))
    if word.startswith(f"{ALWAYS}:"):
        action = fit.actions.index(validation.choice("action", word.partition(":")[2], fit.actions))
        return np.full(knowledge.states, action)
    path = Path(word)
    if path.is_dir() and (path / CONFIG).is_file():
        return Fit.load(path).table()
    if path.suffix.lower() == ".csv":
        return read_policy(path, fit)
    if path.suffix.lower() in (".npy", ".npz"):
        return read_table(path, "policy")
    raise InvalidInput(
        "policy-unknown",
        f"A policy is {PRACTICE}, {LEARNED}, {UNIFORM}, {ALWAYS}:ACTION, a .csv or .npy file, or a folder of a fit. Got {word}.",
    )


def read_policy(path: str | Path, fit: Fit) -> Policy:
    """A policy from a CSV file: `state` and `action`, as labels or numbers, and if they differ `step` (from 0) and
    `probability`. What it does not list follows current practice, and so does what it lists as `current practice`.
    """
    knowledge = fit.knowledge
    spec = knowledge.spec
    states, actions = ({name: i for i, name in enumerate(names)} for names in (fit.states, fit.actions))
    table, now = (
        np.zeros((spec.horizon, knowledge.states, spec.actions)),
        np.zeros((spec.horizon, knowledge.states), np.bool_),
    )
    rows, number = list[Any](), 0
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            number += 1
            entries = {key.strip().lower(): (value or "").strip() for key, value in row.items() if key}
            state = states[entries["state"]]
            step = entries.get("step", "")
            where = slice(None) if not step else int(step)
            if entries["action"] == CURRENT_PRACTICE:
                now[where, state] = True
            else:
                table[where, state, actions[entries["action"]]] += float(entries.get("probability") or 1.0)
    except FileNotFoundError as error:
        raise InvalidInput("policy-file-missing", f"There is no file {path}. Check the path.") from error
    except (KeyError, ValueError, IndexError, UnicodeDecodeError, csv.Error) as error:
        at = f"Row {number:,}" if rows else "It"
        raise FormatError(
            "policy-file-columns",
            f"{path} must list a policy: columns state and action, with labels of the fit, steps from 0. {at} does not.",
        ) from error
    listed = table.sum(axis=-1)
    if ((listed > 0) & (now | (np.abs(listed - 1) > 1e-6))).any():
        raise FormatError(
            "policy-file-sums",
            f"{path} must give probabilities that sum to 1 for every step and state that it lists. It does not.",
        )
    return Policy(table, now | (listed == 0))
