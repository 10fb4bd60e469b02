"""Which contract a device keeps to: the pinned one, the one it joined, or that which a signed head names as what follows."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import ConfideError, PrivacyError
from ..contract.contract import Contract, weaker
from ..contract.encoding import from_base64
from .store import PublishedRound, ServiceMemory
from .transport import Transport, Unreachable


def find_contract(
    known: ServiceMemory, transport: Transport, pin: str | None, tell: Callable[[str, str], None]
) -> tuple[Contract | None, bool]:
    """The contract to keep to, if there is one, and whether it is new. known: what the device remembers of the service."""
    kept = known.get("contract")
    joined = Contract.from_bytes(from_base64(kept)) if kept else None
    following_pin = _successor(known.get("head"))
    if joined is not None and pin in (None, joined.pin):
        if following_pin is None:
            return joined, False
        pin = following_pin
    from .chain import fetched

    try:
        shown = Contract.from_bytes(fetched(transport, "/v1/contract"))
        if joined is not None and pin == following_pin and shown.pin == joined.pin:
            return joined, False  # it has ended, and what follows is not served yet
        if pin not in (None, shown.pin):
            raise PrivacyError("contract-not-pinned", "The service shows another contract than the pinned one.")
        weakness = "" if joined is None else weaker(shown, joined)
        if weakness:
            raise PrivacyError(
                "contract-weaker", f"The new contract is weaker than the one that was joined: {weakness}."
            )
        return shown, True
    except Unreachable as error:
        tell("offline", str(error))
    except ConfideError as error:
        tell("refused", str(error))
    return joined, False


def _successor(head: PublishedRound | None) -> str | None:
    """The pin of the contract that follows one that has ended, if its signed head names it."""
    named = head.get("successor") if head is not None and head["ended"] else None
    return None if named is None else f"sha256:{named}"
