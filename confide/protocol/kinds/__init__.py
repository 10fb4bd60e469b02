"""Kinds of question, one file each: what is asked, its price, its bytes, and how sums of answers are read into a release.

A price is a sensitivity, proved in a docstring and brute-forced in the tests. Nothing here is any user's data, so both
sides of the boundary compute the same price from the same question. `kind` has the table.
"""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .counts import CountQuestion
    from .kind import Kind, find, read, register
    from .question import Question
    from .step import StepQuestion

__all__ = ["CountQuestion", "Kind", "Question", "StepQuestion", "find", "read", "register"]

_HOMES = {
    "CountQuestion": "counts",
    "Kind": "kind",
    "Question": "question",
    "StepQuestion": "step",
    "find": "kind",
    "read": "kind",
    "register": "kind",
}

__getattr__ = on_first_use(__name__, _HOMES)
