"""What may be public: reports, aggregates of their sums, releases, and their bytes."""

from typing import TYPE_CHECKING

from ...loading import on_first_use

if TYPE_CHECKING:
    from .aggregates import Aggregate, ReportAggregate, open_aggregate
    from .release import CountRelease, Counts, Estimates, Radius
    from .report import Report
    from .shuffler import ShuffledSums, Shuffler, Submission
    from .sums import Sum

__all__ = [
    "Aggregate",
    "CountRelease",
    "Counts",
    "Estimates",
    "Radius",
    "Report",
    "ReportAggregate",
    "ShuffledSums",
    "Shuffler",
    "Submission",
    "Sum",
    "open_aggregate",
]

_HOMES = {
    "Aggregate": "aggregates",
    "CountRelease": "release",
    "Counts": "release",
    "Estimates": "release",
    "Radius": "release",
    "Report": "report",
    "ReportAggregate": "aggregates",
    "ShuffledSums": "shuffler",
    "Shuffler": "shuffler",
    "Submission": "shuffler",
    "Sum": "sums",
    "open_aggregate": "aggregates",
}

__getattr__ = on_first_use(__name__, _HOMES)
