"""Issuers inside the test's own process, contracts that name them, and tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confide.service.contract import Contract, keys
from confide.service.contract.blind_rsa import PrivateKey
from confide.service.contract.tokens import TokenIssuer, TokenRequest
from confide.service.http.connections import protocol
from confide.service.issuer.app import IssuerServer, application_of
from confide.service.issuer.folder import IssuerFolder, IssuerKeys
from confide.service.issuer.logins import Login, SignedAssertions
from tests.service.collector.services import listening
from tests.service.contract.example import contract

LOGIN = bytes(range(64, 96))
SECRETS = IssuerKeys((Path(__file__).parent / "example.pem").read_bytes(), LOGIN, keys.public_key(LOGIN))
"""Of tests only: anyone may read it."""
KEY = PrivateKey.from_pem(SECRETS.pem)
ISSUER = TokenIssuer("Doors Ltd", SECRETS.public)


def named(**changes: Any) -> Contract:
    """A local contract that names the issuer."""
    return contract(issuer=ISSUER, **changes)


def token_for(made: Contract, key: PrivateKey = KEY) -> bytes:
    """A token of the contract, signed without a network."""
    checker = made.tokens
    assert checker is not None
    request = TokenRequest.new(checker)
    return request.token(checker, key.sign(request.blinded(checker)))


def issuer_folder(path: Path, made: Contract) -> IssuerFolder:
    folder = IssuerFolder(path)
    folder.write(SECRETS, made)
    return folder


@contextlib.contextmanager
def issuing(path: Path, made: Contract, login: Login | None = None) -> Iterator[str]:
    """A running issuer; its address."""
    folder = issuer_folder(path, made)
    server = IssuerServer(folder, login or SignedAssertions(folder.login_public()), rate=1e9)
    with listening(application_of(server), protocol(server.refused)) as url:
        yield url
