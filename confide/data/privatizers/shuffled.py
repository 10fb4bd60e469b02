"""The messages of a device where shufflers stand between it and the server."""

from __future__ import annotations

from typing import Any

from ...mechanisms.noise import NoiseSource
from ...privacy.guarantee import SHUFFLE
from ...protocol.design import Design
from ...protocol.releases.shuffler import Submission
from ..trajectories.trajectory import Trajectory
from .devices import register, report


def submissions(
    design: Design, question: Any, episode: Trajectory, noise: NoiseSource, batch: int
) -> tuple[Submission, ...]:
    """The submissions of a person of a group of the schedule: one report to each of their shufflers, flipped afresh."""
    return tuple(
        Submission(first, report(design, question, episode, noise, level)) for first, level in design.batches_of(batch)
    )


register(SHUFFLE, submissions)
