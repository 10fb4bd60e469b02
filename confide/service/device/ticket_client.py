"""How a device reaches the shuffler or curator: to take a ticket, to hand over an upload, and to ask what became of a batch."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import urlsplit

from ...errors import PrivacyError
from ...validation import Json
from ..contract.answers import document_of
from ..contract.contract import Contract
from ..contract.encoding import from_base64
from ..contract.intermediary import CURATOR, Intermediary
from ..contract.tickets import MEDIA_TYPE, Ticket
from ..contract.tokens import MEDIA_TYPE as TOKEN_TYPE
from .chain import fetched
from .transport import LOOPBACK, HttpAnswer, Transport, Unreachable

UNAVAILABLE = 503
ENDPOINTS = {CURATOR: "/v1/episodes"}


class BatchStanding(TypedDict):
    """What became of a batch: whether it is closed, and the epoch of the process that holds it."""

    closed: bool
    epoch: int | None


class TicketClient:
    """Requests of a device to a shuffler or a curator."""

    def __init__(self, transport: Transport, contract: Contract, intermediary: Intermediary) -> None:
        """transport: to the collector, who says where it is if the contract does not."""
        self._collector, self._contract, self._intermediary = transport, contract, intermediary
        self._line: Transport | None = None
        self._all: list[Transport] = []

    def _reached(self) -> Transport:
        """The transport to it. An address that is not in the contract is believed on this machine only: anyone could name it."""
        if self._line is None:
            address = self._intermediary.address
            if address is None:
                address = str(_document(fetched(self._collector, "/v1/intermediary"), "address")["address"])
                if urlsplit(address).hostname not in LOOPBACK:
                    raise PrivacyError(
                        "intermediary-address-unknown",
                        f"The contract does not say where its {self._intermediary.role} is, so nothing is sent there.",
                    )
            self._line = self._collector.beside(address)
            self._all.append(self._line)
        return self._line

    def next_batch(self) -> int:
        """The batch that tickets are issued for now."""
        answer = self._request("GET", "/v1/tickets", None)
        batch = document_of(answer.body).get("batch") if answer.status == 200 else None
        if type(batch) is not int or batch < 1:
            raise Unreachable(
                "next-batch-unsaid",
                f"The {self._intermediary.role} did not say which batch tickets are for ({answer.status}).",
            )
        return batch

    def ticket(self, token: bytes = b"") -> Ticket | None:
        """A place in a batch; None if there are none left. token: this person's, where the contract names an issuer; the same one
        always gets the same place. Where the contract has slots, the token's slot is in front of it."""
        answer = self._reached().post("/v1/tickets", token, TOKEN_TYPE)
        if answer.status == 410:
            return None
        if answer.status != 201:
            self._line = None  # it may have moved
            raise Unreachable(
                "ticket-not-issued-now", f"The {self._intermediary.role} issued no ticket ({answer.status})."
            )
        ticket = Ticket.from_bytes(from_base64(_document(answer.body, "ticket")["ticket"]))
        if ticket.contract != self._contract.digest:
            raise PrivacyError(
                "intermediary-of-other-contract",
                f"The {self._intermediary.role} serves another contract than the one that was joined.",
            )
        return ticket

    def send(self, parcel: bytes) -> tuple[HttpAnswer, int | None]:
        """Hand over an upload; returns the response, and the epoch for which it was taken."""
        answer = self._request("POST", ENDPOINTS.get(self._intermediary.role, "/v1/reports"), parcel)
        epoch = document_of(answer.body).get("epoch") if answer.status == 202 else None
        return answer, epoch if type(epoch) is int else None

    def standing(self, batch: int) -> BatchStanding:
        """The standing of a batch: its closing, if it has one, and the epoch."""
        answer = self._request("GET", f"/v1/batches/{batch}", None)
        if answer.status != 200:
            raise Unreachable(
                "batch-state-unsaid",
                f"The {self._intermediary.role} did not say what became of a batch ({answer.status}).",
            )
        document = _document(answer.body, "closing", "epoch")
        closing, epoch = document["closing"], document["epoch"]
        if type(epoch) is not int:
            raise _strange()
        return {"closed": closing is not None, "epoch": epoch}

    def _request(self, verb: str, path: str, body: bytes | None) -> HttpAnswer:
        try:
            line = self._reached()
            answer = line.get(path) if body is None else line.post(path, body, MEDIA_TYPE)
            if answer.status == UNAVAILABLE:
                self._line = None  # another process may have taken over
            return answer
        except Unreachable:
            self._line = None
            raise

    def close(self) -> None:
        """Close the connections that were kept open."""
        for line in self._all:
            line.close()


def _document(body: bytes, *names: str) -> dict[str, Json]:
    """The JSON object of a response that has these names."""
    document = document_of(body)
    if not set(names) <= set(document):
        raise _strange()
    return document


def _strange() -> Unreachable:
    return Unreachable("response-not-of-service", "The response is not from the service.")
