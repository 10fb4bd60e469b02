"""Makes a service together with the issuer of its tokens, each in a folder of its own; and gives simulated people credentials."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import FormatError, InvalidInput
from ...service.collector.founding import following, make_service
from ...service.contract import keys
from ...service.contract.blind_rsa import PublicKey
from ...service.contract.folder import Folder
from ...service.contract.tokens import TokenIssuer
from ...service.issuer.folder import IssuerFolder, IssuerKeys, pems
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
        known_keys = read_public_keys(Path(issuer_key))
        return made(path, **earlier, issuer=partial(_entry, named, where, known_keys), **choices)
    folder.check_new()
    own, old = IssuerFolder(folder.issuer_path), None if before is None else IssuerFolder(before.issuer_path)
    own.check_new()
    if known is not None and (old is None or not old.key_file.exists()):
        raise InvalidInput(
            "issuer-elsewhere", "The issuer of the service before is elsewhere. Name its public key: --issuer-key FILE."
        )
    secrets = None if known is None or old is None else old.keys()
    drawn: list[IssuerKeys] = [] if secrets is None else [secrets]

    def entry(many: int) -> TokenIssuer:
        if not drawn:
            drawn.append(IssuerKeys.new(many))
        return _entry(named, where, drawn[0].publics, many)

    service = made(path, **earlier, issuer=entry, **choices)
    own.write(drawn[0], service.contract())
    return service


def _entry(name: str, address: str | None, known: Sequence[PublicKey], many: int) -> TokenIssuer:
    """The entry of an issuer that has these keys, of which `many` are needed: fewer make wider slots."""
    first, *later = known[:many]
    return TokenIssuer(name, first, address, tuple(later))


def read_public_keys(path: Path) -> tuple[PublicKey, ...]:
    """An issuer's public keys from a file: one in DER, or one or several in PEM."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if not data.lstrip().startswith(b"-----BEGIN"):
        return (_public_key(path, data),)
    return tuple(_public_key(path, one) for one in pems(data))


def unreadable(path: Path, error: Exception) -> FormatError:
    """The refusal of a file that holds no public key."""
    sentence = f"{path} cannot be read as an issuer's public key: {error}."
    return FormatError("issuer-public-key-unreadable", sentence)


def _public_key(path: Path, data: bytes) -> PublicKey:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        if data.lstrip().startswith(b"-----BEGIN"):
            numbers: Any = load_pem_public_key(data).public_numbers()  # type: ignore[union-attr]
            return PublicKey.of_numbers(numbers.n, numbers.e).check()
        return PublicKey(data).check()
    except (OSError, ValueError, AttributeError) as error:
        raise unreadable(path, error) from error


class Applicant:
    """The application of simulated people: it signs an assertion about a new one each time it is called."""

    def __init__(self, login: str | Path) -> None:
        """login: the folder of an issuer, or the file of the key that signs assertions."""
        path = Path(login)
        self._private = keys.load_key(IssuerFolder(path).login_key_file if path.is_dir() else path)

    def __call__(self) -> str:
        """The credential of a person who was never here before."""
        return self.person()()

    def person(self) -> Callable[[], str]:
        """What says the credential of one person, who was never here before and may come again."""
        name = f"visitor-{os.urandom(8).hex()}"
        return lambda: assertion(self._private, name)
