"""A small version of `./run chaos`: a few kill -9 on each store, and the judge itself sees what it is there to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.chaos import rehearse
from tools.postgres import new_database


@pytest.mark.service
def test_killed_on_sqlite(tmp_path: Path) -> None:
    row = rehearse("small", "sqlite", 1, 3, tmp_path)
    assert row.good and row.kills == 3 and row.acknowledged >= 100, row


@pytest.mark.service
@pytest.mark.postgres
def test_two_collectors_killed_on_postgres(tmp_path: Path, postgres: str) -> None:
    row = rehearse("small", "postgres", 2, 3, tmp_path, new_database(postgres))
    assert row.good and row.kills == 3 and row.acknowledged >= 100, row
