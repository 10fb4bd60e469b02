"""What a stated value rests on: the assumption about states, how episodes ended, and which checks were made.

None of it concerns privacy: guarantees hold whatever states leave out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...learning.planning.logged import LoggedModel
from ...learning.planning.ope import Evidence, misfit
from ...mdp.knowledge import Knowledge
from ...protocol.kinds.counts import DROPPED, TRANSITIONS
from ...protocol.releases import CountRelease
from ...protocol.releases.release import VisitCounts
from ..reporting.numbers import written
from ..reporting.stated import CheckMade, EndedEarly, Findings

if TYPE_CHECKING:
    pass

STATES_TELL = (
    "values hold if the recorded state tells all that matters for what follows, and for what practice did; the guarantee holds "
    "without that"
)
"""The assumption of every value that is computed from a table of states."""

CONFIDENCE, DEVIATIONS = 0.95, 1.96
"""Of the interval of how many episodes ended."""

PRACTICE = "practice"
"""The name of the check of the table against people's returns."""


def resting_on(release: CountRelease, evidence: Evidence, policy: NDArray[np.float64]) -> Findings:
    """`assumes`, `ended` and `checks`: the assumptions in sentences, how many episodes ended early, and what was checked."""
    knowledge = evidence.model.knowledge
    ended = ended_early(release, evidence.model)
    taken = [] if ended is None else [ended_said(ended, knowledge, release.lost is not None)]
    if release.lost is not None:
        taken.append(lost_said(release.lost, knowledge, release.users))
    return {"assumes": [STATES_TELL, *taken], "ended": ended, "checks": checks(evidence, policy)}


def ended_early(release: CountRelease, model: LoggedModel) -> EndedEarly | None:
    """About how many episodes came to their end, with an interval for the noise; None where none can, or where it was not asked.

    `before`: the step before whose transition they ended, the horizon where moves of the last step are not distinguished. The count
    is a sum of released cells, so it costs nothing; cells under a budget are divided by the share that it lets through.
    """
    knowledge = model.knowledge
    spec, end = knowledge.spec, knowledge.end
    if end is None or spec.horizon == 1 or TRANSITIONS not in release.question.parts:
        return None
    tables = release.counts.transitions[..., end]  # (L, S, A)
    early = len(tables) - 1 if spec.layers > 1 and len(tables) == spec.horizon else len(tables)
    possible = np.asarray(knowledge.support[..., end] & knowledge.acting)
    each = np.where(possible, 1 / model.counted, 0.0)
    deviation = math.sqrt(early * float((each**2).sum()) * release.noise.transitions)
    count = float((tables[:early] * each).sum())
    low, value, high = (
        min(max(bound, 0.0), float(release.users))
        for bound in (count - DEVIATIONS * deviation, count, count + DEVIATIONS * deviation)
    )
    strictly = spec.layers > 1 or release.question.last == DROPPED
    return {"value": value, "low": low, "high": high, "confidence": CONFIDENCE, "before_last": strictly}


def lost_said(lost: VisitCounts, knowledge: Knowledge, users: int) -> str:
    """About how many people were lost to follow-up, and what that was taken for, in a sentence."""
    deviation = math.sqrt(float(knowledge.acting.sum()) * lost.variance)
    count = float(lost.counts.sum())
    bounds = (count, count - DEVIATIONS * deviation, count + DEVIATIONS * deviation)
    said, low, high = (written(round(min(max(bound, 0.0), float(users)))) for bound in bounds)
    return (
        f"about {said} users ({low} to {high}, by the noise) were lost to follow-up; whether a user is lost is taken to depend on "
        "nothing that matters but the last recorded state and action"
    )


def ended_said(ended: EndedEarly, knowledge: Knowledge, loses: bool = False) -> str:
    """How many episodes ended, and what that was taken for, in a sentence. loses: whether those who are lost are distinguished."""
    kept = "unless it is marked as lost" if loses else "and not to be lost"
    when = "before their last step" if ended["before_last"] else "by their last step"
    count, low, high = (written(round(end)) for end in (ended["value"], ended["low"], ended["high"]))
    return (
        f"about {count} episodes ({low} to {high}, by the noise) came to their end {when}; an episode that stops is taken to have "
        f"ended, with nothing paid afterwards, {kept}"
    )


def checks(evidence: Evidence, policy: NDArray[np.float64]) -> list[CheckMade]:
    """The checks that were made of the assumption: `name`, `passed`, and what that means (`said`)."""
    wrong = misfit(evidence, policy)
    if wrong is None:
        return []
    said = "the returns that the table predicts agree with those that were observed"
    failed = "the returns that the table predicts differ from those observed by more than sampling error: the interval was widened"
    return [{"name": PRACTICE, "passed": wrong == 0.0, "said": said if wrong == 0.0 else failed}]
