"""Contracts in a row: each ends, and its successor begins with what all releases before taught, for users who are new."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...data.privatizers import open_aggregate
from ...errors import InvalidInput
from ...learning.learners import state_bytes
from ...learning.learners.earlier import Earlier, together
from ...learning.learners.learner import TableState
from .batched import group_drawing, supports
from .setting import Setting
from .streams import root_of, streams


class ContractValues(NamedTuple):
    """Of one contract: the value of its first policy, of its last one, the least in between, and the mean over its users."""

    first: float
    last: float
    least: float
    mean: float


def run_contracts(setting: Setting, contracts: int, index: int, warm: bool = True) -> list[ContractValues]:
    """One seed of contracts in a row, each by the setting's design, with users of its own.

    warm: whether a successor begins with what the releases before it taught.
    """
    learner = setting.tabular
    if learner is None or not supports(setting) or setting.context.users != setting.schedule.users:
        raise InvalidInput(
            "contracts-need-groups",
            "Contracts in a row are simulated for learners from counts, in worlds that are known.",
        )
    earlier: Earlier | None = None
    found = []
    for number, root in enumerate(root_of(setting.choices.seed, index).spawn(contracts)):
        rng = streams(root)
        draw_sums = group_drawing(setting, rng.world, rng.noise)
        aggregate = open_aggregate(setting.design, rng.replayable, simulated=True)
        state: TableState = setting.begin(rng.policy)
        begun = learner.begin(setting.context, rng.policy)
        if earlier is not None:
            state = begun = earlier.begin(learner, setting.context, rng.policy)
        values, people = [], np.diff(setting.schedule.ends, prepend=0)
        for group, many in enumerate(people):
            values.append(setting.value_of_all(state.policies))
            question = setting.design.question.member_for(learner.ask(begun))
            for total in draw_sums(question, state.policies, int(many), group):
                aggregate.take_sum(total)
            release = aggregate.close(question)
            state = begun = learner.learn(begun, together(earlier, release))
        last = setting.value_of_all(state.policies)
        mean = float(np.average(values, weights=people))
        found.append(ContractValues(values[0], last, min(values[number > 0 :] or values), mean))
        if warm:
            earlier = Earlier(together(earlier, release), state_bytes.to_bytes(begun))
    return found
