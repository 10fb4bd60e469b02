"""The OpenAPI document of a shuffler or a curator."""

from __future__ import annotations

from typing import Any

from .._version import __version__
from ..collector.openapi import BYTES, COMPONENTS, JSON, described, posted
from ..contracts.intermediary import CURATOR
from ..contracts.tickets import MEDIA_TYPE


def document(role: str, longest: int) -> dict[str, Any]:
    """The OpenAPI document of a role. longest: bytes of a parcel."""
    parcel = posted(
        "Hand over what a ticket is for.",
        {"202": "Taken, for this epoch: keep the bytes until the batch is closed, send them again in another epoch."},
        (409, 410, 413, 415, 422, 503),
        {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": longest}}},
    )
    ticket = posted("Take a ticket, before the episode.", {"201": "A ticket."}, (410, 429, 503))
    head = posted("Make a signed head of the collector known.", {"204": "Known."}, (409, 413, 422, 503), {JSON: {}})
    of_curator = role == CURATOR
    return {
        "openapi": "3.1.0",
        "info": {"title": f"A confide {role}", "version": __version__},
        "paths": {
            "/v1/contract": described("The public contract, known by the SHA-256 of these bytes.", JSON),
            "/v1/tickets": ticket,
            "/v1/episodes" if of_curator else "/v1/reports": parcel,
            "/v1/batches/{number}": described("Tickets, deadline and epoch of a batch.", JSON, 404, parameter="number"),
            "/v1/closings/{number}": described("A signed closing.", JSON, 404, parameter="number"),
            "/v1/releases/{number}" if of_curator else "/v1/sums/{number}": described(
                "What a batch was closed into.", BYTES, 404, parameter="number"
            ),
            "/v1/rounds": head,
            "/v1/openapi.json": described("This document.", JSON),
            "/metrics": described("What is public, for Prometheus.", "text/plain"),
            "/healthz": described("Whether the process lives.", "text/plain"),
            "/readyz": described("Whether tickets are issued.", "text/plain", 503),
        },
        "components": COMPONENTS,
    }
