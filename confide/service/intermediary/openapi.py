"""The OpenAPI document of a shuffler or a curator."""

from __future__ import annotations

from typing import Any

from ..contract.intermediary import CURATOR
from ..contract.tickets import MEDIA_TYPE
from ..contract.tokens import MEDIA_TYPE as TOKEN_TYPE
from ..contract.tokens import TOKEN_BYTES
from ..http import openapi
from ..http.openapi import BYTES, JSON, described, posted


def document(role: str, longest: int, tokens: bool = False) -> dict[str, Any]:
    """The OpenAPI document of a role. longest: bytes of a parcel. tokens: whether the contract names an issuer of them."""
    parcel = posted(
        "Hand over what a ticket is for.",
        {"202": "Taken, for this epoch: keep the bytes until the batch is closed, send them again in another epoch."},
        (409, 410, 413, 415, 422, 503),
        {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": longest}}},
    )
    token = {TOKEN_TYPE: {"schema": {"type": "string", "format": "binary", "maxLength": TOKEN_BYTES}}}
    refusals = (*((403, 413, 415) if tokens else ()), 410, 429, 503)
    ticket = posted("Take a ticket, before the episode.", {"201": "A ticket."}, refusals, token if tokens else None)
    text = "Compare memories: what each has signed last, and what it has stored of the other."
    head = posted(text, {"200": "What is stored here."}, (413, 422, 503), {JSON: {}})
    of_curator = role == CURATOR
    return openapi.document(
        f"A confide {role}",
        {
            "/v1/tickets": ticket,
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
