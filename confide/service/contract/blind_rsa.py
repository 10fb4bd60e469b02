"""Blind RSA signatures of RFC 9474, variant RSABSSA-SHA384-PSS-Deterministic, with keys of 2048 bits as in RFC 9578.

With m the EMSA-PSS encoding of a message (salt of 48 bytes) and r uniform among the units modulo n, the holder sends
z = m r^e mod n; the signer returns s' = z^d mod n; and s = s' / r = m^d mod n is an RSASSA-PSS signature of the message, which
anyone verifies.

For every m and z with gcd(m, n) = gcd(z, n) = 1 there is exactly one r with z = m r^e: z is uniform and independent of the
message, so what a signer has seen says nothing about which signature came of it, whatever the signer computes.
"""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import FormatError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

KEY_BITS, EXPONENT = 2048, 65537
SIGNATURE_BYTES = KEY_BITS // 8
SALT_BYTES = HASH_BYTES = 48
_TRAILER = 0xBC


def encode(message: bytes, salt: bytes, bits: int) -> int:
    """EMSA-PSS of RFC 8017, 9.1.1, with SHA-384 and MGF1 of it. bits: those of the encoded number, at most."""
    length = (bits + 7) // 8
    digest = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(length - len(salt) - HASH_BYTES - 2) + b"\x01" + salt
    mask = _mask(digest, len(block))
    masked = int.from_bytes(block) ^ int.from_bytes(mask)
    masked &= (1 << (bits - 8 * (HASH_BYTES + 1))) - 1
    return (masked << 8 * (HASH_BYTES + 1)) | (int.from_bytes(digest) << 8) | _TRAILER


def _mask(seed: bytes, length: int) -> bytes:
    """MGF1 with SHA-384."""
    blocks = range(-(-length // HASH_BYTES))
    return b"".join(hashlib.sha384(seed + block.to_bytes(4)).digest() for block in blocks)[:length]


@dataclass(frozen=True)
class PublicKey:
    """The signer's public key. data: its DER bytes, a SubjectPublicKeyInfo of an RSA key."""

    data: bytes

    @classmethod
    def of_numbers(cls, modulus: int, exponent: int = EXPONENT) -> PublicKey:
        """The key with these numbers."""
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

        return cls(_der(RSAPublicNumbers(exponent, modulus).public_key()))

    def check(self) -> PublicKey:
        """The key itself, refused unless it is an RSA key of 2048 bits, in the one encoding that is accepted."""
        if self.modulus.bit_length() != KEY_BITS or self.exponent != EXPONENT or _der(self._key) != self.data:
            raise FormatError(
                "issuer-key-form",
                f"The issuer's key must be an RSA key of {KEY_BITS} bits with exponent {EXPONENT}, in DER.",
            )
        return self

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of its bytes."""
        return hashlib.sha256(self.data).digest()

    @cached_property
    def _key(self) -> RSAPublicKey:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
        from cryptography.hazmat.primitives.serialization import load_der_public_key

        try:
            key = load_der_public_key(self.data)
        except Exception as error:  # the library has many of its own
            raise FormatError(
                "issuer-key-unreadable", "The issuer's key cannot be read as a public key in DER."
            ) from error
        if not isinstance(key, RSAPublicKey):
            raise FormatError("issuer-key-not-rsa", "The issuer's key is no RSA key.")
        return key

    @cached_property
    def modulus(self) -> int:
        """n."""
        return self._key.public_numbers().n

    @cached_property
    def exponent(self) -> int:
        """e."""
        return self._key.public_numbers().e

    @property
    def size(self) -> int:
        """Bytes of a signature."""
        return (self.modulus.bit_length() + 7) // 8

    @cached_property
    def _verifying(self) -> tuple[Any, Any, type[Exception]]:
        """Padding, the hash that messages come through, and what is raised for a wrong signature: looked up once, since a check
        is most of what a token costs."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import padding, utils
        from cryptography.hazmat.primitives.hashes import SHA384

        return padding.PSS(padding.MGF1(SHA384()), SALT_BYTES), utils.Prehashed(SHA384()), InvalidSignature

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether it is the signature of this message."""
        scheme, hashed, wrong = self._verifying
        try:
            self._key.verify(signature, hashlib.sha384(message).digest(), scheme, hashed)
        except wrong:
            return False
        return True

    def blind(self, message: bytes, salt: bytes | None = None, factor: int | None = None) -> Blinded:
        """Blind a message. salt, factor: drawn from the operating system's randomness unless they are given, as test vectors do."""
        modulus = self.modulus
        encoded = encode(message, os.urandom(SALT_BYTES) if salt is None else salt, modulus.bit_length() - 1)
        while factor is None or math.gcd(factor, modulus) != 1:
            factor = _below(modulus)
        blinded = encoded * pow(factor, self.exponent, modulus) % modulus
        return Blinded(blinded.to_bytes(self.size), factor)

    def finalize(self, message: bytes, answer: bytes, factor: int) -> bytes:
        """The signature of a message, from the signer's response to what was blinded by this factor; a wrong one is refused."""
        if len(answer) != self.size:
            raise FormatError("issuer-response-form", "The issuer's response is no signature.")
        signature = int.from_bytes(answer) * pow(factor, -1, self.modulus) % self.modulus
        written = signature.to_bytes(self.size)
        if not self.verifies(message, written):
            raise FormatError(
                "issuer-signature-wrong", "The issuer's response is not a signature by the key that the contract names."
            )
        return written


@dataclass(frozen=True)
class Blinded:
    """data: what the signer sees. factor: what takes the blinding away, which is secret."""

    data: bytes
    factor: int


class PrivateKey:
    """The signer's private key."""

    def __init__(self, key: RSAPrivateKey) -> None:
        self._numbers = key.private_numbers()
        self.exponent = self._numbers.d
        self.public = PublicKey(_der(key.public_key())).check()

    @classmethod
    def new(cls) -> PrivateKey:
        """A new key from the operating system's randomness."""
        return cls.from_pem(new_pem())

    @classmethod
    def from_pem(cls, data: bytes) -> PrivateKey:
        """Read a key from its file's bytes."""
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(data, None)
        except Exception as error:  # the library has many of its own
            raise FormatError(
                "issuer-private-key-unreadable",
                "The issuer's private key cannot be read. Restore it, or make a new service.",
            ) from error
        if not isinstance(key, RSAPrivateKey):
            raise FormatError("issuer-private-key-not-rsa", "The issuer's private key is no RSA key.")
        return cls(key)

    def sign(self, blinded: bytes) -> bytes:
        """The response to a blinded message: z^d mod n, computed modulo p and q and checked, since a fault would give them away.

        The base is multiplied by a random s^e first and the result divided by s, so that how long it takes says nothing of d.
        """
        numbers, public = self._numbers, self.public
        value, modulus = int.from_bytes(blinded), public.modulus
        if len(blinded) != public.size or not 0 < value < modulus or math.gcd(value, modulus) != 1:
            raise FormatError(
                "blinded-number-form",
                "What is to be signed must be a number below the key's modulus, in as many bytes.",
            )
        cover = _below(modulus)
        base = value * pow(cover, public.exponent, modulus) % modulus
        first, second = pow(base, numbers.dmp1, numbers.p), pow(base, numbers.dmq1, numbers.q)
        signed = (second + (first - second) * numbers.iqmp % numbers.p * numbers.q) * pow(cover, -1, modulus) % modulus
        if pow(signed, public.exponent, modulus) != value:
            raise FormatError(
                "issuer-signature-failed", "The signature came out wrong, and was not given out. Check the machine."
            )
        return signed.to_bytes(public.size)


def new_pem() -> bytes:
    """A new private key as the bytes of its file (PKCS 8)."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(EXPONENT, KEY_BITS)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _below(modulus: int) -> int:
    """A uniform number from 1 to below a modulus."""
    while True:
        drawn = int.from_bytes(os.urandom((modulus.bit_length() + 7) // 8))
        drawn &= (1 << modulus.bit_length()) - 1
        if 0 < drawn < modulus:
            return drawn


def _der(key: RSAPublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
