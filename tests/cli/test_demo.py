"""The tour: it ends, it can be taken twice, and what it shows is there."""

from __future__ import annotations

from pathlib import Path

import pytest

import confide
from confide.cli import run


def test_the_offline_part_of_the_tour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from confide.cli.demo import _records

    for _ in range(2):  # more than the ledger of one clinic would allow for its patients, so these must be others
        for _ in range(3):
            _records(tmp_path)
    printed = capsys.readouterr().out
    assert printed.count("better than current practice") == 6 and "not surely" not in printed
    assert "0.1-zCDP, central" in printed and "the policy says injection" in printed
    assert (tmp_path / "clinic" / "report.html").is_file()
    assert confide.load(tmp_path / "clinic").findings["gain"]["sure"]


@pytest.mark.slow
def test_the_whole_tour_takes_a_minute(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import time

    started = time.process_time()
    assert run(["demo", "--out", str(tmp_path)]) == 0
    assert time.process_time() - started < 60
    printed = capsys.readouterr().out
    assert [line[:2] for line in printed.splitlines() if line[:2] in ("1.", "2.", "3.")] == ["1.", "2.", "3."]
