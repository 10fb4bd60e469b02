"""Writes docs/research/features.md, the CPU time of a report about features: python -m tools.feature_times"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from confide import Local
from confide.data.privatizers import respond
from confide.data.trajectories.observed import ObservedEpisodes
from confide.lab.environments import make as world_of
from confide.mechanisms.noise import LightNoise
from confide.privacy import Schedule
from confide.protocol.design import Request, make
from confide.protocol.kinds.moments import MomentsQuestion
from confide.protocol.releases.report import report_length

PATH = Path(__file__).parents[1] / "docs" / "research" / "features.md"
WORLDS = ("linear-bandit/6x4", "linear-bandit/20x4", "covariates/2")
EPSILON, REPORTS = 4.0, 200


def row(name: str) -> str:
    """A row of the table: cells, bytes, and the median and the slowest of many reports, in ms of CPU time."""
    world = world_of(name).world
    assert world is not None
    question = MomentsQuestion.of(world.features, world.horizon)
    design = make(Request(question, Local(EPSILON), Schedule.every(REPORTS)))
    rng, times, lengths = np.random.default_rng(0), [], set()
    for _ in range(REPORTS):
        seen = world.start(world.horizon + 1, rng)[None]
        actions = rng.integers(0, world.features.actions, (1, world.horizon))
        episode = ObservedEpisodes(seen, actions, rng.random((1, world.horizon)))
        started = time.process_time()
        message = respond(design, question, episode, LightNoise()).to_bytes(design)
        times.append(1000 * (time.process_time() - started))
        lengths.add(len(message))
    assert lengths == {report_length(design)}
    middle, slow = np.median(times), np.quantile(times, 0.95)
    size = world.features.dimension
    return f"| `{name}` | {size} | {question.cells:,} | {report_length(design):,} | {middle:.1f} | {slow:.1f} |"


def page() -> str:
    """The text of the page."""
    head = f"# What a report about features costs a device\n\nMeasured in {time.strftime('%B %Y')}.\n\n"
    said = (
        f"A device in Python, trust local, epsilon {EPSILON:g}, `privunit`: from an episode to the bytes of its report. CPU time "
        f"of {REPORTS} reports, one after the other. All reports of a design have one length. `python -m tools.feature_times` "
        "writes this page.\n\n"
    )
    table = "| environment | features | numbers in a report | bytes | median, ms | 95 %, ms |\n|---|---:|---:|---:|---:|---:|\n"
    return head + said + table + "\n".join(row(name) for name in WORLDS) + "\n"


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
