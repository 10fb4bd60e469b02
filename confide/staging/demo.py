"""A service for one minute: a collector in a process of its own, people over HTTP, and what they taught it."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .. import environments, validation
from ..collector.founding import Folder, found
from ..contracts.heads import SignedHead
from ..contracts.intermediary import BEYOND, SHUFFLER
from ..device.following import fetched
from ..mdp import policies
from ..planning import policy_value
from ..privacy import Schedule
from ..privacy.guarantee import JOINT, LOCAL, SHUFFLE, Guarantee
from .processes import Process
from .visits import Crowd, Visit, visit

WORLD, HORIZON, EPSILON, ROUNDS, PEOPLE = "riverswim/3", 6, 4.0, 10, 3000
LESSON = 60.0
"""Seconds within which a round must have been learned from."""


PROMISES = {
    LOCAL: Guarantee(LOCAL, EPSILON),
    SHUFFLE: Guarantee(SHUFFLE, 1.0, 1e-6),
    JOINT: Guarantee(JOINT, 1.0, 1e-6),
}
"""What is promised under which trust. Where somebody stands in between, the same people are hidden better, and taught more."""
WINDOW = 6.0
TIMES = {"deadline": 6.0, "publication": 0.5, "patience": 6.0}
"""Seconds, for a service that lasts a minute, in which somebody plays by hand."""
BATCHES = 5
"""How many rounds there are where batches close by time."""


LABELS = {"states": ["bank", "middle", "spring"], "actions": ["drift", "swim"]}
PLACES = 1
"""So many rounds stay open, for people who play by hand."""


def demonstrate(
    people: int = PEOPLE,
    tell: Callable[[dict[str, Any]], None] | None = None,
    trust: str = LOCAL,
    served: Callable[[str], None] | None = None,
    afterwards: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run it all, and return what happened; `tell` hears of every round as it opens, `served` of the address at which the
    service shows itself, and `afterwards` of what happened, while the service still runs.
    """
    validation.choice("trust", trust, PROMISES)
    began = time.perf_counter()
    world = environments.make(WORLD, HORIZON)
    assert world.model is not None
    with tempfile.TemporaryDirectory(prefix="confide-demo-") as place:
        folder = found(
            Path(place) / "demo", world.spec, PROMISES[trust], name="demo", labels=LABELS, **_options(trust, people)
        )
        with _processes(folder) as process:
            if served is not None:
                served(process.url)
            crowd = Crowd(process.url, WORLD)
            rows: list[dict[str, Any]] = []
            totals = Visit()
            taught = len(crowd.contract.ends) - PLACES
            for number in range(1, taught + 2):
                head = _opened(crowd, number)
                raw = fetched(crowd.transport, f"/v1/policies/{head.policy}")
                values = [policy_value(world.model, policy) for policy in policies.from_bytes(raw, world.spec)]
                row = {"round": number, "people": head.people, "value": sum(values) / len(values)}
                rows.append(row)
                if tell is not None:
                    tell(row)
                if number <= taught:
                    many = crowd.contract.tickets(number)
                    came = visit(process.url, WORLD, many, seed=number, crowd=crowd, workers=8)
                    totals.merge(came)
            said = json.loads(fetched(crowd.transport, "/v1/certificate"))
            crowd.close()
            reports = totals.as_json()
            happened = {
                "rounds": rows,
                "reports": {name: reports[name] for name in ("sent", "counted", "refused")},
                "certificate": said,
                "seconds": time.perf_counter() - began,
            }
            if afterwards is not None:
                afterwards(happened)
    return happened


def _options(trust: str, people: int) -> dict[str, Any]:
    """What a contract says besides: rounds and one that stays open, and times of seconds where tickets are taken."""
    rounds = min(ROUNDS if trust == LOCAL else BATCHES, people)
    if trust == SHUFFLE:
        batch = max(2, int(people / rounds / (1 + BEYOND)))
        return {"people": (rounds + PLACES) * batch, "batch": batch, "window": WINDOW, "between": TIMES}
    places = people + PLACES * (people // rounds)
    times = {"window": WINDOW, "between": TIMES} if trust == JOINT else {}
    return {"people": places, "schedule": Schedule.batches(places, rounds + PLACES), **times}


@contextlib.contextmanager
def _processes(folder: Folder) -> Iterator[Process]:
    """A collector that is ready, and the shuffler it needs; a curator it starts by itself."""
    with contextlib.ExitStack() as running:
        options = ["--demo-page"]
        about = folder.contract().intermediary
        if about is not None and about.role == SHUFFLER:
            shuffler = Process(folder.path, command="shuffle")
            running.callback(shuffler.stop)
            options += ["--shuffler", shuffler.start().url]
        process = Process(folder.path, options=options)
        running.callback(process.stop)
        yield process.start()


def _opened(crowd: Crowd, number: int) -> Any:
    """The head of a round, once it is open."""
    until = time.monotonic() + LESSON
    while True:
        signed = SignedHead.from_json(fetched(crowd.transport, "/v1/rounds/current"), crowd.contract.key)
        if signed.head.round >= number or time.monotonic() > until:
            return signed.head
        time.sleep(0.05)
