"""What `deploy/` offers: the image's own steps in a clean environment, what compose would start, alerts that can fire, units that
name real commands.

There is no container engine where tests run. The steps of the Containerfile are read and carried out in a new folder instead: with
the packages of deploy/requirements.lock, and no others, taken from this environment, or (marked slow) installed as the image does.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import yaml

from confide import cli
from confide.lab.staging.admission import Applicant
from confide.lab.staging.processes import Process
from confide.lab.staging.visits import visit
from confide.service.collector.metrics import Metrics
from confide.service.device import Transport
from tests.service.device.test_light import required
from tools.postgres import new_database, server

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVERS = {name: made for name, made in COMPOSE["services"].items() if made["image"] == "confide"}
LEFT_OUT = {"scipy", "opendp", "duckdb", "pyarrow", "matplotlib", "dp-accounting"}
PEOPLE = 12


class Step(NamedTuple):
    """An instruction of the Containerfile."""

    stage: int
    verb: str
    words: str


def steps() -> list[Step]:
    text = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text(encoding="utf-8"))
    found, stage = [], -1
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            verb, _, words = line.partition(" ")
            stage += verb == "FROM"
            found.append(Step(stage, verb, words))
    return found


def locked() -> dict[str, str]:
    """Packages and versions of the image's lock."""
    text = (DEPLOY / "requirements.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def parsed(words: list[str]) -> None:
    """Refuse a command line that `confide` would not take."""
    assert words[0] in cli.COMMANDS
    options = {name for parameter in _command(words[0]).params for name in (*parameter.opts, *parameter.secondary_opts)}
    given = [word for word in words[1:] if word.startswith("--")]
    assert given and set(given) <= options, words


def _command(name: str) -> click.Command:
    import importlib

    return importlib.import_module(f"confide.cli.{name}").command


def test_the_image_copies_what_is_there_and_serves_as_nobody_special() -> None:
    read = steps()
    sources = [
        word for step in read if step.verb == "COPY" and "--from" not in step.words for word in step.words.split()[:-1]
    ]
    assert len(sources) >= 6 and all((ROOT / source).exists() for source in sources)
    last = [step for step in read if step.stage == read[-1].stage]
    assert [step.words for step in last if step.verb == "USER"] == ["confide"]
    (entry,), (command,) = (
        [json.loads(step.words) for step in last if step.verb == verb] for verb in ("ENTRYPOINT", "CMD")
    )
    assert entry == ["confide"]
    parsed(command)


def test_the_lock_is_what_a_server_needs_and_no_more() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = required([*project["dependencies"], *project["optional-dependencies"]["service"]])
    assert {name.lower().replace("_", "-") for name in locked()} >= wanted and not LEFT_OUT & set(locked())
    text = (DEPLOY / "requirements.lock").read_text(encoding="utf-8")
    assert text.count("--hash=sha256:") > len(locked()) and "://" not in text


def test_compose_starts_servers_by_commands_that_exist_and_shows_no_password() -> None:
    assert {"postgres", "proxy", "collector", "curator", "shuffler"} <= set(COMPOSE["services"])
    for made in SERVERS.values():
        parsed(made["command"])
        if made["command"][0] == "issue":
            continue  # what it keeps is in its own folder
        assert made["command"][made["command"].index("--database") + 1] == "@/run/secrets/database"
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert "POSTGRES_PASSWORD_FILE" in text and not re.search(
        r"POSTGRES_PASSWORD:|://\w+:\w+@(?!postgres/confide\))", text
    )
    subnet = COMPOSE["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert all(made["command"][made["command"].index("--proxy") + 1] == subnet for made in SERVERS.values())


def test_units_run_commands_that_exist() -> None:
    units = sorted((DEPLOY / "systemd").glob("*.service"))
    assert len(units) == 4
    for unit in units:
        text = unit.read_text(encoding="utf-8")
        (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
        words = shlex.split(line)
        assert words[0].endswith("/confide") and words[-1] == "$OPTIONS"
        parsed(words[1:-1])
        assert "RestartPreventExitStatus=2" in text and "UMask=0077" in text


def test_alerts_watch_what_is_measured_and_lead_to_the_runbook() -> None:
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    page = Metrics().page().decode()
    shown = set(re.findall(r"^(confide_\w+)", page, re.MULTILINE))
    reasons = set(re.findall(r'reason="(\w+)"', page))
    runbook = (ROOT / "docs" / "service" / "runbook.md").read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^## (.*)$", runbook, re.MULTILINE)
    }
    assert len(rules) >= 6
    for rule in rules:
        assert set(re.findall(r"confide_\w+", rule["expr"])) <= shown, rule
        for matched in re.findall(r'reason=~?"([\w|]+)"', rule["expr"]):
            assert set(matched.split("|")) <= reasons, rule
        assert rule["annotations"]["runbook"].removeprefix("runbook.md#") in anchors, rule


def build_linked(place: Path) -> Path:
    """The image's first stage with the packages of its lock as they are here, each by itself; the environment's Python."""
    source, home = place / "src", place / "opt"
    source.mkdir()
    for step in steps():
        if step.stage == 0 and step.verb == "COPY":
            *names, to = step.words.split()
            for name in names:
                target = source / to / Path(name).name if to.endswith("/") else source / to
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
                else:
                    shutil.copy(ROOT / name, target)
        elif step.stage == 0 and step.verb == "RUN" and "-m venv" in step.words:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    for name in locked():
        try:
            files = metadata.distribution(name).files or []
        except metadata.PackageNotFoundError:
            continue  # of another system
        for top in {file.parts[0] for file in files if ".." not in file.parts and "__pycache__" not in file.parts}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(metadata.distribution(name).locate_file(top))))
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")], check=True, cwd=source
    )
    (wheel,) = (place / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(packages)
    return home / "bin" / "python"


def build_installed(place: Path) -> Path:
    """The image's first stage as it is written, with paths of this folder: packages come from the package index."""
    source, home = place / "src", place / "opt"
    source.mkdir()
    for step in steps():
        if step.stage == 0 and step.verb == "COPY":
            *names, to = step.words.split()
            for name in names:
                target = source / to / Path(name).name if to.endswith("/") else source / to
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
                else:
                    shutil.copy(ROOT / name, target)
        elif step.stage == 0 and step.verb == "RUN":
            words = shlex.split(step.words.replace("/opt/confide", str(home)))
            words[0] = sys.executable if words[0] == "python" else words[0]
            subprocess.run(words, check=True, cwd=source)
    return home / "bin" / "python"


class Composed:
    """What compose would start for a profile, without containers: the same commands, other paths and ports."""

    def __init__(self, python: Path, place: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._python, self._place = python, place
        (place / "database").write_text(database)
        self.ports: dict[str, str] = {}
        monkeypatch.setattr(sys, "executable", str(python))
        monkeypatch.delenv("PYTHONPATH", raising=False)

    def start(self, name: str) -> Process:
        words = [str(word) for word in SERVERS[name]["command"]]
        swapped = {
            "@/run/secrets/database": f"@{self._place / 'database'}",
            "0.0.0.0": "127.0.0.1",
            "172.30.7.0/24": "127.0.0.0/8",
        }
        options = [swapped.get(word, self.ports.get(word, word)) for word in words[2:]]
        at = options.index("--port")
        process = Process(
            self._place / "service", 0, None, self._place / f"{name}.log", words[0], options[:at] + options[at + 2 :]
        )
        process.start(300)
        if words[0] != "serve":
            self.ports["http://intermediary:8001"] = process.url
        return process


def check_composed(python: Path, place: Path, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a service with the image's own command, start what compose would, scrape it, and send a report through."""
    options = ["--schedule", "batches:2"] if profile != "shuffle" else ["--batch", str(PEOPLE)]
    between = [] if profile == "local" else ["--window", "1", "--publication", "1", "--delta", "1e-6"]
    words = [
        "service",
        "new",
        str(place / "service"),
        "--states",
        "3",
        "--actions",
        "2",
        "--horizon",
        "4",
        "--trust",
        profile,
    ]
    words += ["--epsilon", "2", "--people", str(2 * PEOPLE), *options, *between]
    subprocess.run([str(python), "-P", "-m", "confide", *words], check=True, cwd=place, capture_output=True)
    names = [name for name, made in SERVERS.items() if made["profiles"] == [profile]]
    names.sort(key=lambda name: SERVERS[name]["command"][0] == "serve")  # whom the collector asks comes first
    with server() as address:
        composed = Composed(python, place, new_database(address), monkeypatch)
        processes = []
        try:
            for name in names:
                processes.append(composed.start(name))
            url, issuer = processes[-1].url, str(place / "service-issuer")
            assert b"confide_round 1.0" in Transport(url).get("/metrics").body
            found = visit(
                url, "riverswim/3", 1 if profile == "local" else PEOPLE, credential=Applicant(issuer)
            ).as_json()
            assert found["counted"] >= 1, found
            if profile == "local":
                assert b"confide_reports_counted_total 1.0" in Transport(url).get("/metrics").body
            for process in processes:
                shown = Path("/proc", str(process.pid), "cmdline").read_bytes()
                assert b"postgresql:" not in shown
        finally:
            for process in reversed(processes):
                process.stop()
    for log in place.glob("*.log"):
        for line in log.read_text().splitlines():
            document = json.loads(line)
            assert {"event", "level", "time"} <= set(document) and "127.0.0.1" not in json.dumps(
                {**document, "url": ""}
            ), line


@pytest.mark.slow  # five processes and a Postgres, which take long on a busy machine
@pytest.mark.postgres
@pytest.mark.service
@pytest.mark.parametrize("profile", ["local", "joint"])
def test_the_image_s_steps_and_what_compose_starts(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = build_linked(tmp_path)
    listed = subprocess.run([str(python), "-c", "import scipy"], capture_output=True)
    assert listed.returncode != 0, "only what is locked is there"
    check_composed(python, tmp_path, profile, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["local", "joint", "shuffle"])
def test_the_image_s_steps_as_they_are_written(profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = build_installed(tmp_path)
    size = sum(path.lstat().st_size for path in (tmp_path / "opt").rglob("*") if path.is_file())
    assert size < 400_000_000, size
    check_composed(python, tmp_path, profile, monkeypatch)
