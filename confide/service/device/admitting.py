"""How a device is admitted: by a token of the issuer, and by a ticket of the shuffler or curator, where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ConfideError
from ..contract.encoding import from_base64, to_base64
from ..contract.tokens import TokenRequest
from . import following
from .store import PublishedRound, TicketTaken, marks_of, visits_in
from .ticket_client import TicketClient
from .token_client import Credential, TokenClient
from .transport import Unreachable

if TYPE_CHECKING:
    from .device import Device


def let_in(device: Device, head: PublishedRound) -> tuple[str, TicketTaken, PublishedRound]:
    """This person's token, in base64, where the contract names an issuer; their ticket, where it names a shuffler or a curator; and
    the round to follow. What there is none to have of is empty.

    Where a person may take part several times nothing is asked for that could not be used: a batch too close to one of theirs, or a
    slot that is not of the batch that tickets are issued for.
    """
    contract = device.contract
    assert contract is not None
    slots, batch, admission = contract.slots, 0, ""
    if slots is not None and contract.intermediary is not None:
        try:
            batch = device.between().next_batch()
        except ConfideError as error:
            device.tell("offline", str(error))
            return "", {}, head
        if device.spent(device.store.read(), batch):
            return "", {}, head
    if contract.issuer is not None:
        admission = device.admitted(_slot(device, batch)) or ""
        if not admission:
            return "", {}, head
    if contract.intermediary is None:
        return admission, {}, head
    prefix = b"" if slots is None or not admission else slots.of_batch(batch).to_bytes(2)
    return admission, *ticketed(device, device.between(), head, prefix + from_base64(admission))


def _slot(device: Device, batch: int) -> int:
    """The slot to have a token of: that of a batch; under local trust, the number of this visit (in this period)."""
    assert device.contract is not None
    slots = device.contract.slots
    if slots is None:
        return 0
    if slots.width:
        return slots.of_batch(batch)
    mark = device.mark()
    return len(visits_in(marks_of(device.store.read(), mark), mark))


def admitted(device: Device, credential: Credential | None, address: str | None, slot: int = 0) -> str | None:
    """This person's token, in base64: the one that is kept, or that the issuer gives; None if there is none to have.

    What asks for it is kept first, so that after a lost response the same bytes are sent again. slot: which is asked for, where a
    person may take part several times; a token of another, which was not used, is dropped.
    """
    contract = device.contract
    checker = None if contract is None else contract.checker(slot)
    if contract is None or checker is None:
        return None
    with device.store.changing() as document:
        if device.spent(document):
            return None
        memory = device.memory(document)
        kept = memory.get("admission")
        if kept is None or kept["contract"] != contract.pin or kept.get("slot", 0) != slot:
            request = TokenRequest.new(checker).to_text()
            memory["admission"] = kept = {"contract": contract.pin, "request": request, "token": None}
            if contract.slots is not None:
                kept["slot"] = slot
    if kept["token"] is not None:
        return kept["token"]
    client = TokenClient(device.transport, contract, credential, address, slot)
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
