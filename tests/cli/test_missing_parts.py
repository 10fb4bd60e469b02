"""A command whose part is not installed says in one sentence what to install; what a device's installation can do, it does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

DEVICE = """
import contextlib, io, json, sys
from importlib import metadata

BASE = {"confide", "click", "cryptography", "msgpack", "numpy", "cffi", "_cffi_backend", "pycparser"}
OTHERS = set(metadata.packages_distributions()) - BASE


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OTHERS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
from confide.cli import run

answers = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(words)
    answers.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(answers))
"""
"""Runs commands where nothing but what a device needs is installed, and says how each ended and what it printed."""

SENTENCES = {
    "service check http://127.0.0.1:9": "did not respond",
    "service check fit.toml": "is not the folder of a service",
    "visit http://127.0.0.1:9 --environment riverswim/3": "did not respond",
    "simulate riverswim/3 --epsilon 1": "is not installed",
    "serve .": "is not installed",
}


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("uvicorn", ["serve", "."], "service"),
        ("numba", ["service", "demo", "--json"], "service"),
        ("scipy", ["verdicts"], "full"),
    ],
)
def test_it_says_what_to_install(missing: str, arguments: list[str], extra: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from confide.cli import run; sys.exit(run({arguments!r}))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.returncode == 2 and process.stdout == ""
    said = process.stderr
    if "--json" in arguments:
        refused = json.loads(said)
        assert (refused["code"], refused["about"]) == ("dependency-missing", missing)
        said = f"confide: {refused['message']}\n"
    assert said.startswith(f"confide: {missing} is not installed") and f"pip install '.[{extra}]'" in said
    assert said.count("\n") == 1


def test_where_only_a_device_is_installed_errors_are_one_sentence_and_tables_are_plain() -> None:
    lines = json.dumps([words.split() for words in (*SENTENCES, "environments")])
    process = subprocess.run([sys.executable, "-c", DEVICE, lines], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    *errors, (code, printed, _) = json.loads(process.stdout)
    for (status, out, err), sentence in zip(errors, SENTENCES.values(), strict=True):
        assert (status, out) == (2, "")
        assert err.startswith("confide: ") and sentence in err and err.count("\n") == 1
    head, *rows = printed.splitlines()
    place = head.index("horizon")
    assert code == 0 and head.startswith("address") and any(row.startswith("riverswim") for row in rows)
    assert all(row[place].isdigit() and row[place - 1] == " " for row in rows), "each below its head"
