"""The messages of a device where shufflers stand between it and the server."""

from __future__ import annotations

from typing import Any

from ..designs import Design
from ..mechanisms.noise import NoiseSource
from ..privacy.guarantee import SHUFFLE
from ..releases.shuffler import Submission
from ..trajectories.trajectory import Trajectory
from .devices import register, report


def submissions(
    design: Design, question: Any, episode: Trajectory, noise: NoiseSource, batch: int
) -> tuple[Submission, ...]:
    """The submissions of a person of base batch `batch`: one report to each of their shufflers, flipped afresh."""
    tree = design.mixing is not None and design.mixing.tree
    levels = [level for level in range(len(design.devices)) if not tree or batch & (1 << level) == 0]
    return tuple(
        Submission(batch - batch % (1 << level), report(design, question, episode, noise, level)) for level in levels
    )


register(SHUFFLE, submissions)
