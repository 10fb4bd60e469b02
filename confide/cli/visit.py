"""`confide visit`: sends simulated people to a running service."""

from __future__ import annotations

import click

from . import options
from .output import emit, table


@click.command("visit")
@click.argument("url")
@click.option("--environment", required=True, help="A world such as riverswim/6, of the sizes that the contract names.")
@click.option("--people", type=options.Count(), default=100, show_default=True, help="How many come.")
@click.option(
    "--seed", type=options.Count(), default=0, show_default=True, help="Of what happens in the world; noise is secure."
)
@click.option("--pin", help="sha256:... of the contract.")
@click.option("--rate", type=float, help="People a second, at most.")
@click.option("--workers", type=options.Count(), default=4, show_default=True, help="How many come at a time.")
@click.option("--drop", type=click.FloatRange(0, 1), default=0.0, help="Share whose answer gets lost; they send again.")
@click.option("--slow", type=click.FloatRange(0, 1), default=0.0, help="Share who send a while later.")
@click.option("--repeat", type=click.FloatRange(0, 1), default=0.0, help="Share who send the same letter twice.")
@click.option("--hostile", type=click.FloatRange(0, 1), default=0.0, help="Share who send garbage besides.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(
    url: str,
    environment: str,
    people: int,
    seed: int,
    pin: str | None,
    rate: float | None,
    workers: int,
    drop: float,
    slow: float,
    repeat: float,
    hostile: float,
    as_json: bool,
) -> None:
    """Simulated people, each with a device of their own, against a running service: for staging and load."""
    from ..staging.visits import Manners, visit

    manners = Manners(drop=drop, slow=slow, repeat=repeat, hostile=hostile)
    visits = visit(url, environment, people, seed=seed, pin=pin, rate=rate, workers=workers, manners=manners)
    if as_json:
        emit(visits.as_json())
        return
    table(["what", "how many"], list(visits.as_json().items()))
