"""A shuffler or a curator as a web application: it issues tickets, takes parcels, and shows what is public of closed batches.

What is public is written down by name in `PUBLIC_METRICS`, and nothing else is shown without the operator's token: how many
parcels came, who is absent, what was refused and how long anything took are functions of people's episodes.
"""

from __future__ import annotations

import hmac
import json
import logging
import threading
from collections import Counter
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ..collector.app import FOREVER, RETRY, in_thread, read_body, web_application
from ..collector.counting import Busy, GroupCommitter
from ..collector.intake import Refused
from ..collector.limits import RATE, Limit
from ..collector.metrics import MEDIA_TYPE as METRICS_TYPE
from ..collector.openapi import BYTES, JSON
from ..contracts.encoding import to_base64
from ..contracts.heads import MOST_BYTES, SignedHead
from ..contracts.intermediary import CURATOR
from ..contracts.tickets import FORM
from ..contracts.tickets import MEDIA_TYPE as PARCEL
from ..errors import FormatError
from .office import CLOSED, SOON, Office
from .openapi import document
from .store import NotYet, Superseded

LOG = logging.getLogger("confide.batches")
PAUSE = 0.1
"""Seconds between two looks at the deadlines."""

PUBLIC_METRICS = (
    "confide_tickets_issued",
    "confide_batches_closed",
    "confide_people_closed",
    "confide_epoch",
    "confide_round",
)
"""All that `/metrics` shows: tickets, people of closed batches, and the schedule."""

MESSAGE_PATHS = {CURATOR: "/v1/episodes"}
BODY_PATHS = {CURATOR: "/v1/releases/{number}"}


class BatchCloser(threading.Thread):
    """The thread that closes batches when their deadline has come."""

    def __init__(self, office: Office) -> None:
        super().__init__(name="confide-closer", daemon=True)
        self._office = office
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
                while self._office.step():
                    pass
                wait = PAUSE
            except Superseded:
                LOG.error("another process has taken over")
                return
            except Exception as error:
                LOG.error("closing failed", extra={"details": {"error": type(error).__name__}})
                wait = min(2 * wait, 5.0)


class OfficeApp:
    """The handlers of each address of an office, and its threads."""

    def __init__(self, office: Office, rate: float = RATE) -> None:
        self.office, self.role = office, office.about.role
        self._tickets = GroupCommitter(office, lambda: None, lambda many, seconds: None)
        self._closer = BatchCloser(office)
        self._limit = Limit(rate)
        self._inside: Counter[str] = Counter()
        self._longest = FORM.size + office.open_batches.longest
        self._openapi = json.dumps(document(self.role, self._longest)).encode()

    def start(self) -> None:
        """Begin an epoch, and take parcels."""
        self.office.begin()
        self._tickets.start()
        self._closer.start()

    def stop(self) -> None:
        """Forget what is open: devices send it again."""
        self._tickets.stop()
        self._closer.stop()
        self.office.store.close_connections()

    async def contract_page(self, request: Request) -> Response:
        """The contract, byte for byte."""
        return Response(self.office.contract.data, media_type=JSON)

    async def ticket_door(self, request: Request) -> Response:
        """Issue a ticket, which is a place in a batch, to whoever asks."""
        self._check_alive()
        client = request.client
        if not self._limit.allows("" if client is None else client.host):
            raise Refused("rate", "Too many ask from your address at once.", RETRY)
        try:
            ticket = await self._tickets.submit(None)
        except Busy:
            raise Refused("busy", "More people wait than can be served soon.", RETRY) from None
        except NotYet as error:
            raise Refused("starting", str(error), RETRY) from None
        except Exception:
            raise Refused("store", "The store does not answer; no ticket was issued.", RETRY) from None
        if ticket is None:
            raise Refused("ended", "All tickets were issued.")
        answer = {"ticket": to_base64(ticket.to_bytes()), "batch": ticket.batch, "round": ticket.round}
        return self._json({**answer, "epoch": self.office.epoch}, 201)

    async def parcel_door(self, request: Request) -> Response:
        """Take the parcel of a ticket holder: 202 and the epoch, for which alone it is taken."""
        self._check_alive()
        headers = request.headers
        if headers.get("content-type", "").partition(";")[0].strip().lower() != PARCEL:
            raise Refused("type", f"A parcel is sent as {PARCEL}.")
        length = headers.get("content-length")
        if length is not None and (not length.isdigit() or int(length) > self._longest):
            raise Refused("length", f"A parcel of this contract has at most {self._longest} bytes.")
        return self._taken(await read_body(request, self._longest))

    def _taken(self, body: bytes) -> Response:
        try:
            ticket, message = self.office.read(body)
        except FormatError as error:
            raise Refused("ticket", str(error)) from None
        if ticket.contract != self.office.contract.digest:
            raise Refused("contract", "This parcel was made under another contract. Drop it.")
        try:
            outcome = self.office.take(ticket, message)
        except FormatError as error:
            raise Refused("report", str(error)) from None
        if outcome == CLOSED:
            raise Refused("closed", "The batch of this ticket is closed. Drop the parcel.")
        if outcome == SOON:
            raise Refused("busy", "The batch of this ticket is being closed.", RETRY)
        self._inside["taken"] += 1
        return self._json({"epoch": self.office.epoch}, 202)

    async def batch_page(self, request: Request) -> Response:
        """What anybody may know of a batch."""
        status = await in_thread(partial(self.office.status, _number(request)))
        if status is None:
            raise Refused("path", "There is no such batch yet.")
        return self._json(status._asdict(), 200)

    async def closing_page(self, request: Request) -> Response:
        """A signed closing."""
        closing = await in_thread(partial(self.office.public_closing, _number(request)))
        return _immutable(None if closing is None else closing[0].to_json(), JSON)

    async def body_page(self, request: Request) -> Response:
        """The sum or the release that a batch was closed into."""
        closing = await in_thread(partial(self.office.public_closing, _number(request)))
        return _immutable(None if closing is None else closing[1], BYTES)

    async def round_door(self, request: Request) -> Response:
        """Take a signed head of the collector: batches that begin from now on follow its policy."""
        try:
            signed = SignedHead.from_json(await read_body(request, MOST_BYTES), self.office.contract.key)
        except FormatError as error:
            raise Refused("garbage", str(error)) from None
        if signed.head.contract != self.office.contract.digest.hex():
            raise Refused("contract", "This head is of another contract.")
        self.office.ended = self.office.ended or signed.head.ended
        await in_thread(partial(self.office.store.know_round, signed.head.round))
        return Response(status_code=204)

    async def metrics_page(self, request: Request) -> Response:
        """Public metrics; with the operator's token also those that are not public."""
        page = await in_thread(self._metrics)
        if self._is_operator(request):
            page += "".join(f"inside_{name} {many}\n" for name, many in sorted(self._inside.items())).encode()
        return Response(page, media_type=METRICS_TYPE)

    def _metrics(self) -> bytes:
        registry = CollectorRegistry()
        row, newest = self.office.store.desk(), self.office.store.newest(self.office.clock())
        contract = self.office.contract
        issued = sum(contract.tickets(batch) for batch in range(1, int(row.batch))) + int(row.place)
        public = None if newest is None else self.office.public_closing(int(newest.number))
        closing = None if public is None else public[0].closing
        people = 0 if closing is None else closing.people
        values = (issued, 0 if closing is None else closing.number, people, int(row.epoch), int(row.round))
        for name, value in zip(PUBLIC_METRICS, values, strict=True):
            Gauge(name, name.removeprefix("confide_").replace("_", " "), registry=registry).set(value)
        return generate_latest(registry)

    def _is_operator(self, request: Request) -> bool:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(token.encode(), self.office.keys.token.encode())

    async def openapi_page(self, request: Request) -> Response:
        """The OpenAPI document."""
        return Response(self._openapi, media_type=JSON)

    async def health_page(self, request: Request) -> Response:
        """Answers while the process lives."""
        return PlainTextResponse("alive\n")

    async def ready_page(self, request: Request) -> Response:
        """Answers when tickets are issued and batches closed."""
        self._check_alive()
        if not (self._tickets.is_alive() and self._closer.is_alive()):
            raise Refused("starting", "Nobody closes batches.", RETRY)
        try:
            desk = await in_thread(self.office.store.desk)
        except Exception:
            raise Refused("store", "The store does not answer.", RETRY) from None
        if not desk.round:
            raise Refused("starting", "The collector has not opened its first round yet.", RETRY)
        return PlainTextResponse("ready\n")

    def _check_alive(self) -> None:
        if self.office.superseded:
            raise Refused("starting", "Another process has taken over.", RETRY)

    def refused(self, error: Refused) -> Response:
        """The response to a refused request, which only the operator's metrics count."""
        self._inside[f"refused_{error.reason}"] += 1
        headers = {} if error.wait is None else {"Retry-After": str(error.wait)}
        return Response(json.dumps(error.problem()), error.status, headers, "application/problem+json")

    def _json(self, body: dict[str, Any], status: int) -> Response:
        return Response(json.dumps(body), status, {"Cache-Control": "no-store"}, JSON)


def application(doors: OfficeApp) -> Any:
    """The web application of a shuffler or a curator."""
    return web_application(doors, routes(doors))


def routes(doors: OfficeApp) -> list[Route]:
    """The routes of a shuffler or a curator: every address, and its handler."""
    return [
        Route("/v1/contract", doors.contract_page, methods=["GET"]),
        Route("/v1/tickets", doors.ticket_door, methods=["POST"]),
        Route(MESSAGE_PATHS.get(doors.role, "/v1/reports"), doors.parcel_door, methods=["POST"]),
        Route("/v1/batches/{number}", doors.batch_page, methods=["GET"]),
        Route("/v1/closings/{number}", doors.closing_page, methods=["GET"]),
        Route(BODY_PATHS.get(doors.role, "/v1/sums/{number}"), doors.body_page, methods=["GET"]),
        Route("/v1/rounds", doors.round_door, methods=["POST"]),
        Route("/v1/openapi.json", doors.openapi_page, methods=["GET"]),
        Route("/metrics", doors.metrics_page, methods=["GET"]),
        Route("/healthz", doors.health_page, methods=["GET"]),
        Route("/readyz", doors.ready_page, methods=["GET"]),
    ]


def _number(request: Request) -> int:
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Refused("path", "There is nothing under this address.")
    return int(text)


def _immutable(body: bytes | None, media_type: str) -> Response:
    if body is None:
        raise Refused("path", "There is nothing under this address yet.")
    return Response(body, media_type=media_type, headers={"Cache-Control": FOREVER})
