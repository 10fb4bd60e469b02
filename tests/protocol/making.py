"""A design in one line, for the tests of this room and of those that use designs."""

from __future__ import annotations

from typing import Any

from confide.privacy import Guarantee, Schedule
from confide.protocol.design import Design, Request, make
from confide.protocol.trusts.mixing import Mixing


def design(
    question: Any,
    promise: Guarantee,
    schedule: Schedule,
    calibration: str = "tight",
    mechanism: str = "auto",
    paper: str = "",
    mixing: Mixing | None = None,
    failure: float = 0.1,
    **rest: Any,
) -> Design:
    """`make`, with the words of a request in their order."""
    return make(Request(question, promise, schedule, calibration, mechanism, paper, mixing, failure, **rest))
