"""People who come late: they followed an earlier policy, and are weighed by the visits that were expected of them then.

Only learners that weigh people (`planning.weighing`) need to know. Weights are public and fixed before the users they weigh come,
so they bias nothing; the right ones only waste less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...protocol.releases.release import Array, CountRelease
from .learner import CountLearner, State

if TYPE_CHECKING:  # a collector loads this, and nothing that compiles
    from ..planning.weighing import WeightedCounts


def expected_visits(state: State) -> Array | None:
    """(L, S, A) visits expected of one person who follows the state's policy; None where people are not weighed."""
    weighted = getattr(state.memory, "weighted", None)
    return None if weighted is None else weighted.expected.copy()


def learn_late(learner: CountLearner, state: State, release: CountRelease, expected: Array) -> State:
    """The state after people who followed an earlier policy, of whom this many visits were expected, are in the release.

    What they reported is weighed and remembered; the next user follows the state's policy as before.
    """
    now = expected_visits(state)
    if now is None:
        return state
    after = learner.learn(_remembering(state, state.memory.weighted._replace(expected=expected.copy())), release)
    weighted = after.memory.weighted._replace(expected=now)
    return replace(_remembering(state, weighted), users=after.users)


def _remembering(state: State, weighted: WeightedCounts) -> State:
    """The same state with other weighted counts in its memory."""
    return replace(state, memory=state.memory._replace(weighted=weighted))
