"""The contract: read as served, recomputed by its readers, refused if words and design differ."""

from __future__ import annotations

import hashlib
import json

import pytest

from confide.errors import FormatError
from confide.mdp import Spec
from confide.privacy import Local
from confide.service.contract import Contract, Head, SignedHead, Upload, keys, weaker
from confide.service.contract.uploads import upload_length

from .example import PRIVATE, changed, contract, design, letter


def test_it_is_known_by_its_bytes() -> None:
    made = contract()
    again = Contract.from_bytes(made.data)
    assert again.pin == "sha256:" + hashlib.sha256(made.data).hexdigest()
    assert again.design.digest == made.design.digest and again.ends == (10, 20, 30)
    spaced = json.dumps(made.document, indent=1).encode()
    assert Contract.from_bytes(spaced).pin != made.pin


def test_everything_said_in_words_is_what_the_design_does() -> None:
    made = contract()
    document = made.document
    for name, wrong in {
        "guarantee": {**document["guarantee"], "epsilon": 1.0},
        "spec": {**document["spec"], "states": 4},
        "mechanism": {**document["mechanism"], "epsilon": 0.5},
        "schedule": {**document["schedule"], "users": 7},
        "question": {**document["question"], "digest": "0" * 32},
        "design_digest": "0" * 32,
        "trust": "joint",
        "reports_per_person": 2,
        "key": "AAAA",
        "labels": {"states": ["a"], "actions": ["b"]},
        "window": {"seconds": -1},
        "schema": "confide.contract/2",
        "operator": "",
    }.items():
        with pytest.raises(FormatError):
            Contract.from_bytes(changed(made, **{name: wrong}))


def test_a_design_that_does_not_keep_its_promise_is_refused() -> None:
    """Epsilon 4 inside, and words that say 2: both the words and the design itself are caught."""
    from dataclasses import replace

    import msgpack

    from confide.service.contract.encoding import to_base64

    weak = design(Local(4.0))
    parts = msgpack.unpackb(weak.to_bytes())
    parts[4][1] = 2.0
    options = {**contract(weak).document, "design": to_base64(msgpack.packb(parts))}
    options["guarantee"] = {**options["guarantee"], "epsilon": 2.0}
    with pytest.raises(FormatError, match="keep"):
        Contract.from_bytes(json.dumps(options).encode())
    with pytest.raises(FormatError, match="one episode"):
        contract(replace(weak, episodes=2))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"schema": "confide.contract/1"}'])
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        Contract.from_bytes(data)


def test_what_is_weaker() -> None:
    strong, weak = contract(design(Local(2.0))), contract(design(Local(4.0)))
    assert "epsilon is 4" in weaker(weak, strong)
    assert weaker(strong, weak) == "" == weaker(strong, strong)


def test_heads_are_signed_and_chained() -> None:
    made = contract()
    head = Head(made.digest.hex(), 1, "1" * 64, "0" * 64, None, 0, False)
    signed = SignedHead.signed(head, PRIVATE)
    assert SignedHead.from_json(signed.to_json(), made.key).head == head
    other = keys.public_key(bytes(32))
    with pytest.raises(FormatError, match="signature"):
        SignedHead.from_json(signed.to_json(), other)
    forged = SignedHead(signed.data.replace(b'"round":1', b'"round":2'), signed.signature)
    with pytest.raises(FormatError, match="signature"):
        SignedHead.from_json(forged.to_json(), made.key)
    with pytest.raises(FormatError):
        SignedHead.from_json(b'{"head": 3}', made.key)
    same_bytes_elsewhere = keys.sign(PRIVATE, b"another context", signed.data)
    with pytest.raises(FormatError, match="signature"):
        SignedHead.from_json(SignedHead(signed.data, same_bytes_elsewhere).to_json(), made.key)


def test_golden_signature() -> None:
    """Ed25519 is deterministic: any implementation must give these bytes."""
    assert keys.public_key(PRIVATE).hex() == "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
    head = Head("a" * 64, 3, "b" * 64, "c" * 64, "d" * 64, 20, True)
    assert hashlib.sha256(head.to_bytes()).hexdigest() == GOLDEN_HEAD


GOLDEN_HEAD = hashlib.sha256(
    (
        '{"contract":"'
        + "a" * 64
        + '","ended":true,"people":20,"policy":"'
        + "b" * 64
        + '","previous":"'
        + "c" * 64
        + '","release":"'
        + "d" * 64
        + '","round":3,"schema":"confide.head/1","successor":null}'
    ).encode()
).hexdigest()


def test_letters_have_a_fixed_start_and_a_most() -> None:
    made = contract()
    body = letter(made, 5, bucket=2, followed=3)
    read = Upload.from_bytes(body)
    assert (read.id, read.contract, read.round) == ((5).to_bytes(16, "little"), made.digest, 3)
    assert len(body) == upload_length(made.design) == 56 + 42 + 4
    for bad in (b"", body[:55], b"x" + body[1:]):
        with pytest.raises(FormatError):
            Upload.from_bytes(bad)
    bits = design(mechanism="unary", spec=Spec(50, 5, 4))
    assert upload_length(bits) == 56 + 42 + -(-(2 * 50 * 5 * 50 + 1) // 8)


def test_keys_are_files_for_their_owner_only(tmp_path) -> None:
    path = tmp_path / "key"
    keys.save_key(path, PRIVATE)
    assert path.stat().st_mode & 0o777 == 0o600 and keys.load_key(path) == PRIVATE
    with pytest.raises(FileExistsError):
        keys.save_key(path, PRIVATE)
    path.chmod(0o644)
    with pytest.raises(FormatError, match="chmod"):
        keys.load_key(path)
