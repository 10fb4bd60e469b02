"""`confide serve`: runs a collector."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidInput
from . import options


@click.command("serve")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@options.endpoint(8000, "Most submissions a second from one address.")
@options.database("postgresql://user@host/name, for several collectors; by default SQLite in FOLDER.")
@click.option("--curator", help="joint: the address of the curator; by default one is started as a child.")
@click.option("--shuffler", help="shuffle: the address of the shuffler.")
@click.option("--issuer", help="The address of the issuer of tokens; by default the one beside FOLDER is started.")
@click.option("--dashboard/--no-dashboard", default=True, show_default=True, help="A page about the service, at /.")
@click.option(
    "--demo-page",
    is_flag=True,
    help="A game at /demo, to see a device at work; the issuer then admits anyone, as guests: for trying out.",
)
def command(
    folder: str,
    database: str | None,
    curator: str | None,
    shuffler: str | None,
    issuer: str | None,
    dashboard: bool,
    demo_page: bool,
    **listening: Any,
) -> None:
    """Aggregate private reports, learn from them and publish policies, until stopped.

    FOLDER is what `confide service new` made.
    """
    from functools import partial

    from ..service.collector.serving import serve
    from ..service.dashboard.pages import routes
    from ..service.http.serving import Endpoint, announce

    if demo_page and not dashboard:
        raise InvalidInput(
            "demo-page-without-dashboard", "--demo-page shows what the dashboard counts. Leave --no-dashboard out."
        )
    serve(
        folder,
        Endpoint(**listening, ready=partial(announce, "serve", folder)),
        database,
        intermediary=curator or shuffler,
        issuer=issuer,
        guests=demo_page,
        pages=partial(routes, demo=demo_page) if dashboard else None,
    )
