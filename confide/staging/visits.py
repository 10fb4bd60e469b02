"""Simulated people against a running service: each walks through a known world with a device, and reports over HTTP.

A seed fixes the world's luck only. Noise is secure, as it is for everybody.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import environments, validation
from ..contracts.contract import Contract
from ..contracts.encoding import from_base64
from ..contracts.letters import MEDIA_TYPE
from ..device import following
from ..device.device import Device
from ..device.episode import Episode
from ..device.intermediary_client import IntermediaryClient
from ..device.sending import COUNTED
from ..device.store import MemoryStore
from ..device.transport import Transport, Unreachable
from ..errors import InvalidInput, PrivacyError
from ..mdp import Model

PATIENCE = 60.0
"""Seconds that a simulated person tries for before it counts as lost."""


@dataclass(frozen=True)
class Manners:
    """How people behave: shares of them.

    drop: the answer is lost and the letter sent again; slow: it is sent a while later; repeat: it is sent once more after it was
    acknowledged; hostile: garbage is sent besides.
    """

    drop: float = 0.0
    slow: float = 0.0
    repeat: float = 0.0
    hostile: float = 0.0


class Visit:
    """What came of it: letters `sent`, of which some were `counted`, `refused` for good, or `unsent` when patience ended; people
    who came after the last round (`spent`); and what else was answered as it should (`repeated`, `garbage`) or not (`doubled`).
    """

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.seconds = 0.0

    def add(self, what: str) -> None:
        """Count something."""
        with self._lock:
            self._found[what] += 1

    def merge(self, other: Visit) -> None:
        """Count what came of another visit as well."""
        self._found.update(other._found)
        self.seconds += other.seconds

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        names = ("sent", "counted", "repeated", "refused", "unsent", "spent", "garbage", "doubled")
        return {**{name: self._found[name] for name in names}, "seconds": round(self.seconds, 3)}


class Crowd:
    """People of one world, who all know the same contract and see the same rounds."""

    def __init__(
        self,
        url: str,
        environment: str,
        pin: str | None = None,
        timeout: float = 10.0,
        transport: Transport | None = None,
    ) -> None:
        """transport: how the service is reached, if not by HTTP."""
        self.transport = transport or Transport(url, timeout, keep=True)
        raw = following.fetched(transport or Transport(url, timeout), "/v1/contract")
        self.contract = Contract.from_bytes(raw)
        if pin not in (None, self.contract.pin):
            raise PrivacyError("The service shows another contract than the pinned one.")
        spec = self.contract.design.question.spec
        world = environments.make(environment, spec.horizon, spec.dynamics)
        if world.model is None or world.spec != spec:
            raise InvalidInput(f"The world must be a known one of {spec}. {environment} is of {world.spec}.")
        self.model: Model = world.model
        self._head: dict[str, Any] | None = None
        about = self.contract.intermediary
        self._between = None if about is None else IntermediaryClient(self.transport, self.contract, about)

    def round(self) -> dict[str, Any] | None:
        """The current round, checked as every device checks it; the last one known where nobody answers."""
        held = self._head
        with contextlib.suppress(Unreachable):
            held = following.current(self.transport, self.contract, held) or held
        self._head = held
        return held

    def wait(self, seconds: float = PATIENCE) -> None:
        """Until the first round is open: whoever comes before has nothing to follow, and nothing to report."""
        until = time.monotonic() + seconds
        while self.round() is None:
            if time.monotonic() > until:
                raise Unreachable(f"{self.transport.url} has opened no round within {seconds:g} s. Look at its log.")
            time.sleep(0.1)

    def person(self, luck: np.random.Generator, manners: Manners, found: Visit) -> None:
        """One person's visit, from the first state to an answer."""
        store, clock = MemoryStore(), _Clock()
        with store.changing() as document:
            document["services"][self.transport.url] = {"head": self.round()}
        line: dict[str, Any] = {"background": False, "send": False, "clock": clock, "between": self._between}
        device = Device(self.transport, self.contract, store=store, **line)
        episode = device.begin()
        walk(self.model, episode, luck)
        if random.random() < manners.hostile:
            self._offend(found)
        if not episode.reports:
            found.add("spent")
            return
        found.add("sent")
        episode.finish()
        clock.ahead = self.contract.window  # nobody waits for their send time here
        if random.random() < manners.slow:
            time.sleep(0.1)
        body = from_base64(store.read()["services"][self.transport.url]["letter"]["body"])
        if random.random() < manners.drop:
            self._post(body)  # the answer is lost, so the device sends again
        until = time.monotonic() + PATIENCE
        while not device.flush() and time.monotonic() < until:
            time.sleep(0.05)
        memory = store.read()["services"][self.transport.url]
        taken = (memory.get("letter") or {}).get("epoch") is not None
        answer = 202 if taken else memory.get("answer", 0)
        found.add("counted" if answer in COUNTED else "refused" if answer else "unsent")
        if random.random() < manners.repeat:
            found.add("repeated" if self._post(body) in (200, 202, 410) else "doubled")

    def _post(self, body: bytes) -> int:
        try:
            if self._between is not None:
                return self._between.send(body)[0].status
            return self.transport.post("/v1/reports", body, MEDIA_TYPE).status
        except Unreachable:
            return 200

    def _offend(self, found: Visit) -> None:
        """Something that must be refused."""
        status = self._post(os.urandom(random.randrange(200)))
        found.add("garbage" if status not in (201, 202) else "doubled")

    def close(self) -> None:
        """Close what was kept open."""
        self.transport.close()
        if self._between is not None:
            self._between.close()


class _Clock:
    """A person's clock, which may be ahead."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def walk(model: Model, episode: Episode, luck: np.random.Generator) -> None:
    """One person's episode in a known world."""
    spec = model.spec
    state = int(luck.choice(spec.states, p=model.initial))
    for step in range(spec.horizon):
        layer = step if spec.layers > 1 else 0
        action = episode.act(state)
        reward = float(luck.random() < model.rewards[layer, state, action])
        state = int(luck.choice(spec.states, p=model.transitions[layer, state, action]))
        episode.observe(reward, state)


def visit(
    url: str,
    environment: str,
    people: int,
    *,
    seed: int = 0,
    pin: str | None = None,
    rate: float | None = None,
    workers: int = 4,
    manners: Manners | None = None,
    crowd: Crowd | None = None,
) -> Visit:
    """Send so many simulated people to a service, some at a time, and say what became of their letters."""
    logging.getLogger("confide.device").addHandler(logging.NullHandler())
    logging.getLogger("confide.device").propagate = False
    many = validation.integer("people", people, 1)
    who = crowd or Crowd(url, environment, pin)
    who.wait()
    found, began = Visit(), time.perf_counter()
    streams = np.random.SeedSequence(seed).spawn(many)

    def come(number: int) -> None:
        if rate:
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        who.person(np.random.default_rng(streams[number]), manners or Manners(), found)

    try:
        with ThreadPoolExecutor(validation.integer("workers", workers, 1, 64)) as pool:
            for _ in pool.map(come, range(many)):
                pass
    finally:
        who.close()
    found.seconds = time.perf_counter() - began
    return found
