"""The packages keep to themselves: contracts hold, planted imports are refused, and the map tells the truth."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import api
from importlinter.contracts.layers import LayersContract

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "confide"
SOURCES = sorted(PACKAGE.rglob("*.py"))

CONFIGURATION = api.read_configuration(str(REPOSITORY / "pyproject.toml"))
CONTRACTS: list[dict[str, Any]] = CONFIGURATION["contracts_options"]
LAYERS = [[name.strip(" ()") for name in re.split("[|:]", layer)] for layer in CONTRACTS[0]["layers"]]
OPEN = LAYERS[-1]
PACKAGES = [name for layer in LAYERS[1:-1] for name in layer]

BOUNDARY = next(contract for contract in CONTRACTS if contract["name"].startswith("The boundary"))
PUBLIC = [name.removeprefix("confide.") for name in BOUNDARY["source_modules"]]
"""What cannot reach raw data: packages, sub-packages and modules."""


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command of `./run check`, on the copy of the package in `folder`."""
    command = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command as main; main()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-logo", "--no-cache"], cwd=folder, capture_output=True, text=True
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "confide", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def plant(folder: Path, module: str, line: str, lazily: bool = False) -> None:
    path = folder / "confide" / f"{module}.py"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n\ndef planted():\n    {line}\n" if lazily else f"\n{line}\n")


def test_the_contracts_are_kept() -> None:
    result = lint(REPOSITORY)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "other", "line", "target"),
    [
        ("learning/planning/__init__", "learning/planning/evaluation", "from ...data import planted", "confide.data"),
        ("learning/planning/__init__", "learning/planning/evaluation", "from ...lab import planted", "confide.lab"),
        ("mdp/__init__", "mdp/policy", "from ..mechanisms import planted", "confide.mechanisms"),
        ("errors", "validation", "from .learning import planted", "confide.learning"),
        ("learning/learners/__init__", "learning/learners/learner", "from ... import planted", "confide "),
        (
            "service/device/__init__",
            "service/device/store",
            "from ..collector import planted",
            "confide.service.collector",
        ),
        (
            "service/dashboard/__init__",
            "service/dashboard/story",
            "from ..device import planted",
            "confide.service.device",
        ),
        (
            "service/intermediary/curator",
            "service/intermediary/office",
            "from ..collector import planted",
            "confide.service.collector",
        ),
        ("service/intermediary/curator", "service/http/serving", "from ...learning import planted", "confide.learning"),
        ("lab/environments/__init__", "lab/environments/chain", "from ...privacy import planted", "confide.privacy"),
    ],
)
def test_a_planted_import_is_refused(copy: Path, module: str, other: str, line: str, target: str) -> None:
    """At the top of one module, and inside a function of another: both are named."""
    plant(copy, module, line)
    plant(copy, other, line, lazily=True)
    result = lint(copy)
    assert result.returncode == 1
    for place in (module, other):
        assert f"confide.{place.removesuffix('/__init__').replace('/', '.')} -> {target}" in result.stdout


def test_the_boundary_sees_through_other_modules(copy: Path) -> None:
    """learners -> planning -> validation -> statistics: no direct import from either side of the boundary."""
    plant(copy, "learning/learners/__init__", "from ..planning import planted")
    plant(copy, "learning/planning/__init__", "from ...validation import planted", lazily=True)
    plant(copy, "validation", "from .data.statistics import planted", lazily=True)
    result = lint(copy)
    assert result.returncode == 1
    told = result.stdout.split(BOUNDARY["name"])[-1]
    assert "confide.learning is not allowed to import confide.data" in told
    assert "confide.validation -> confide.data.statistics" in told


@pytest.mark.parametrize("path", ["attic/__init__.py", "attic.py"])
def test_a_package_without_a_layer_is_refused(copy: Path, path: str) -> None:
    target = copy / "confide" / path
    target.parent.mkdir(exist_ok=True)
    target.write_text('"""A package without a decision."""\n', encoding="utf-8")
    result = lint(copy)
    assert result.returncode == 1
    assert "attic" in result.stdout


def test_every_folder_is_a_package_with_a_layer() -> None:
    options = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in SOURCES} - {"__init__", "__main__"}
    assert options == {*PACKAGES, *OPEN}
    assert len(PACKAGES) == 10
    assert all((path.parent / "__init__.py").exists() for path in SOURCES)


def test_no_contract_allows_indirect_imports() -> None:
    assert len(CONTRACTS) <= 12
    assert not any("allow_indirect_imports" in options or "ignore_imports" in options for options in CONTRACTS)


def test_all_of_the_intermediary_but_the_curator_is_public() -> None:
    """A new module of the intermediary is named in the boundary, or belongs to the curator."""
    names = {
        path.relative_to(PACKAGE / "service" / "intermediary").parts[0].removesuffix(".py")
        for path in SOURCES
        if "intermediary" in path.parts
    }
    named = {name.rsplit(".", 1)[1] for name in PUBLIC if ".intermediary." in name}
    assert names - named == {"__init__", "curator"}


def allowed(importer: str, imported: str) -> bool:
    """Whether the first contract, of the packages and their layers, allows an import in a tree that is otherwise without any."""
    graph = grimp.ImportGraph()
    for name in ("confide", *(f"confide.{package}" for package in (*PACKAGES, *OPEN))):
        graph.add_module(name)
    graph.add_import(importer=f"confide.{importer}", imported=f"confide.{imported}")
    options = CONTRACTS[0]
    return LayersContract(options["name"], CONFIGURATION["session_options"], options).check(graph, verbose=False).kept


def table() -> dict[str, set[str]]:
    """The import table of docs/map.md."""
    rows: dict[str, set[str]] = {}
    for line in (REPOSITORY / "docs" / "map.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch("`[a-z]+`", cells[0]):
            named = set(re.findall("`([a-z]+)`", cells[2]))
            rows[cells[0].strip("`")] = set(rows) - named if cells[2].startswith("every package above") else named
    return rows


def test_the_map_is_what_the_contracts_allow() -> None:
    rows = table()
    assert set(rows) == set(PACKAGES)
    for importer in PACKAGES:
        assert {package for package in PACKAGES if package != importer and allowed(importer, package)} == rows[
            importer
        ], importer


def test_the_open_modules_are_open_and_import_no_package() -> None:
    assert all(allowed(package, name) for package in PACKAGES for name in OPEN)
    assert not any(allowed(name, package) for package in PACKAGES for name in OPEN)


def test_the_map_names_the_boundary() -> None:
    text = (
        (REPOSITORY / "docs" / "map.md")
        .read_text(encoding="utf-8")
        .split("**The boundary.**")[1]
        .split("cannot reach")[0]
    )
    named = {name for name in PUBLIC if ".intermediary." not in name} | {"service.intermediary"}
    assert set(re.findall(r"`([a-z.]+)`", text)) == named


def test_the_map_names_files_and_places_in_them_that_are_there() -> None:
    text = (REPOSITORY / "docs" / "map.md").read_text(encoding="utf-8")
    files = {name for name in re.findall(r"`([a-z_]+/[\w/]+\.(?:py|js))`", text) if not re.search("NAME|PAPER", name)}
    assert len(files) > 40 and len(text.splitlines()) <= 70  # it is read on one screen
    missing = {
        name for name in files if not any((base / name).is_file() for base in (REPOSITORY / "confide", REPOSITORY))
    }
    assert missing == set()
    places = [
        (name, file)
        for names, file in re.findall(r"((?:`\w+`(?:,| and| of| in)? ?)+)(?:of|in) `([a-z_]+/[\w/]+\.py)`", text)
        for name in re.findall(r"`(\w+)`", names)
        if not re.search("NAME|PAPER", file)
    ]
    assert len(places) > 20
    for name, file in places:
        source = (REPOSITORY / "confide" / file).read_text(encoding="utf-8")
        assert re.search(rf"^(class |def |async def )?{name}\b", source, flags=re.MULTILINE), f"{name} of {file}"


@cache
def words_of(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Every module that a file imports by its full name; and every name that it uses or imports, with or without a dot."""
    imported, names = set[str](), set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            imported.add(node.module)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add(node.name)
    return frozenset(imported), frozenset(names)


def test_no_module_names_the_package_it_is_part_of() -> None:
    assert [path for path in SOURCES if any(name.split(".")[0] == "confide" for name in words_of(path)[0])] == []


def modules_of(name: str) -> list[Path]:
    """The files of a package, or the one file of a module."""
    place = PACKAGE.joinpath(*name.split("."))
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


@pytest.mark.parametrize("name", PUBLIC)
def test_nothing_public_imports_by_a_name_computed_at_run_time(name: str) -> None:
    """Contracts read sources, so they cannot follow a name that is computed."""
    for path in modules_of(name):
        assert not words_of(path)[1] & {
            "__import__",
            "import_module",
            "exec_module",
            "run_module",
            "run_path",
            "exec",
        }, path


def test_raw_data_stays_unloaded_where_everything_public_is_imported() -> None:
    """What a server would do: import all that learns, then look for what holds raw data."""
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for name in PUBLIC
        for path in modules_of(name)
    ]
    program = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        "sys.exit(', '.join(name for name in sys.modules if name.startswith('confide.data')) or None)"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_an_intermediary_imports_no_collector_and_no_learner() -> None:
    """All that a shuffler and a curator could load, in one process; tests/service/test_processes.py starts theirs."""
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for name in ("service.intermediary", "service.http", "service.contract", "cli.curate", "cli.shuffle")
        for path in modules_of(name)
    ]
    program = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        "parts = ('confide.learning', 'confide.service.collector', 'confide.service.dashboard', 'confide.service.device')\n"
        "sys.exit(', '.join(name for name in sys.modules if name.startswith(parts)) or None)"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_what_is_in_it(package: str) -> None:
    docstring = ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8")))
    assert docstring and docstring.split("\n\n")[0].rstrip().endswith(".")
