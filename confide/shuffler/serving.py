"""Runs a shuffler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..batches.serving import serve
from ..contracts.intermediary import SHUFFLER
from .reports import ReportBatches


def shuffle(path: str | Path, **options: Any) -> None:
    """Serve the shuffler of a folder until it is told to end; options are those of `batches.serving.serve`."""
    serve(SHUFFLER, ReportBatches, path, **options)
