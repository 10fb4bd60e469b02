"""Checks a running service as anybody can: the design, and every signature and hash since the first round."""

from __future__ import annotations

import hashlib
from typing import Any

from ..contracts.contract import Contract
from ..contracts.heads import FIRST, Head, SignedHead
from ..designs import Design
from ..device.following import asked, fetched
from ..device.transport import Transport
from ..errors import PrivacyError
from ..mdp import policies
from ..releases import reading


def check_url(url: str) -> dict[str, Any]:
    """Check the chain of a service to its end, and return a summary; refuse one that is broken anywhere."""
    transport = Transport(url)
    contract = Contract.from_bytes(fetched(transport, "/v1/contract"))
    current = SignedHead.from_json(fetched(transport, "/v1/rounds/current"), contract.key)
    previous, spec = FIRST, contract.design.question.spec
    before: Head | None = None
    for number in range(1, current.head.round + 1):
        signed = SignedHead.from_json(fetched(transport, f"/v1/rounds/{number}"), contract.key)
        head = signed.head
        if (head.round, head.previous, head.contract) != (number, previous, contract.digest.hex()):
            raise PrivacyError(f"Round {number} does not follow from the round before it.")
        policy = fetched(transport, f"/v1/policies/{head.policy}")
        if hashlib.sha256(policy).hexdigest() != head.policy:
            raise PrivacyError(f"The policy of round {number} is not the signed one.")
        policies.from_bytes(policy, spec)
        asked(transport, contract, head)
        if head.ended and head.release is None:
            _check_early_end(head, before)
        elif number > 1:
            least = contract.ends[number - 2]
            people = head.people if contract.design.mixing is not None and head.people >= least else least
            _check_release(contract.design, fetched(transport, f"/v1/releases/{number - 1}"), head.release, people)
        previous, before = signed.digest, head
    if previous != current.digest:
        raise PrivacyError("The current round is not the last of the chain.")
    return {
        "contract": contract.pin,
        "promise": str(contract.design.guarantee),
        "rounds": len(contract.ends),
        "heads": current.head.round,
        "people": current.head.people,
        "ended": current.head.ended,
        "successor": current.head.successor,
    }


def _check_early_end(head: Head, before: Head | None) -> None:
    """Refuse an end before the schedule's with another policy than the service had."""
    if before is None or (head.policy, head.people) != (before.policy, before.people):
        raise PrivacyError("The service ended early, with another policy than that of its last round.")


def _check_release(design: Design, data: bytes, digest: str | None, people: int) -> None:
    if hashlib.sha256(data).hexdigest() != digest:
        raise PrivacyError("A release is not the signed one.")
    if reading.from_bytes(design, data).users != people:
        raise PrivacyError("A release is about other people than its schedule says.")
