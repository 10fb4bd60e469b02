"""`confide issue`: runs the issuer of a service's tokens."""

from __future__ import annotations

from typing import Any

import click

from . import options


@click.command("issue")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@options.endpoint(8002, "Requests a second from one address.")
@click.option(
    "--names", type=click.Path(exists=True, dir_okay=False), help="A list of names or invitations, one a line."
)
@click.option("--guests", is_flag=True, help="Admit anyone, any number of times: for trying it out only.")
@options.database("postgresql://user@host/name; by default SQLite in FOLDER.")
@click.option("--child", is_flag=True, hidden=True)
def command(folder: str, names: str | None, guests: bool, database: str | None, child: bool, **listening: Any) -> None:
    """Issue one token per user, signed blindly, until stopped.

    FOLDER is what `confide service new` made beside the service's. The application says who a user is: it signs an assertion for
    the user who is logged in, with the key in FOLDER/login.key; or --names lists what users show. Its operator must not be the
    collector's: one who has its key can be any number of users.
    """
    from functools import partial

    from ..service.http.serving import Endpoint, announce
    from ..service.issuer.serving import login_of, serve

    endpoint = Endpoint(**listening, ready=partial(announce, "issue", folder))
    serve(folder, endpoint, login_of(folder, names, guests), database=database, child=child)
