"""What a device has seen of a chain: the highest signed head of each contract, across restarts, and a proof of two stories.

An operator of all parts of a service may restore them together, from one backup; then they agree about a past that is not the one
that people saw. A device that saw a later head refuses what is shown from then on, and keeps both heads under their signatures.
"""

from __future__ import annotations

from ...errors import PrivacyError
from ..contract.contract import Contract
from ..contract.heads import SignedHead
from ..contract.signing import Behind, check_follows
from .store import ServiceMemory
from .transport import Documents, Unreachable


class Contradicted(Behind):
    """A head that does not agree with the one that was seen. pair: both, as they were served."""

    def __init__(self, code: str, sentence: str, *pair: SignedHead) -> None:
        super().__init__(code, sentence)
        self.pair = [signed.to_json().decode() for signed in pair]
        self.digest = pair[-1].digest


def fetched(transport: Documents, path: str) -> bytes:
    """The bytes of a public document; any status but 200 raises `Unreachable`."""
    answer = transport.get(path)
    if answer.status != 200:
        raise Unreachable(
            "service-response",
            f"{transport.url} responded to {path} with {answer.status}. Check that it is the address of a service.",
        )
    return answer.body


def shown_head(transport: Documents, contract: Contract, number: int | None = None) -> SignedHead:
    """The head of a round as it is served, or of the current one; refused unless it is signed, and the one that was asked for."""
    signed = SignedHead.from_json(fetched(transport, f"/v1/rounds/{number or 'current'}"), contract.key)
    if signed.head.contract != contract.digest.hex():
        raise PrivacyError(
            "round-of-other-contract", "The service shows a round of another contract than the one that was joined."
        )
    if number not in (None, signed.head.round):
        raise PrivacyError("round-number", f"The service shows another round than {number}.")
    return signed


def highest(memory: ServiceMemory, contract: Contract) -> SignedHead | None:
    """The highest head of this contract that was ever accepted here."""
    text = memory.get("seen", {}).get(contract.pin)
    return None if text is None else SignedHead.from_json(text.encode(), contract.key)


def remember(memory: ServiceMemory, contract: Contract, shown: str) -> None:
    """Note a head that was accepted, as it was served, if it is higher than any before; it is never forgotten."""
    before = highest(memory, contract)
    signed = SignedHead.from_json(shown.encode(), contract.key)
    if before is None or before.head.round < signed.head.round:
        memory.setdefault("seen", {})[contract.pin] = shown


def keep_proof(memory: ServiceMemory, error: Contradicted) -> None:
    """Keep both heads of a contradiction; the first is kept, unless the next one is about the same round. One head is no proof."""
    rounds = {SignedHead.from_bytes(text).head.round for text in error.pair}
    if len(error.pair) > 1 and (len(rounds) == 1 or not memory.get("proof")):
        memory["proof"] = error.pair


def check_chain(transport: Documents, contract: Contract, one: SignedHead | None, other: SignedHead) -> None:
    """Refuse two heads of which the later does not follow from the earlier; what lies in between is read and followed.

    one: the highest that was seen. other: what is shown, which must not be behind it.
    """
    before = one
    for number in range(other.head.round if one is None else one.head.round + 1, other.head.round):
        between = shown_head(transport, contract, number)
        _check(before, between)
        before = between
    _check(before, other)


def _check(held: SignedHead | None, shown: SignedHead) -> None:
    try:
        check_follows("service", "round", None if held is None else held.link, shown.link)
    except Behind as error:
        assert held is not None
        raise Contradicted(error.code, str(error), held, shown) from None
