"""The messages of a device: one person's episode in, what may leave the device out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import PrivacyError
from ...loading import sibling
from ...mechanisms.noise import NoiseSource, device_noise, require_secure
from ...mechanisms.randomizer import require_grid
from ...privacy.guarantee import LOCAL, SHUFFLE
from ...protocol.design import PAPER, Design
from ...protocol.releases.report import Report, clamped
from ..statistics.answers import answer
from ..trajectories.trajectory import Trajectory

Responder = Callable[[Design, Any, Trajectory, NoiseSource, int], Any]


def respond(
    design: Design,
    question: Any,
    episode: Trajectory,
    noise: NoiseSource | None = None,
    *,
    batch: int = 0,
    simulated: bool = False,
) -> Any:
    """One person's message: a report; or the episode itself, where whoever gets it is trusted with it.

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
    if design.trust in _HOMES:
        sibling(str(__package__), _HOMES[design.trust])
    responder = _RESPONDERS.get(design.trust)
    return episode if responder is None else responder(design, member, episode, source, batch)


def report(design: Design, question: Any, episode: Trajectory, noise: NoiseSource, level: int = 0) -> Report:
    """A randomised report; the numbers of an honest device stay within limits that whoever counts them knows."""
    mechanism = design.devices[level]
    require_grid(mechanism.grid)
    row, cells = answer(design.question.kind, question, episode, mechanism.grid, noise.integers)
    randomised = mechanism.randomize(cells * mechanism.grid, design.question.trials, noise)
    numbers = np.rint(randomised / mechanism.grid).astype(np.int64)
    return Report(design.digest, question.digest, clamped(design, numbers, level), row, level)


def _local(design: Design, question: Any, episode: Trajectory, noise: NoiseSource, batch: int) -> Report:
    return report(design, question, episode, noise)


_RESPONDERS: dict[str, Responder] = {LOCAL: _local}
_HOMES = {SHUFFLE: "shuffled"}
"""The module of further responders of ours, by trust; loaded when they are needed."""


def register(trust: str, responder: Responder) -> None:
    """Enter the function that makes a device's message under a trust model whose messages are reports."""
    _RESPONDERS[trust] = responder
