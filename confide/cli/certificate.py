"""`confide certificate`: what was guaranteed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from . import output
from .init import folder_of
from .output import working

if TYPE_CHECKING:
    from ..privacy import Certificate


@click.command("certificate")
@click.argument("path")
@click.option("--audit", "attack", is_flag=True, help="Attack the fit in this folder anew, and keep what was found.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path: str, attack: bool, as_json: bool) -> None:
    """Show the guarantee and what it assumes: PATH is a certificate, a folder that holds one, such as a saved run, or a fit file.

    What cannot be vouched for is refused, with exit code 2.
    """
    from ..privacy import Certificate

    place = Path(folder_of(path))
    file = place / "certificate.json" if place.is_dir() else place
    certificate = _attacked(place) if attack else Certificate.load(file)
    if as_json:
        output.emit(certificate.as_json())
    else:
        click.echo(str(certificate))


def _attacked(folder: Path) -> Certificate:
    """The certificate of a fit, with what an attack on its replica found, which is written beside the policy."""
    from ..analysis.results.fit import Fit
    from ..lab.audit import audit_fit

    if not folder.is_dir():
        raise InvalidInput(
            "audit-needs-fit", f"An audit needs the folder of a fit. Got {folder}. Give the folder that fit --out made."
        )
    fit = Fit.load(folder)
    with working("attacking"):
        audited = fit.with_audit(audit_fit(fit))
    audited.save(folder, replace=True)
    return audited.certificate
