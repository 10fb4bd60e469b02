"""Studies: many simulations as one object, which stops and goes on, and makes tables, pictures and comparisons of its runs."""

from .cells import StudyCell
from .study import Study

__all__ = ["Study", "StudyCell"]
