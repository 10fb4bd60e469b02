"""Runs a shuffler."""

from __future__ import annotations

from pathlib import Path

from ..batches.serving import Endpoint, serve
from ..contracts.intermediary import SHUFFLER
from .reports import ReportBatches


def shuffle(path: str | Path, endpoint: Endpoint, database: str | None = None, *, child: bool = False) -> None:
    """Serve the shuffler of a folder until it is told to end. child: ends with standard input too."""
    serve(SHUFFLER, ReportBatches, path, endpoint, database, child=child)
