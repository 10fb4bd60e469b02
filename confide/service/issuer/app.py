"""An issuer as a web application: who shows a credential gets one blind signature, for the contract that is served.

Who has a token is stored as names under a key, and what was signed for them, in no order and without a time, but for the
period where a contract has periods.
What was signed is blinded: it is independent of the token that came of it. It is kept so that a device whose answer was lost may
ask again, with the same bytes only.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, Table, func, insert, select
from sqlalchemy.exc import IntegrityError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ...errors import FormatError
from ...validation import Json
from ..contract.encoding import from_base64, to_base64
from ..contract.slots import Slots
from ..contract.tickets import derived
from ..contract.tokens import MOST_REQUEST, REQUEST_TYPE
from ..http import databases, openapi
from ..http.application import (
    check_rate,
    health_page,
    in_thread,
    read_submission,
    refusal_response,
    web_application,
)
from ..http.limits import RATE, Limit
from ..http.openapi import JSON, METRICS, posted
from ..http.problems import Refused
from ..http.serving import Ending
from .folder import IssuerFolder
from .logins import Login

LOG = logging.getLogger("confide.issuer")


class IssuerServer:
    """The handlers of an issuer. It writes no line about a person, and counts what it issued only."""

    def __init__(
        self,
        folder: IssuerFolder,
        login: Login,
        database: str | None = None,
        rate: float = RATE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.contract, self._clock = folder.contract(), clock
        self._keys, self._login = folder.private_keys(), login
        self._store = IssuedStore(database or folder.database, folder.secret())
        self._limit = Limit(rate)
        self.ending = Ending()
        self._signed = 0
        self._openapi = json.dumps(document()).encode()

    def start(self) -> None:
        """Make the tables."""
        self._store.prepare()

    def stop(self) -> None:
        """Close the database."""
        self._store.close()

    async def token_endpoint(self, request: Request) -> Response:
        """Sign blinded bytes for a person who has had none signed, or the same ones."""
        check_rate(request, self._limit)
        contract, credential, blinded, slot = _read(await read_submission(request, REQUEST_TYPE, MOST_REQUEST))
        if contract != self.contract.digest.hex():
            raise Refused("contract", "token-of-other-contract", "Tokens are issued here for another contract.")
        slots = self.contract.slots
        if not 0 <= slot < (1 if slots is None else slots.many):
            raise Refused("garbage", "token-slot-unknown", "The contract has no such slot.")
        answer = await in_thread(partial(self._granted, credential, blinded, slot))
        return Response(json.dumps({"answer": to_base64(answer)}), 201, {"Cache-Control": "no-store"}, media_type=JSON)

    def _granted(self, credential: str, blinded: bytes, slot: int) -> bytes:
        name = self._login.person(credential)
        if name is None or not self._login.admitted(name):
            raise Refused(
                "login", "credential-unknown", "This credential is not known here. Log in where the service is offered."
            )
        try:
            slots = self.contract.slots
            answer = self._keys[slot if slots is not None and slots.width else 0].sign(blinded)
        except FormatError as error:
            raise Refused("garbage", error.code, str(error)) from None
        periods = self.contract.period
        period = None if periods is None else periods.at(self._clock())
        if not self._store.grant(self.contract.digest, name, blinded, slot, slots, period):
            when = "in all" if period is None else "in this period"
            several = "" if slots is None else f" of this slot, one too close to it, or {slots.times:,} {when}"
            raise Refused("issued", "token-already-issued", f"This person has a token{several}, and there is no more.")
        self._signed += 1
        return answer

    async def contract_page(self, request: Request) -> Response:
        """The contract, byte for byte."""
        return Response(self.contract.data, media_type=JSON)

    async def openapi_page(self, request: Request) -> Response:
        """The OpenAPI document."""
        return Response(self._openapi, media_type=JSON)

    async def metrics_page(self, request: Request) -> Response:
        """How many tokens this process signed."""
        text = f"# TYPE confide_tokens_signed counter\nconfide_tokens_signed {self._signed}\n"
        return Response(text, media_type=METRICS)

    async def ready_page(self, request: Request) -> Response:
        """Answers once the tables are there."""
        return PlainTextResponse("ready\n")

    def refused(self, error: Refused) -> Response:
        """The response to a refused request."""
        return refusal_response(error, self.contract)


def _read(body: bytes) -> tuple[str, str, bytes, int]:
    """The contract, the credential, the blinded bytes and the slot of a request."""
    try:
        told = json.loads(body)
        contract, credential, blinded = told["contract"], told["credential"], from_base64(told["blinded"])
        slot = told.get("slot", 0)
        if not (isinstance(contract, str) and isinstance(credential, str) and type(slot) is int):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Refused(
            "garbage", "token-request-form", "A request has a contract, a credential and blinded bytes, in JSON."
        ) from None
    return contract, credential, blinded, slot


def application(folder: str | Path, login: Login, database: str | None = None) -> Starlette:
    """The web application of an issuer (ASGI), for an application that serves it under its own login."""
    return application_of(IssuerServer(IssuerFolder(Path(folder)), login, database))


def application_of(server: IssuerServer) -> Starlette:
    """The web application of an issuer."""
    return web_application(server, routes(server))


def routes(server: IssuerServer) -> list[Route]:
    """The routes of an issuer: every address, and its handler."""
    return [
        Route("/v1/tokens", server.token_endpoint, methods=["POST"]),
        Route("/v1/contract", server.contract_page, methods=["GET"]),
        Route("/v1/openapi.json", server.openapi_page, methods=["GET"]),
        Route("/metrics", server.metrics_page, methods=["GET"]),
        Route("/healthz", health_page, methods=["GET"]),
        Route("/readyz", server.ready_page, methods=["GET"]),
    ]


def document() -> dict[str, Json]:
    """The OpenAPI document of an issuer."""
    token = posted(
        "Have blinded bytes signed: one token a person, or one a slot where people come again.",
        {"201": "The blind signature."},
        (403, 409, 413, 415, 422, 429, 503),
        {REQUEST_TYPE: {"schema": {"type": "object", "required": ["contract", "credential", "blinded"]}}},
    )
    paths = {"/v1/tokens": token}
    return openapi.document(
        "A confide issuer", paths, metrics="How many tokens were signed.", ready="Whether it signs."
    )


TABLES = MetaData()
issued = Table(
    "issued",
    TABLES,
    Column("person", LargeBinary(32), primary_key=True),
    Column("request", LargeBinary(32), nullable=False),
    Column("period", BigInteger),
    sqlite_with_rowid=False,
)
"""person: a MAC of contract and name. request: the SHA-256 of the blinded bytes that were signed. period: in which they were, where
the contract has periods. Rows lie in the order of the MACs."""


class IssuedStore:
    """The database of one issuer."""

    def __init__(self, url: str, secret: bytes) -> None:
        self._engine = databases.connect(url)
        self._writer = self._engine.execution_options(writes=True)
        self._key = derived(secret, b"issued/1")

    def prepare(self) -> None:
        """Make the table where there is none."""
        TABLES.create_all(self._engine)

    def grant(
        self,
        contract: bytes,
        name: str,
        blinded: bytes,
        slot: int = 0,
        slots: Slots | None = None,
        period: int | None = None,
    ) -> bool:
        """Whether this person may have these bytes signed: the first, or the same again. True is on disk when this returns.

        slots: where people come again, what allows a token of a slot beside those that they have. period: the one that it is now,
        where there are periods; those who report by themselves have slots of their own in each.
        """
        several = range(1) if slots is None else range(slots.many)
        counted = period if slots is not None and not slots.width else None
        people = {self._person(contract, name, None if slots is None else one, counted): one for one in several}
        here = next(person for person, one in people.items() if one == slot)
        request = hashlib.sha256(blinded).digest()
        with contextlib.suppress(IntegrityError), self._writer.begin() as connection:
            if slots is not None and connection.dialect.name == "postgresql":
                # what a person has is read and added to by one at a time
                number = int.from_bytes(self._person(contract, name, None)[:8], signed=True)
                connection.execute(select(func.pg_advisory_xact_lock(number)))
            rows = connection.execute(select(issued).where(issued.c.person.in_(list(people))))
            had = {people[bytes(row.person)]: (bytes(row.request), row.period) for row in rows}
            if slot in had:
                return hmac.compare_digest(had[slot][0], request)
            recent = None if period is None else sum(when == period for _, when in had.values())
            if slots is not None and not slots.allows(had, slot, recent):
                return False
            connection.execute(insert(issued).values(person=here, request=request, period=period))
            return True
        return self.grant(contract, name, blinded, slot, slots, period)  # another process was first

    def _person(self, contract: bytes, name: str, slot: int | None, period: int | None = None) -> bytes:
        """The name of a person under the key; of one slot, where people come again, and of one period, where it is of one."""
        told = b"" if slot is None else b"slot" + slot.to_bytes(2)
        told += b"" if period is None else b"period" + period.to_bytes(8)
        return hmac.digest(self._key, contract + told + name.encode(), "sha256")

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()
