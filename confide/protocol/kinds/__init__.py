"""Questions about an episode come out of this room: with their shape, their bytes and their price, a sensitivity.

A price is a sensitivity, proved in a docstring and brute-forced in the tests. Nothing here is anybody's data, so both
sides of the wall compute the same price from the same question.
"""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .counts import CountQuestion
    from .question import Question, read, register
    from .steps import StepQuestion

__all__ = ["CountQuestion", "Question", "StepQuestion", "read", "register"]

_HOMES = {
    "CountQuestion": "counts",
    "Question": "question",
    "StepQuestion": "steps",
    "read": "question",
    "register": "question",
}

__getattr__ = on_first_use(__name__, _HOMES)
