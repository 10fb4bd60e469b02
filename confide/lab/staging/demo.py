"""Demonstrates a service for one minute: a collector in a process of its own, people over HTTP, and the policies it learns."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from ... import validation
from ...learning.planning import policy_value
from ...mdp import policies
from ...privacy import Schedule
from ...privacy.guarantee import JOINT, LOCAL, SHUFFLE, Guarantee
from ...protocol.trusts.mixing import BEYOND
from ...service.contract.folder import Folder
from ...service.contract.heads import Head, SignedHead
from ...service.contract.intermediary import SHUFFLER
from ...service.device.chain import fetched
from ...validation import Json
from .. import environments
from .admission import Applicant, make_admitting
from .processes import Process
from .visits import Visit, Visitors, visit

WORLD, HORIZON, EPSILON, ROUNDS, PEOPLE = "riverswim/3", 6, 4.0, 10, 3000
LEARNING = 60.0
"""Seconds within which a round must have been closed."""


PROMISES = {
    LOCAL: Guarantee(LOCAL, EPSILON),
    SHUFFLE: Guarantee(SHUFFLE, 1.0, 1e-6),
    JOINT: Guarantee(JOINT, 1.0, 1e-6),
}
"""The guarantee of the demonstration by trust model. With a shuffler or a curator, people are hidden better, and teach more."""
WINDOW = 6.0
TIMES = {"deadline": 6.0, "publication": 0.5, "patience": 6.0}
"""Seconds, for a service that lasts a minute, in which a user plays by hand."""
BATCHES = 5
"""How many rounds there are where batches close by time."""


LABELS = {"states": ["bank", "middle", "spring"], "actions": ["drift", "swim"]}
PLACES = 1
"""This many rounds stay open, for people who play by hand."""


class DemoRound(TypedDict):
    """A round as it opened: after how many people, and the value of its policy."""

    round: int
    people: int
    value: float


class DemoSummary(TypedDict):
    """What a demonstration showed."""

    rounds: list[DemoRound]
    reports: dict[str, Json]
    certificate: Mapping[str, Mapping[str, Json]]
    seconds: float


def demonstrate(
    people: int = PEOPLE,
    on_round: Callable[[DemoRound], None] | None = None,
    trust: str = LOCAL,
    on_served: Callable[[str], None] | None = None,
    on_end: Callable[[DemoSummary], None] | None = None,
) -> DemoSummary:
    """Run a service for a minute, and return a summary. on_round: called with every round as it opens. on_served: called with
    the address at which the service shows itself. on_end: called with the summary, while the service still runs.
    """
    validation.choice("trust", trust, PROMISES)
    validation.integer("people", people, 1)
    began = time.perf_counter()
    world = environments.make(WORLD, HORIZON)
    assert world.model is not None
    with tempfile.TemporaryDirectory(prefix="confide-demo-") as place:
        contents: dict[str, Any] = {"spec": world.spec, "promise": PROMISES[trust], "name": "demo", "labels": LABELS}
        folder = make_admitting(Path(place) / "demo", **contents, **_options(trust, people))
        with _processes(folder) as process:
            if on_served is not None:
                on_served(process.url)
            visitors = Visitors(process.url, WORLD, credential=Applicant(folder.issuer_path))
            rows: list[DemoRound] = []
            totals = Visit()
            rounds = len(visitors.contract.ends) - PLACES
            for number in range(1, rounds + 2):
                head = _opened(visitors, number)
                raw = fetched(visitors.transport, f"/v1/policies/{head.policy}")
                values = [policy_value(world.model, policy) for policy in policies.from_bytes(raw, world.spec)]
                row: DemoRound = {"round": number, "people": head.people, "value": sum(values) / len(values)}
                rows.append(row)
                if on_round is not None:
                    on_round(row)
                if number <= rounds:
                    people_in_round = visitors.contract.tickets(number)
                    visits = visit(process.url, WORLD, people_in_round, seed=number, visitors=visitors, workers=8)
                    totals.merge(visits)
            certificate = json.loads(fetched(visitors.transport, "/v1/certificate"))
            visitors.close()
            reports = totals.as_json()
            summary: DemoSummary = {
                "rounds": rows,
                "reports": {name: reports[name] for name in ("sent", "counted", "refused")},
                "certificate": certificate,
                "seconds": time.perf_counter() - began,
            }
            if on_end is not None:
                on_end(summary)
    return summary


def _options(trust: str, people: int) -> dict[str, Any]:
    """Further options of the contract: rounds and one that stays open, and times of seconds where tickets are taken."""
    times = {"window": WINDOW, "between": TIMES}
    batch = max(2, int(people / BATCHES / (1 + BEYOND)))
    return {
        LOCAL: _equal_rounds(people, ROUNDS),
        JOINT: {**_equal_rounds(people, BATCHES), **times},
        SHUFFLE: {"people": (BATCHES + PLACES) * batch, "batch": batch, **times},
    }[trust]


def _equal_rounds(people: int, rounds: int) -> dict[str, Any]:
    """This many people in rounds of one size, and as many places again as stay open."""
    many = min(rounds, people)
    places = people + PLACES * (people // many)
    return {"people": places, "schedule": Schedule.batches(places, many + PLACES)}


@contextlib.contextmanager
def _processes(folder: Folder) -> Iterator[Process]:
    """A collector that is ready, with the shuffler it needs; a curator it starts by itself."""
    with contextlib.ExitStack() as running:
        options = ["--demo-page"]
        intermediary = folder.contract().intermediary
        if intermediary is not None and intermediary.role == SHUFFLER:
            shuffler = Process(folder.path, command="shuffle")
            running.callback(shuffler.stop)
            options += ["--shuffler", shuffler.start().url]
        process = Process(folder.path, options=options)
        running.callback(process.stop)
        yield process.start()


def _opened(visitors: Visitors, number: int) -> Head:
    """The head of a round, once it is open."""
    until = time.monotonic() + LEARNING
    while True:
        signed = SignedHead.from_json(fetched(visitors.transport, "/v1/rounds/current"), visitors.contract.key)
        if signed.head.round >= number or time.monotonic() > until:
            return signed.head
        time.sleep(0.05)
