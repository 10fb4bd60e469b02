"""Learning again from what was released: other learners and other pessimism cost no further budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import InvalidInput
from ...learning.learners.logged_linear import LoggedLinear
from ...learning.learners.vapvi import Vapvi
from ...mdp.described import DescribedFeatures
from ...mdp.linear import BlockFeatures
from ...protocol.design import TIGHT
from ...protocol.kinds.returns import ReturnsRelease
from ...protocol.releases.release_bytes import from_bytes
from ..results.fit import Fit
from ..results.paid import settle, to_learn_from
from . import choices
from .adopting import JUDGED, Recollection
from .featured import FEATURES, FeatureRecollection, FeatureRelease, feature_result
from .findings import LearningTask, Units
from .learning import LearningResult, OfflineLearner, learning_result, make_learner
from .linear_learning import is_linear, linear_result, read_releases
from .plan import PREVIOUS, RETURNS, together_read

FREE = ("pessimism", "constant", "remainder", "kappa", "ridge", "failure")
"""Options of a linear learner that change what it makes of an answer, and not what it asks."""


def releases_of(fit: Fit) -> dict[str, Any]:
    """The releases that a fit keeps, by name."""
    if is_linear(fit.releases) or FEATURES in fit.releases:
        raise InvalidInput(
            "release-of-linear-learner",
            "This release holds a linear learner's own statistics about its own values, so no other policy can be "
            "judged or learned from it. Fit again, with apvi or about that policy.",
        )
    return together_read(
        {
            name: ReturnsRelease.from_bytes(body) if name == RETURNS else from_bytes(body)
            for name, body in fit.releases.items()
            if not name.startswith(JUDGED)
        }
    )


def recollection(fit: Fit, releases: Mapping[str, Any]) -> Recollection | None:
    """What those who judged a fit said, for plans that are learned from its release again; None without judging users."""
    if not fit.config.get("judge"):
        return None
    logged = fit.config.get("propensity_floor") is not None
    groups = (fit.config.get("groups") or {}).get("labels", ())
    return Recollection(fit.releases, releases.get(PREVIOUS), logged, fit.findings.get("alarms") or (), groups)


def refit(
    fit: Fit | str | Path,
    learner: str | OfflineLearner | None = None,
    *,
    out: str | Path | None = None,
    replacing: bool = False,
    scale: float | None = None,
    alone: bool = False,
    **options: Any,
) -> Fit:
    """The fit that another learner, or other options, make of the same release. The guarantee stays what it was.

    What those who judge said stays with the policy that they were asked about; another is not called better, and alarms stay.
    A linear learner's answers are about its own values, so with other pessimism it decides anew at the first step only.
    Of a folder that a fit did not come to make, the release that was paid for and waits for it is learned from.
    """
    scale = choices.scale(scale)
    source, old = (None, fit) if isinstance(fit, Fit) else _load(fit)
    chosen = old.config["learner"] if learner is None else learner
    units = Units.of(old.config)
    if old.config.get("features") is not None:
        name, learned, changes = _of_features(old, chosen, scale, options, units)
    elif is_linear(old.releases):
        name, learned, changes = _again(old, chosen, scale, options, units)
    else:
        made = make_learner(chosen, old.knowledge, options, _calibration(old))
        name, changes = made.name, {"options": options, "scale": scale}
        declared = old.config.get("propensity_floor") is not None, bool(old.config.get("unconfounded"))
        task = LearningTask(made, scale, old.knowledge, units, *declared)
        releases = releases_of(old)
        learned = learning_result(task, releases, alone, asking=recollection(old, releases))
    new = replace(
        old,
        policy=learned.policy,
        values=learned.values,
        findings=learned.findings,
        config={**old.config, "learner": name, **changes},
    )
    if out is not None:
        new.save(out, replace=replacing)
        if source is not None:
            settle(source)
    return new


def _of_features(
    old: Fit, chosen: object, scale: float | None, options: Mapping[str, object], units: Units
) -> tuple[str, LearningResult, dict[str, Any]]:
    """Learn again from moments of features: nothing can be chosen, so the policy is the same, and so is what was said of it."""
    if chosen != LoggedLinear.name or options or scale is not None:
        raise InvalidInput(
            "features-learner", "Described features are for learner linear, which takes no options. Name no other."
        )
    knowledge = old.knowledge
    described, ends = DescribedFeatures.from_plain(old.config["features"]), bool(old.config["ends"])
    learner = LoggedLinear(described, knowledge.spec.horizon, ends, float(knowledge.end_reward))
    floor = old.config.get("propensity_floor")
    asking = FeatureRecollection(old.releases, floor or 0.0) if old.config.get("judge") else None
    released = FeatureRelease.from_bytes(old.releases[FEATURES])
    return LoggedLinear.name, feature_result(learner, released, units, asking), {}


def _again(
    old: Fit, chosen: Any, scale: float | None, options: dict[str, Any], units: Units
) -> tuple[str, LearningResult, dict[str, Any]]:
    """Learn again from a linear learner's own answers; the first step is decided anew if anything changed."""
    name = old.config["learner"]
    if chosen != name:
        raise InvalidInput(
            "release-of-another-learner",
            f"This release holds {name}'s own statistics about its own values, which another learner would not have "
            "requested. Fit again, or refit with the same learner.",
        )
    fixed = [option for option in options if option not in FREE]
    if fixed:
        raise InvalidInput(
            "refit-changes-question",
            f"{fixed[0]!r} would change which statistics are computed from the data, which a refit cannot. Fit again, "
            "or leave it out.",
        )
    options_before, scale_before = old.config["options"], old.config["scale"]
    features = _features(old)
    learner: Any = make_learner(name, old.knowledge, {**options_before, "features": features}, _calibration(old))
    horizon = old.knowledge.spec.horizon
    releases = read_releases(learner, horizon, old.releases)
    anew = {**old.config.get("first_step", {}), **options, **({} if scale is None else {"scale": scale})}
    first: Vapvi | None = None
    if anew:
        changed = {key: value for key, value in anew.items() if key != "scale"}
        changed_options = {**options_before, **changed, "features": features}
        made: Any = make_learner(name, old.knowledge, changed_options, _calibration(old))
        first = replace(made, scale=anew.get("scale", scale_before))
    asked, told = replace(learner, scale=scale_before), bool(old.config.get("unconfounded"))
    learned = linear_result(asked, horizon, releases, units, first, told)
    return name, learned, {"first_step": anew} if anew else {}


def _calibration(old: Fit) -> str:
    """The calibration under which the release was made: a refit asks nothing, so it stays."""
    return str(old.config.get("calibration", TIGHT))


def _features(old: Fit) -> Any:
    vectors = old.config.get("vectors")
    if vectors is None:
        return old.features
    clip = bool(old.config["clip"])
    return BlockFeatures(
        int(old.config["actions"]), len(vectors["columns"]), float(vectors["norm"]), bool(vectors["intercept"]), clip
    )


def _load(folder: str | Path) -> tuple[Path, Fit]:
    """The folder of a fit, or of the release that waits for one, and the fit that is there."""
    source = to_learn_from(folder)
    return source, Fit.load(source)
