"""Runs a curator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..batches.serving import serve
from ..contracts.intermediary import CURATOR
from .episodes import EpisodeBatches


def curate(path: str | Path, **options: Any) -> None:
    """Serve the curator of a folder until it is told to end; options are those of `batches.serving.serve`."""
    serve(CURATOR, EpisodeBatches, path, **options)
