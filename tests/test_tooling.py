"""The project's own tools: the lock, the `run` script, the wheel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import notice, release

REPOSITORY = Path(__file__).resolve().parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = {
    name: (REPOSITORY / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-docs.lock")
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


# The lock


def pins(lock: str) -> list[tuple[Requirement, list[str]]]:
    """Each requirement of a lock with its hashes."""
    text = LOCKS[lock].replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    return [(Requirement(line.split(" --hash")[0]), re.findall(r"--hash=(\S+)", line)) for line in lines]


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_names_no_host(lock: str) -> None:
    assert not re.search(r"://|index-url|find-links|trusted-host| @ |^-", LOCKS[lock], flags=re.MULTILINE)


@pytest.mark.parametrize(("lock", "least"), [("requirements.lock", 50), ("requirements-docs.lock", 20)])
def test_every_requirement_is_pinned_and_hashed(lock: str, least: int) -> None:
    assert len(pins(lock)) > least
    for requirement, hashes in pins(lock):
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", text) for text in hashes), requirement


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_holds_all_that_the_project_asks_for(python: str, lock: str) -> None:
    place = {"python_version": python, "python_full_version": f"{python}.0"}
    held: dict[str, str] = {}
    for requirement, _ in pins(lock):
        if requirement.marker is None or requirement.marker.evaluate(place):
            name = canonicalize_name(requirement.name)
            assert name not in held, f"{name} is pinned twice on Python {python}"
            held[name] = str(requirement.specifier).removeprefix("==")
    project, groups = PYPROJECT["project"], PYPROJECT["dependency-groups"]
    extras = [text for extra in project["optional-dependencies"].values() for text in extra]
    all_but_docs = (*project["dependencies"], *extras, *groups["dev"])
    for text in all_but_docs if lock == "requirements.lock" else groups["docs"]:
        asked = Requirement(text)
        assert asked.specifier.contains(held[canonicalize_name(asked.name)]), text


# The choice of interpreter and installer


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def stub_python(path: Path, version: str, prelude: str = "") -> Path:
    """A real interpreter that gives itself out for another version, and for the file it was called as."""
    major, minor = version.split(".")
    return script(
        path,
        f"""shift
code=$1
shift
exec '{sys.executable}' -c "import sys; sys.version_info = ({major}, {minor}, 0); sys._base_executable = '$0'; {prelude}
$code" "$@" """,
    )


BROKEN = "echo 'command not found' >&2; exit 127"
NO_VENV = "sys.modules['ensurepip'] = None"


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    """A folder that can serve as the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("dirname", "sed", "cat", "rm", "ln", "mv", "readlink", "sleep", "chmod"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    return folder


def run(
    *arguments: str, path: Path | str, root: Path = REPOSITORY, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(root / "run"), *arguments],
        env={"PATH": str(path), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def chosen(path: Path, **environment: str) -> list[str]:
    result = run("which", path=path, **environment)
    assert result.returncode == 0, result.stderr
    return [line.split(" ", 1)[1].removeprefix(f"{path}/") for line in result.stdout.splitlines()]


def test_the_newest_python_that_was_tested_is_taken_and_3_14_before_none(bin: Path) -> None:
    versions = {name: name.removeprefix("python") for name in ("python3.14", "python3.11", "python3.12", "python3.13")}
    versions = {"python3": "3.12", **versions}
    for name, version in versions.items():
        stub_python(bin / name, version)
        assert chosen(bin) == [name, "pip"]


def test_a_python_that_does_not_run_is_passed_over(bin: Path) -> None:
    script(bin / "python3.13", BROKEN)
    script(bin / "python3.12", BROKEN)
    stub_python(bin / "python3.11", "3.11")
    assert chosen(bin) == ["python3.11", "pip"]


@pytest.mark.parametrize("version", ["2.7", "3.10", "3.15", "4.12"])
def test_a_python_of_another_version_is_refused_whatever_its_name(bin: Path, version: str) -> None:
    stub_python(bin / "python3.13", version)
    stub_python(bin / "python3", version)
    result = run("which", path=bin)
    assert (result.returncode, result.stdout) == (2, "")
    assert "no Python 3.11 to 3.14 was found" in result.stderr
    stub_python(bin / "python3", "3.11")
    assert chosen(bin) == ["python3", "pip"]


def test_the_python_that_is_asked_for_is_taken_or_refused(bin: Path) -> None:
    stub_python(bin / "python3.13", "3.13")
    asked = stub_python(bin / "mine", "3.11")
    assert chosen(bin, PYTHON=str(asked)) == ["mine", "pip"]
    stub_python(asked, "3.10")
    result = run("which", path=bin, PYTHON=str(asked))
    assert (result.returncode, result.stdout) == (2, "")
    assert f"Got '{asked}'" in result.stderr


def test_uv_is_taken_if_present_and_can_do_without_the_venv_module(bin: Path) -> None:
    stub_python(bin / "python3.13", "3.13", NO_VENV)
    stub_python(bin / "python3.11", "3.11")
    assert chosen(bin) == ["python3.11", "pip"]
    script(bin / "uv", "exit 1")
    assert chosen(bin) == ["python3.13", "uv"]


def test_nothing_is_taken_from_inside_the_environment(tmp_path: Path, bin: Path) -> None:
    """It may be active, and is about to be removed."""
    shutil.copy(REPOSITORY / "run", tmp_path)
    inside = tmp_path / ".venv" / "bin"
    venv.create(tmp_path / ".venv", with_pip=False, symlinks=True)
    script(inside / "uv", "exit 1")
    result = run("which", path=f"{inside}:{bin}", root=tmp_path)
    python, installer = (line.split(" ", 1)[1] for line in result.stdout.splitlines())
    assert not Path(python).is_relative_to(tmp_path)
    assert installer == "pip"


# The environment

FAKE_UV = f"""case $1 in
venv) for folder in "$@"; do :; done; '{sys.executable}' -m venv --without-pip "$folder" ;;
pip) echo chatter; echo "$*" >>'LOG'; sleep "${{PAUSE:-0}}"; exit "${{FAIL:-0}}" ;;
esac"""


@pytest.fixture
def project(tmp_path: Path, bin: Path) -> Path:
    """A project with nothing but the script, a lock, a command, and an installer that only takes notes."""
    root = tmp_path / "a project"
    (root / "confide").mkdir(parents=True)
    (root / "confide" / "__main__.py").write_text("import sys; print('confide', sys.argv[1:])", encoding="utf-8")
    (root / "requirements.lock").write_text("nothing\n", encoding="utf-8")
    shutil.copy(REPOSITORY / "run", root)
    script(bin / "uv", FAKE_UV.replace("LOG", str(root / "log")))
    (bin / "python3").symlink_to(sys.executable)
    return root


@pytest.fixture
def call(project: Path, bin: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    return lambda **environment: run("greet", "a b", "--json", path=bin, root=project, **environment)


def installs(project: Path) -> list[str]:
    return (project / "log").read_text(encoding="utf-8").splitlines()


Call = Callable[..., subprocess.CompletedProcess[str]]
GREETING = "confide ['greet', 'a b', '--json']\n"


def test_set_up_happens_once_and_again_when_the_lock_changes(project: Path, call: Call) -> None:
    first = call()
    assert (first.returncode, first.stdout) == (0, GREETING)  # the chatter went elsewhere
    assert "chatter" in first.stderr
    assert all(
        word in installs(project)[0] for word in ("--require-hashes", "--only-binary :all:", "requirements.lock")
    )
    second = call()
    assert (second.returncode, second.stdout, second.stderr) == (0, GREETING, "")
    assert len(installs(project)) == 1
    (project / "requirements.lock").write_text("something\n", encoding="utf-8")
    assert call().stdout == GREETING
    assert len(installs(project)) == 2


def test_documentation_has_an_environment_of_its_own(project: Path, bin: Path, call: Call) -> None:
    call()
    (project / "requirements-docs.lock").write_text("nothing\n", encoding="utf-8")
    (project / "tools").mkdir()
    for name in ("site", "pages"):
        (project / "tools" / f"{name}.py").write_text("import sys; print(sys.prefix, sys.argv[1:])", encoding="utf-8")
    built = run("docs", "serve", path=bin, root=project)
    assert built.stdout == f"{project / '.venv-docs'} ['serve']\n"
    assert f"{project / '.venv'} ['--pictures']\n" in built.stderr  # what draws the pictures is the package's own
    assert ["requirements-docs.lock" in line for line in installs(project)] == [False, True]
    assert call().stderr == ""  # the other one is still there


def test_a_set_up_that_failed_is_not_believed(project: Path, call: Call) -> None:
    failed = call(FAIL="1")
    assert failed.returncode != 0
    assert failed.stdout == ""
    assert "not finished" in failed.stderr
    assert call().stdout == GREETING
    assert len(installs(project)) == 2


def test_a_set_up_that_was_killed_is_not_believed(project: Path, bin: Path, call: Call) -> None:
    process = subprocess.Popen(
        [str(project / "run"), "greet"], env={"PATH": str(bin), "PAUSE": "30"}, start_new_session=True
    )
    while not (project / "log").exists():
        assert process.poll() is None
    os.killpg(process.pid, 9)
    process.wait()
    assert (project / ".venv.busy").is_symlink()  # what the killed one left behind
    assert call().stdout == GREETING
    assert len(installs(project)) == 2
    assert not (project / ".venv.busy").is_symlink()


def test_two_that_start_together_set_up_once(project: Path, bin: Path) -> None:
    command = [str(project / "run"), "greet"]
    both = [subprocess.Popen(command, env={"PATH": str(bin), "PAUSE": "0.5"}, stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate(timeout=60)[0] for process in both] == [b"confide ['greet']\n"] * 2
    assert len(installs(project)) == 1


def test_a_project_that_was_moved_is_set_up_again(project: Path, bin: Path, call: Call) -> None:
    call()
    moved = project.rename(project.with_name("moved"))
    script(bin / "uv", FAKE_UV.replace("LOG", str(moved / "log")))
    assert run("greet", path=bin, root=moved).stdout == "confide ['greet']\n"
    assert len(installs(moved)) == 2


# The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = (path for path in (REPOSITORY / "confide").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    device = {
        f"confide/service/dashboard/device/{folder}/{path.name}"
        for folder in ("src", "extra")
        for path in (REPOSITORY / "js" / folder).iterdir()
    }
    assert held == {path.relative_to(REPOSITORY).as_posix() for path in files} | device
    assert "confide/py.typed" in held


def test_the_wheel_works_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    uv = shutil.which("uv")  # an environment made by uv has no pip
    install = (
        [uv, "pip", "install", "--python", python]
        if uv
        else [sys.executable, "-m", "pip", "--python", python, "install"]
    )
    subprocess.run([*install, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)

    # Dependencies come from here. On PYTHONPATH, .pth files are not read, so the repository itself stays out of sight.
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}

    def output(*command: str) -> str:
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    assert Path(output(python, "-c", "import confide; print(confide.__file__)")).is_relative_to(tmp_path)
    assert "Usage: confide" in output(str(tmp_path / "venv" / "bin" / "confide"), "--help")


# Numbers that must agree


def test_the_version_is_the_same_everywhere() -> None:
    version = re.search('"(.*)"', (REPOSITORY / "confide" / "_version.py").read_text(encoding="utf-8").splitlines()[-1])
    assert version
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, flags=re.MULTILINE)[1] == version[1]  # type: ignore[index]
    assert f"[{version[1]}]" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    package = json.loads((REPOSITORY / "js" / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == version[1]
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?<![.\d])0\.\d+\.\d+(?![.\d])", readme)) == {version[1]}


def test_the_citation_names_people_a_day_and_the_address_that_the_package_has() -> None:
    """None is invented: it has an address once `pyproject.toml` has one."""
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    (author,) = PYPROJECT["project"]["authors"]
    assert f'- name: "{author["name"]}"' in citation
    assert re.search(r'^date-released: "\d{4}-\d\d-\d\d"$', citation, flags=re.MULTILINE)
    addresses = re.findall(r"^(?:repository-code|url): (.*)$", citation, flags=re.MULTILINE)
    assert bool(addresses) == bool(PYPROJECT["project"].get("urls"))


def test_a_release_installs_every_extra() -> None:
    """Each is in some set, and so is the base."""
    extras = {name for names in release.INSTALLS for name in names.split(",") if name}
    assert extras == set(PYPROJECT["project"]["optional-dependencies"]) and "" in release.INSTALLS


def test_the_notice_has_a_licence_for_every_direct_dependency() -> None:
    lines = notice.NOTICE.read_text(encoding="utf-8").splitlines()
    texts = [text for texts in notice.direct().values() for text in texts]
    for text in texts:
        name = canonicalize_name(Requirement(text).name)
        assert notice.line(name, notice.closure([text])[name]) in lines, "python -m tools.notice writes it anew"
    assert not [line for line in lines if line.endswith(": not stated")]


def test_run_accepts_the_versions_that_the_project_declares() -> None:
    assert PYPROJECT["project"]["requires-python"] == ">=3.11,<3.15"
    assert [f"Programming Language :: Python :: {python}" for python in PYTHONS] == [
        text for text in PYPROJECT["project"]["classifiers"] if "Python :: 3" in text
    ]


def test_the_changelog_of_a_version_can_be_read() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions and max(len(version.splitlines()) for version in versions) <= 120


def test_hooks_and_workflows_run_the_same_scripts() -> None:
    """Every version of Python that is declared has a job, which takes that interpreter and no other of the machine."""
    hooks = (REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"entry: (.*)", hooks) == ["./run check"]
    assert "./run check\n" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    workflow = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r"run: (.*)", workflow) == ["bash .ci/run"] and "PYTHON: python\n" in workflow
    assert json.loads(re.findall(r"python: (\[.*\])", workflow)[0]) == list(PYTHONS)


@pytest.mark.parametrize("path", ["run", ".ci/run", ".ci/browser"])
def test_scripts_are_executable_and_parse(path: str) -> None:
    file = REPOSITORY / path
    assert os.access(file, os.X_OK)
    shell = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("#!").split()[-1]
    subprocess.run([shell, "-n", str(file)], check=True)
