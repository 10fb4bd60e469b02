"""The intermediary between devices and the collector: a shuffler of reports, or a curator trusted with episodes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ... import validation
from ...privacy.guarantee import JOINT, SHUFFLE
from ...protocol.design import Design
from ...protocol.trusts.mixing import BEYOND
from ...validation import Json
from .encoding import from_base64, to_base64

CURATOR, SHUFFLER = "curator", "shuffler"
ROLES = {JOINT: CURATOR, SHUFFLE: SHUFFLER}
"""The role of the intermediary under each trust model."""
KEY_BYTES = 32
MONTH = 30 * 86400.0


@dataclass(frozen=True)
class Intermediary:
    """The entry of a contract about its shuffler or curator.

    address: where it is; None if the collector says, which devices believe on their own machine only. tickets: how many fill
    the first batch of a shuffler, and as many times more where a later one needs more people; None if the schedule says.
    deadline: seconds after its last ticket at which a batch closes, and again that many later if too few came to a shuffler.
    publication: seconds after the deadline until the result is shown. patience: seconds that a batch stays open after a
    restart, within which devices send again. sealing: the X25519 key that uploads are sealed to; None if they are sent in the open,
    at their time only.
    """

    role: str
    operator: str
    key: bytes
    address: str | None = None
    tickets: int | None = None
    deadline: float = 3600.0
    publication: float = 60.0
    patience: float = 600.0
    sealing: bytes | None = None

    def for_design(self, design: Design) -> Intermediary:
        """The same entry with as many tickets as the design's batches need, where that was left open."""
        if design.mixing is None or self.tickets is not None:
            return self
        return replace(self, tickets=int(design.mixing.batch * (1 + BEYOND) + 0.5))

    def to_json(self) -> dict[str, Json]:
        """The entry in a contract, as plain values."""
        plain = {**asdict(self), "key": to_base64(self.key)}
        del plain["sealing"]  # contracts without it read as before
        return plain if self.sealing is None else {**plain, "sealing": to_base64(self.sealing)}

    @classmethod
    def from_json(cls, document: dict[str, Any], design: Design, window: float) -> Intermediary:
        """Read the entry of a contract; refuse what its design cannot be kept with."""
        sealing = {"sealing": from_base64(document["sealing"])} if "sealing" in document else {}
        intermediary = cls(**{**document, "key": from_base64(document["key"]), **sealing})
        if intermediary.role != ROLES[design.trust]:
            raise ValueError(f"under trust {design.trust} it is a {ROLES[design.trust]} who stands in between")
        if len(intermediary.key) != KEY_BYTES:
            raise ValueError(f"the key of its {intermediary.role} is no Ed25519 key")
        if intermediary.sealing is not None and len(intermediary.sealing) != KEY_BYTES:
            raise ValueError(f"the key that uploads to its {intermediary.role} are sealed to is no X25519 key")
        if not isinstance(intermediary.operator, str) or not 0 < len(intermediary.operator) <= 200:
            raise ValueError(f"the operator of its {intermediary.role} is no word")
        if intermediary.address is not None and not str(intermediary.address).startswith(("http://", "https://")):
            raise ValueError(f"the address of its {intermediary.role} is none")
        validation.between("deadline", intermediary.deadline, 0, MONTH)
        validation.between("publication", intermediary.publication, 0, MONTH)
        validation.between("patience", intermediary.patience, 0, MONTH)
        if not 0 < window <= intermediary.deadline:
            raise ValueError("reports are sent at a time drawn inside a window, which must end before the deadline")
        _check_tickets(intermediary, design)
        return intermediary


def _check_tickets(intermediary: Intermediary, design: Design) -> None:
    """Refuse tickets that do not fit: a curator's batches follow the schedule; a shuffler's are at least its batches."""
    if design.mixing is None:
        if intermediary.tickets is not None:
            raise ValueError("the schedule of a curator says how many tickets fill a batch")
        return
    if design.mixing.tree:
        raise ValueError("a service has one shuffler, whose batches are disjoint; choose no tree")
    most = (1 << 31) >> len(design.devices) - 1
    if type(intermediary.tickets) is not int or not design.mixing.batch <= intermediary.tickets <= most:
        raise ValueError(f"the first batch needs {design.mixing.batch} reports, and at least as many tickets")
