"""What handlers of all servers share: who shows the operator's token, and which numbers an address may have."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request

from confide.service.http.application import immutable, number_of, shows_token
from confide.service.http.problems import Refused

TOKEN = "ab" * 32


def request(authorization: str | None = None, **path: str) -> Request:
    headers = [] if authorization is None else [(b"authorization", authorization.encode("latin-1"))]
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": headers, "path_params": path}
    return Request(scope)


def test_only_the_operators_token_opens_what_is_not_public() -> None:
    assert shows_token(request(f"Bearer {TOKEN}"), TOKEN) and shows_token(request(f"bearer {TOKEN} "), TOKEN)
    for shown in (None, "", "Bearer", "Bearer x", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}é"):
        assert not shows_token(request(shown), TOKEN)


def test_a_number_in_an_address_has_one_to_nine_digits() -> None:
    assert number_of(request(number="0")) == 0 and number_of(request(number="123456789")) == 123_456_789
    for text in ("", "-1", "1.0", "x", "1234567890", "٣"):
        with pytest.raises(Refused) as refused:
            number_of(request(number=text))
        assert refused.value.reason == "path"


def test_a_document_is_kept_forever_and_one_that_is_not_there_is_refused() -> None:
    answer = immutable(b"head", "application/json")
    assert answer.body == b"head" and "immutable" in answer.headers["cache-control"]
    with pytest.raises(Refused) as refused:
        immutable(None, "application/json")
    assert refused.value.status == 404
