"""HPKE in base mode, written from RFC 9180 on HMAC and AES-GCM alone, to compare libraries with; and vector A.1.1 of the RFC."""

from __future__ import annotations

import struct
from typing import NamedTuple

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM, SUITE = b"KEM" + struct.pack(">H", 32), b"HPKE" + struct.pack(">HHH", 32, 1, 1)
A11 = {
    "info": "4f6465206f6e2061204772656369616e2055726e",
    "skEm": "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
    "pkEm": "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
    "pkRm": "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
    "skRm": "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
    "shared": "fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc",
    "key": "4531685d41d65f03dc48f6b8302c05b0",
    "nonce": "56d890e5accaaf011cff4b7d",
    "pt": "4265617574792069732074727574682c20747275746820626561757479",
    "aad": "436f756e742d30",
    "ct": "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
}


class Scheduled(NamedTuple):
    """What both sides of an encryption share."""

    shared: bytes
    key: bytes
    nonce: bytes


def schedule(secret: bytes, enc: bytes, public: bytes, info: bytes) -> Scheduled:
    """DHKEM's shared secret, and key and nonce of the first message. secret: of the Diffie-Hellman exchange."""
    start = _mac(b"", b"HPKE-v1", KEM, b"eae_prk", secret)
    shared = _mac(start, struct.pack(">H", 32), b"HPKE-v1", KEM, b"shared_secret", enc, public, b"\x01")
    context = b"\x00" + _mac(b"", b"HPKE-v1", SUITE, b"psk_id_hash")
    context += _mac(b"", b"HPKE-v1", SUITE, b"info_hash", info)
    root = _mac(shared, b"HPKE-v1", SUITE, b"secret")
    key = _mac(root, struct.pack(">H", 16), b"HPKE-v1", SUITE, b"key", context, b"\x01")[:16]
    nonce = _mac(root, struct.pack(">H", 12), b"HPKE-v1", SUITE, b"base_nonce", context, b"\x01")[:12]
    return Scheduled(shared, key, nonce)


def encrypted(ephemeral: bytes, public: bytes, info: bytes, message: bytes) -> bytes:
    """The ephemeral public key and the ciphertext, by a private key that a test chose."""
    private = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = private.public_key().public_bytes_raw()
    context = schedule(private.exchange(X25519PublicKey.from_public_bytes(public)), enc, public, info)
    return enc + AESGCM(context.key).encrypt(context.nonce, message, b"")


def decrypted(private: bytes, public: bytes, info: bytes, box: bytes) -> bytes:
    """The message, by the key of its receiver."""
    secret = X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(box[:32]))
    context = schedule(secret, box[:32], public, info)
    return AESGCM(context.key).decrypt(context.nonce, box[32:], b"")


def _mac(key: bytes, *parts: bytes) -> bytes:
    made = hmac.HMAC(key or bytes(32), hashes.SHA256())
    made.update(b"".join(parts))
    return made.finalize()
