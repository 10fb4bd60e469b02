"""`confide serve`: runs a collector."""

from __future__ import annotations

import click

from ..errors import InvalidInput
from . import options
from .output import note


@click.command("serve")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--bind", default="127.0.0.1", show_default=True, help="The address to serve on.")
@click.option("--port", type=options.Count(), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--database", help="postgresql://user@host/name, for several collectors; by default SQLite in FOLDER.")
@click.option("--curator", help="joint: the address of the curator; by default one is started as a child.")
@click.option("--shuffler", help="shuffle: the address of the shuffler.")
@click.option("--rate", type=float, help="Letters a second that are taken from one address.")
@click.option("--proxy", help="The address of a proxy before it, whose X-Forwarded-For is believed.")
@click.option("--certificate", type=click.Path(exists=True), help="A TLS certificate; else put a proxy before it.")
@click.option("--certificate-key", type=click.Path(exists=True), help="Its key.")
@click.option("--dashboard/--no-dashboard", default=True, show_default=True, help="A page about the service, at /.")
@click.option("--demo-page", is_flag=True, help="A small game at /demo, to see a device at work in the browser.")
def command(
    folder: str,
    bind: str,
    port: int,
    database: str | None,
    curator: str | None,
    shuffler: str | None,
    rate: float | None,
    proxy: str | None,
    certificate: str | None,
    certificate_key: str | None,
    dashboard: bool,
    demo_page: bool,
) -> None:
    """Count private reports, learn from them, and publish policies, until told to end.

    FOLDER is what `confide service new` made.
    """
    from functools import partial

    from ..collector.serving import serve
    from ..dashboard.pages import routes

    if demo_page and not dashboard:
        raise InvalidInput("--demo-page shows what the dashboard counts. Leave --no-dashboard out.")
    serve(
        folder,
        bind,
        port,
        database,
        rate=rate,
        intermediary=curator or shuffler,
        proxy=proxy,
        certificate=certificate,
        certificate_key=certificate_key,
        pages=partial(routes, demo=demo_page) if dashboard else None,
        ready=lambda url: note(f"confide: serving {folder} on {url}"),
    )
