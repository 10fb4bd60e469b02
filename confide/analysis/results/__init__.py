"""Results: runs, fits and policy directories, saved with their certificates."""

from .run import Run

__all__ = ["Run"]
