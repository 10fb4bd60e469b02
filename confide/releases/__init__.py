"""What crosses the wall comes out of this room: reports, books of their sums, and releases, and their bytes."""

from .books import Book, ReportBook, open_book
from .release import CountRelease, Counts, Radius, unpack
from .report import Report
from .shuffler import ShuffledSums, Shuffler, Submission
from .sums import Sum

__all__ = [
    "Book",
    "CountRelease",
    "Counts",
    "Radius",
    "Report",
    "ReportBook",
    "ShuffledSums",
    "Shuffler",
    "Submission",
    "Sum",
    "open_book",
    "unpack",
]
