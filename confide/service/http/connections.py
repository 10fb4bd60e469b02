"""HTTP as the web server reads it; what it cannot read, or has no room for, is refused in the same shape as everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from .problems import RETRY, Refused

MOST_CONNECTIONS = 1000

Answering = Callable[[Refused], Response]


def protocol(refused: Answering, most: int = MOST_CONNECTIONS) -> type[asyncio.Protocol]:
    """A protocol for the web server. refused: turns a refusal into an answer, and counts it."""

    async def crowded(scope: Any, receive: Any, send: Any) -> None:
        answer = refused(Refused("busy", "connections-busy", "Too many connections are open.", RETRY))
        answer.headers["Connection"] = "close"
        await answer(scope, receive, send)

    class Protocol(H11Protocol):
        """One connection."""

        def connection_made(self, transport: Any) -> None:
            """Take a connection, or, if too many are open, answer whatever comes with a refusal."""
            super().connection_made(transport)
            if len(self.connections) > most:
                self.app = crowded

        def send_400_response(self, msg: str) -> None:
            """Refuse what is not HTTP."""
            import h11

            answer = refused(Refused("http", "request-unreadable", "This is not a request that can be read."))
            headers = [*answer.raw_headers, (b"connection", b"close")]
            for event in (
                h11.Response(status_code=answer.status_code, headers=headers, reason=b"Bad Request"),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return Protocol
