"""What crosses the wall comes out of this room: questions, reports and releases, and their bytes."""

from .question import CountQuestion
from .release import CountRelease, Counts, Radius, unpack
from .report import Report, ReportSum

__all__ = ["CountQuestion", "CountRelease", "Counts", "Radius", "Report", "ReportSum", "unpack"]
