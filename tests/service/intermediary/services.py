"""A collector and a shuffler or a curator inside the test's own process, with a clock that the test moves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from confide.service.contract import Contract
from confide.service.contract.folder import Folder
from confide.service.dashboard.pages import routes
from confide.service.device import Transport
from confide.service.http.connections import protocol
from confide.service.intermediary.app import IntermediaryServer, application
from tests.service.collector.services import Service, listening, running, wait_for

from .offices import SetClock, office_of


class Pair(NamedTuple):
    """Both, and how to reach them."""

    collector: Service
    doors: IntermediaryServer
    url: str
    clock: SetClock

    @property
    def line(self) -> Transport:
        """To the shuffler or the curator."""
        return Transport(self.url, 10.0)

    def close_batch(self, number: int) -> None:
        """Let time pass until a batch is closed and learned from."""
        about = self.doors.manager.about
        self.clock.now += about.deadline + about.publication
        self.collector.until_round(number + 1, 60.0)
        wait_for(lambda: self.doors.manager.store.desk().round > number)


@contextlib.contextmanager
def serving(path: Path, made: Contract) -> Iterator[Pair]:
    """Until a first round is open, and tickets are issued."""
    clock = SetClock()
    doors = IntermediaryServer(office_of(path, made, clock, begin=False), 1e9)
    with (
        listening(application(doors), protocol(doors.refused)) as url,
        running(Folder(path), intermediary=url, pages=routes) as collector,
    ):
        wait_for(lambda: doors.manager.store.desk().round > 0)
        yield Pair(collector, doors, url, clock)
