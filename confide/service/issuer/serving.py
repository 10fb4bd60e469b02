"""Runs an issuer on an address, until a signal ends it, or its parent is gone."""

from __future__ import annotations

import os
from pathlib import Path

from ..http.serving import Endpoint, end_with_parent, exclusive_lock, listen, log_to
from .folder import IssuerFolder
from .logins import Guests, ListedNames, Login, SignedAssertions


def login_of(path: str | Path, names: str | Path | None = None, guests: bool = False) -> Login:
    """Who is who: by a list of names if there is one, else by assertions that the application signs. guests: besides, anyone who
    says so, any number of times, for trying it out."""
    folder = IssuerFolder(Path(path))
    known: Login = ListedNames.read(Path(names)) if names else SignedAssertions(folder.login_public())
    return Guests(known) if guests else known


def serve(
    path: str | Path,
    endpoint: Endpoint,
    login: Login,
    *,
    database: str | None = None,
    child: bool = False,
) -> None:
    """Serve an issuer's folder. login: who is who. child: end when standard input does."""
    from ..http.connections import protocol
    from ..http.limits import RATE
    from .app import IssuerServer, application_of

    os.umask(0o077)
    folder = IssuerFolder(Path(path))
    log_to("confide.issuer")
    lock = exclusive_lock(folder.path) if database is None or database.startswith("sqlite") else None
    if child:
        end_with_parent()
    try:
        server = IssuerServer(folder, login, database, RATE if endpoint.rate is None else endpoint.rate)
        listen(application_of(server), endpoint, protocol(server.refused), server.ending)
    finally:
        if lock is not None:
            lock.close()
