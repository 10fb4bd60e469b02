"""Runs a curator."""

from __future__ import annotations

from pathlib import Path

from ..batches.serving import Endpoint, serve
from ..contracts.intermediary import CURATOR
from .episodes import EpisodeBatches


def curate(path: str | Path, endpoint: Endpoint, database: str | None = None, *, child: bool = False) -> None:
    """Serve the curator of a folder until it is told to end. child: ends with standard input too."""
    serve(CURATOR, EpisodeBatches, path, endpoint, database, child=child)
