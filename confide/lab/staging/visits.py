"""Simulated people against a running service: each walks through a known world with a device, and reports over HTTP.

A seed fixes what happens in the world only. Noise is secure, as it is for every user.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from ... import validation
from ...errors import InvalidInput, PrivacyError
from ...mdp import Model, Spec
from ...service.contract.contract import Contract
from ...service.contract.encoding import from_base64
from ...service.contract.uploads import MEDIA_TYPE
from ...service.device import chain, following
from ...service.device.device import Device
from ...service.device.episode import Episode
from ...service.device.observed import ObservedEpisode
from ...service.device.sending import COUNTED
from ...service.device.store import MemoryStore, PublishedRound, ServiceMemory
from ...service.device.ticket_client import TicketClient
from ...service.device.transport import Transport, Unreachable
from ...validation import Json
from .. import environments
from ..environments.observed_world import ObservedWorld
from .admission import Applicant

LATER = 900.0
"""Seconds by which the clock of a person who comes again is ahead."""
PATIENCE = 60.0
"""Seconds that a simulated person tries for before it counts as lost."""


@dataclass(frozen=True)
class Manners:
    """How simulated people misbehave, as shares of them.

    drop: the answer is lost and the submission sent again; slow: it is sent a while later; repeat: it is sent once more after it
    was acknowledged; hostile: garbage is sent besides; again: a user comes who was here before, where the contract lets people.
    """

    drop: float = 0.0
    slow: float = 0.0
    repeat: float = 0.0
    hostile: float = 0.0
    again: float = 0.5


class Visit:
    """The outcomes of a visit: submissions `sent`, of which some were `counted`, `refused` for good, or `unsent` when patience
    ended; people
    who came after the last round, or again too soon (`spent`); how many submissions were of users who came again (`returned`); and
    what else was answered as it should (`repeated`, `garbage`) or not (`doubled`).
    """

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.seconds = 0.0

    def add(self, outcome: str) -> None:
        """Count an outcome."""
        with self._lock:
            self._outcomes[outcome] += 1

    def merge(self, other: Visit) -> None:
        """Add the outcomes of another visit."""
        self._outcomes.update(other._outcomes)
        self.seconds += other.seconds

    def as_json(self) -> dict[str, Json]:
        """The outcomes as plain values."""
        names = ("sent", "counted", "returned", "repeated", "refused", "unsent", "spent", "garbage", "doubled")
        return {**{name: self._outcomes[name] for name in names}, "seconds": round(self.seconds, 3)}


class Visitors:
    """People of one world, who all know the same contract and see the same rounds."""

    def __init__(
        self,
        url: str,
        environment: str,
        pin: str | None = None,
        timeout: float = 10.0,
        transport: Transport | None = None,
        credential: Callable[[], str] | None = None,
        issuer: str | None = None,
    ) -> None:
        """transport: how the service is reached, if not by HTTP. credential: what each person shows the issuer of tokens, where the
        contract names one; issuer: its address, where neither contract nor collector says."""
        self.transport = transport or Transport(url, timeout, keep=True)
        raw = chain.fetched(transport or Transport(url, timeout), "/v1/contract")
        self.contract = Contract.from_bytes(raw)
        if pin not in (None, self.contract.pin):
            raise PrivacyError("contract-not-pinned", "The service shows another contract than the pinned one.")
        spec = self.contract.design.question.spec
        world = environments.make(environment, spec.horizon, spec.dynamics)
        if self.contract.described is None and (world.model is None or world.spec != spec):
            raise InvalidInput(
                "visit-world-sizes",
                f"The world must be a known one of {_sizes(spec)}. {environment} has {_sizes(world.spec)}.",
            )
        self._model, self._observed = world.model, world.world
        if self.contract.described is not None and (
            self._observed is None or self._observed.features != self.contract.described
        ):
            raise InvalidInput(
                "visit-world-features",
                f"The world must be described as the contract is. {environment} is not. Make the contract with "
                "--features of that world.",
            )
        self._memory: ServiceMemory = {"head": None}
        about = self.contract.intermediary
        self._between = None if about is None else TicketClient(self.transport, self.contract, about)
        if self.contract.issuer is not None and credential is None:
            raise InvalidInput(
                "issuer-folder-missing",
                "This service takes one token per user. Give the folder of its issuer, whose login.key signs for simulated users: "
                "--login.",
            )
        self._credential, self._issuer = credential, issuer
        self._known: list[_KnownUser] = []
        self._choosing = threading.Lock()

    def round(self) -> PublishedRound | None:
        """The current round, checked as every device checks it; the last one known without a response."""
        memory = self._memory
        with contextlib.suppress(Unreachable):
            head = following.current(self.transport, self.contract, memory)
            if head is not None:
                chain.remember(memory, self.contract, head["signed"])
                memory["head"] = head
        return memory["head"]

    def wait(self, seconds: float = PATIENCE) -> None:
        """Wait until the first round is open: a user who comes before has nothing to follow, and nothing to report."""
        until = time.monotonic() + seconds
        while self.round() is None:
            if time.monotonic() > until:
                raise Unreachable(
                    "no-round-in-time",
                    f"{self.transport.url} has opened no round within {seconds:g} s. Look at its log.",
                )
            time.sleep(0.1)

    def person(self, rng: np.random.Generator, manners: Manners, visits: Visit) -> None:
        """Play one person's visit, from the first state to an answer, and count its outcome."""
        known = self._known_person(manners)
        person = known or self._new_person()
        self._visit(person, rng, manners, visits, again=known is not None)
        if self.contract.slots is not None:
            with self._choosing:
                self._known.append(person)

    def _known_person(self, manners: Manners) -> _KnownUser | None:
        """One who was here before and comes again; None if a new one is to come."""
        with self._choosing:
            if not self._known or random.random() >= manners.again:
                return None
            return self._known.pop(random.randrange(len(self._known)))

    def _new_person(self) -> _KnownUser:
        """One who was never here."""
        store, clock = MemoryStore(), _Clock()
        with store.changing() as document:
            document["services"][self.transport.url] = {"head": self.round()}
        credential = self._credential.person() if isinstance(self._credential, Applicant) else self._credential
        options: dict[str, Any] = {"background": False, "send": False, "clock": clock, "between": self._between}
        device = Device(
            self.transport, self.contract, store=store, credential=credential, issuer=self._issuer, **options
        )
        return _KnownUser(device, store, clock)

    def _visit(
        self, person: _KnownUser, rng: np.random.Generator, manners: Manners, visits: Visit, again: bool
    ) -> None:
        device, store, clock = person
        if again:  # a while later: what became of the last batch may be asked for
            clock.ahead += LATER
            device.refresh()
        episode = device.begin()
        self._walk(episode, rng)
        if random.random() < manners.hostile:
            self._send_garbage(visits)
        if not episode.reports:
            visits.add("spent")
            return
        visits.add("sent")
        if again:
            visits.add("returned")
        episode.finish()
        clock.ahead += self.contract.window  # their send time is not waited for here
        if random.random() < manners.slow:
            time.sleep(0.1)
        letter = store.read()["services"][self.transport.url].get("letter")
        assert letter is not None, "an episode that was finished leaves a report"
        body = from_base64(letter["body"])
        if random.random() < manners.drop:
            self._post(body)  # the answer is lost, so the device sends again
        until = time.monotonic() + PATIENCE
        while not device.flush() and time.monotonic() < until:
            time.sleep(0.05)
        memory = store.read()["services"][self.transport.url]
        left = memory.get("letter")
        in_batch = left is not None and left.get("epoch") is not None
        answer = 202 if in_batch else memory.get("answer", 0)
        visits.add("counted" if answer in COUNTED else "refused" if answer else "unsent")
        if random.random() < manners.repeat:
            visits.add("repeated" if self._post(body) in (200, 202, 410) else "doubled")

    def _walk(self, episode: Episode, rng: np.random.Generator) -> None:
        """Play an episode in the world that the contract is about."""
        if self.contract.described is not None and self._observed is not None:
            walk_observed(self._observed, cast(ObservedEpisode, episode), rng)
        elif self._model is not None:
            walk(self._model, episode, rng)

    def _post(self, body: bytes) -> int:
        try:
            if self._between is not None:
                return self._between.send(body)[0].status
            return self.transport.post("/v1/reports", body, MEDIA_TYPE).status
        except Unreachable:
            return 200

    def _send_garbage(self, visits: Visit) -> None:
        """Send random bytes, which must be refused, and count whether they were."""
        status = self._post(os.urandom(random.randrange(200)))
        visits.add("garbage" if status not in (201, 202) else "doubled")

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()
        if self._between is not None:
            self._between.close()


class _KnownUser(NamedTuple):
    """A person's device, with its store and its clock."""

    device: Device
    store: MemoryStore
    clock: _Clock


class _Clock:
    """A person's clock, which may be ahead."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def _sizes(spec: Spec) -> str:
    return f"{spec.states} states, {spec.actions} actions and {spec.horizon} steps ({spec.dynamics})"


def walk(model: Model, episode: Episode, rng: np.random.Generator) -> None:
    """Play one person's episode in a known world."""
    spec = model.spec
    state = int(rng.choice(spec.states, p=model.initial))
    for step in range(spec.horizon):
        layer = step if spec.layers > 1 else 0
        action = int(episode.act(state))
        reward = float(rng.random() < model.rewards[layer, state, action])
        state = int(rng.choice(spec.states, p=model.transitions[layer, state, action]))
        episode.observe(reward, state)


def walk_observed(world: ObservedWorld, episode: ObservedEpisode, rng: np.random.Generator) -> None:
    """Play one person's episode in a world whose states are observations."""
    features = world.features
    seen = world.start(1, rng)
    for step in range(world.horizon):
        action = np.array([features.actions_named.index(episode.act(features.decode(seen[0])))])
        reward = float(rng.random() < world.paid(step, seen, action)[0])
        seen = world.move(step, seen, action, rng)
        episode.observe(reward, features.decode(seen[0]))


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
    visitors: Visitors | None = None,
    credential: Callable[[], str] | None = None,
    issuer: str | None = None,
) -> Visit:
    """Send simulated users to a service, some at a time, and return the outcomes of their uploads."""
    logging.getLogger("confide.device").addHandler(logging.NullHandler())
    logging.getLogger("confide.device").propagate = False
    count = validation.integer("people", people, 1)
    group = visitors or Visitors(url, environment, pin, credential=credential, issuer=issuer)
    group.wait()
    visits, began = Visit(), time.perf_counter()
    streams = np.random.SeedSequence(seed).spawn(count)

    def come(number: int) -> None:
        if rate:
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        group.person(np.random.default_rng(streams[number]), manners or Manners(), visits)

    try:
        with ThreadPoolExecutor(validation.integer("workers", workers, 1, 64)) as pool:
            for _ in pool.map(come, range(count)):
                pass
    finally:
        group.close()
    visits.seconds = time.perf_counter() - began
    return visits
