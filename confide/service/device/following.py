"""How a device follows policies: the signed one of the current round, and none other."""

from __future__ import annotations

import hashlib
from typing import Any

from ...errors import FormatError, PrivacyError
from ...mdp import policies
from ...protocol.kinds.question import asked_by
from ..contract.contract import Contract
from ..contract.encoding import to_base64
from ..contract.heads import Head, SignedHead
from .chain import Contradicted, Memory, check_chain, fetched, highest, shown_head
from .transport import Documents, Transport, Unreachable, within


class Forked(Contradicted):
    """Two signed heads of one round: devices are shown different policies, which this proves."""

    def __init__(self, known: SignedHead, shown: SignedHead) -> None:
        sentence = f"The witness knows another head of round {shown.head.round}: devices are shown different ones."
        super().__init__(sentence, known, shown)


def current(
    transport: Transport, contract: Contract, memory: Memory, witness: Transport | None = None
) -> dict[str, Any] | None:
    """The current round and its policy, checked; None if it is the one that is held already. memory: of this service.

    It must be the highest that was ever seen, or follow from it, one round after the other.
    """
    held, signed = memory.get("head"), shown_head(transport, contract)
    check_chain(transport, contract, highest(memory, contract), signed)
    _compare(signed, witness, contract)
    _check_witness(signed, witness, contract)
    return None if held is not None and held["digest"] == signed.digest else followed(transport, contract, signed)


def numbered(
    transport: Transport, contract: Contract, number: int, memory: Memory, witness: Transport | None = None
) -> dict[str, Any]:
    """A round by its number, checked: where a ticket names the round that its batch follows."""
    signed, seen = shown_head(transport, contract, number), highest(memory, contract)
    if seen is not None:
        check_chain(transport, contract, *sorted((seen, signed), key=lambda one: one.head.round))
    _compare(signed, witness, contract)
    return followed(transport, contract, signed)


def followed(transport: Transport, contract: Contract, signed: SignedHead) -> dict[str, Any]:
    """A signed head with its policy, as a device remembers it."""
    head = signed.head
    raw = fetched(transport, f"/v1/policies/{head.policy}")
    if hashlib.sha256(raw).hexdigest() != head.policy:
        raise FormatError("The service sent another policy than the one it signed.")
    policies.from_bytes(raw, contract.design.question.spec)
    question = asked(transport, contract, head)
    return {
        "round": head.round,
        "digest": signed.digest,
        "policy": head.policy,
        "bytes": to_base64(raw),
        "ended": head.ended,
        "successor": head.successor,
        "signed": signed.to_json().decode(),
        **({} if question is None else {"question": to_base64(question)}),
    }


def asked(transport: Documents, contract: Contract, head: Head) -> bytes | None:
    """The question of a round, where it changes from round to round: signed, and priced; None where there is only one."""
    raw = None if head.question is None else fetched(transport, f"/v1/questions/{head.question}")
    if raw is not None and hashlib.sha256(raw).hexdigest() != head.question:
        raise FormatError("The service asks another question than the one it signed.")
    asked_by(contract.design.question, raw)
    return raw


def _compare(signed: SignedHead, witness: Transport | None, contract: Contract) -> None:
    """Refuse a head that differs from a witness's; one that does not answer in time proves nothing, and is asked again."""
    if witness is None:
        return
    try:
        with within(witness.timeout / 3):  # the rest of the time is for the policy
            known = SignedHead.from_json(fetched(witness, f"/v1/rounds/{signed.head.round}"), contract.key)
    except Unreachable:
        return
    if known.digest != signed.digest:
        raise Forked(known, signed)


def _check_witness(signed: SignedHead, witness: Transport | None, contract: Contract) -> None:
    """Refuse a current round that is behind what a witness has seen; one that does not answer proves nothing."""
    if witness is None:
        return
    try:
        with within(witness.timeout / 6):
            seen = shown_head(witness, contract)
    except Unreachable:
        return
    if seen.head.round > signed.head.round:
        raise PrivacyError(
            f"The witness has seen round {seen.head.round}, and the service shows {signed.head.round}: it went back."
        )
