"""The folder of a process that issues tickets: the contract, a key of its own, the database, and the last closing outside of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import FormatError, InvalidInput
from ..contract import keys, sealed
from ..contract.contract import Contract
from ..contract.folder import Folder
from ..contract.intermediary import Intermediary
from ..contract.tickets import derived

SEAL, TICKETS, TOKEN = b"seal/1", b"tickets/1", b"token/1"


@dataclass(frozen=True)
class Keys:
    """The keys of a role. private: signs closings. tickets, seal, token: derived from it, for one purpose each."""

    private: bytes
    token_file: Path | None = None
    """Where a token is that was made since, if it was."""

    @property
    def tickets(self) -> bytes:
        """The key that makes tickets valid."""
        return derived(self.private, TICKETS)

    @property
    def seal(self) -> bytes:
        """The key that seals what is kept between batches."""
        return derived(self.private, SEAL)

    @property
    def token(self) -> str:
        """The token that lets an operator see more than the public may: derived from the key, until it is rotated."""
        if self.token_file is not None and self.token_file.exists():
            return keys.load_key(self.token_file).hex()
        return derived(self.private, TOKEN).hex()


@dataclass(frozen=True)
class RoleFolder:
    """A folder with a contract, as one role sees it."""

    path: Path
    role: str

    def contract(self) -> Contract:
        """The contract, checked; refused if it has no such role."""
        contract = Folder(self.path).contract()
        intermediary = contract.intermediary
        if intermediary is None or intermediary.role != self.role:
            raise InvalidInput(
                "contract-without-role",
                f"The contract in {self.path} has no {self.role}: its trust is {contract.design.trust}.",
            )
        return contract

    def keys(self, intermediary: Intermediary) -> Keys:
        """The keys of the role, which must be those that the contract names."""
        path = key_file(self.path, self.role)
        private = keys.load_key(path)
        sealing = intermediary.sealing
        if keys.public_key(private) != intermediary.key or sealing not in (None, sealed.public_key(private)):
            raise FormatError(
                "intermediary-key-wrong", f"{path} is not the key that the contract names for its {self.role}."
            )
        return Keys(private, self.path / f"{self.role}.token")

    @property
    def head_file(self) -> Path:
        """The last closing that was published, outside the database."""
        return self.path / f"{self.role}.head.json"

    @property
    def database(self) -> str:
        """The address of the database if none is given."""
        return f"sqlite:///{(self.path / f'{self.role}.db').resolve()}"


def key_file(path: Path, role: str) -> Path:
    """The file of a role's key."""
    return path / f"{role}.key"
