"""The R code of docs/how-to/r.md, run through Python: R's signs are replaced, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.analysis.fitting.logs import episodes, write

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "r.md"
SIGNS = {r"library\(reticulate\)": "", r" <- ": " = ", r"\bimport\(": "import_module(", r"\$": ".", r"(?<=\d)L\b": ""}
"""What R writes, and what Python does."""


def python_of(text: str) -> str:
    """The lines of R as lines of Python."""
    for sign, ours in SIGNS.items():
        text = re.sub(sign, ours, text)
    return text


def test_signs() -> None:
    assert python_of("x <- cf$fit(data, states = 3L, rho = 1.0)\n") == "x = cf.fit(data, states = 3, rho = 1.0)\n"


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import csv, parquet

    monkeypatch.chdir(tmp_path)
    csv.write_csv(parquet.read_table(write(tmp_path / "log.parquet", episodes(300, full=True))), tmp_path / "log.csv")
    blocks = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    code = "from importlib import import_module\n" + python_of("\n".join(blocks))
    exec(compile(code, str(PAGE), "exec"), {})
    assert all(
        (tmp_path / name).stat().st_size
        for name in ("policy/certificate.json", "report.html", "regret.png", "synthetic.csv")
    )
