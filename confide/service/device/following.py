"""How a device follows policies: the signed one of the current round, and none other.

Where a witness is configured, a round is followed if the witness knows the same head of it. A witness that answers that it does
not know a round has not consented: the device follows the latest round that the witness knows, and takes no ticket for a later
one. A witness that cannot be reached (no response in time, or a server error) neither consents nor refuses: the device follows the
service, as the witness would otherwise decide when a service runs, and compares the round again at the next refresh; a head that
the witness then knows otherwise, or not at all, is followed no more, and two heads of one round are kept as a proof.
"""

from __future__ import annotations

import hashlib

from ...errors import FormatError, PrivacyError
from ...protocol.kinds.question import asked_by
from ..contract.contract import Contract
from ..contract.encoding import to_base64
from ..contract.heads import Head, SignedHead
from .chain import Contradicted, check_chain, fetched, highest, shown_head
from .store import PublishedRound, ServiceMemory
from .transport import Documents, Transport, Unreachable, within

BUSY = (408, 425, 429)
"""Statuses by which a server says that it may answer later; so do those from 500 on."""


class Forked(Contradicted):
    """Two signed heads of one round: devices are shown different policies, which this proves."""

    def __init__(self, known: SignedHead, shown: SignedHead) -> None:
        sentence = f"The witness knows another head of round {shown.head.round}: devices are shown different ones."
        super().__init__("service-forked", sentence, known, shown)


class Unwitnessed(Contradicted):
    """A round that the witness does not know, which proves nothing."""

    def __init__(self, signed: SignedHead) -> None:
        super().__init__(
            "round-unwitnessed", f"The witness does not know round {signed.head.round}: it is not followed.", signed
        )


def current(
    transport: Transport, contract: Contract, memory: ServiceMemory, witness: Transport | None = None
) -> PublishedRound | None:
    """The current round and its policy, checked; None if it is the one that is held already. memory: of this service.

    It must be the highest that was ever seen, or follow from it, one round after the other. Where the witness does not know it,
    it is the latest that the witness knows, marked as `behind`.
    """
    held, shown = memory.get("head"), shown_head(transport, contract)
    check_chain(transport, contract, highest(memory, contract), shown)
    signed = _witnessed(transport, shown, witness, contract)
    behind = signed.digest != shown.digest
    if held is not None and held["digest"] == signed.digest and held.get("behind", False) == behind:
        return None
    current_round = followed(transport, contract, signed)
    if behind:
        current_round["behind"] = True
    return current_round


def numbered(
    transport: Transport, contract: Contract, number: int, memory: ServiceMemory, witness: Transport | None = None
) -> PublishedRound:
    """A round by its number, checked: where a ticket names the round that its batch follows."""
    signed, seen = shown_head(transport, contract, number), highest(memory, contract)
    if seen is not None:
        check_chain(transport, contract, *sorted((seen, signed), key=lambda one: one.head.round))
    _compare(signed, witness, contract)
    return followed(transport, contract, signed)


def followed(transport: Transport, contract: Contract, signed: SignedHead) -> PublishedRound:
    """A signed head with its policy, as a device remembers it."""
    head = signed.head
    raw = fetched(transport, f"/v1/policies/{head.policy}")
    if hashlib.sha256(raw).hexdigest() != head.policy:
        raise FormatError("policy-not-signed", "The service sent another policy than the one it signed.")
    contract.policies(raw)
    question = asked(transport, contract, head)
    followed_round: PublishedRound = {
        "round": head.round,
        "digest": signed.digest,
        "policy": head.policy,
        "bytes": to_base64(raw),
        "ended": head.ended,
        "successor": head.successor,
        "signed": signed.to_json().decode(),
    }
    if question is not None:
        followed_round["question"] = to_base64(question)
    return followed_round


def asked(transport: Documents, contract: Contract, head: Head) -> bytes | None:
    """The question of a round, where it changes from round to round: signed, and priced; None where there is only one."""
    raw = None if head.question is None else fetched(transport, f"/v1/questions/{head.question}")
    if raw is not None and hashlib.sha256(raw).hexdigest() != head.question:
        raise FormatError("question-not-signed", "The service requests another statistic than the one it signed.")
    asked_by(contract.design.question, raw)
    return raw


def _witnessed(transport: Transport, shown: SignedHead, witness: Transport | None, contract: Contract) -> SignedHead:
    """The head that is shown, or, if a witness does not know it, the latest one that both the witness and the service know."""
    try:
        _compare(shown, witness, contract)
    except Unwitnessed:
        latest = _known(shown, witness, contract, "current")
        if latest is None or latest.head.round >= shown.head.round:
            raise
        earlier = shown_head(transport, contract, latest.head.round)
        if earlier.digest != latest.digest:
            raise Forked(latest, earlier) from None
        return earlier
    latest = _known(shown, witness, contract, "current")
    if latest is not None and latest.head.round > shown.head.round:
        raise PrivacyError(
            "service-went-back",
            f"The witness has seen round {latest.head.round}, and the service shows {shown.head.round}: it went back.",
        )
    return shown


def _compare(signed: SignedHead, witness: Transport | None, contract: Contract) -> None:
    """Refuse a head that differs from the witness's, or that the witness does not know."""
    known = _known(signed, witness, contract, str(signed.head.round))
    if known is not None and known.digest != signed.digest:
        raise Forked(known, signed)


def _known(signed: SignedHead, witness: Transport | None, contract: Contract, name: str) -> SignedHead | None:
    """The head that the witness has under a name; None if there is no witness, or it cannot be reached now.

    A witness that answers, but has none, refuses the head that it was asked about. Two thirds of the time are for the policy.
    """
    if witness is None:
        return None
    try:
        with within(witness.timeout / 6):
            answer = witness.get(f"/v1/rounds/{name}")
    except Unreachable:
        return None
    if answer.status in BUSY or answer.status >= 500:
        return None
    if answer.status != 200:
        raise Unwitnessed(signed)
    known = SignedHead.from_json(answer.body, contract.key)
    if known.head.contract != contract.digest.hex():
        raise PrivacyError(
            "witness-of-other-contract", "The witness shows a round of another contract than the one that was joined."
        )
    return known
