"""What a service responds to a submission, and which responses a device believes.

Proxies, portals and other services answer too, with any status. A device has one report: it drops it only for a response that this
service wrote, which says what became of the report (`outcome`), or why it never can be counted (a problem of ours that is final
and names the contract).
"""

from __future__ import annotations

import json

from ...validation import Json

PROBLEM_TYPE = "application/problem+json"
PROBLEM = "urn:confide:problem:"
"""How the `type` of a problem of ours begins; the reason follows."""

OUTCOMES = ("counted", "counted before")
FINAL = ("closed", "contract", "ended", "garbage", "length", "report", "ticket")
"""Reasons for which the same bytes will never be counted. Not `round`: a collector may be behind the round that a device was shown;
nor `path`, `http` and `type`: then something else answered, or the request was spoilt on its way.
"""

COUNTED, REFUSED, UNKNOWN = "counted", "refused", "unknown"


def document_of(body: bytes) -> dict[str, Json]:
    """The JSON object of a response; empty if it is none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def verdict(status: int, media_type: str, body: bytes, contract: str) -> str:
    """What a response says of a report: it was counted, never will be, or nothing that can be believed. contract: its SHA-256."""
    document = document_of(body)
    if status in (200, 201):
        return COUNTED if document.get("outcome") in OUTCOMES else UNKNOWN
    named, reason = document.get("contract"), str(document.get("type", ""))
    own = media_type == PROBLEM_TYPE and reason.startswith(PROBLEM) and document.get("status") == status
    if not own or reason.removeprefix(PROBLEM) not in FINAL or not isinstance(named, str):
        return UNKNOWN
    other = reason == PROBLEM + "contract"
    return REFUSED if (named != contract) == other else UNKNOWN
