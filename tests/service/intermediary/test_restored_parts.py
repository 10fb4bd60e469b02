"""A small version of what `./run chaos` restores: real processes, killed, whose files are put back to an earlier copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.chaos import Row
from tools.chaos_restore import rehearse


@pytest.mark.service
@pytest.mark.parametrize("trust", ["joint", "shuffle"])
def test_every_part_and_every_half_of_it_is_refused(tmp_path: Path, trust: str) -> None:
    row = rehearse(Row("small", trust, "sqlite"), tmp_path, points=(1,))
    assert row.good and row.refused == 6 and row.rounds == 4, row
