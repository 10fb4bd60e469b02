"""The messages of a device: one person's episode in, what may leave the device out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import PrivacyError
from ...mechanisms.noise import NoiseSource, device_noise, require_secure
from ...mechanisms.randomizer import require_grid
from ...protocol.design import PAPER, Design
from ...protocol.kinds.question import Member
from ...protocol.releases.report import Report, clamped
from ...protocol.trusts.trust import find
from ..statistics.answers import answer
from ..trajectories.observed import ObservedEpisodes
from ..trajectories.trajectory import Trajectory


def respond(
    design: Design,
    question: Member | None,
    episode: Trajectory | ObservedEpisodes,
    noise: NoiseSource | None = None,
    *,
    batch: int = 0,
    simulated: bool = False,
) -> Any:
    """One person's message: a report; or the episode itself, where its recipient is trusted with it.

    question: a member of the family that the design prices, or None for its only one. batch: the person's, where
    shufflers mix. Replayable noise is refused unless the person is simulated, and so is a paper's noise that hides nothing.
    """
    source = device_noise(noise)
    if not simulated:
        require_secure(source, "a person's report")
        if design.calibration == PAPER and design.requested.private and not design.guarantee.private:
            raise PrivacyError(
                "paper-noise-hides-nothing",
                f"{design.paper}'s {design.mechanism.name} noise for {design.requested} hides nothing. Use sound or tight.",
            )
    member = design.question if question is None else design.question.member(question)
    trust = find(design.trust)
    if trust.episodes:
        return episode
    return trust.addressed(design, batch, lambda level: report(design, member, episode, source, level))


def report(
    design: Design, question: Member, episode: Trajectory | ObservedEpisodes, noise: NoiseSource, level: int = 0
) -> Report:
    """A randomised report; the numbers of an honest device stay within limits that the aggregate knows."""
    grid, width = design.devices[level].grid, design.question.width
    require_grid(grid)
    row, cells = answer(design.question.kind, question, episode, grid, noise.integers)
    mechanism = design.device_of(row, level)
    size = mechanism.categories or width  # of what this row is about
    exact = np.asarray(cells[:size] * grid, dtype=np.float64)
    randomised = mechanism.randomize(exact, design.question.trials[:size], noise)
    numbers = np.zeros(width, dtype=np.int64)
    numbers[:size] = np.rint(randomised / grid)
    return Report(design.digest, question.digest, clamped(design, numbers, level), row, level)
