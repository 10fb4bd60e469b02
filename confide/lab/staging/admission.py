"""Makes a service together with the issuer of its tokens, each in a folder of its own; and gives simulated people credentials."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import FormatError, InvalidInput
from ...service.collector.founding import following, make_service
from ...service.contract import keys
from ...service.contract.blind_rsa import PublicKey
from ...service.contract.folder import Folder
from ...service.contract.tokens import TokenIssuer
from ...service.issuer.folder import IssuerFolder, IssuerKeys
from ...service.issuer.logins import assertion


def make_admitting(
    path: str | Path,
    *,
    before: Folder | None = None,
    issuer_name: str = "",
    issuer_address: str | None = None,
    issuer_key: str | Path | None = None,
    made: Callable[..., Folder] = make_service,
    **choices: Any,
) -> Folder:
    """Make a service that takes one token a person, and beside its folder the issuer of them.

    before: the folder of the service that it follows, whose issuer goes on. issuer_key: the public key of an issuer elsewhere, in
    DER or PEM; then none is made. issuer_name: who runs the issuer, by default the service's operator. The others are those of
    `make_service`.
    """
    folder = Folder(Path(path))
    earlier = {} if before is None else following(before)
    known = None if before is None else before.contract().issuer
    fallback = choices.get("operator") or choices.get("name") or folder.path.resolve().name
    named = issuer_name or (known.name if known is not None else fallback)
    where = issuer_address or (None if known is None else known.address)
    if issuer_key is not None:
        return made(path, **earlier, issuer=TokenIssuer(named, read_public_key(Path(issuer_key)), where), **choices)
    own, old = IssuerFolder(folder.issuer_path), None if before is None else IssuerFolder(before.issuer_path)
    own.check_new()
    if known is not None and (old is None or not old.key_file.exists()):
        raise InvalidInput(
            "issuer-elsewhere", "The issuer of the service before is elsewhere. Name its public key: --issuer-key FILE."
        )
    secrets = IssuerKeys.new() if known is None or old is None else old.keys()
    service = made(path, **earlier, issuer=TokenIssuer(named, secrets.public, where), **choices)
    own.write(secrets, service.contract())
    return service


def read_public_key(path: Path) -> PublicKey:
    """An issuer's public key from a file in DER or PEM."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        data = path.read_bytes()
        if data.lstrip().startswith(b"-----BEGIN"):
            numbers: Any = load_pem_public_key(data).public_numbers()  # type: ignore[union-attr]
            return PublicKey.of_numbers(numbers.n, numbers.e).check()
        return PublicKey(data).check()
    except (OSError, ValueError, AttributeError) as error:
        raise FormatError(
            "issuer-public-key-unreadable", f"{path} cannot be read as an issuer's public key: {error}."
        ) from error


class Applicant:
    """The application of simulated people: it signs an assertion about a new one each time it is called."""

    def __init__(self, login: str | Path) -> None:
        """login: the folder of an issuer, or the file of the key that signs assertions."""
        path = Path(login)
        self._private = keys.load_key(IssuerFolder(path).login_key_file if path.is_dir() else path)

    def __call__(self) -> str:
        """The credential of a person who was never here before."""
        return assertion(self._private, f"visitor-{os.urandom(8).hex()}")
