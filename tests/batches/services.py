"""A collector and a shuffler or a curator inside the test's own process, with a clock that the test moves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from confide.batches.app import OfficeApp, application
from confide.collector.founding import Folder
from confide.collector.protocol import protocol
from confide.contracts import Contract
from confide.dashboard.pages import routes
from confide.device import Transport
from tests.collector.services import Service, listening, running, wait_for

from .offices import SetClock, office_of


class Pair(NamedTuple):
    """Both, and how to reach them."""

    collector: Service
    doors: OfficeApp
    url: str
    clock: SetClock

    @property
    def line(self) -> Transport:
        """To the shuffler or the curator."""
        return Transport(self.url, 10.0)

    def close_batch(self, number: int) -> None:
        """Let time pass until a batch is closed and learned from."""
        about = self.doors.office.about
        self.clock.now += about.deadline + about.publication
        self.collector.until_round(number + 1, 60.0)
        wait_for(lambda: self.doors.office.store.desk().round > number)


@contextlib.contextmanager
def serving(path: Path, made: Contract) -> Iterator[Pair]:
    """Until a first round is open, and tickets are issued."""
    clock = SetClock()
    doors = OfficeApp(office_of(path, made, clock, begin=False), 1e9)
    with (
        listening(application(doors), protocol(doors.refused)) as url,
        running(Folder(path), intermediary=url, pages=routes) as collector,
    ):
        wait_for(lambda: doors.office.store.desk().round > 0)
        yield Pair(collector, doors, url, clock)
