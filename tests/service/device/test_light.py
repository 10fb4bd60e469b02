"""A device is light: it loads nothing that is compiled, and is ready in a fraction of a second of work."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from confide.service.device import Device, FileStore
from tests.service.contract.example import contract

from .services import serving

HEAVY = ("numba", "scipy", "opendp", "dp_accounting", "pyarrow", "duckdb", "matplotlib", "click", "msgpack.fallback")
MOST_SECONDS = 0.3
MOST_BYTES = 120_000_000
"""What a device must install: confide and all that it requires, without extras."""
MOST_OF_EXTRA = {"service": 400_000_000, "full": 850_000_000}
"""What a server, and what an analyst must install."""
ROOT = Path(__file__).parents[3]

PROGRAM = """
import sys
from confide.service.device import Device, FileStore, Transport
from confide.service.contract import Contract
contract = Contract.from_bytes(open(sys.argv[1], "rb").read())
device = Device(Transport(sys.argv[3]), contract, store=FileStore(sys.argv[2]), background=False, send=False)
episode = device.begin()
for step in range(4):
    episode.act(0)
    episode.observe(1.0, 0)
episode.finish()
"""
CLOCK = "\nimport time, json\nprint(json.dumps([time.process_time(), sorted(sys.modules)]))"


def run(program: str, *given: str) -> tuple[float, list[str]]:
    process = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True, check=True)
    seconds, modules = json.loads(process.stdout)
    return seconds, modules


def test_what_a_device_installs_is_enough(tmp_path: Path) -> None:
    """Of all packages that are installed here, joining, acting and sending load those of the base and no other."""
    made = contract()
    program = """
import sys
from confide import Device
from confide.service.device import FileStore
device = Device.join(sys.argv[1], pin=sys.argv[2], store=FileStore(sys.argv[3]), background=False)
episode = device.begin()
episode.act(0)
episode.observe(1.0, 0)
episode.finish()
"""
    with serving(made) as fake:
        fake.open_round(1)
        _, modules = run(program + CLOCK, fake.url, made.pin, str(tmp_path))
        assert len(fake.sent) == 1
    installed = {name for name in metadata.packages_distributions() if not name.startswith("_")}
    assert installed & {name.split(".")[0] for name in modules} <= {"numpy", "msgpack", "cryptography", "confide"}


def required(asked: list[str]) -> set[str]:
    """The packages that these requirements bring, with all that those require in turn."""
    waiting, found = [Requirement(text) for text in asked], set[str]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            extras = {"", *requirement.extras}
            for text in metadata.requires(name) or ():
                further = Requirement(text)
                if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in extras):
                    waiting.append(further)
    return found


def on_disk(files: list[Path]) -> int:
    """Bytes of these files; of a module twice, since what it is compiled to is kept beside it and is about as large."""
    kept = [path for path in files if "__pycache__" not in path.parts and path.is_file()]
    return sum(path.stat().st_size * (2 if path.suffix == ".py" else 1) for path in kept)


def installed_bytes(extra: str | None = None) -> int:
    """What `pip install confide` brings, or `confide[extra]`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(project["optional-dependencies"][extra] if extra else ())]
    own = [*(ROOT / "confide").rglob("*"), *(ROOT / "js" / "src").rglob("*"), *(ROOT / "js" / "extra").rglob("*")]
    packages = [metadata.distribution(name) for name in required(asked)]
    return on_disk(own) + sum(on_disk([Path(str(file.locate())) for file in one.files or ()]) for one in packages)


def test_what_a_device_installs_is_small() -> None:
    assert installed_bytes() < MOST_BYTES
    for extra, most in MOST_OF_EXTRA.items():
        assert 2.5 * MOST_BYTES < installed_bytes(extra) < most  # it does count what is installed


def test_one_report_loads_little_and_costs_little(tmp_path: Path) -> None:
    made = contract()
    (tmp_path / "contract.json").write_bytes(made.data)
    with serving(made) as fake:
        fake.open_round(1)
        Device.join(fake.url, store=FileStore(tmp_path / "joined"), background=False)
        url = fake.url
    costs = []
    bare = statistics.median(run("import sys" + CLOCK)[0] for _ in range(5))
    for number in range(5):
        folder = tmp_path / f"device{number}"
        folder.mkdir()
        (folder / "device.json").write_bytes((tmp_path / "joined" / "device.json").read_bytes())
        seconds, modules = run(PROGRAM + CLOCK, str(tmp_path / "contract.json"), str(folder), url)
        (memory,) = json.loads((folder / "device.json").read_text())["services"].values()
        assert memory["letter"]["body"]  # a report was drawn
        assert [name for name in HEAVY if name in modules] == []
        costs.append(seconds)
    assert min(costs) - bare <= MOST_SECONDS  # the least: others may be busy
