"""How a device is admitted: by a token of the issuer, and by a ticket of the shuffler or curator, where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ConfideError
from ..contract.encoding import to_base64
from ..contract.tokens import TokenRequest
from . import following
from .store import PublishedRound, TicketTaken, is_spent
from .ticket_client import TicketClient
from .token_client import Credential, TokenClient
from .transport import Unreachable

if TYPE_CHECKING:
    from .device import Device


def admitted(device: Device, credential: Credential | None, address: str | None) -> str | None:
    """This person's token, in base64: the one that is kept, or that the issuer gives; None if there is none to have.

    What asks for it is kept first, so that after a lost answer the same bytes are sent again.
    """
    contract = device.contract
    if contract is None or contract.tokens is None:
        return None
    with device.store.changing() as document:
        if is_spent(document, device.mark()):
            return None
        memory = device.memory(document)
        kept = memory.get("admission")
        if kept is None or kept["contract"] != contract.pin:
            request = TokenRequest.new(contract.tokens).to_text()
            memory["admission"] = kept = {"contract": contract.pin, "request": request, "token": None}
    if kept["token"] is not None:
        return kept["token"]
    client = TokenClient(device.transport, contract, credential, address)
    try:
        token = to_base64(client.token(TokenRequest.from_text(kept["request"])))
    except Unreachable as error:
        device.tell("offline", str(error))
        return None
    except ConfideError as error:
        device.tell("refused", str(error))
        return None
    finally:
        client.close()
    with device.store.changing() as document:
        asking = device.memory(document).get("admission")
        if asking is not None and asking["request"] == kept["request"]:
            asking["token"], asking["request"] = token, ""
    return token


def ticketed(
    device: Device, between: TicketClient, head: PublishedRound, token: bytes
) -> tuple[TicketTaken, PublishedRound]:
    """A ticket, if there is one to have, and the round that its batch follows; nothing is spent without both.

    token: this person's, where the contract names an issuer.
    """
    assert device.contract is not None
    try:
        if head.get("behind") and device.refresh():
            head = device.memory(device.store.read())["head"] or head
        if head.get("behind"):  # a ticket names a round that the witness may not know, and would be wasted
            raise Unreachable(
                "round-unwitnessed-yet", "The witness does not know the current round yet: no ticket is taken."
            )
        ticket = between.ticket(token)
        if ticket is None:
            return {}, head
        if ticket.round != head["round"]:
            device.refresh()
            head = device.memory(device.store.read())["head"] or head
        memory = device.memory(device.store.read())
        if ticket.round != head["round"]:
            head = following.numbered(device.transport, device.contract, ticket.round, memory, device.witness)
        return {"ticket": to_base64(ticket.to_bytes()), "batch": ticket.batch}, head
    except Unreachable as error:
        device.tell("offline", str(error))
    except ConfideError as error:
        device.tell("refused", str(error))
    return {}, head
