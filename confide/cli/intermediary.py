"""The commands `confide curate` and `confide shuffle`, which take the same options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from . import options
from .output import note


def _command(name: str, text: str, module: Callable[[], Callable[..., None]]) -> click.Command:
    def run(folder: str, database: str | None, child: bool, **listening: Any) -> None:
        from ..batches.memory import begin_wiping
        from ..collector.serving import Endpoint

        begin_wiping()
        endpoint = Endpoint(**listening, ready=lambda url: note(f"confide: {name} serves {folder} on {url}"))
        module()(folder, endpoint, database, child=child)

    run.__doc__ = text
    for option in (
        click.option("--child", is_flag=True, hidden=True),
        click.option("--database", help="postgresql://user@host/name; by default SQLite in FOLDER."),
        options.endpoint(8001, "Tickets a second that one address may take."),
        click.argument("folder", type=click.Path(exists=True, file_okay=False)),
    ):
        run = option(run)
    return click.command(name)(run)


def _curate() -> Callable[..., None]:
    from ..curator.serving import curate

    return curate


def _shuffle() -> Callable[..., None]:
    from ..shuffler.serving import shuffle

    return shuffle


CURATE = """Add up episodes in memory and give out private sums, until told to end: the trusted process of joint privacy.

FOLDER holds the contract and `curator.key`. Devices take tickets here and hand over episodes; the collector fetches releases.
"""
SHUFFLE = """Add up reports in memory, hand sums of closed batches to the collector, and forget who sent what, until told to end.

FOLDER holds the contract and `shuffler.key`. Run it elsewhere than the collector, by somebody else: else the local promise is all.
"""

curate = _command("curate", CURATE, _curate)
shuffle = _command("shuffle", SHUFFLE, _shuffle)
