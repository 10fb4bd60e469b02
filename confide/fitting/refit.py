"""Learning again from what was released: other learners and other pessimism cost no further budget."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..releases import CountRelease
from ..releases.release_bytes import from_bytes
from ..results.fit import Fit
from .learning import OfflineLearner, lesson, make_learner


def releases_of(fit: Fit) -> dict[str, CountRelease]:
    """The releases that a fit keeps."""
    if any(name.startswith("gram-") for name in fit.releases):
        raise InvalidInput(
            "A linear learner's answers depend on its own questions, so nothing else can be learned from them. Fit again."
        )
    return {name: from_bytes(body) for name, body in fit.releases.items()}


def refit(
    fit: Fit | str | Path,
    learner: str | OfflineLearner | None = None,
    *,
    out: str | Path | None = None,
    replacing: bool = False,
    scale: float | None = None,
    **options: Any,
) -> Fit:
    """The fit that another learner, or other options, make of the same release. The promise stays what it was."""
    started = time.perf_counter()
    old = fit if isinstance(fit, Fit) else Fit.load(fit)
    chosen = old.config["learner"] if learner is None else learner
    made = make_learner(chosen, old.knowledge, options)
    low, high = old.config["reward_range"]
    learned = lesson(made, scale, old.knowledge, releases_of(old), (float(low), float(high)))
    new = replace(
        old,
        policy=learned.policy,
        values=learned.values,
        findings=learned.findings,
        config={**old.config, "learner": made.name, "options": options, "scale": scale},
        seconds=time.perf_counter() - started,
    )
    if out is not None:
        new.save(out, replace=replacing)
    return new
