"""Blind signatures: the RFC's vectors, what is refused, and that a signer learns nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from confide.errors import FormatError
from confide.service.contract import blind_rsa
from confide.service.contract.blind_rsa import PrivateKey, PublicKey
from confide.service.contract.tokens import TOKEN_BYTES, TokenChecker, TokenIssuer, TokenRequest

VECTORS = json.loads((Path(__file__).parents[3] / "js" / "test" / "rfc9474.json").read_text(encoding="ascii"))
MODULUS = int(VECTORS["p"], 16) * int(VECTORS["q"], 16)


@pytest.fixture(scope="module")
def key() -> PrivateKey:
    return PrivateKey.new()


def checker_of(key: PrivateKey, contract: bytes = bytes(32), period: int = 0) -> TokenChecker:
    return TokenChecker.of(TokenIssuer("issuer", key.public), contract, period)


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_the_vectors_of_the_rfc(vector: dict[str, str]) -> None:
    told = {name: bytes.fromhex(text) for name, text in vector.items() if name != "name"}
    key, inverse = PublicKey.of_numbers(MODULUS), int.from_bytes(told["inv"])
    blinded = key.blind(told["msg"], told["salt"], pow(inverse, -1, MODULUS))
    assert blinded.data == told["blinded_msg"]
    first, second = int(VECTORS["p"], 16) - 1, int(VECTORS["q"], 16) - 1
    private = pow(blind_rsa.EXPONENT, -1, first * second // math.gcd(first, second))
    assert pow(int.from_bytes(blinded.data), private, MODULUS).to_bytes(key.size) == told["blind_sig"]
    assert (int.from_bytes(told["blind_sig"]) * inverse % MODULUS).to_bytes(key.size) == told["sig"]
    if told["salt"]:  # the other variant's signatures are not those that tokens have, and are refused
        assert key.finalize(told["msg"], told["blind_sig"], blinded.factor) == told["sig"]
    else:
        with pytest.raises(FormatError):
            key.finalize(told["msg"], told["blind_sig"], blinded.factor)


def test_our_own_signer_signs_what_the_rfc_signs(key: PrivateKey) -> None:
    blinded = key.public.blind(b"message")
    signed = key.sign(blinded.data)
    assert pow(int.from_bytes(signed), blind_rsa.EXPONENT, key.public.modulus) == int.from_bytes(blinded.data)
    assert key.public.verifies(b"message", key.public.finalize(b"message", signed, blinded.factor))


@given(nonce=some.binary(min_size=32, max_size=32), flipped=some.integers(0, 8 * TOKEN_BYTES - 1))
@settings(max_examples=20, deadline=None)
def test_a_token_is_redeemed_as_it_was_issued_and_not_after_any_bit_is_changed(
    key: PrivateKey, nonce: bytes, flipped: int
) -> None:
    checker = checker_of(key)
    made = TokenRequest.new(checker)
    request = TokenRequest(nonce, made.salt, made.factor)
    request = TokenRequest.from_text(request.to_text())
    token = request.token(checker, key.sign(request.blinded(checker)))
    assert checker.nonce(token) == nonce and len(token) == TOKEN_BYTES
    changed = bytearray(token)
    changed[flipped // 8] ^= 1 << flipped % 8
    with pytest.raises(FormatError):
        checker.nonce(bytes(changed))


def test_a_token_is_of_one_contract_one_period_and_one_issuer(key: PrivateKey) -> None:
    request = TokenRequest.new(checker_of(key))
    token = request.token(checker_of(key), key.sign(request.blinded(checker_of(key))))
    others = [
        checker_of(key, b"\1" * 32),
        checker_of(key, period=1),
        checker_of(PrivateKey.new()),
        TokenChecker.of(TokenIssuer("another", key.public), bytes(32)),
    ]
    for other in others:
        with pytest.raises(FormatError):
            other.nonce(token)


@pytest.mark.parametrize("blinded", [b"", bytes(256), b"\xff" * 256, bytes(255), b"\1" * 257])
def test_what_is_no_blinded_message_is_not_signed(key: PrivateKey, blinded: bytes) -> None:
    with pytest.raises(FormatError):
        key.sign(blinded)


def test_a_wrong_answer_of_an_issuer_gives_no_token(key: PrivateKey) -> None:
    checker = checker_of(key)
    request = TokenRequest.new(checker)
    wrong = PrivateKey.new()
    for answer in (b"", bytes(256), request.blinded(checker), wrong.sign(bytes(255) + b"\5")):
        with pytest.raises(FormatError):
            request.token(checker, answer)


def test_every_issue_may_have_given_every_token(key: PrivateKey) -> None:
    """For each pair of what an issuer saw and a token there is a factor that leads from one to the other: it learned nothing."""
    checker, seen, made = checker_of(key), [], []
    for _ in range(3):
        request = TokenRequest.new(checker)
        seen.append(int.from_bytes(request.blinded(checker)))
        made.append(request.token(checker, key.sign(request.blinded(checker))))
    modulus, private = key.public.modulus, key
    for blinded in seen:
        answer = int.from_bytes(private.sign(blinded.to_bytes(256)))
        for token in made:
            factor = answer * pow(int.from_bytes(token[32:]), -1, modulus) % modulus
            encoded = pow(int.from_bytes(token[32:]), blind_rsa.EXPONENT, modulus)
            assert encoded * pow(factor, blind_rsa.EXPONENT, modulus) % modulus == blinded


@pytest.mark.parametrize("bits, exponent", [(1024, 65537), (2048, 3), (3072, 65537)])
def test_keys_of_other_sizes_are_refused(bits: int, exponent: int) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa

    made: Any = rsa.generate_private_key(exponent, bits).public_key().public_numbers()
    with pytest.raises(FormatError):
        PublicKey.of_numbers(made.n, made.e).check()
    with pytest.raises(FormatError):
        PublicKey(b"garbage").check()
