"""`confide environments`: the worlds that can be simulated."""

from __future__ import annotations

import click

from ..validation import Json
from . import output


@click.command("environments")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the environments that can be simulated, each with an address to start from."""
    from ..lab.environments import catalogue

    rows: list[dict[str, Json]] = [
        {
            "name": listing.name,
            "address": listing.example,
            "horizon": listing.default_horizon,
            "model": listing.model,
            "description": listing.description,
        }
        for listing in catalogue()
    ]
    if as_json:
        output.emit({"environments": rows})
    else:
        output.table(("address", "horizon", "model", "description"), [tuple(row.values())[1:] for row in rows])
