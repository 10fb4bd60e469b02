"""`confide visit`: sends simulated users to a running service."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .output import emit, table


@click.command("visit")
@click.argument("url")
@click.option("--environment", required=True, help="An environment such as riverswim/6, of the sizes in the contract.")
@click.option("--people", type=options.Count(), default=100, show_default=True, help="Number of users.")
@click.option(
    "--seed", type=options.Count(), default=0, show_default=True, help="Of the environment; the noise has no seed."
)
@click.option("--pin", help="sha256:... of the contract.")
@click.option(
    "--login", type=click.Path(exists=True), help="Issuer's folder, or key file, that signs for simulated users."
)
@click.option("--issuer", help="The address of the issuer, if neither the contract nor the collector says.")
@click.option("--rate", type=float, help="Most users a second.")
@click.option("--workers", type=options.Count(), default=4, show_default=True, help="Users at a time.")
@click.option("--drop", type=click.FloatRange(0, 1), default=0.0, help="Share whose response is lost; they send again.")
@click.option("--slow", type=click.FloatRange(0, 1), default=0.0, help="Share who send a while later.")
@click.option("--repeat", type=click.FloatRange(0, 1), default=0.0, help="Share who send the same submission twice.")
@click.option("--hostile", type=click.FloatRange(0, 1), default=0.0, help="Share who send garbage besides.")
@click.option(
    "--again",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of visits by users who were here before, where the contract lets them.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(
    url: str,
    environment: str,
    people: int,
    seed: int,
    pin: str | None,
    login: str | None,
    issuer: str | None,
    rate: float | None,
    workers: int,
    drop: float,
    slow: float,
    repeat: float,
    hostile: float,
    again: float,
    as_json: bool,
) -> None:
    """Simulated users, each with a device of their own, against a running service: for staging and load."""
    from ..lab.staging.admission import Applicant
    from ..lab.staging.visits import Manners, visit

    manners = Manners(drop=drop, slow=slow, repeat=repeat, hostile=hostile, again=again)
    options_of_visit: dict[str, Any] = {"seed": seed, "pin": pin, "rate": rate, "workers": workers, "manners": manners}
    credential = None if login is None else Applicant(login)
    visits = visit(url, environment, people, **options_of_visit, credential=credential, issuer=issuer)
    if as_json:
        emit(visits.as_json())
        return
    table(["what", "how many"], list(visits.as_json().items()))
