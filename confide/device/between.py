"""How a device reaches whoever stands between it and the collector: for a ticket, with a parcel, and for what became of a batch."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from ..contracts.contract import Contract
from ..contracts.encoding import from_base64
from ..contracts.intermediary import CURATOR, Intermediary
from ..contracts.tickets import MEDIA_TYPE, Ticket
from ..errors import FormatError, PrivacyError
from .following import fetched
from .transport import LOOPBACK, Answer, Transport, Unreachable

DOORS = {CURATOR: "/v1/episodes"}


class Between:
    """The line to a shuffler or a curator."""

    def __init__(self, transport: Transport, contract: Contract, about: Intermediary) -> None:
        """transport: to the collector, who says where it is if the contract does not."""
        self._collector, self._contract, self._about = transport, contract, about
        self._line: Transport | None = None
        self._all: list[Transport] = []

    def _reached(self) -> Transport:
        """An address that is not in the contract is believed on this machine only: anybody could have named it."""
        if self._line is None:
            address = self._about.address
            if address is None:
                address = str(_told(fetched(self._collector, "/v1/intermediary"))["address"])
                if urlsplit(address).hostname not in LOOPBACK:
                    raise PrivacyError(
                        f"The contract does not say where its {self._about.role} is, so nothing is sent there."
                    )
            self._line = self._collector.beside(address)
            self._all.append(self._line)
        return self._line

    def ticket(self) -> Ticket | None:
        """A place in a batch; None if there are none left."""
        answer = self._reached().post("/v1/tickets", b"", MEDIA_TYPE)
        if answer.status == 410:
            return None
        if answer.status != 201:
            self._line = None  # it may have moved
            raise Unreachable(f"The {self._about.role} issued no ticket ({answer.status}).")
        ticket = Ticket.from_bytes(from_base64(_told(answer.body)["ticket"]))
        if ticket.contract != self._contract.digest:
            raise PrivacyError(f"The {self._about.role} serves another contract than the one that was joined.")
        return ticket

    def send(self, parcel: bytes) -> tuple[Answer, int | None]:
        """Hand over; the answer, and the epoch for which it was taken."""
        answer = self._asked("POST", DOORS.get(self._about.role, "/v1/reports"), parcel)
        epoch = _told(answer.body).get("epoch") if answer.status == 202 else None
        return answer, epoch if type(epoch) is int else None

    def standing(self, batch: int) -> dict[str, Any]:
        """What became of a batch: its closing, if it has one, and the epoch."""
        answer = self._asked("GET", f"/v1/batches/{batch}", None)
        if answer.status != 200:
            raise Unreachable(f"The {self._about.role} did not say what became of a batch ({answer.status}).")
        return _told(answer.body)

    def _asked(self, verb: str, path: str, body: bytes | None) -> Answer:
        try:
            line = self._reached()
            return line.get(path) if body is None else line.post(path, body, MEDIA_TYPE)
        except Unreachable:
            self._line = None
            raise

    def close(self) -> None:
        """Close what was kept open."""
        for line in self._all:
            line.close()


def _told(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FormatError("This is not an answer that this version can read.") from error
    if not isinstance(found, dict):
        raise FormatError("This is not an answer that this version can read.")
    return found
