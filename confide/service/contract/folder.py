"""A service's folder: the public contract, the private key, the database and the last head."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import FormatError, InvalidInput
from . import keys
from .contract import Contract


@dataclass(frozen=True)
class Folder:
    """The folder of one service."""

    path: Path

    @property
    def contract_file(self) -> Path:
        """The public contract."""
        return self.path / "contract.json"

    @property
    def key_file(self) -> Path:
        """The private key, which is secret."""
        return self.path / "key"

    @property
    def token_file(self) -> Path:
        """The operator's token, which is secret: it opens what is not public."""
        return self.path / "token"

    @property
    def head_file(self) -> Path:
        """The last head that was published, outside the database."""
        return self.path / "head.json"

    @property
    def earlier_file(self) -> Path:
        """What contracts before this one taught, which its learner begins with; there need be none."""
        return self.path / "earlier.bin"

    def earlier(self) -> bytes:
        """What contracts before this one taught; empty if its learner begins with nothing."""
        return self.earlier_file.read_bytes() if self.earlier_file.exists() else b""

    @property
    def issuer_path(self) -> Path:
        """The folder in which `service new` makes the issuer of tokens: beside this one, since another process keeps it."""
        whole = self.path.resolve()
        return whole.with_name(f"{whole.name}-issuer")

    @property
    def database(self) -> str:
        """The address of the database if none is given."""
        return f"sqlite:///{(self.path / 'collector.db').resolve()}"

    @property
    def counts_here(self) -> bool:
        """Whether a collector has counted, or could have, in the folder itself."""
        return (self.path / "collector.db").is_file()

    def check_new(self) -> None:
        """Refuse a folder that is not new or empty."""
        if self.path.exists() and any(self.path.iterdir()):
            raise InvalidInput(
                "service-folder-not-empty", f"{self.path} is not empty. A contract is made once: choose a new folder."
            )

    def contract(self) -> Contract:
        """The contract, checked."""
        try:
            data = self.contract_file.read_bytes()
        except OSError as error:
            raise FormatError(
                "service-folder-unreadable",
                f"{self.path} is not the folder of a service: {error.strerror}. Make one: confide service new.",
            ) from error
        return Contract.from_bytes(data)

    def key(self, contract: Contract) -> bytes:
        """The private key, which must be the one that the contract names."""
        private = keys.load_key(self.key_file)
        if keys.public_key(private) != contract.key:
            raise FormatError("service-key-wrong", f"{self.key_file} is not the key that the contract names.")
        return private

    def token(self) -> str:
        """The operator's token; a folder that has none yet, or of an earlier version, gets one."""
        if not self.token_file.exists():
            keys.save_key(self.token_file, keys.new_key())
        return keys.load_key(self.token_file).hex()
