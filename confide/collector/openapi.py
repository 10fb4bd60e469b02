"""The OpenAPI document of a collector."""

from __future__ import annotations

from typing import Any

from .._version import __version__
from ..contracts.letters import MEDIA_TYPE

JSON, BYTES = "application/json", "application/octet-stream"
_PROBLEM = {
    "description": "Refused: nothing changed.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


COMPONENTS = {
    "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    "schemas": {
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
            },
        }
    },
}


def described(summary: str, media_type: str, *problems: int, parameter: str = "") -> dict[str, Any]:
    """The description of a document that anybody may read."""
    operation: dict[str, Any] = {
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
    summary: str, statuses: dict[str, str], problems: tuple[int, ...], body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The description of an address that takes what is posted."""
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            **{status: {"description": text, "content": {JSON: {}}} for status, text in statuses.items()},
            **{str(status): _PROBLEM for status in problems},
        },
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    return {"post": operation}


def document(longest: int | None) -> dict[str, Any]:
    """The OpenAPI document of a collector. longest: bytes of a letter, None where letters go to somebody else."""
    statuses = {"201": "Counted, and on disk.", "200": "Counted before."}
    refusals = (409, 410, 413, 415, 422, 429, 503)
    letter = {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": longest}}}
    report = posted("Send a letter: one randomised report.", statuses, refusals, letter)
    door = {"/v1/reports": report}
    operator = described("How it is doing, for the operator.", JSON, 401)
    if longest is None:
        door = {"/v1/intermediary": described("Where the shuffler or the curator is.", JSON)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "A confide collector", "version": __version__},
        "paths": {
            "/v1/contract": described("The public contract, known by the SHA-256 of these bytes.", JSON),
            "/v1/rounds/current": described("The signed head of the current round.", JSON, 503),
            "/v1/rounds/{number}": described("The signed head of a round.", JSON, 404, parameter="number"),
            "/v1/policies/{digest}": described(
                "A policy, by the SHA-256 of its bytes.", BYTES, 404, parameter="digest"
            ),
            "/v1/questions/{digest}": described(
                "What a round asks, where that changes, by the SHA-256 of its bytes.", BYTES, 404, parameter="digest"
            ),
            **door,
            "/v1/releases/{number}": described("The release that closed a round.", BYTES, 404, parameter="number"),
            "/v1/certificate": described("What is promised, and what that stands on.", JSON, 503),
            "/v1/openapi.json": described("This document.", JSON),
            "/v1/operator": {"get": {**operator["get"], "security": [{"token": []}]}},
            "/metrics": described("Counters, for Prometheus.", "text/plain"),
            "/healthz": described("Whether the process lives.", "text/plain"),
            "/readyz": described("Whether reports are counted.", "text/plain", 503),
        },
        "components": COMPONENTS,
    }
