"""What may be public comes out of this room: reports, books of their sums, releases, and their bytes."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .books import Book, ReportBook, open_book
    from .release import CountRelease, Counts, Estimates, Radius
    from .report import Report
    from .shuffler import ShuffledSums, Shuffler, Submission
    from .sums import Sum

__all__ = [
    "Book",
    "CountRelease",
    "Counts",
    "Estimates",
    "Radius",
    "Report",
    "ReportBook",
    "ShuffledSums",
    "Shuffler",
    "Submission",
    "Sum",
    "open_book",
]

_HOMES = {
    "Book": "books",
    "CountRelease": "release",
    "Counts": "release",
    "Estimates": "release",
    "Radius": "release",
    "Report": "report",
    "ReportBook": "books",
    "ShuffledSums": "shuffler",
    "Shuffler": "shuffler",
    "Submission": "shuffler",
    "Sum": "sums",
    "open_book": "books",
}

__getattr__ = on_first_use(__name__, _HOMES)
