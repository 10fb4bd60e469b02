"""How a device follows policies: the signed one of the current round, and none other."""

from __future__ import annotations

import hashlib
from typing import Any

from ..contracts.contract import Contract
from ..contracts.encoding import to_base64
from ..contracts.heads import Head, SignedHead
from ..errors import FormatError, PrivacyError
from ..mdp import policies
from ..questions.question import asked_by
from .transport import Documents, Transport, Unreachable


def fetched(transport: Documents, path: str) -> bytes:
    """The bytes of a public document; any status but 200 raises `Unreachable`."""
    answer = transport.get(path)
    if answer.status != 200:
        raise Unreachable(f"{transport.url} answered {path} with {answer.status}.")
    return answer.body


def current(
    transport: Transport, contract: Contract, held: dict[str, Any] | None, witness: Transport | None = None
) -> dict[str, Any] | None:
    """The current round and its policy, checked; None if it is the one that is held already."""
    signed = SignedHead.from_json(fetched(transport, "/v1/rounds/current"), contract.key)
    head = signed.head
    if head.contract != contract.digest.hex():
        raise PrivacyError("The service shows a round of another contract than the one that was joined.")
    if held is not None:
        if head.round < held["round"]:
            raise PrivacyError(f"The service went back from round {held['round']} to {head.round}.")
        if head.round == held["round"] and signed.digest != held["digest"]:
            raise PrivacyError(f"The service shows two different heads of round {head.round}.")
        if head.round == held["round"]:
            return None
        if head.round == held["round"] + 1 and head.previous != held["digest"]:
            raise PrivacyError(f"Round {head.round} does not follow from the round before it.")
    if witness is not None:
        _compare(signed, witness, contract)
    return followed(transport, contract, signed)


def numbered(transport: Transport, contract: Contract, number: int) -> dict[str, Any]:
    """A round by its number, checked: where a ticket names the round that its batch follows."""
    signed = SignedHead.from_json(fetched(transport, f"/v1/rounds/{number}"), contract.key)
    if (signed.head.contract, signed.head.round) != (contract.digest.hex(), number):
        raise PrivacyError(f"The service shows another round than {number}.")
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
        **({} if question is None else {"question": to_base64(question)}),
    }


def asked(transport: Documents, contract: Contract, head: Head) -> bytes | None:
    """The question of a round, where it changes from round to round: signed, and priced; None where there is only one."""
    raw = None if head.question is None else fetched(transport, f"/v1/questions/{head.question}")
    if raw is not None and hashlib.sha256(raw).hexdigest() != head.question:
        raise FormatError("The service asks another question than the one it signed.")
    asked_by(contract.design.question, raw)
    return raw


def _compare(signed: SignedHead, witness: Transport, contract: Contract) -> None:
    """Refuse a head that differs from a witness's; a witness that does not answer proves nothing."""
    try:
        raw = fetched(witness, f"/v1/rounds/{signed.head.round}")
    except Unreachable:
        return
    if SignedHead.from_json(raw, contract.key).digest != signed.digest:
        raise PrivacyError(
            f"The witness knows another head of round {signed.head.round}: devices are shown different ones."
        )
