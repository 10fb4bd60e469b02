"""The npm package: what `npm pack` puts into it, installed in an empty folder and used from there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

JS = Path(__file__).parents[2] / "js"
NPM = shutil.which("npm")

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(NPM is None, reason="npm is not installed"),
]

PROGRAM = """
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Device } from "confide-device";
import * as reading from "confide-device/reading";
import * as likelihood from "confide-device/likelihood";
const page = createRequire(import.meta.url).resolve("confide-device/dist/confide-device.js");
const counts = [reading, likelihood].map((module) => Object.keys(module).length > 0);
console.log(JSON.stringify([typeof Device.join, ...counts, readFileSync(page).length > 10000]));
"""


def npm(*words: str, at: Path) -> str:
    done = subprocess.run([NPM or "npm", *words], cwd=at, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    """What npm says of the package, and the archive, made of a copy of the folder: packing writes into it."""
    folder = tmp_path_factory.mktemp("package")
    copy = folder / "js"
    shutil.copytree(JS, copy, ignore=shutil.ignore_patterns("node_modules", "dist", "LICENSE", "*.tgz"))
    (copy / "dist").mkdir()
    shutil.copy(JS.parent / "LICENSE", folder)
    npm("pack", "--offline", at=copy)
    (archive,) = copy.glob("*.tgz")
    (about,) = json.loads(npm("pack", "--dry-run", "--ignore-scripts", "--json", "--offline", at=copy))
    return about, archive


def test_it_holds_what_users_need_and_no_tests(packed: tuple[dict[str, object], Path]) -> None:
    about, _ = packed
    files = {file["path"] for file in about["files"]}  # type: ignore[attr-defined]
    package = json.loads((JS / "package.json").read_text(encoding="utf-8"))
    built = {f"dist/{piece.name}" for piece in (JS / "dist").iterdir()}
    assert built | {"README.md", "LICENSE", "package.json", "index.d.ts", "src/index.js"} <= files
    assert not {file for file in files if file.startswith("test") or "golden" in file}
    assert about["version"] == package["version"] and package["publishConfig"]["provenance"] is True
    targets = [
        target
        for entry in package["exports"].values()
        for target in (entry if isinstance(entry, dict) else {"": entry}).values()
    ]
    assert {target.removeprefix("./") for target in targets if "*" not in target} <= files


def test_packing_builds_the_same_pages(packed: tuple[dict[str, object], Path]) -> None:
    for piece in (JS / "dist").iterdir():
        assert (packed[1].parent / "dist" / piece.name).read_bytes() == piece.read_bytes()


def test_it_is_installed_without_a_network_and_works(packed: tuple[dict[str, object], Path], tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "app", "version": "1.0.0", "type": "module"}')
    npm("install", "--offline", "--no-audit", "--no-fund", str(packed[1]), at=tmp_path)
    (tmp_path / "app.mjs").write_text(PROGRAM)
    done = subprocess.run(["node", "app.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == ["function", True, True, True], done.stderr
