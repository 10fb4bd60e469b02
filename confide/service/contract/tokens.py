"""Tokens: who may take part, once, without a name. In the manner of Privacy Pass (RFC 9577, RFC 9578, type 2: blind RSA).

An issuer, which knows people and is not the collector, signs one token a person blindly; the counting process takes each token
once.

    token   = nonce (32) | authenticator (256)
    signed  = type (2, big-endian) | nonce | SHA-256(challenge) | SHA-256(issuer's key)
    challenge = TokenChallenge of RFC 9577
    its redemption context = SHA-256("confide.token/1\\n" | contract (32) | period (4, big-endian))

The nonce is drawn by the device, and neither it nor the authenticator is ever seen by the issuer: whatever is stored where a token
is issued is independent of it. The challenge binds a token to one contract and period. A person who takes part once has one token,
of period 0. Where people come again a period is a slot of batches, and has a key of its own: what the issuer cannot see in blinded
bytes it says by the key that it signs them with (public metadata). Partially blind signatures would do with one key, and are no
standard yet; a Merkle tree of keys would be shorter, and a contract has at most 64 slots.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass
from typing import Any

from ...errors import FormatError
from ...validation import Json
from .blind_rsa import SALT_BYTES, SIGNATURE_BYTES, PublicKey
from .encoding import from_base64, to_base64

TYPE = 2
NONCE_BYTES = 32
TOKEN_BYTES = NONCE_BYTES + SIGNATURE_BYTES
MEDIA_TYPE = "application/vnd.confide.token"
REQUEST_TYPE, MOST_REQUEST = "application/vnd.confide.token-request", 1 << 14
"""Of what is sent to an issuer (JSON: the contract's digest, a credential, the blinded bytes), and how many bytes it may have."""
_CONTEXT = b"confide.token/1\n"


@dataclass(frozen=True)
class TokenIssuer:
    """The entry of a contract about its issuer. key: public, DER. address: where it is; None if the collector says, which devices
    believe on their own machine only. later, batches: the keys of the slots after the first, and how many batches a slot has, where
    people come again."""

    name: str
    key: PublicKey
    address: str | None = None
    later: tuple[PublicKey, ...] = ()
    batches: int = 0

    @property
    def keys(self) -> tuple[PublicKey, ...]:
        """The key of each slot."""
        return (self.key, *self.later)

    def to_json(self) -> dict[str, Json]:
        """The entry in a contract, as plain values."""
        plain: dict[str, Json] = {"name": self.name, "key": to_base64(self.key.data), "address": self.address}
        if self.batches:
            plain |= {"later": [to_base64(one.data) for one in self.later], "batches": self.batches}
        return plain

    @classmethod
    def from_json(cls, document: Any) -> TokenIssuer:
        """Read the entry of a contract; refuse a key or an address that is none."""
        keys = [PublicKey(from_base64(one)).check() for one in (document["key"], *document.get("later", ()))]
        issuer = cls(document["name"], keys[0], document["address"], tuple(keys[1:]), document.get("batches", 0))
        if set(document) != {"name", "key", "address"} | ({"later", "batches"} if issuer.batches else set()):
            raise ValueError("its issuer has a name, keys and an address, and nothing else")
        if len(set(keys)) < len(keys):
            raise ValueError("two slots of its issuer have one key")
        if not isinstance(issuer.name, str) or not 0 < len(issuer.name) <= 200:
            raise ValueError("the name of its issuer is no word")
        address = issuer.address
        if address is not None and not str(address).startswith(("http://", "https://")):
            raise ValueError("the address of its issuer is none")
        return issuer


@dataclass(frozen=True)
class TokenChecker:
    """Checks tokens of one contract and period."""

    key: PublicKey
    bound: bytes
    """What is signed after the nonce: the digests of the challenge and of the key."""

    @classmethod
    def of(cls, issuer: TokenIssuer, contract: bytes, period: int = 0) -> TokenChecker:
        """contract: its digest. period: the slot, where people come again."""
        key = issuer.keys[period] if issuer.batches else issuer.key
        context = hashlib.sha256(_CONTEXT + contract + period.to_bytes(4)).digest()
        name = issuer.name.encode()
        challenge = struct.pack(">HH", TYPE, len(name)) + name + bytes([len(context)]) + context + bytes(2)
        return cls(key, hashlib.sha256(challenge).digest() + key.digest)

    def signed(self, nonce: bytes) -> bytes:
        """The bytes that the issuer signs, blindly."""
        return TYPE.to_bytes(2) + nonce + self.bound

    def nonce(self, token: bytes) -> bytes:
        """The nonce of a token, by which it is spent; refused unless the issuer signed it for this contract and period."""
        if not self.accepts(token):
            raise no_token()
        return token[:NONCE_BYTES]

    def accepts(self, token: bytes) -> bool:
        """Whether the issuer signed it for this contract and period."""
        nonce, signature = token[:NONCE_BYTES], token[NONCE_BYTES:]
        return len(token) == TOKEN_BYTES and self.key.verifies(self.signed(nonce), signature)


def no_token() -> FormatError:
    """The refusal of what is no token of the contract and period."""
    return FormatError("token-unreadable", "This is no token of the issuer that the contract names. Take one there.")


@dataclass(frozen=True)
class TokenRequest:
    """A token that was asked for and is not there yet: all that makes the same bytes again, so that a lost response costs nothing.

    It says which token came of it: it is kept on the device until then, and nowhere else.
    """

    nonce: bytes
    salt: bytes
    factor: int

    @classmethod
    def new(cls, checker: TokenChecker) -> TokenRequest:
        """A request from the operating system's randomness."""
        nonce, salt = os.urandom(NONCE_BYTES), os.urandom(SALT_BYTES)
        return cls(nonce, salt, checker.key.blind(checker.signed(nonce), salt).factor)

    def blinded(self, checker: TokenChecker) -> bytes:
        """The bytes that the issuer sees."""
        return checker.key.blind(checker.signed(self.nonce), self.salt, self.factor).data

    def token(self, checker: TokenChecker, answer: bytes) -> bytes:
        """The token, from the issuer's response; a wrong one is refused."""
        return self.nonce + checker.key.finalize(checker.signed(self.nonce), answer, self.factor)

    def to_text(self) -> str:
        """The request as it is kept."""
        return to_base64(self.nonce + self.salt + self.factor.to_bytes(SIGNATURE_BYTES))

    @classmethod
    def from_text(cls, text: str) -> TokenRequest:
        """Read what `to_text` wrote."""
        data, start = from_base64(text), NONCE_BYTES + SALT_BYTES
        if len(data) != start + SIGNATURE_BYTES:
            raise FormatError("token-request-unreadable", "What was kept is no request for a token.")
        return cls(data[:NONCE_BYTES], data[NONCE_BYTES:start], int.from_bytes(data[start:]))
