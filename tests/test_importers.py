"""No module for one other module of its package alone, unless there is a reason: such a pair is one idea in two files."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPILED = "compiled loops, which who imports the other need not compile"
FIELD = "has a name in the field"
LOADED = "loaded only where it is asked for"
PAPER = "one file a page or figure"
FORMAT = "a public format or protocol"
ATTACK = "one file an attack"
ENGINE = "one file an engine"
CURATOR = "one file a curator"
KIND = "one file a kind or a trust model"
COMMAND = "the options of one command"
SIDE = "another step of the same journey"

REASONS: dict[str, str] = {
    **dict.fromkeys(
        (
            "data/trajectories/hashing",
            "mechanisms/sampler",
            "mechanisms/subset_sums",
        ),
        COMPILED,
    ),
    **dict.fromkeys(
        (
            "analysis/fitting/alarms",
            "analysis/fitting/power",
            "data/statistics/keeping",
            "data/statistics/weighing",
            "learning/planning/shrinkage",
            "mechanisms/plain",
            "service/dashboard/mean_return",
            "service/device/periods",
            "service/intermediary/held",
            "service/intermediary/leasing",
            "service/intermediary/sealing",
        ),
        FIELD,
    ),
    **dict.fromkeys(("lab/environments/gym_world", "service/collector/children", "service/collector/learning"), LOADED),
    **dict.fromkeys(
        (
            "lab/experiments/ldp_obi_bounds",
            "lab/experiments/ldp_obi_noise",
            "lab/experiments/offline",
            "lab/experiments/online",
            "lab/experiments/vtr",
            "lab/experiments/world_view",
        ),
        PAPER,
    ),
    **dict.fromkeys(
        (
            "analysis/reporting/svg",
            "analysis/results/card",
            "data/trajectories/texts",
            "service/collector/metrics",
            "service/device/messages",
            "service/intermediary/app",
            "service/issuer/app",
        ),
        FORMAT,
    ),
    **dict.fromkeys(("lab/audit/alone", "lab/audit/browsers", "lab/audit/judges"), ATTACK),
    **dict.fromkeys(
        (
            "lab/simulation/group_loop",
            "lab/simulation/featured",
            "lab/simulation/targeted",
            "lab/simulation/mixtures",
            "lab/simulation/play",
            "lab/simulation/stepwise",
        ),
        ENGINE,
    ),
    **dict.fromkeys(("data/statistics/mixture", "protocol/trusts/local"), KIND),
    **dict.fromkeys(("data/privatizers/gram", "data/privatizers/returns"), CURATOR),
    **dict.fromkeys(("cli/dataset", "cli/fit", "cli/grid", "cli/kit", "cli/service", "cli/offline"), COMMAND),
    **dict.fromkeys(
        (
            "analysis/fitting/fingerprints",
            "data/trajectories/documents",
            "data/trajectories/flags",
            "data/trajectories/order",
            "lab/staging/processes",
            "service/collector/alarms",
            "service/collector/promises",
            "service/device/admitting",
            "service/device/joining",
        ),
        SIDE,
    ),
}
"""Modules that one other module of their package imports, each with its reason. The list should shrink: merge before you add."""


def importers(sources: dict[str, str]) -> dict[str, set[str]]:
    """Which modules import each module of the package, by paths such as `mdp/reach`; `mdp/__init__` is `mdp`."""
    names = {path.removesuffix("/__init__"): path for path in sources}
    result: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        folder = path.split("/")[:-1]
        for node in ast.walk(ast.parse(sources[path])):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            home = [*folder[: len(folder) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for target in ("/".join(home), *("/".join((*home, alias.name)) for alias in node.names)):
                if target in result and target != name:
                    result[target].add(name)
    return result


def alone(sources: dict[str, str]) -> set[str]:
    """Modules with a single importer, which is a module beside them: what a package shows of itself is not meant."""
    found = importers(sources)
    packages = {path.removesuffix("/__init__") for path in sources if path.endswith("/__init__")}
    return {
        name
        for name, by in found.items()
        if name not in packages
        and len(by) == 1
        and next(iter(by)) not in packages
        and next(iter(by)).rpartition("/")[0] == name.rpartition("/")[0]
    }


def test_modules_with_one_importer_have_a_reason() -> None:
    package = ROOT / "confide"
    sources = {
        path.relative_to(package).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
    }
    found = alone(sources)
    assert found - set(REASONS) == set(), "merge it into its one importer, or say why not"


def test_a_module_for_one_other_is_found() -> None:
    sources = {
        "a/__init__": "from .shown import x\n",
        "a/shown": "",
        "a/user": "from .helper import y\nfrom ..b.far import z\nfrom . import twice\n",
        "a/helper": "from . import twice\n",
        "a/twice": "",
        "b/__init__": "",
        "b/far": "",
    }
    assert importers(sources)["a/twice"] == {"a/user", "a/helper"}
    assert alone(sources) == {"a/helper"}
