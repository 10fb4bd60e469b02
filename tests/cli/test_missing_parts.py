"""A command whose part is not installed says in one sentence what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [("uvicorn", ["serve", "."]), ("numba", ["service", "demo", "--json"]), ("rich", ["environments"])],
)
def test_it_says_what_to_install(missing: str, arguments: list[str]) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from confide.cli import run; sys.exit(run({arguments!r}))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.returncode == 2 and process.stdout == ""
    assert process.stderr.startswith(f"confide: {missing} is not installed") and "pip install" in process.stderr
    assert process.stderr.count("\n") == 1
