"""One token a person: what an issuer signs, for whom, and what it keeps."""

from __future__ import annotations

import base64
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from confide.errors import FormatError, InvalidInput
from confide.service.contract import keys
from confide.service.contract.encoding import from_base64, to_base64
from confide.service.contract.tokens import REQUEST_TYPE, TokenRequest
from confide.service.device import Transport
from confide.service.issuer.app import IssuedStore, IssuerServer, document, routes
from confide.service.issuer.logins import ListedNames, SignedAssertions, assertion
from tests.service.contract.example import contract
from tests.service.issuer.issuers import SECRETS, issuer_folder, issuing, named

MADE = named()
assert MADE.tokens is not None


def ask(url: str, credential: str, request: TokenRequest | None = None, **changes: Any) -> tuple[int, dict[str, Any]]:
    assert MADE.tokens is not None
    blinded = (request or TokenRequest.new(MADE.tokens)).blinded(MADE.tokens)
    told = {"contract": MADE.digest.hex(), "credential": credential, "blinded": to_base64(blinded), **changes}
    answer = Transport(url).post("/v1/tokens", json.dumps(told).encode(), REQUEST_TYPE)
    return answer.status, json.loads(answer.body)


def test_each_person_has_one_token_and_a_lost_answer_is_given_again(tmp_path: Path) -> None:
    assert MADE.tokens is not None
    with issuing(tmp_path / "issuer", MADE) as url:
        first, second = (TokenRequest.new(MADE.tokens) for _ in range(2))
        status, answer = ask(url, assertion(SECRETS.login, "ann"), first)
        token = first.token(MADE.tokens, from_base64(answer["answer"]))
        assert status == 201 and MADE.tokens.nonce(token) == first.nonce
        assert ask(url, assertion(SECRETS.login, "ann"), first) == (201, answer)
        status, refusal = ask(url, assertion(SECRETS.login, "ann"), second)
        assert (status, refusal["type"]) == (403, "urn:confide:problem:issued")
        assert ask(url, assertion(SECRETS.login, "ben"), second)[0] == 201
    with issuing(tmp_path / "issuer2", MADE) as url:  # another folder knows no user
        assert ask(url, assertion(SECRETS.login, "ann"), second)[0] == 201


def test_what_is_no_request_is_refused(tmp_path: Path) -> None:
    good = assertion(SECRETS.login, "ann")
    with issuing(tmp_path / "issuer", MADE) as url:
        assert ask(url, good, contract="00" * 32)[0] == 409
        for changes in ({"blinded": to_base64(bytes(256))}, {"blinded": to_base64(b"\xff" * 256)}, {"blinded": 7}):
            assert ask(url, good, **changes)[0] == 422
        late = assertion(SECRETS.login, "ann", time.time() - 1)
        other = assertion(bytes(32), "ann")
        name = base64.urlsafe_b64encode(b"ben").decode()
        for wrong in ("", "a.b.c", "..", late, other, ".".join([name, *good.split(".")[1:]])):
            assert ask(url, wrong)[0] == 403
        assert Transport(url).post("/v1/tokens", b"{}", "application/json").status == 415
        assert Transport(url).post("/v1/tokens", b"x" * 20000, REQUEST_TYPE).status == 413
        assert Transport(url).post("/v1/tokens", b"[" * 10000, REQUEST_TYPE).status == 422
        assert ask(url, good)[0] == 201, "nothing of that was spent"


def test_a_list_of_names(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("# invited\nann-7f3\n\nben-a91\n", encoding="utf-8")
    names = ListedNames.read(tmp_path / "names")
    assert [names.person(one) for one in ("ann-7f3", "ben-a91", "# invited", "", "cat")] == [
        "ann-7f3",
        "ben-a91",
        None,
        None,
        None,
    ]
    for text in ("", "ann\nann\n"):
        (tmp_path / "names").write_text(text, encoding="utf-8")
        with pytest.raises(InvalidInput):
            ListedNames.read(tmp_path / "names")


class Refusing(SignedAssertions):
    """Knows every user and admits no one."""

    def admitted(self, person: str) -> bool:
        return False


def test_an_application_decides_who_is_admitted(tmp_path: Path) -> None:
    login = Refusing(keys.public_key(SECRETS.login))
    with issuing(tmp_path / "issuer", MADE, login) as url:
        assert ask(url, assertion(SECRETS.login, "ann"))[0] == 403


def test_a_hundred_threads_get_one_token(tmp_path: Path) -> None:
    store = IssuedStore(f"sqlite:///{tmp_path / 'issuer.db'}", b"secret")
    store.prepare()
    granted: list[int] = []
    start = threading.Barrier(100, timeout=60)

    def come(number: int) -> None:
        start.wait()
        if store.grant(MADE.digest, "ann", number.to_bytes(256)):
            granted.append(number)

    threads = [threading.Thread(target=come, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 1
    assert store.grant(MADE.digest, "ann", granted[0].to_bytes(256)) and store.grant(bytes(32), "ann", bytes(256))
    store.close()


def test_names_are_not_in_the_file(tmp_path: Path) -> None:
    with issuing(tmp_path / "issuer", MADE) as url:
        assert ask(url, assertion(SECRETS.login, "ann-of-the-tea-house"))[0] == 201
    for file in (tmp_path / "issuer").iterdir():
        assert b"ann-of-the-tea-house" not in file.read_bytes()


def test_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    folder = issuer_folder(tmp_path / "issuer", MADE)
    with pytest.raises(InvalidInput):
        folder.check_new()
    with pytest.raises(InvalidInput):
        issuer_folder(tmp_path / "open", contract())
    (folder.path / "contract.json").write_bytes(contract().data)
    with pytest.raises(FormatError):
        folder.contract()
    folder.key_file.chmod(0o644)
    with pytest.raises(FormatError):
        folder.private_keys()
    with pytest.raises(FormatError):
        issuer_folder(tmp_path / "third", MADE).__class__(tmp_path / "nowhere").private_keys()


def test_the_document_describes_every_route(tmp_path: Path) -> None:
    server = IssuerServer(issuer_folder(tmp_path / "issuer", MADE), SignedAssertions(bytes(32)))
    described = {(path, verb.upper()) for path, verbs in document()["paths"].items() for verb in verbs}
    served = {(route.path, verb) for route in routes(server) for verb in (route.methods or set()) - {"HEAD"}}
    assert described == served
    server.stop()
