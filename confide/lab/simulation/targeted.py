"""The engine for feature targets of mixtures: groups walk at once, as arrays; their clipped vectors are summed and released.

A person's answer is the same function of an episode as on a device (`data.statistics.targets`); only its rounding to the grid is
done once for the sum of a group. Regret is exact.
"""

from __future__ import annotations

import numpy as np

from ...data.privatizers import drawn, open_aggregate
from ...data.privatizers.simulated import drawn_from
from ...data.statistics.targets import targets_of_each
from ...learning.learners.vtr_targets import TargetState
from ...learning.planning.rehearsed import walked
from ...protocol.kinds.targets import TARGETS
from .batched import curve
from .setting import Outcome, Setting
from .streams import streams

TOGETHER = 1 << 14
"""People who walk at once."""


def run(setting: Setting, root: np.random.SeedSequence) -> Outcome:
    """Run one seed: the learner plans, a group follows its plan, sums are released, the learner learns."""
    rng, learner, design, model = streams(root), setting.learner, setting.design, setting.model
    question = TARGETS.question_of(design)
    aggregate = open_aggregate(design, rng.replayable, simulated=True)
    state: TargetState = learner.begin(setting.context, rng.policy)
    ends = setting.schedule.ends
    gaps = np.empty(len(ends))
    for group, people in enumerate(np.diff(ends, prepend=0).tolist()):
        gaps[group] = (setting.optimal_value - setting.value_of(state.policy)) * people
        sizes = (min(TOGETHER, people - at) for at in range(0, people, TOGETHER))
        walks = (walked(model.transitions, model.initial, state.policy, size, rng.world) for size in sizes)
        sent = (targets_of_each(question, *each) for each in walks)
        if design.mechanism.vector:  # it matters who has which vector, not only what they add up to
            aggregate.take_sum(drawn_from(design, sent, rng.noise))
        else:
            total = sum((each.sum(axis=0) for each in sent), np.zeros(question.cells))
            for summed in drawn(design, total[None], np.array([people]), rng.noise, batch=group):
                aggregate.take_sum(summed)
        if setting.due(group):
            state = learner.learn(state, aggregate.close(learner.ask(state)))
    return Outcome(curve(ends, gaps, setting.checkpoints), setting.value_of(state.policy), state.policy)
