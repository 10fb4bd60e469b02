"""Pages of any origin may read what is public, take a ticket and send a submission, so that a device can live in another site's
page.

That gives such a page nothing that a script outside a browser would not have. What may be read is the same for all and
meant for all; a submission counts by its content, not by its sender. There are no cookies and no credentials here, and since
the response is `*` and never allows them, a browser sends none along. What an operator's token opens is not in the list: a page of
another origin can neither send that token (no header but the content type is allowed) nor read the response.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN = (
    "/v1/contract",
    "/v1/rounds/",
    "/v1/policies/",
    "/v1/questions/",
    "/v1/releases/",
    "/v1/certificate",
    "/v1/openapi.json",
    "/v1/reports",
    "/v1/intermediary",
    "/v1/tickets",
    "/v1/tokens",
    "/v1/issuer",
    "/v1/episodes",
    "/v1/batches/",
)
"""How the addresses begin that pages of other origins may use."""

_ANY = (b"access-control-allow-origin", b"*")
_ANSWER = [_ANY, (b"access-control-expose-headers", b"retry-after")]
_PREFLIGHT = [
    _ANY,
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
]


def answer_headers(path: str) -> list[tuple[bytes, bytes]]:
    """The headers that say of the response to a GET that any page may read it; none if not."""
    return _ANSWER if path.startswith(OPEN) else []


class AnyOrigin:
    """An application whose public addresses say that any page may use them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser that asks first, and mark every other response."""
        if scope["type"] != "http" or not scope["path"].startswith(OPEN):
            await self._app(scope, receive, send)
            return
        if scope["method"] == "OPTIONS":
            await send({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await send({"type": "http.response.body"})
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_ANSWER]}
            await send(message)

        await self._app(scope, receive, marked)
