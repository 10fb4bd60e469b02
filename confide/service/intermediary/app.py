"""A shuffler or a curator as a web application: it issues tickets, takes uploads, and shows what is public of closed batches.

What is public is written down by name in `PUBLIC_METRICS`, and nothing else is shown without the operator's token: how many
uploads came, who is absent, what was refused and how long anything took are functions of people's episodes.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from functools import partial

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ...errors import FormatError
from ...validation import Json
from ..contract.encoding import to_base64
from ..contract.exchange import MOST_BYTES, PeerHeads, Restored
from ..contract.intermediary import CURATOR
from ..contract.pausing import SENTENCE, WAIT, Pause
from ..contract.sealed import OVERHEAD
from ..contract.tickets import FORM, MEDIA_TYPE
from ..contract.tokens import MEDIA_TYPE as TOKEN_TYPE
from ..contract.tokens import TOKEN_BYTES, no_token
from ..http.application import (
    check_rate,
    health_page,
    immutable,
    in_thread,
    number_of,
    read_body,
    read_submission,
    refusal_response,
    shows_token,
    web_application,
)
from ..http.group_commit import Busy, GroupCommitter
from ..http.limits import RATE, Limit, TicketShare
from ..http.openapi import BYTES, JSON, METRICS, intermediary_document
from ..http.problems import RETRY, Refused
from ..http.serving import Ending
from .batch_manager import CLOSED, FULL, SOON, UNCONFIRMED, BatchManager
from .leasing import SILENT, LeaseKeeper
from .store import NotYet, Superseded, Wanted

LOG = logging.getLogger("confide.batches")
PAUSE = 0.1
"""Seconds between two looks at the deadlines."""

PUBLIC_METRICS = (
    "confide_tickets_issued",
    "confide_batches_closed",
    "confide_people_closed",
    "confide_batches_waiting",
    "confide_epoch",
    "confide_round",
)
"""All that `/metrics` shows: tickets, people of closed batches, how many batches wait for more people, and the schedule."""

MESSAGE_PATHS = {CURATOR: "/v1/episodes"}
BODY_PATHS = {CURATOR: "/v1/releases/{number}"}


class BatchCloser(threading.Thread):
    """The thread that closes batches when their deadline has come."""

    def __init__(self, manager: BatchManager) -> None:
        super().__init__(name="confide-closer", daemon=True)
        self._manager = manager
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self.join(5.0)

    def run(self) -> None:
        """Close batches until stopped; whatever fails is tried again from what is stored, with new noise."""
        wait = PAUSE
        while not self._stopped.wait(wait):
            try:
                while self._manager.step():
                    pass
                wait = PAUSE
            except Superseded:
                LOG.error("another process has taken over")
            except Exception as error:
                LOG.error("closing failed", extra={"details": {"error": type(error).__name__}})
                wait = min(2 * wait, 5.0)


class IntermediaryServer:
    """The handlers of each address of a shuffler or a curator, and its threads."""

    def __init__(self, manager: BatchManager, rate: float = RATE) -> None:
        self.manager, self.role = manager, manager.about.role
        self._tickets = GroupCommitter(manager, lambda: None, lambda many, seconds: None)
        self._closer, self._keeper = BatchCloser(manager), LeaseKeeper(manager)
        self.ending = Ending()
        self._pause = Pause(manager.folder.path)
        self._limit, self._places = Limit(rate), TicketShare()
        self._inside: Counter[str] = Counter()
        sealing = 0 if manager.about.sealing is None else OVERHEAD
        self._longest = FORM.size + sealing + manager.open_batches.longest
        self._openapi = json.dumps(
            intermediary_document(self.role, self._longest, manager.contract.tokens is not None)
        ).encode()

    def start(self) -> None:
        """Take the lease, or wait for it; then begin an epoch, and take uploads."""
        self._keeper.start()
        self._tickets.start()
        self._closer.start()

    def stop(self) -> None:
        """Forget what is open: devices send it again."""
        self._tickets.stop()
        self._closer.stop()
        self._keeper.stop()
        self.manager.store.close_connections()

    async def contract_page(self, request: Request) -> Response:
        """The contract, byte for byte."""
        return Response(self.manager.contract.data, media_type=JSON)

    async def ticket_endpoint(self, request: Request) -> Response:
        """Issue a ticket, which is a place in a batch: one a token, or to any client where the contract names no issuer."""
        self._check_alive()
        check_rate(request, self._limit)
        self._check_paused()
        if not (self.manager.confirmed or self.manager.ended):
            raise Refused("starting", "rounds-unconfirmed", UNCONFIRMED, RETRY)
        wanted = await self._wanted(request)
        client = "" if request.client is None else request.client.host
        if wanted.nonce is None and not self._places.allows(client, self.manager.contract.tickets(self._places.batch)):
            text = "Your address has its share of the places of this batch. Come again when it is closed."
            raise Refused("rate", "tickets-of-one-address", text, RETRY)
        try:
            ticket = await self._tickets.outcome(wanted)
        except Busy:
            raise Refused("busy", "tickets-busy", "More people wait than can be served soon.", RETRY) from None
        except NotYet as error:
            raise Refused("starting", error.code, str(error), RETRY) from None
        except Exception:
            raise Refused(
                "store", "ticket-not-stored", "The store does not respond; no ticket was issued.", RETRY
            ) from None
        if ticket is None and wanted.slot is not None:
            raise Refused("ended", "slot-not-due", "Tickets are issued for the batches of another slot.")
        if ticket is None:
            raise Refused("ended", "tickets-used-up", "All tickets were issued.")
        self._places.take(client, ticket.batch)
        answer: dict[str, Json] = {"ticket": to_base64(ticket.to_bytes()), "batch": ticket.batch, "round": ticket.round}
        return self._json({**answer, "epoch": self.manager.epoch}, 201)

    async def _wanted(self, request: Request) -> Wanted:
        """The nonce of the token that was sent, and its slot; none where the contract names no issuer."""
        contract = self.manager.contract
        if contract.issuer is None:
            return Wanted()
        slotted = contract.slots is not None
        body = await read_submission(request, TOKEN_TYPE, TOKEN_BYTES + 2 * slotted)
        slot = int.from_bytes(body[:2]) if slotted else 0
        checker = contract.checker(slot)
        try:
            if checker is None:
                raise no_token()
            return Wanted(checker.nonce(body[2:] if slotted else body), slot if slotted else None)
        except FormatError as error:
            raise Refused("admission", error.code, str(error)) from None

    async def next_page(self, request: Request) -> Response:
        """The batch that tickets are issued for now."""
        self._check_alive()
        batch = await in_thread(self.manager.next_batch)
        if batch is None:
            raise Refused("ended", "tickets-used-up", "All tickets were issued.")
        return self._json({"batch": batch}, 200)

    async def submission_endpoint(self, request: Request) -> Response:
        """Take the upload of a ticket holder: 202 and the epoch, for which alone it is taken."""
        self._check_alive()
        return self._taken(await read_submission(request, MEDIA_TYPE, self._longest))

    def _taken(self, body: bytes) -> Response:
        try:
            ticket, message = self.manager.read(body)
        except FormatError as error:
            raise Refused("ticket", error.code, str(error)) from None
        if ticket.contract != self.manager.contract.digest:
            raise Refused(
                "contract", "ticket-of-other-contract", "This upload was made under another contract. Drop it."
            )
        try:
            outcome = self.manager.take(ticket, message)
        except FormatError as error:
            raise Refused("report", error.code, str(error)) from None
        if outcome == CLOSED:
            raise Refused("closed", "batch-closed", "The batch of this ticket is closed. Drop the upload.")
        if outcome == SOON:
            raise Refused("busy", "batch-closing", "The batch of this ticket is being closed.", RETRY)
        if outcome == FULL:
            raise Refused("busy", "uploads-held", "No more uploads can be held for now. Send this one again.", RETRY)
        self._inside["taken"] += 1
        return self._json({"epoch": self.manager.epoch}, 202)

    async def batch_page(self, request: Request) -> Response:
        """What is public of a batch."""
        status = await in_thread(partial(self.manager.status, number_of(request)))
        if status is None:
            raise Refused("path", "batch-unknown", "There is no such batch yet.")
        return self._json(status._asdict(), 200)

    async def closing_page(self, request: Request) -> Response:
        """A signed closing."""
        closing = await in_thread(partial(self.manager.public_closing, number_of(request)))
        return immutable(None if closing is None else closing.to_json(), JSON)

    async def body_page(self, request: Request) -> Response:
        """The sum or the release that a batch was closed into."""
        return immutable(await in_thread(partial(self.manager.public_body, number_of(request))), BYTES)

    async def round_endpoint(self, request: Request) -> Response:
        """Compare memories with the collector: batches that begin from now on follow the policy of the head that it shows."""
        try:
            shown = PeerHeads.from_json(await read_body(request, MOST_BYTES), self.manager.contract)
            answer = await in_thread(partial(self.manager.exchange, shown))
        except Restored as error:
            self.ending.because(str(error))
            raise Refused("store", error.code, str(error)) from None
        except FormatError as error:
            raise Refused("garbage", error.code, str(error)) from None
        return Response(answer.to_json(), 200, {"Cache-Control": "no-store"}, JSON)

    async def metrics_page(self, request: Request) -> Response:
        """Public metrics; with the operator's token also those that are not public."""
        page = await in_thread(self._metrics)
        if shows_token(request, self.manager.keys.token):
            inside = {**self._inside, "unreadable": self.manager.unreadable}
            page += "".join(f"inside_{name} {many}\n" for name, many in sorted(inside.items())).encode()
        return Response(page, media_type=METRICS)

    def _metrics(self) -> bytes:
        registry = CollectorRegistry()
        row, newest = self.manager.store.desk(), self.manager.store.newest(self.manager.clock())
        contract = self.manager.contract
        waiting, given = self.manager.store.joined()
        issued = sum(contract.tickets(batch) for batch in range(1, int(row.batch))) + int(row.place) + given
        public = None if newest is None else self.manager.public_closing(int(newest.number))
        closing = None if public is None else public.closing
        people = 0 if closing is None else closing.people
        closed = 0 if closing is None else closing.number
        values = (issued, closed, people, waiting, int(row.epoch), int(row.round))
        for name, value in zip(PUBLIC_METRICS, values, strict=True):
            Gauge(name, name.removeprefix("confide_").replace("_", " "), registry=registry).set(value)
        return generate_latest(registry)

    async def openapi_page(self, request: Request) -> Response:
        """The OpenAPI document."""
        return Response(self._openapi, media_type=JSON)

    async def ready_page(self, request: Request) -> Response:
        """Answers when tickets are issued and batches closed."""
        self._check_alive()
        if not (self._tickets.is_alive() and self._closer.is_alive() and self._keeper.is_alive()):
            raise Refused("starting", "batches-not-closed", "No process closes batches.", RETRY)
        if time.monotonic() - self._keeper.renewed > SILENT:
            raise Refused(
                "store", "tickets-not-committed", "The store does not take commits: no ticket can be issued.", RETRY
            )
        self._check_paused()
        if self.manager.overdue():
            raise Refused("store", "batch-overdue", "A batch should be closed by now, and could not be.", RETRY)
        desk = await in_thread(self.manager.store.desk)
        if not (desk.round and self.manager.confirmed):
            raise Refused("starting", "rounds-unconfirmed", UNCONFIRMED, RETRY)
        return PlainTextResponse("ready\n")

    def _check_paused(self) -> None:
        """Refuse tickets during a pause; holders of one may still hand over what belongs to it."""
        if self._pause:
            raise Refused("paused", "service-paused", SENTENCE, WAIT)

    def _check_alive(self) -> None:
        if not self.manager.holds:
            raise Refused("starting", "lease-elsewhere", "Another process has the lease, and serves.", RETRY)

    def refused(self, error: Refused) -> Response:
        """The response to a refused request, which only the operator's metrics count."""
        self._inside[f"refused_{error.reason}"] += 1
        return refusal_response(error, self.manager.contract)

    def _json(self, body: dict[str, Json], status: int) -> Response:
        return Response(json.dumps(body), status, {"Cache-Control": "no-store"}, JSON)


def application(server: IntermediaryServer) -> Starlette:
    """The web application of a shuffler or a curator."""
    return web_application(server, routes(server))


def routes(server: IntermediaryServer) -> list[Route]:
    """The routes of a shuffler or a curator: every address, and its handler."""
    return [
        Route("/v1/contract", server.contract_page, methods=["GET"]),
        Route("/v1/tickets", server.next_page, methods=["GET"]),
        Route("/v1/tickets", server.ticket_endpoint, methods=["POST"]),
        Route(MESSAGE_PATHS.get(server.role, "/v1/reports"), server.submission_endpoint, methods=["POST"]),
        Route("/v1/batches/{number}", server.batch_page, methods=["GET"]),
        Route("/v1/closings/{number}", server.closing_page, methods=["GET"]),
        Route(BODY_PATHS.get(server.role, "/v1/sums/{number}"), server.body_page, methods=["GET"]),
        Route("/v1/rounds", server.round_endpoint, methods=["POST"]),
        Route("/v1/openapi.json", server.openapi_page, methods=["GET"]),
        Route("/metrics", server.metrics_page, methods=["GET"]),
        Route("/healthz", health_page, methods=["GET"]),
        Route("/readyz", server.ready_page, methods=["GET"]),
    ]
