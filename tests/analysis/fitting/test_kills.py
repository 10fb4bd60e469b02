"""kill -9 at random moments: see `tools.kills`, which checks after each, and which this runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


def killed(many: int) -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, "-m", "tools.kills", "--many", str(many)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["kills"] == many
    assert document["unpaid"] + document["incomplete"] + document["waiting"] + document["new"] == many
    return document


def test_fits_that_are_killed_lose_nothing_that_was_paid_for() -> None:
    killed(4)


@pytest.mark.slow
def test_a_hundred_fits_that_are_killed() -> None:
    """That none of a hundred random moments falls where a release waits would mean that the test sees nothing."""
    result = killed(100)
    assert result["waiting"] > 0 and result["unpaid"] > 0
