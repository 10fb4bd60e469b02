"""No privacy: every user trusts the server, and counts are exact. What private learners are compared with."""

from __future__ import annotations

from collections.abc import Mapping

from ...mechanisms.exact import ExactCounter
from ...privacy import Act
from ...privacy.guarantee import NONE
from ..design import Design, Request
from ..kinds import counts
from ..kinds.kind import DesignMaker
from .joint import CountedTrust
from .trust import register


def design_open(request: Request) -> Design:
    """The design without privacy: exact counts."""
    counter = ExactCounter(request.schedule.releases, 1 / request.question.resolution)
    return request.design(request.question, Act(counter, request.question.price()), calibration="none")


class NoTrust(CountedTrust):
    """A curator counts, exactly."""

    name = NONE

    def designers(self) -> Mapping[str, DesignMaker]:
        """Counts, exactly."""
        return {counts.KIND: design_open}

    def assumptions(self, design: Design) -> tuple[str, ...]:
        """None: nothing is guaranteed."""
        return ()


register(NoTrust())
