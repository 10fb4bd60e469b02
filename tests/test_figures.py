"""No figure is typed into a guide: a number in its prose is a constant, compared with the code here, or was written by a command.

Measured figures stand in the research log, and in blocks and pages that a command writes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from confide.analysis.fitting import adopting, assumed, linear, plan, power, subgroups
from confide.analysis.reporting import intervals
from confide.lab.audit import auditing, catalogue
from confide.learning.learners import bolder, tight
from confide.learning.planning import logged, thinning
from confide.mechanisms import bounded
from confide.protocol import defaults
from confide.protocol.kinds import mixture
from confide.protocol.trusts.central import RETURNS_SHARE
from confide.service.http import application, connections, databases, group_commit, serving
from tests.test_guide import DOCS, GUIDE
from tools import interval_coverage, release

ROOT = Path(__file__).parents[1]
WRITTEN = {"deployed.md", "service/hostile.md", "rivals.md"}
"""Pages whose figures a command writes."""
FIGURE = re.compile(
    r"(?<![\w./^(-])\d[\d,]*(?:\.\d+)?(?: ?%| times\b| ?(?:us|ms|s|seconds?|minutes?|hours?|MB|kB|KB|GB)\b)"
    r"|(?<![\w./^-])(?:\d[\d,]*)?\.\d+\b(?!\.\d)"
)
"""A share, a ratio, a time or a size, and whatever has a decimal point."""


def figures(text: str) -> set[str]:
    """Such numbers of a page's prose: not of code, links or formulas, nor of blocks that a command writes."""
    for hidden in (r"^```.*?^```", r"^<!-- .*?^<!-- (?:end|/\w+) -->", r"`[^`]*`", r"\]\([^)]*\)", r"arXiv \S+"):
        text = re.sub(hidden, " ] ", text, flags=re.DOTALL | re.MULTILINE)
    return set(FIGURE.findall(text))


def percent(*shares: float) -> set[str]:
    return {f"{round(100 * share, 6):g} %" for share in shares}


def seconds(*limits: float) -> set[str]:
    return {f"{limit:g} s" for limit in limits}


def centred() -> set[str]:
    """Squared sensitivities by the centre of rewards, of the formulas in the same table."""
    found = set()
    for c in (1 / 2, 5 / 16, 1 / 8, 0.0):
        w = max(c, 1 - c)
        per_step = 2 + 2 * w * w + max(0.0, 1 - 2 * w * w) / 2
        prices = 2 + 2 * (c * c + (1 - c) ** 2), 2.5 + 2 * w * w, 4 + 2 * w * w, max(1, 0.5 + 2 * w * w), per_step
        found |= {f"{math.floor(100 * price + 0.5) / 100:g}" for price in prices if price % 1}
    return found


def steep() -> set[str]:
    unseen = {1 - 0.05 ** (1 / seeds) for seeds in (5, 10, 20)}
    return percent(interval_coverage.COVERED, interval_coverage.BEHIND, interval_coverage.STEEP, 0.01) | {
        f"{100 * share:.0f} %" for share in unseen
    }


def shares() -> set[str]:
    judging = {**adopting.SHARES, **adopting.GROUP_SHARES}
    return percent(
        plan.PREVIOUS_SHARE, subgroups.CONFIDENCE, *(round(x, 2) for x in adopting.SHARES.values())
    ) | percent(*(round(x, 2) for x in judging.values()))


def versions() -> set[str]:
    return set(re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8")))


def slow_commit() -> set[str]:
    rule = r"confide_commit_seconds_count\[5m\]\) > (\d+)"
    return seconds(*map(float, re.findall(rule, (ROOT / "deploy" / "alerts.yml").read_text(encoding="utf-8"))))


def largest_device() -> set[str]:
    (most,) = re.findall(
        r'"confide-device.js": (\d+)', (ROOT / "js" / "test" / "run.test.js").read_text(encoding="utf-8")
    )
    return {f"{int(most) / 1000:g} KB"}


noise = 1 + thinning.TAU**2, 1 + thinning.TAU**-2
STATED: Mapping[str, Callable[[], set[str]]] = {
    "explanations/audit.md": lambda: {f"{auditing.CONFIDENCE}", f"{catalogue.DELTA}"},
    "explanations/intervals-of-a-fit.md": lambda: percent(power.CHANCE, power.CONFIDENCE),
    "explanations/linear-mixtures.md": lambda: set(re.findall(r"log\((2\.5) H/delta", mixture.__doc__ or "")),
    "explanations/offline.md": lambda: (
        percent(RETURNS_SHARE, linear.VALUES_SHARE, logged.UNTRIED) | {f"{math.sqrt(one):.1f} times" for one in noise}
    ),
    "explanations/online.md": lambda: {f"{one}" for one in (tight.SPREAD_LAST, tight.BATCHES_LAST, tight.ARMS_LAST)},
    "explanations/statistics.md": centred,
    "explanations/what-an-interval-assumes.md": lambda: percent(assumed.CONFIDENCE),
    "how-to/declare-public-facts.md": lambda: percent(plan.STARTS_SHARE),
    "how-to/fit-a-log.md": lambda: percent(plan.CAME_SHARE),
    "how-to/judge-a-policy.md": lambda: shares() | {f"{bolder.STRENGTHS[1]}"},
    "how-to/simulate.md": lambda: {f"{defaults.GROWTH_FACTOR}"} | percent(defaults.GROWTH_FACTOR - 1),
    "intervals.md": lambda: (
        steep() | percent(0.95, intervals.PRIOR_DEVIATION, intervals.QUANTILE, 2 * intervals.BARE_QUANTILE - 1)
    ),
    "limitations.md": lambda: {f"{bounded.LOSS_STEP}"} | {min(versions()), max(versions())},
    "pitfalls.md": lambda: {f"{math.e:.1f}"},
    "sceptics.md": lambda: {"0.5"},  # what a reader may plant
    "service/contract.md": lambda: percent(defaults.GROWTH_FACTOR - 1),
    "service/deploying.md": lambda: {f"{release.MOST['service']} MB"},
    "service/operating.md": lambda: seconds(
        connections.RECEIPT, serving.HANDSHAKE, connections.STALL, group_commit.PATIENCE
    ),
    "service/proxy.md": lambda: seconds(serving.HANDSHAKE),
    "service/runbook.md": lambda: slow_commit() | seconds(application.WAIT, databases.IDLE),
    "service/threats.md": lambda: seconds(databases.IDLE, databases.LOCK, group_commit.PATIENCE),
    "service/web.md": largest_device,
    "stability.md": lambda: {"1.0", "0.3"},  # versions
    "tutorials/analyst.md": lambda: percent(assumed.CONFIDENCE),
}
"""The numbers of every page that has any, from where the code has them."""


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_figure_is_typed_into_a_guide(page: Path) -> None:
    name = page.relative_to(DOCS).as_posix()
    if name not in WRITTEN:
        stated = STATED.get(name, set[str])()
        assert figures(page.read_text(encoding="utf-8")) == stated


def test_figures_are_seen_and_code_is_not() -> None:
    text = "It took 12 ms and 1,200 MB, .88 of them (0.5 too), 3 times; v0.2.0, `0.7`, [x](a.7.md), step 5, arXiv 2411.11647"
    assert figures(text) == {"12 ms", "1,200 MB", ".88", "0.5", "3 times"}
    assert figures("<!-- table: x -->\n0.5\n<!-- end -->\n") == set()


def test_files_that_the_guide_names_exist() -> None:
    folders = [
        ROOT,
        ROOT / "confide",
        ROOT / "confide" / "lab",
        ROOT / "confide" / "service",
        ROOT / "docs",
        ROOT / "js",
    ]
    missing = {
        (page.name, path)
        for page in GUIDE
        for path in re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.(?:py|js|md))`", page.read_text(encoding="utf-8"))
        if not any((folder / path).exists() for folder in folders)
    }
    assert missing == set()
