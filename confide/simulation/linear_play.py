"""The protocol of linear mixtures in plain Python, with real questions, devices, bytes and releases: the engine to read.

The compiled loop is checked by it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..privatizers.linear import MixtureCurator, MixtureDevice
from ..releases.linear import MixtureQuestion, MixtureRadius, MixtureRelease
from ..statistics.linear import gram_cells
from ..trajectories import Trajectory
from .linear import MixtureSetting
from .play import walk
from .setting import Outcome
from .streams import Streams, streams

EXACT = 2.0**-40
"""The grid without privacy: fine enough to be exact for all that matters."""


def play(setting: MixtureSetting, root: np.random.SeedSequence) -> Outcome:
    """The protocol: the server asks, people live, their devices or a curator answer, the server learns."""
    luck = streams(root)
    answer = _wall(setting, luck)
    learner = setting.learner
    state = learner.begin(setting.context)  # the server
    gaps: list[float] = []
    for people in np.diff(setting.schedule.ends, prepend=0):
        question = MixtureQuestion.from_bytes(learner.ask(state).to_bytes(), setting.context.form)
        batch = [walk(setting.environment, state.policy, luck.world) for _ in range(people)]  # people
        release = answer(question, batch)  # their devices, or a curator
        gaps += [setting.optimal_value - setting.value_of(state.policy)] * len(batch)  # us, who watch from outside
        state = learner.learn(state, release)  # the server
    return Outcome(np.cumsum(gaps)[setting.checkpoints - 1], setting.value_of(state.policy), state.policy.copy())


def _wall(setting: MixtureSetting, luck: Streams) -> Callable[[MixtureQuestion, list[Trajectory]], MixtureRelease]:
    """The part of `play` that sees episodes."""
    wall, failure, form = setting.privatizer, setting.release_failure, setting.context.form
    if isinstance(wall, MixtureDevice):
        summed = wall.empty_sum()

        def from_devices(question: MixtureQuestion, batch: list[Trajectory]) -> MixtureRelease:
            for trajectory in batch:
                summed.add(question, wall.report(question, trajectory, luck.replayable, simulated=True))
            return wall.release(summed, failure)

        return from_devices
    if isinstance(wall, MixtureCurator):
        progress = wall.begin()

        def from_curator(question: MixtureQuestion, batch: list[Trajectory]) -> MixtureRelease:
            nonlocal progress
            progress, release = wall.answer(progress, question, batch, failure, luck.replayable, simulated=True)
            return release

        return from_curator
    cells, users = np.zeros(form.cells), 0

    def openly(question: MixtureQuestion, batch: list[Trajectory]) -> MixtureRelease:
        nonlocal users
        for trajectory in batch:
            cells[:] += gram_cells(question, trajectory, EXACT) * EXACT
        users += len(batch)
        gram, vector = form.unpack(cells)
        return MixtureRelease(form, users, gram, vector, MixtureRadius(0.0, 0.0), 0.0, setting.guarantee)

    return openly
