"""The OpenAPI document of a collector."""

from __future__ import annotations

from typing import Any

from ..contract.letters import MEDIA_TYPE
from ..http import openapi
from ..http.openapi import BYTES, JSON, described, posted


def document(longest: int | None, tokens: bool = False) -> dict[str, Any]:
    """The OpenAPI document of a collector. longest: bytes of a letter, None where letters go to somebody else. tokens: whether
    the contract names an issuer of them."""
    statuses = {"201": "Counted, and on disk.", "200": "Counted before."}
    refusals = (*((403,) if tokens else ()), 409, 410, 413, 415, 422, 429, 503)
    letter = {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": longest}}}
    report = posted("Send a submission: one randomised report.", statuses, refusals, letter)
    endpoint = {"/v1/reports": report}
    operator = described("How it is doing, for the operator.", JSON, 401)
    if longest is None:
        endpoint = {"/v1/intermediary": described("Where the shuffler or the curator is.", JSON)}
    if tokens:
        endpoint["/v1/issuer"] = described("Where the issuer of tokens is.", JSON, 404)
    return openapi.document(
        "A confide collector",
        {
            "/v1/rounds/current": described("The signed head of the current round.", JSON, 503),
            "/v1/rounds/{number}": described("The signed head of a round.", JSON, 404, parameter="number"),
            "/v1/policies/{digest}": described(
                "A policy, by the SHA-256 of its bytes.", BYTES, 404, parameter="digest"
            ),
            "/v1/questions/{digest}": described(
                "What a round asks, where that changes, by the SHA-256 of its bytes.", BYTES, 404, parameter="digest"
            ),
            **endpoint,
            "/v1/releases/{number}": described("The release that closed a round.", BYTES, 404, parameter="number"),
            "/v1/certificate": described("The guarantee, and what it assumes.", JSON, 503),
            "/v1/operator": {"get": {**operator["get"], "security": [{"token": []}]}},
        },
        metrics="Counters, for Prometheus.",
        ready="Whether reports are counted.",
    )
