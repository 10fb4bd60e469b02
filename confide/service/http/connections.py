"""Connections as the web server reads them: how many a client may have, and how long a request or a response may take on its way.

A client is an address, or an IPv6 network of 2^64. One that has too many connections is refused, and no other client is. When all
places are taken a new connection takes that of the idle one that has waited longest, of the client that has most. What cannot be
read as HTTP, comes too slowly or has no place is refused in the same shape as everything else. Documents that are in memory are
answered here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import ClassVar

import h11
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .documents import DocumentCache
from .limits import network
from .problems import RETRY, Refused

MOST_CONNECTIONS = 1000
MOST_OF_ONE = 200
"""Connections of one client. Beyond that one is answered with a refusal, and beyond twice as many it is cut at once."""
RECEIPT = 20.0
"""Seconds from the first moment of a connection, or the first byte of a further request, until the request is here as a whole."""
HASTE = 2.0
"""The same for a connection that is refused whatever it asks."""
STALL = 20.0
"""Seconds for which a client may read nothing of a response."""

Answering = Callable[[Refused], Response]


@dataclass(frozen=True)
class ConnectionRules:
    """The limits of one server, and the connections that are open, by client, those first that were answered first.

    refused: turns a refusal into a response, and counts it. exempt: whether an address is a proxy's, who brings many clients.
    """

    refused: Answering
    most: int
    most_of_one: int
    exempt: Callable[[str], bool]
    receipt: float
    documents: DocumentCache | None
    clients: dict[str, dict[LimitedConnection, None]] = field(default_factory=dict)

    def refusing(self, error: Refused) -> ASGIApp:
        """An application that refuses whatever it is asked."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            response = self.refused(error)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)

        return answer

    def make_room(self) -> bool:
        """Close the connection that has been idle for longest, of the client that has most; whether there was one."""
        for own in sorted(self.clients.values(), key=len, reverse=True):
            for connection in own:
                if connection.idle:
                    connection.give_way()
                    return True
        return False


class LimitedConnection(H11Protocol):
    """One connection."""

    rules: ClassVar[ConnectionRules]
    _receiving: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _source = ""
    _begun = False
    """Whether a part of a request's head is here."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a connection, if its client has not too many and there is a place; else refuse whatever it asks."""
        super().connection_made(transport)
        rules, host = self.rules, self.client[0] if self.client else ""
        self._source = network(host)
        count, seconds = len(rules.clients.get(self._source, ())) + 1, rules.receipt
        refusal = None
        if count > rules.most_of_one and not rules.exempt(host):
            if count > 2 * rules.most_of_one:
                transport.abort()
                return
            refusal = Refused("rate", "connections-of-one", "Too many connections are open from your address.", RETRY)
        elif len(self.connections) > rules.most and not rules.make_room():
            refusal = Refused("busy", "connections-busy", "Too many connections are open.", RETRY)
        if refusal is not None:
            self.app, self._begun, seconds = rules.refusing(refusal), True, min(HASTE, rules.receipt)
        rules.clients.setdefault(self._source, {})[self] = None
        self._receiving = self.loop.call_later(seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        own = self.rules.clients.get(self._source, {})
        own.pop(self, None)
        if not own:
            self.rules.clients.pop(self._source, None)
        for timer in (self._receiving, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Answer from memory, or read on; a request that is not here as a whole has to be within its time."""
        if not self._begun and self.idle and self.rules.documents is not None and self.conn.our_state is h11.IDLE:
            answer = self.rules.documents.answer(data)
            if answer is not None:
                self._answer(answer)
                return
        super().data_received(data)
        self._begun = self.conn.their_state is h11.IDLE
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._receiving is None:
                self._receiving = self.loop.call_later(self.rules.receipt, self._too_slow)
        else:
            self._received()

    def _answer(self, answer: tuple[bytes, bytes]) -> None:
        """Write a response from memory: its first line, and the rest."""
        self._received()
        line, rest = answer
        default = b"".join(b"%b: %b\r\n" % pair for pair in self.server_state.default_headers)
        self.transport.write(b"".join((line, default, rest)))
        self.on_response_complete()

    def _received(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None

    def on_response_complete(self) -> None:
        """Answered: it goes to the end of its client's row, whose first has waited longest."""
        own = self.rules.clients.get(self._source, {})
        if self in own:
            del own[self]
            own[self] = None
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client reads too slowly; if it reads nothing for long, it is cut."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(STALL, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def give_way(self) -> None:
        """Close an idle connection, since another needs its place."""
        self.transport.abort()
        self.connections.discard(self)
        self.rules.clients[self._source].pop(self, None)

    def _too_slow(self) -> None:
        if self.transport.is_closing():
            return
        answered = self.idle and self.conn.our_state is not h11.IDLE  # and its request still comes
        if answered or (not self.idle and self.cycle.response_started):
            self.transport.abort()
            return
        if not self.idle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._refuse(
            Refused("slow", "request-slow", "The request did not arrive in time. Send it again."), b"Request Timeout"
        )

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(Refused("http", "request-unreadable", "This is not a request that can be read."), b"Bad Request")

    def _refuse(self, error: Refused, reason: bytes) -> None:
        answer = self.rules.refused(error)
        headers = [*answer.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=answer.status_code, headers=headers, reason=reason),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def protocol(
    refused: Answering,
    most: int = MOST_CONNECTIONS,
    most_of_one: int = MOST_OF_ONE,
    proxy: str | None = None,
    receipt: float = RECEIPT,
    documents: DocumentCache | None = None,
) -> type[asyncio.Protocol]:
    """A protocol for the web server. refused: turns a refusal into a response, and counts it. proxy: the addresses of proxies, who
    bring many clients each and limit them on their own. documents: those that are answered from memory."""
    rules = ConnectionRules(refused, most, most_of_one, _proxies(proxy), receipt, documents)
    return type("ServedConnection", (LimitedConnection,), {"rules": rules})


def _proxies(proxy: str | None) -> Callable[[str], bool]:
    """Whether an address is one of the proxies'."""
    if not proxy:
        return lambda host: False
    if proxy == "*":
        return lambda host: True
    names, networks = set(), []
    for word in proxy.split(","):
        try:
            networks.append(ip_network(word.strip(), strict=False))
        except ValueError:
            names.add(word.strip())

    def known(host: str) -> bool:
        if host in names:
            return True
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return any(address in each for each in networks)

    return known
