"""`./run mutants`: plant every mutant of `tools.planted` in a copy of the sources, and see who notices.

Each is run against the tests that are named for it, which must fail, and against the entries of the audit that are named for it,
of which one must prove more than is certified, at confidence 1 - 1e-6. Without a mutant both must pass. What came out is
written to docs/mutants.json and docs/mutants.md. After a change to the audit alone `--attacks` is enough: it attacks again, and
keeps which tests noticed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import (
    planted_accept,
    planted_defaults,
    planted_device,
    planted_http,
    planted_judged,
    planted_ledger,
    planted_noise,
    planted_out,
    planted_papers,
    planted_power,
    planted_prices,
    planted_rare,
    planted_returns,
    planted_review,
    planted_samplers,
    planted_seeds,
    planted_service,
    planted_shares,
    planted_tokens,
)
from .planted import Mutant

MUTANTS = (
    *planted_accept.MUTANTS,
    *planted_defaults.MUTANTS,
    *planted_device.MUTANTS,
    *planted_http.MUTANTS,
    *planted_judged.MUTANTS,
    *planted_ledger.MUTANTS,
    *planted_noise.MUTANTS,
    *planted_out.MUTANTS,
    *planted_papers.MUTANTS,
    *planted_power.MUTANTS,
    *planted_prices.MUTANTS,
    *planted_rare.MUTANTS,
    *planted_returns.MUTANTS,
    *planted_review.MUTANTS,
    *planted_samplers.MUTANTS,
    *planted_seeds.MUTANTS,
    *planted_service.MUTANTS,
    *planted_shares.MUTANTS,
    *planted_tokens.MUTANTS,
)
ROOT = Path(__file__).resolve().parent.parent
DATA, PAGE = ROOT / "docs" / "mutants.json", ROOT / "docs" / "mutants.md"
COPIED = ("confide", "js", "tests", "tools", "examples", "docs", "pyproject.toml")
NOT_COPIED = ("__pycache__", "node_modules", "reproductions")
CONFIDENCE = 1 - 1e-6
LOADED = (
    "click",
    "dp_accounting.pld.privacy_loss_distribution",
    "msgpack",
    "numba",
    "opendp.measurements",
)
LOADED += ("pyarrow.parquet", "pytest", "scipy.optimize", "scipy.stats", "threadpoolctl")
"""What is loaded once, before processes are forked: nothing of ours."""


def attacked(names: Sequence[str], samples: int) -> list[dict[str, Any]]:
    """What the audit says of these entries, in this process, of the noise that devices, servers and pages really draw."""
    from confide.lab.audit import entries

    known = {entry.name: entry for entry in reversed(entries())}
    findings = (known[name].audit(1.0, None, samples, CONFIDENCE) for name in names)
    return [finding.as_json() for finding in findings]


def planted(mutant: Mutant, copy: Path) -> Path:
    """The file of the mutant, changed in the copy; refused unless its text is there exactly once."""
    file = copy / mutant.path
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"mutants: {mutant.file} has {text.count(mutant.old)} places for {mutant.what!r}. Mend the table."
        )
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return file


class FirstFailure:
    """Hears which test failed first."""

    failed = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Of a test."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        """Of a file that could not be read."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


def noticed(mutant: Mutant, copy: Path) -> dict[str, Any]:
    """In a process whose sources are those of the copy: which test fails, and what the audit says or why it could not."""
    import pytest

    os.chdir(copy)
    sys.path.insert(0, str(copy))
    for name in [name for name in sys.modules if name.split(".")[0] in ("tools", "tests", "confide")]:
        del sys.modules[name]
    errors = importlib.import_module("confide.errors")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        listener = FirstFailure()
        arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *mutant.tests]
        code = pytest.main(arguments, [listener]) if mutant.tests else 0
        try:
            rows, refused = attacked(mutant.audits, mutant.samples), ""
        except errors.ConfideError as error:  # a design that refuses to be made has noticed too
            rows, refused = [], f"{type(error).__name__}: {error}"
    if code and not listener.failed:
        raise SystemExit(f"pytest ended with {code}, and ran nothing of {' '.join(mutant.tests)}")
    return {"failed": listener.failed, "rows": rows, "refused": refused}


def judged(mutant: Mutant, copy: Path) -> dict[str, Any]:
    """Who noticed. The process is forked from this one, which has loaded all that others wrote and nothing of ours."""
    report = copy / "noticed.json"
    child = os.fork()
    if child == 0:
        try:
            report.write_text(json.dumps(noticed(mutant, copy)), encoding="utf-8")
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    results = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    rows: list[dict[str, Any]] = results["rows"]
    best = max(rows, key=lambda row: row["lower_bound"] - row["certified_epsilon"], default=None)
    return {
        "mutant": mutant.what,
        "file": mutant.file,
        "test": results["failed"],
        "killed_by_test": bool(results["failed"]),
        "attacked": None if best is None else best["name"],
        "certified": None if best is None else best["certified_epsilon"],
        "at_least": None if best is None else best["lower_bound"],
        "event": None if best is None else best["event"],
        "samples": None if best is None else best["samples"],
        "killed_by_audit": bool(results["refused"]) or any(not row["ok"] for row in rows),
        "refused": results["refused"],
        "unseen": mutant.unseen,
    }


def unharmed(mutants: Sequence[Mutant], copy: Path) -> None:
    """Refuse to go on if a test fails or an attack succeeds without any mutant: then neither would notice one."""
    tests = tuple(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    audits = tuple(dict.fromkeys(name for mutant in mutants for name in mutant.audits))
    row = judged(Mutant("nothing", "", "", "", tests, audits), copy)
    if row["killed_by_test"] or row["killed_by_audit"]:
        raise SystemExit(
            f"mutants: without any mutant {row['test'] or row['attacked']} raises an alarm. Mend that first."
        )


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page of the documentation."""
    dead = sum(row["killed_by_test"] for row in rows)
    seen = [row for row in rows if not row["unseen"]]
    lines = [
        "# Planted mutants",
        "",
        f"Written by `./run mutants`, which plants each of these {len(rows)} mistakes in a copy of the sources. {dead} of them are",
        f"noticed by the tests named for them. Of the {len(seen)} that an attack can see, the audit flags "
        f"{sum(row['killed_by_audit'] for row in seen)}, at confidence",
        "1 - 1e-6; of the others the reason is given. The same, with what each bound rests on, in [mutants.json](mutants.json).",
        "",
        "| mutant | in | noticed by the test | the audit proves | of a certified |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        test = f"`{row['test'].replace('tests/', '').replace('|', ' ')}`" if row["killed_by_test"] else "**nobody**"
        if row["unseen"]:
            shown, certified = row["unseen"], ""
        elif row["refused"]:
            shown, certified = "the design is refused before anything is drawn", ""
        elif row["at_least"] is None:
            shown, certified = "not attacked", ""
        else:
            word = "" if row["killed_by_audit"] else ", **not enough**"
            shown = f"{row['at_least']:.2f} on `{row['attacked']}`{word}"
            certified = f"{row['certified']:.3g}"
        lines.append(f"| {row['mutant']} | `{row['file']}` | {test} | {shown} | {certified} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant, run, write; 1 if a mutant lives that should not."""
    parser = argparse.ArgumentParser(
        prog="./run mutants",
        description="Plant each mistake of a table in a copy of the sources, and see what tests and attacks notice: half an hour.",
        epilog="Writes docs/mutants.json and docs/mutants.md. Exits with 1 if a mutant lives that should not.",
    )
    parser.add_argument("--only", nargs="+", type=int, metavar="N", help="these of the table, counted from 1")
    parser.add_argument(
        "--attacks", action="store_true", help="attack again, and keep which tests noticed the last time"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and write nothing")
    options = parser.parse_args(arguments)
    for module in LOADED:
        importlib.import_module(module)
    known = {row["mutant"]: row for row in json.loads(DATA.read_text(encoding="utf-8"))} if DATA.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns(*NOT_COPIED))
            else:
                shutil.copy(source, copy / name)
        chosen = [(n, each) for n, each in enumerate(MUTANTS, start=1) if not options.only or n in options.only]
        if options.attacks:
            chosen = [(n, replace(each, tests=())) for n, each in chosen if each.audits and each.what in known]
        unharmed([mutant for _, mutant in chosen], copy)
        for number, mutant in chosen:
            file = planted(mutant, copy)
            row = judged(mutant, copy)
            if options.attacks:
                row |= {word: known[mutant.what][word] for word in ("test", "killed_by_test")}
            known[mutant.what] = row
            shutil.copy(ROOT / mutant.path, file)
            word = {True: "dead", False: "ALIVE"}
            print(
                f"{number:3} tests {word[row['killed_by_test']]:5} audit "
                f"{'cannot see it' if mutant.unseen else word[row['killed_by_audit']]:13} {mutant.what}",
                file=sys.stderr,
                flush=True,
            )
            rows = [known[each.what] for each in MUTANTS if each.what in known]
            if not options.json:  # after each, so that nothing is lost if the command is
                DATA.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
                PAGE.write_text(page(rows), encoding="utf-8")
    if options.json:
        print(json.dumps({"rows": rows}))
    return 0 if all(row["killed_by_test"] and (row["unseen"] or row["killed_by_audit"]) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
