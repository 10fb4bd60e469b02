"""The commands `confide curate` and `confide shuffle`, which take the same options."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from . import options


def _command(name: str, text: str, module: Callable[[], Callable[..., None]]) -> click.Command:
    def run(folder: str, database: str | None, child: bool, **listening: Any) -> None:
        from ..service.http.serving import Endpoint, announce
        from ..service.intermediary.memory import begin_wiping

        begin_wiping()
        endpoint = Endpoint(**listening, ready=partial(announce, name, folder))
        module()(folder, endpoint, database, child=child)

    run.__doc__ = text
    for option in (
        click.option("--child", is_flag=True, hidden=True),
        options.database("postgresql://user@host/name; by default SQLite in FOLDER."),
        options.endpoint(8001, "Tickets a second that one address may take."),
        click.argument("folder", type=click.Path(exists=True, file_okay=False)),
    ):
        run = option(run)
    return click.command(name)(run)


def _curate() -> Callable[..., None]:
    from ..service.intermediary.curator import curate

    return curate


def _shuffle() -> Callable[..., None]:
    from ..service.intermediary.shuffler import shuffle

    return shuffle


CURATE = """Aggregate episodes in memory and release private sums, until stopped: the trusted process of joint privacy.

FOLDER holds the contract and `curator.key`. Devices take tickets here and hand over episodes; the collector fetches releases.
"""
SHUFFLE = """Aggregate reports in memory, forward the sums of closed batches to the collector and keep no senders, until stopped.

FOLDER holds the contract and `shuffler.key`. Another operator than the collector's must run it, on another machine: otherwise
only the local guarantee holds.
"""

curate = _command("curate", CURATE, _curate)
shuffle = _command("shuffle", SHUFFLE, _shuffle)
