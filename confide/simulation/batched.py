"""The batched engine: whole groups of people between two releases, drawn at once. Exact for the schedule it runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .answers import answers
from .setting import Outcome, Setting
from .streams import streams


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """One seed: the learner plans, a group follows the plan, the wall answers, the learner learns."""
    from . import shuffle_loop

    if shuffle_loop.supports(setting):
        return shuffle_loop.run(setting, root)
    luck = streams(root)
    model, learner = setting.model, setting.learner
    answer = answers(model, setting.question, setting.privatizer, setting.radius_at, setting.release_failure, luck)
    state = setting.begin(luck.policy)
    ends = setting.schedule.ends
    gaps = np.empty(len(ends))

    for group, people in enumerate(np.diff(ends, prepend=0)):
        gaps[group] = (setting.optimal_value - setting.value_of(state.policy)) * people
        state = learner.learn(state, answer(state.policy, int(people)))
    return Outcome(curve(ends, gaps, setting.checkpoints), setting.value_of(state.policy), state.policy.copy())


def curve(ends: NDArray[np.int64], gaps: NDArray[np.float64], checkpoints: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cumulative regret at the checkpoints; inside a group it grows in a straight line, so this is exact."""
    total = np.concatenate([[0.0], np.cumsum(gaps)])
    found: NDArray[np.float64] = np.interp(checkpoints, np.concatenate([[0], ends]), total)
    return found
