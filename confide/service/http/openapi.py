"""OpenAPI documents of the servers: their addresses, with those that all servers have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ..._version import __version__
from ...validation import Json
from ..contract.answers import PROBLEM_TYPE
from ..contract.intermediary import CURATOR
from ..contract.tickets import MEDIA_TYPE as PARCEL_TYPE
from ..contract.tokens import MEDIA_TYPE as TOKEN_TYPE
from ..contract.tokens import TOKEN_BYTES
from ..contract.uploads import MEDIA_TYPE as LETTER_TYPE

JSON, BYTES = "application/json", "application/octet-stream"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
"""As Prometheus reads them."""
_PROBLEM: dict[str, Json] = {
    "description": "Refused: nothing changed.",
    "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_COMPONENTS: dict[str, Json] = {
    "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    "schemas": {
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "code", "detail", "contract"],
            "properties": {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "code": {"type": "string"},
                "detail": {"type": "string"},
                "contract": {"type": "string"},
            },
        }
    },
}


Operations: TypeAlias = "dict[str, dict[str, Json]]"
"""What may be asked of an address, by verb."""


def described(summary: str, media_type: str, *problems: int, parameter: str = "") -> Operations:
    """The description of a public document."""
    operation: dict[str, Json] = {
        "summary": summary,
        "responses": {
            "200": {"description": "The document.", "content": {media_type: {}}},
            **{str(status): _PROBLEM for status in problems},
        },
    }
    if parameter:
        operation["parameters"] = [{"name": parameter, "in": "path", "required": True, "schema": {"type": "string"}}]
    return {"get": operation}


def posted(
    summary: str, statuses: dict[str, str], problems: tuple[int, ...], body: Mapping[str, Json] | None = None
) -> Operations:
    """The description of an address that takes what is posted."""
    operation: dict[str, Json] = {
        "summary": summary,
        "responses": {
            **{status: {"description": text, "content": {JSON: {}}} for status, text in statuses.items()},
            **{str(status): _PROBLEM for status in problems},
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    return {"post": operation}


def document(title: str, paths: Mapping[str, Operations], metrics: str, ready: str) -> dict[str, Json]:
    """The OpenAPI document of a server with these addresses, and those that all have. metrics, ready: what these two are about."""
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": {
            "/v1/contract": described("The public contract, known by the SHA-256 of these bytes.", JSON),
            **paths,
            "/v1/openapi.json": described("This document.", JSON),
            "/metrics": described(metrics, "text/plain"),
            "/healthz": described("Whether the process lives.", "text/plain"),
            "/readyz": described(ready, "text/plain", 503),
        },
        "components": _COMPONENTS,
    }


def collector_document(longest: int | None, tokens: bool = False, periods: bool = False) -> dict[str, Json]:
    """The OpenAPI document of a collector. longest: bytes of a submission, None where submissions go to an intermediary. tokens:
    whether the contract names an issuer of them. periods: whether it renews guarantees."""
    statuses = {"201": "Counted, and on disk.", "200": "Counted before."}
    refusals = (*((403,) if tokens else ()), 409, 410, 413, 415, 422, 429, 503)
    letter = {LETTER_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": longest}}}
    report = posted("Send a submission: one randomised report.", statuses, refusals, letter)
    endpoint = {"/v1/reports": report}
    operator = described("How it is doing, for the operator.", JSON, 401)
    if longest is None:
        endpoint = {"/v1/intermediary": described("Where the shuffler or the curator is.", JSON)}
    if tokens:
        endpoint["/v1/issuer"] = described("Where the issuer of tokens is.", JSON, 404)
    if periods:
        endpoint["/v1/period"] = described("The signed number of the period that has begun.", JSON)
    return document(
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


def intermediary_document(role: str, longest: int, tokens: bool = False) -> dict[str, Json]:
    """The OpenAPI document of a role. longest: bytes of an upload. tokens: whether the contract names an issuer of them."""
    parcel = posted(
        "Hand over what a ticket is for.",
        {"202": "Taken, for this epoch: keep the bytes until the batch is closed, send them again in another epoch."},
        (409, 410, 413, 415, 422, 503),
        {PARCEL_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": longest}}},
    )
    token: dict[str, Json] = {TOKEN_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": TOKEN_BYTES}}}
    refusals = (*((403, 413, 415) if tokens else ()), 410, 429, 503)
    ticket = posted("Take a ticket, before the episode.", {"201": "A ticket."}, refusals, token if tokens else None)
    text = "Compare memories: what each has signed last, and what it has stored of the other."
    head = posted(text, {"200": "What is stored here."}, (413, 422, 503), {JSON: {}})
    of_curator = role == CURATOR
    return document(
        f"A confide {role}",
        {
            "/v1/tickets": {**described("The batch that tickets are issued for now.", JSON, 410), **ticket},
            "/v1/episodes" if of_curator else "/v1/reports": parcel,
            "/v1/batches/{number}": described("Tickets, deadline and epoch of a batch.", JSON, 404, parameter="number"),
            "/v1/closings/{number}": described("A signed closing.", JSON, 404, parameter="number"),
            "/v1/releases/{number}" if of_curator else "/v1/sums/{number}": described(
                "What a batch was closed into.", BYTES, 404, parameter="number"
            ),
            "/v1/rounds": head,
        },
        metrics="What is public, for Prometheus.",
        ready="Whether tickets are issued.",
    )
