"""Audits a fit on real data, by its replica. None of the real rows is touched, and nothing is spent.

A replica makes the same guarantee with the same horizon, model and shares of the budget, so it draws the same noise to the last
digit; but its people are made up, and it has two states and two actions, so that an attack sees something. That the noise is
the same is checked, not assumed. Of a linear fit the features are ours, two numbers each; how many there are changes no more
than the last digits of its noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...analysis.fitting import choices
from ...analysis.fitting.adopting import JudgePlan
from ...analysis.results.fit import Fit
from ...data.trajectories.declaration import Declared
from ...errors import InvalidInput, PrivacyError
from ...mdp import Spec
from ...mdp.knowledge import Knowledge
from ...mechanisms.noise import NoiseSource
from ...privacy import Guarantee
from ...privacy.guarantee import CENTRAL
from ...protocol.trusts.budgets import ALL
from ...validation import Json
from .auditing import CONFIDENCE, Finding, Target, audit
from .fits import FEATURES, UNCENTRED, FitPlan, count_plan, fit_targets, linear_plan
from .grams import gram_targets
from .judges import judged_targets

SAMPLES = 50_000
"""Outputs of each world, by default."""
DELTA = 0.01
"""The least delta at which Gaussian noise is attacked: at a smaller one no affordable number of samples shows much."""
STATES = ACTIONS = 2
# Of the samples, of linear fits: every output is a run of its own.
LINEAR_SHARE = 0.03
# Mechanisms of linear fits differ in the last digits, as features of another dimension are rounded.
CLOSE = 1e-2


def audit_plan(
    plan: FitPlan, judge: JudgePlan | None = None, samples: int = SAMPLES, noise: NoiseSource | None = None
) -> dict[str, Json]:
    """Attack the replica of a fit; the result is for its certificate, and refused if more is proved than is certified.
    judge: what is asked of those who judge, if any do."""
    data = plan.data
    mechanisms = certified(plan, judge)
    next_told, linear = bool(data.columns.next_state), not plan.counts
    declared = mechanisms, data.knowledge, str(data.users), plan.promise, next_told, data.floor
    judges, visits = None if judge is None else judge.share, plan.described.get("visits", ALL)
    counted, groups = visits if isinstance(visits, int) else str(visits), () if judge is None else judge.groups
    fitted = AuditedFit(*declared, linear, plan.split, counted, judges, groups)
    return _audited(fitted, samples, noise)


def audit_fit(fit: Fit, samples: int = SAMPLES, noise: NoiseSource | None = None) -> dict[str, Json]:
    """Attack the replica of a saved fit, by its configuration."""
    config, privacy = fit.config, fit.config["privacy"]
    promise = Guarantee(CENTRAL, privacy["epsilon"], privacy["delta"] or 0.0, privacy["rho"])
    linear = config["learner"] in choices.LINEAR
    split = bool(next((row["split"] for row in fit.certificate.mechanisms if "split" in row), False))
    floor = config.get("propensity_floor")
    mechanisms, next_told = fit.certificate.mechanisms, bool(config["columns"]["next_state"])
    declared = mechanisms, fit.knowledge, config["users"], promise, next_told, floor
    groups = tuple((config.get("groups") or {}).get("labels", ()))
    fitted = AuditedFit(*declared, linear, split, config.get("visits", ALL), config.get("judge"), groups)
    return _audited(fitted, samples, noise)


class AuditedFit(NamedTuple):
    """What a replica needs to know of a fit: its mechanisms, and all that was declared and that changes what is drawn."""

    mechanisms: tuple[dict[str, Any], ...]
    knowledge: Knowledge
    users: str
    promise: Guarantee
    next_told: bool
    floor: float | None
    linear: bool
    split: bool
    visits: str | int
    judges: float | None = None
    groups: tuple[str, ...] = ()


def _audited(fitted: AuditedFit, samples: int, noise: NoiseSource | None) -> dict[str, Json]:
    """What an attack on the replica of a fit proves."""
    mechanisms, knowledge, users, promise, next_told, floor, linear, split, visits, judges, groups = fitted
    # Noise of linear fits does not depend on how many states and actions have features; those of vectors count as one.
    sizes = (STATES, ACTIONS) if linear else (min(STATES, knowledge.states), min(ACTIONS, knowledge.spec.actions))
    spec = Spec(*sizes, knowledge.spec.horizon, knowledge.spec.dynamics)
    targets: list[Target]
    if linear:
        declared: dict[str, Declared] = {"fixed_length": True}
        centred = any(row.get("centred") for row in mechanisms)
        # Variances are asked for beside values, of all steps but the last.
        weighted = any(row.get("questions", 0) > spec.horizon for row in mechanisms)
        small: FitPlan = linear_plan(spec, promise, split, FEATURES if centred else UNCENTRED, weighted)
        loss_of_all = [replace(target, share=LINEAR_SHARE) for target in fit_targets("fit", small, spec, **declared)]
        worst = [] if split else gram_targets("fit", small, spec, **declared)  # type: ignore[arg-type]
        targets = [*loss_of_all, *(replace(target, loss=loss_of_all[0].loss) for target in worst)]
    else:
        declared = {"fixed_length": not knowledge.ends, "next_told": next_told}
        if knowledge.rewards is not None:
            declared["rewards"] = np.indices(sizes).sum(axis=0) % 2.0
        if knowledge.initial is not None:
            declared["initial"] = np.full(sizes[0], 1 / sizes[0])
        if floor is not None:
            declared |= {"propensity": "p", "propensity_floor": floor}
        name = str(mechanisms[0]["name"]).removeprefix("discrete-")
        small = count_plan(spec, promise, name, users, visits, judges is not None, **declared)
        targets = fit_targets("fit", small, spec, **declared)
    judge = None if judges is None else JudgePlan.of(judges, promise, name, groups=groups)
    targets += [] if judge is None else judged_targets("fit", promise, name, groups)
    if not _alike(certified(small, judge), mechanisms):
        raise InvalidInput(
            "fit-without-replica",
            "This fit has no replica of two states with the same noise, so it cannot be audited. Leave out --audit.",
        )
    delta = 0.0 if promise.pure else max(promise.delta, DELTA)
    finding = audit(targets, samples, CONFIDENCE, delta, noise)
    return audit_record(finding, spec)


def certified(plan: FitPlan, judge: JudgePlan | None) -> tuple[dict[str, Any], ...]:
    """Every mechanism of a fit, those of people who judge last."""
    certificate = plan.certificate("none")
    return (certificate if judge is None else judge.certified(certificate, plan.acts, plan.promise)).mechanisms


def _alike(ours: tuple[dict[str, Any], ...], theirs: tuple[dict[str, Any], ...]) -> bool:
    """Whether the same noise is drawn: equal numbers under equal names, or close ones where features are rounded."""
    fields = (
        "name",
        "sigma",
        "scale",
        "matrix_sigma",
        "vector_sigma",
        "matrix_scale",
        "vector_scale",
        "questions",
        "split",
    )
    shown = [[(word, row[word]) for word in fields if word in row] for row in ours]
    expected = [[(word, row[word]) for word in fields if word in row] for row in theirs]
    if len(shown) != len(expected):
        return False
    for ours_row, other in zip(shown, expected, strict=True):
        for (word, mine), (name, its) in zip(ours_row, other, strict=True):
            close = abs(mine - its) <= CLOSE * abs(its) if word.startswith(("matrix_", "vector_")) else mine == its
            if word != name or not close:
                return False
    return True


def audit_record(finding: Finding, spec: Spec) -> dict[str, Json]:
    """The audit field of a certificate: what was attacked, how strongly, with how many samples."""
    if not finding.ok:
        raise PrivacyError(
            "audit-failed",
            f"An attack proves an epsilon of {finding.lower_bound:.3g} where {finding.certified_epsilon:.3g} is certified, so "
            "nothing was released. Please report this.",
        )
    attacked = (
        f"every release of this fit together, with its own noise and horizon of {spec.horizon}, about made-up people in "
        f"{spec.states} states with {spec.actions} actions; {finding.pairs} pairs of people, one of them searched for"
    )
    row = finding.as_json()
    fields = (
        "lower_bound",
        "ideal_bound",
        "certified_epsilon",
        "delta",
        "confidence",
        "samples",
        "whole_runs",
        "event",
    )
    return {"attacked": attacked, **{key: row[key] for key in fields}}
