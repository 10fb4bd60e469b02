"""OpenAPI documents: how one is made of the addresses of a server, with those that all servers have."""

from __future__ import annotations

from typing import Any

from ..._version import __version__
from ..contract.answers import PROBLEM_TYPE

JSON, BYTES = "application/json", "application/octet-stream"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
"""As Prometheus reads them."""
_PROBLEM = {
    "description": "Refused: nothing changed.",
    "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_COMPONENTS = {
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


def document(title: str, paths: dict[str, Any], metrics: str, ready: str) -> dict[str, Any]:
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
