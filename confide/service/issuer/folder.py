"""The folder of an issuer: its key, the contract it issues tokens for, the key that an application's assertions are checked by."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import FormatError, InvalidInput
from ..contract import keys
from ..contract.blind_rsa import PrivateKey, PublicKey, new_pem
from ..contract.contract import Contract
from ..contract.encoding import from_base64, to_base64
from ..contract.files import write_whole
from ..contract.folder import Folder


@dataclass(frozen=True)
class IssuerKeys:
    """pem: the private keys that sign tokens, one a slot, one after the other.

    login: the application's, which signs assertions; empty if it was moved there."""

    pem: bytes
    login: bytes
    login_public: bytes

    @classmethod
    def new(cls, many: int = 1) -> IssuerKeys:
        """New keys from the operating system's randomness. many: how many that sign."""
        login = keys.new_key()
        return cls(b"".join(new_pem() for _ in range(many)), login, keys.public_key(login))

    @property
    def public(self) -> PublicKey:
        """The key that a contract names."""
        return self.publics[0]

    @cached_property
    def publics(self) -> tuple[PublicKey, ...]:
        """The keys that a contract names, one a slot."""
        return tuple(PrivateKey.from_pem(one).public for one in pems(self.pem))


@dataclass(frozen=True)
class IssuerFolder:
    """The folder of one issuer, which the collector's operator need not have."""

    path: Path

    @property
    def key_file(self) -> Path:
        """The private key, which is secret: its holder can be any user."""
        return self.path / "issuer.pem"

    @property
    def login_key_file(self) -> Path:
        """The private key of an application's assertions, which is the application's: move it there."""
        return self.path / "login.key"

    @property
    def login_file(self) -> Path:
        """The public key of an application's assertions."""
        return self.path / "login.pub"

    @property
    def database(self) -> str:
        """The address of the database if none is given."""
        return f"sqlite:///{(self.path / 'issuer.db').resolve()}"

    def check_new(self) -> None:
        """Refuse a folder that is not new or empty."""
        if self.path.exists() and any(self.path.iterdir()):
            raise InvalidInput(
                "folder-not-empty",
                f"{self.path} is not empty. An issuer is made once: give the service another name, or move this folder.",
            )

    def write(self, secrets: IssuerKeys, contract: Contract) -> None:
        """Make the folder of an issuer that this contract names; it issues tokens for this contract and no other."""
        if contract.issuer is None or contract.issuer.keys != secrets.publics[: len(contract.issuer.keys)]:
            raise InvalidInput("issuer-not-named", f"The contract does not name the issuer in {self.path}.")
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_secret(self.key_file, secrets.pem)
        if secrets.login:
            keys.save_key(self.login_key_file, secrets.login)
        write_whole(self.login_file, to_base64(secrets.login_public).encode() + b"\n")
        write_whole(self.path / "contract.json", contract.data)

    def keys(self) -> IssuerKeys:
        """The keys in this folder, for a contract that follows."""
        self.private_keys()
        login = keys.load_key(self.login_key_file) if self.login_key_file.exists() else b""
        return IssuerKeys(self.key_file.read_bytes(), login, self.login_public())

    def contract(self) -> Contract:
        """The contract that tokens are issued for."""
        contract = Folder(self.path).contract()
        signing = tuple(one.public for one in self.private_keys())
        if contract.issuer is None or contract.issuer.keys != signing[: len(contract.issuer.keys)]:
            raise FormatError(
                "contract-names-other-issuer",
                f"The contract in {self.path} does not name the issuer whose key is beside it.",
            )
        return contract

    def private_keys(self) -> tuple[PrivateKey, ...]:
        """The private keys, one a slot, which only their owner may read."""
        try:
            mode, data = self.key_file.stat().st_mode & 0o077, self.key_file.read_bytes()
        except OSError as error:
            raise FormatError("not-an-issuer", f"{self.path} is not the folder of an issuer: {error}.") from error
        if mode:
            raise FormatError(
                "key-readable-by-others", f"{self.key_file} must be a file that only its owner may read. chmod 600 it."
            )
        return tuple(PrivateKey.from_pem(one) for one in pems(data))

    def secret(self) -> bytes:
        """What names are hidden by in the database."""
        return self.key_file.read_bytes()

    def login_public(self) -> bytes:
        """The key that assertions are checked by."""
        try:
            return from_base64(self.login_file.read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            raise FormatError(
                "public-key-unreadable", f"{self.login_file} cannot be read as a public key: {error}."
            ) from error


def pems(data: bytes) -> list[bytes]:
    """The keys of a file that has one or several of them, in PEM."""
    ended = b"-----END "
    parts = data.split(ended)
    if len(parts) == 1:
        return [data]
    rest = [part.split(b"\n", 1) for part in parts[1:]]
    heads = [parts[0], *(after[1] if len(after) > 1 else b"" for after in rest[:-1])]
    return [head + ended + tail[0] + b"\n" for head, tail in zip(heads, rest, strict=True)]


def _write_secret(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
