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


def _get(summary: str, media_type: str, *problems: int, parameter: str = "") -> dict[str, Any]:
    """A document that anybody may read."""
    told: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "The document.", "content": {media_type: {}}},
            **{str(status): _PROBLEM for status in problems},
        },
    }
    if parameter:
        told["parameters"] = [{"name": parameter, "in": "path", "required": True, "schema": {"type": "string"}}]
    return {"get": told}


def document(longest: int) -> dict[str, Any]:
    """The document; longest: bytes of a letter."""
    statuses = {"201": "Counted, and on disk.", "200": "Counted before."}
    refusals = (409, 410, 413, 415, 422, 429, 503)
    report = {
        "summary": "Send a letter: one randomised report.",
        "requestBody": {
            "required": True,
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": longest}}},
        },
        "responses": {
            **{status: {"description": text, "content": {JSON: {}}} for status, text in statuses.items()},
            **{str(status): _PROBLEM for status in refusals},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "A confide collector", "version": __version__},
        "paths": {
            "/v1/contract": _get("The public contract, known by the SHA-256 of these bytes.", JSON),
            "/v1/rounds/current": _get("The signed head of the current round.", JSON, 503),
            "/v1/rounds/{number}": _get("The signed head of a round.", JSON, 404, parameter="number"),
            "/v1/policies/{digest}": _get("A policy, by the SHA-256 of its bytes.", BYTES, 404, parameter="digest"),
            "/v1/reports": {"post": report},
            "/v1/releases/{number}": _get("The release that closed a round.", BYTES, 404, parameter="number"),
            "/v1/certificate": _get("What is promised, and what that stands on.", JSON, 503),
            "/v1/openapi.json": _get("This document.", JSON),
            "/v1/operator": {
                "get": {**_get("How it is doing, for the operator.", JSON, 401)["get"], "security": [{"token": []}]}
            },
            "/metrics": _get("Counters, for Prometheus.", "text/plain"),
            "/healthz": _get("Whether the process lives.", "text/plain"),
            "/readyz": _get("Whether reports are counted.", "text/plain", 503),
        },
        "components": {
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
        },
    }
