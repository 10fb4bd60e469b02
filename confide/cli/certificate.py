"""`confide certificate`: what was promised."""

from __future__ import annotations

from pathlib import Path

import click

from . import output
from .study import folder_of


@click.command()
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: str, as_json: bool) -> None:
    """Show what was promised: PATH is a certificate, or a folder that holds one, such as a saved run.

    What cannot be vouched for is refused, with exit code 2.
    """
    from ..privacy import Certificate

    place = Path(folder_of(path))
    certificate = Certificate.load(place / "certificate.json" if place.is_dir() else place)
    if as_json:
        output.emit(certificate.as_json())
    else:
        click.echo(str(certificate))
