"""The rooms keep to themselves: contracts hold, planted imports are refused, and the map tells the truth."""

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
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "confide"
SOURCES = sorted(PACKAGE.rglob("*.py"))

CONFIGURATION = api.read_configuration(str(REPOSITORY / "pyproject.toml"))
CONTRACTS: list[dict[str, Any]] = CONFIGURATION["contracts_options"]
LAYERS = [[name.strip(" ()") for name in re.split("[|:]", layer)] for layer in CONTRACTS[0]["layers"]]
OPEN = LAYERS[-1]
ROOMS = [name for layer in LAYERS[1:-1] for name in layer]

WALL = next(contract for contract in CONTRACTS if contract["name"].startswith("The wall"))
BEHIND_THE_WALL = [name.removeprefix("confide.") for name in WALL["source_modules"]]
SENSITIVE = [name.removeprefix("confide.") for name in WALL["forbidden_modules"]]


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


@pytest.mark.parametrize("lazily", [False, True], ids=["at the top", "inside a function"])
@pytest.mark.parametrize(
    ("module", "line", "link"),
    [
        ("planning/__init__", "from ..trajectories import planted", "planning -> confide.trajectories"),
        ("planning/__init__", "from .. import environments", "planning -> confide.environments"),
        ("mdp/__init__", "from ..privacy import planted", "mdp -> confide.privacy"),
        ("errors", "from .learners import planted", "errors -> confide.learners"),
        ("learners/__init__", "from .. import planted", "learners -> confide "),
    ],
)
def test_a_planted_import_is_refused(copy: Path, module: str, line: str, link: str, lazily: bool) -> None:
    plant(copy, module, line, lazily)
    result = lint(copy)
    assert result.returncode == 1
    assert f"confide.{link}" in result.stdout


def test_the_wall_sees_through_other_modules(copy: Path) -> None:
    """learners -> planning -> validation -> statistics: no direct import from either side of the wall."""
    plant(copy, "learners/__init__", "from ..planning import planted")
    plant(copy, "planning/__init__", "from ..validation import planted", lazily=True)
    plant(copy, "validation", "from .statistics import planted", lazily=True)
    result = lint(copy)
    assert result.returncode == 1
    wall = result.stdout.split(WALL["name"])[-1]
    assert "confide.learners is not allowed to import confide.statistics" in wall
    assert "confide.validation -> confide.statistics" in wall


@pytest.mark.parametrize("path", ["attic/__init__.py", "attic.py"])
def test_a_room_without_a_layer_is_refused(copy: Path, path: str) -> None:
    target = copy / "confide" / path
    target.parent.mkdir(exist_ok=True)
    target.write_text('"""A room nobody decided on."""\n', encoding="utf-8")
    result = lint(copy)
    assert result.returncode == 1
    assert "attic" in result.stdout


def test_every_folder_is_a_room_and_every_module_has_a_layer() -> None:
    options = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in SOURCES} - {"__init__", "__main__"}
    assert options == {*ROOMS, *OPEN}
    assert all((path.parent / "__init__.py").exists() for path in SOURCES)


def contracts() -> list[LayersContract | ForbiddenContract]:
    kinds = {"layers": LayersContract, "forbidden": ForbiddenContract}
    return [kinds[options["type"]](options["name"], CONFIGURATION["session_options"], options) for options in CONTRACTS]


def allowed(importer: str, imported: str) -> bool:
    """Whether the contracts allow an import in a house that is otherwise without any."""
    graph = grimp.ImportGraph()
    for name in ("confide", *(f"confide.{room}" for room in (*ROOMS, *OPEN))):
        graph.add_module(name)
    graph.add_import(importer=f"confide.{importer}", imported=f"confide.{imported}")
    return all(contract.check(graph, verbose=False).kept for contract in contracts())


def table() -> dict[str, set[str]]:
    """The import table of docs/map.md."""
    rows: dict[str, set[str]] = {}
    for line in (REPOSITORY / "docs" / "map.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch("`[a-z]+`", cells[0]):
            named = set(re.findall("`([a-z]+)`", cells[2]))
            rows[cells[0].strip("`")] = set(rows) - named if cells[2].startswith("every room above") else named
    return rows


def test_the_map_is_what_the_contracts_allow() -> None:
    rows = table()
    assert set(rows) == set(ROOMS)
    for importer in ROOMS:
        assert {room for room in ROOMS if room != importer and allowed(importer, room)} == rows[importer], importer


def test_the_open_modules_are_open_and_import_no_room() -> None:
    assert all(allowed(room, name) for room in ROOMS for name in OPEN)
    assert not any(allowed(name, room) for room in ROOMS for name in OPEN)


def test_the_map_names_the_wall() -> None:
    text = (REPOSITORY / "docs" / "map.md").read_text(encoding="utf-8").split("## The wall")[1].split("\n\n")[1]
    behind, sensitive = text.split("cannot reach")
    assert set(re.findall("`([a-z]+)`", behind)) == set(BEHIND_THE_WALL)
    assert set(re.findall("`([a-z]+)`", sensitive)) == set(SENSITIVE)


def test_the_map_names_files_and_places_in_them_that_are_there() -> None:
    text = (REPOSITORY / "docs" / "map.md").read_text(encoding="utf-8")
    files = {name for name in re.findall(r"`([a-z_]+/[\w/]+\.(?:py|js))`", text) if not re.search("NAME|PAPER", name)}
    assert len(files) > 60
    missing = {
        name for name in files if not any((base / name).is_file() for base in (REPOSITORY / "confide", REPOSITORY))
    }
    assert missing == set()
    places = [
        (name, file)
        for names, file in re.findall(r"((?:`\w+`(?:,| and| of| in)? ?)+)(?:of|in) `([a-z_]+/\w+\.py)`", text)
        for name in re.findall(r"`(\w+)`", names)
        if not re.search("NAME|PAPER", file)
    ]
    assert len(places) > 25
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


@pytest.mark.parametrize("room", BEHIND_THE_WALL)
def test_nothing_behind_the_wall_imports_by_a_name_made_up_at_run_time(room: str) -> None:
    """Contracts read sources, so they cannot follow a name that is computed."""
    for path in sorted((PACKAGE / room).rglob("*.py")):
        assert not words_of(path)[1] & {
            "__import__",
            "import_module",
            "exec_module",
            "run_module",
            "run_path",
            "exec",
        }, path


def test_raw_data_stays_unloaded_behind_the_wall() -> None:
    """What a server would do: import all that learns, then look for what holds raw data."""
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for room in BEHIND_THE_WALL
        for path in sorted((PACKAGE / room).rglob("*.py"))
    ]
    forbidden = [f"confide.{room}" for room in SENSITIVE]
    program = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        f"sys.exit(', '.join(name for name in {forbidden!r} if name in sys.modules) or None)"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_comes_out_of_it(room: str) -> None:
    docstring = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")))
    assert docstring and docstring.split("\n\n")[0].rstrip().endswith(".")
