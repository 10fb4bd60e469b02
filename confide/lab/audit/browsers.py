"""Targets made of the device in JavaScript: reports that a page would draw, by its own code and randomness, in Node.

Python draws none of it: it hands over a contract and an episode, and reads the reports as a collector does.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from ...data.trajectories import Trajectory
from ...errors import InvalidInput
from ...mechanisms.noise import NoiseSource
from ...protocol.design import Design
from ...protocol.releases import Report
from ...protocol.trusts.local import CATEGORIES, RESPONSE
from ...service.contract.contract import Contract
from ...service.dashboard import device_folder
from .auditing import Target
from .devices import local_target
from .events import Array
from .people import Pair, pairs_of

BROWSER = "browser"
MECHANISMS = ("laplace", "gaussian", RESPONSE, *CATEGORIES)
"""The mechanisms that a device in JavaScript knows, of those that are audited."""
OLDEST_NODE = 20
LENGTH = struct.Struct("<I")
DRIVER = device_folder() / "extra" / "reports.mjs"


def missing() -> str:
    """Why no report of a page can be drawn here; empty if one can."""
    if node() is None:
        return f"Node {OLDEST_NODE} or newer is not on the PATH"
    return "" if DRIVER.is_file() else f"{DRIVER} is not there"


@cache
def node() -> str | None:
    """Node, if there is one that is new enough."""
    found = shutil.which("node")
    if found is None:
        return None
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found if told.startswith("v") and int(told[1:].partition(".")[0]) >= OLDEST_NODE else None


def reports(contract: bytes, people: Sequence[Trajectory], times: int = 1) -> list[bytes]:
    """The report of every person, this many times, as JavaScript draws them."""
    found = node()
    if found is None or missing():
        raise InvalidInput("node-missing", f"Node must draw the reports of a page. Got none: {missing()}. Install it.")
    episodes = [[one.states.tolist(), one.actions.tolist(), one.rewards.tolist()] for one in people]
    given = json.dumps({"contract": contract.decode(), "episodes": episodes, "times": times}).encode()
    done = subprocess.run([found, str(DRIVER)], input=given, capture_output=True, check=False)
    if done.returncode:
        raise InvalidInput(
            "node-failed", f"Node must draw reports. Got {done.stderr.decode().strip()[-200:]!r}. Try another Node."
        )
    drawn, at = [], 0
    while at < len(done.stdout):
        (size,) = LENGTH.unpack_from(done.stdout, at)
        drawn.append(done.stdout[at + LENGTH.size : at + LENGTH.size + size])
        at += LENGTH.size + size
    return drawn


def browser_targets(name: str, design: Design) -> list[Target]:
    """Targets of a page's report for either of two people, of several pairs of them."""
    learner = {"name": "ucbvi", "options": {}}
    contract = Contract.written(design, name="audit", operator="audit", key=bytes(32), learner=learner)
    return [_target(name, contract, people) for people in pairs_of(design)]


def _target(name: str, contract: Contract, people: Pair) -> Target:
    design = contract.design

    def sample(world: int, count: int, noise: NoiseSource) -> Array:
        sent = [Report.from_bytes(data, design) for data in reports(contract.data, [people[world]], count)]
        cells = np.stack([report.cells for report in sent]) * design.mechanism.grid
        return np.column_stack([cells, [report.row for report in sent]])

    return replace(local_target(name, design, people), sample=sample, share=1.0, drawn_by=BROWSER)
