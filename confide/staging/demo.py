"""A service for one minute: a collector in a process of its own, people over HTTP, and what they taught it."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import environments
from ..collector.founding import found
from ..contracts.heads import SignedHead
from ..device.following import fetched
from ..mdp import policies
from ..planning import policy_value
from ..privacy import Schedule
from ..privacy.guarantee import Local
from .processes import Process
from .visits import Crowd, Visit, visit

WORLD, HORIZON, EPSILON, ROUNDS, PEOPLE = "riverswim/3", 6, 4.0, 10, 3000
LESSON = 60.0
"""Seconds within which a round must have been learned from."""


def demonstrate(people: int = PEOPLE, tell: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
    """Run it all, and return what happened; `tell` hears of every round as it opens."""
    began = time.perf_counter()
    world = environments.make(WORLD, HORIZON)
    assert world.model is not None
    with tempfile.TemporaryDirectory(prefix="confide-demo-") as place:
        schedule = Schedule.batches(people, min(ROUNDS, people))
        folder = found(Path(place) / "demo", world.spec, Local(EPSILON), people, name="demo", schedule=schedule)
        process = Process(folder.path).start()
        crowd = Crowd(process.url, WORLD)
        try:
            rows: list[dict[str, Any]] = []
            totals = Visit()
            ends = [0, *crowd.contract.ends]
            for number in range(1, len(ends) + 1):
                head = _opened(crowd, number)
                raw = fetched(crowd.transport, f"/v1/policies/{head.policy}")
                values = [policy_value(world.model, policy) for policy in policies.from_bytes(raw, world.spec)]
                row = {"round": number, "people": head.people, "value": sum(values) / len(values)}
                rows.append(row)
                if tell is not None:
                    tell(row)
                if number < len(ends):
                    came = visit(process.url, WORLD, ends[number] - ends[number - 1], seed=number, crowd=crowd)
                    totals.merge(came)
            said = json.loads(fetched(crowd.transport, "/v1/certificate"))
        finally:
            crowd.transport.close()
            process.stop()
    reports = totals.as_json()
    return {
        "rounds": rows,
        "reports": {name: reports[name] for name in ("sent", "counted", "refused")},
        "certificate": said,
        "seconds": time.perf_counter() - began,
    }


def _opened(crowd: Crowd, number: int) -> Any:
    """The head of a round, once it is open."""
    until = time.monotonic() + LESSON
    while True:
        signed = SignedHead.from_json(fetched(crowd.transport, "/v1/rounds/current"), crowd.contract.key)
        if signed.head.round >= number or time.monotonic() > until:
            return signed.head
        time.sleep(0.05)
