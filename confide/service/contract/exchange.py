"""What a collector and its shuffler or curator show each other before either goes on: no party vouches for its own past.

A part that was restored from its own backup looks right to itself, since its database and its head agree. So each keeps the last
document that the other signed, and shows it back. Who is shown a document under their own signature that their store does not
hold was restored to an earlier point: that is a proof, and they end. Who is shown less of the other than they have seen before
refuses the other. And nothing is published before the other has stored it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TypeVar

from ...errors import FormatError
from ...validation import Json
from . import keys
from .closings import SignedClosing
from .contract import Contract
from .encoding import from_base64, to_base64
from .heads import SignedHead
from .signing import Signed

MOST_BYTES = 1 << 15
AnySigned = TypeVar("AnySigned", bound=Signed)


class Restored(FormatError):
    """This process's own store is behind what it signed and others have stored: it was restored, and must end."""

    @classmethod
    def of(cls, part: str, word: str, number: int) -> Restored:
        """The sentence, for a part whose document of that number is not in its store."""
        return cls(
            "store-restored",
            f"The {part}'s database does not hold {word} {number}, which was in it when others stored it: "
            "an older copy was restored. Restore a newer one, or begin a new contract.",
        )


@dataclass(frozen=True)
class PeerHeads:
    """head: the newest of the collector, or the newest that was stored of it; closing: the same of the shuffler or curator.

    nonce: of the process that was asked, which the collector signs with what it shows: no other process can say it in its place, or
    again. holder: the address of the process that has the lease, where another was asked; then nothing else is said.
    """

    head: SignedHead | None = None
    closing: SignedClosing | None = None
    nonce: bytes = b""
    signature: bytes = b""
    holder: str = ""

    def signed(self, private: bytes, nonce: bytes) -> PeerHeads:
        """The same, signed by the collector for the process with that nonce."""
        asked = replace(self, nonce=nonce)
        return replace(asked, signature=keys.sign(private, keys.EXCHANGE, asked._shown()))

    def is_fresh(self, public: bytes, nonce: bytes) -> bool:
        """Whether the collector signed it for this process; what is signed for an earlier one proves nothing about now."""
        if self.nonce != nonce:
            return False
        keys.verify(public, keys.EXCHANGE, self._shown(), self.signature)
        return True

    def _shown(self) -> bytes:
        documents = (b"" if one is None else one.data for one in (self.head, self.closing))
        return b"\n".join((self.nonce.hex().encode(), *documents))

    def to_json(self) -> bytes:
        """The bytes that are sent."""
        parts = {"head": _plain(self.head), "closing": _plain(self.closing)}
        texts = {"nonce": to_base64(self.nonce), "signature": to_base64(self.signature)}
        return json.dumps({**parts, **texts, "holder": self.holder}).encode()

    @classmethod
    def from_json(cls, data: bytes, contract: Contract) -> PeerHeads:
        """Read what was sent; refused unless each document is of this contract, and signed by whom it names."""
        assert contract.intermediary is not None
        try:
            document = json.loads(data)
            nonce, signature = from_base64(document["nonce"]), from_base64(document["signature"])
            head, closing, holder = document["head"], document["closing"], str(document["holder"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FormatError(
                "exchange-unreadable", "This is not what a collector and its shuffler or curator show each other."
            ) from error
        shown = cls(
            _read(SignedHead, head, contract.key),
            _read(SignedClosing, closing, contract.intermediary.key),
            nonce,
            signature,
            holder,
        )
        named = [
            *([] if shown.head is None else [shown.head.head.contract]),
            *([] if shown.closing is None else [shown.closing.closing.contract]),
        ]
        if any(name != contract.digest.hex() for name in named):
            raise FormatError("exchange-of-other-contract", "This is of another contract.")
        return shown


def _plain(signed: Signed | None) -> Json:
    plain: Json = None if signed is None else json.loads(signed.to_json())
    return plain


def _read(kind: type[AnySigned], document: Json, key: bytes) -> AnySigned | None:
    return None if document is None else kind.from_json(json.dumps(document).encode(), key)
