"""`confide serve`."""

from __future__ import annotations

import click

from . import options
from .output import note


@click.command("serve")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--bind", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", type=options.Count(), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--database", help="postgresql://user@host/name, for several collectors; by default SQLite in FOLDER.")
@click.option("--rate", type=float, help="Letters a second that are taken from one address.")
@click.option("--proxy", help="The address of a proxy before it, whose X-Forwarded-For is believed.")
@click.option("--certificate", type=click.Path(exists=True), help="A TLS certificate; else put a proxy before it.")
@click.option("--certificate-key", type=click.Path(exists=True), help="Its key.")
def command(
    folder: str,
    bind: str,
    port: int,
    database: str | None,
    rate: float | None,
    proxy: str | None,
    certificate: str | None,
    certificate_key: str | None,
) -> None:
    """Count private reports, learn from them, and publish policies, until told to end.

    FOLDER is what `confide service new` made.
    """
    from ..collector.serving import serve

    serve(
        folder,
        bind,
        port,
        database,
        rate=rate,
        proxy=proxy,
        certificate=certificate,
        certificate_key=certificate_key,
        ready=lambda url: note(f"confide: serving {folder} on {url}"),
    )
