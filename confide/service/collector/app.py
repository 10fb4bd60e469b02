"""The collector as a web application: public documents, and one endpoint for submissions, checked before anything is counted."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from ..._version import __version__
from ...errors import FormatError, InvalidInput
from ...protocol.releases.sums import Pile
from ..contract.answers import OUTCOMES
from ..contract.contract import Contract
from ..contract.folder import Folder
from ..contract.heads import SignedHead
from ..contract.pausing import SENTENCE, WAIT, Pause
from ..contract.periods import SignedPeriod
from ..contract.tokens import TOKEN_BYTES, no_token
from ..contract.uploads import ID_BYTES, MEDIA_TYPE, Upload, upload_length
from ..http.application import (
    Readiness,
    check_rate,
    health_page,
    immutable,
    in_thread,
    number_of,
    read_submission,
    refusal_response,
    shows_token,
    web_application,
)
from ..http.documents import DocumentCache
from ..http.group_commit import Busy, GroupCommitter
from ..http.limits import RATE, Limit
from ..http.openapi import BYTES, JSON, METRICS, collector_document
from ..http.problems import RETRY, Refused
from ..http.serving import Ending
from .closing import Publisher, RoundCloser
from .metrics import Metrics
from .sources import CountedReports, IntermediaryClient
from .store import COUNTED, ENDED, FORGED, Arrival, CollectorStore

_DIGEST = re.compile(r"[0-9a-f]{64}")
_COUNTED, _REPEATED = (json.dumps({"outcome": outcome}).encode() for outcome in OUTCOMES)


class Collector:
    """One process of a service: its store and threads, and the handler of each address."""

    def __init__(
        self,
        folder: Folder,
        database: str | None = None,
        rate: float = RATE,
        intermediary: str | None = None,
        issuer: str | None = None,
    ) -> None:
        """intermediary: the address of the shuffler or the curator, where the contract has one. issuer: of who issues tokens."""
        self.contract = folder.contract()
        private = folder.key(self.contract)
        self.store = CollectorStore(database or folder.database, self.contract)
        self.publisher = Publisher(self.store, folder)
        self.publisher.check()
        self.store.prepare()
        self.metrics, self.ending = Metrics(), Ending()
        self.remote = _remote(self.store, intermediary, private)
        self.intake = Intake(self.contract, self.publisher.question_digests) if self.remote is None else None
        source = self.remote or CountedReports(self.store)
        learned, restored = self.metrics.learning.observe, self.ending.because
        self.store.begin_with(folder.earlier())
        self.closer = RoundCloser(self.store, self.publisher, private, learned, source, restored)
        self.counter = GroupCommitter(self.store, self._full, self.metrics.committed)
        self._readiness = Readiness(self.store.touch, lambda: self.counter.last)
        self.documents = DocumentCache()
        self.limit = Limit(rate)
        self.issuer_address = None if self.contract.issuer is None else self.contract.issuer.address or issuer
        self.leaving = self.ending.leaving
        self._folder, self._private = folder, private
        self._period: SignedPeriod | None = None
        folder.token()
        self._pause = Pause(folder.path)
        self._started = time.time()
        self._openapi = json.dumps(
            collector_document(
                None if self.intake is None else self.intake.longest,
                self.contract.issuer is not None,
                self.contract.period is not None,
            )
        ).encode()

    def start(self) -> None:
        """Publish what is committed, where no other process must confirm it, and begin to count."""
        if self.remote is None:
            self.publisher.advance()
        self.counter.start()
        self.closer.start()

    def stop(self) -> None:
        """Count what waits, then let go of everything."""
        self.counter.stop()
        self.closer.stop()
        self.store.close()

    def _full(self) -> None:
        """Wake the closer if a round was filled."""
        if self.store.turned:
            self.closer.look()

    def published(self) -> SignedHead | None:
        """The head of the published round."""
        return self.publisher.current

    def refusals(self) -> dict[str, int]:
        """How many requests this collector refused, by reason."""
        return self.metrics.refusals()

    def certified(self) -> bool:
        """Whether the certificate was computed."""
        return bool(self.closer.certificate)

    def elsewhere(self) -> list[str]:
        """Where devices talk to besides: the addresses of the shuffler or the curator, and of the issuer, where there are any."""
        issuer = set() if self.issuer_address is None else {self.issuer_address}
        if self.remote is None or self.contract.intermediary is None:
            return sorted(issuer)
        return sorted({self.remote.url, self.contract.intermediary.address or self.remote.url} | issuer)

    @property
    def current(self) -> int:
        """The number of the published round; there is none until the first is open."""
        if self.publisher.current is None:
            raise Refused("starting", "first-round-closed", "The first round is not open yet.", RETRY)
        return self.publisher.current.head.round

    async def contract_page(self, request: Request) -> Response:
        """The contract, byte for byte."""
        return Response(self.contract.data, media_type=JSON)

    async def current_page(self, request: Request) -> Response:
        """The signed head of the current round."""
        _ = self.current
        return Response(self.publisher.served, media_type=JSON, headers={"Cache-Control": "no-cache"})

    async def head_page(self, request: Request) -> Response:
        """The signed head of a round that was published."""
        number = number_of(request)
        signed = await in_thread(partial(self.store.head, number)) if number <= self.current else None
        return immutable(None if signed is None else signed.to_json(), JSON)

    def begun(self) -> SignedPeriod:
        """The signed statement that a period has begun, by this collector's clock, which is never taken back."""
        periods, digest = self.contract.period, self.contract.digest
        assert periods is not None
        number = periods.at(time.time())
        if self._period is None or self._period.number_for(digest) < number:
            self._period = SignedPeriod.signed(digest, number, self._private)
        return self._period

    def period(self) -> int | None:
        """The number of the period that has begun; None where the contract has none."""
        return None if self.contract.period is None else self.begun().number_for(self.contract.digest)

    async def period_page(self, request: Request) -> Response:
        """The signed statement that a period has begun."""
        return Response(self.begun().to_json(), media_type=JSON, headers={"Cache-Control": "no-cache"})

    async def policy_page(self, request: Request) -> Response:
        """A policy by its hash."""
        return await self._by_digest(request, self.store.policy)

    async def question_page(self, request: Request) -> Response:
        """What people of a round are asked, by its hash."""
        return await self._by_digest(request, self.store.question)

    async def _by_digest(self, request: Request, lookup: Callable[[str], bytes | None]) -> Response:
        digest = request.path_params["digest"]
        known = _DIGEST.fullmatch(digest) is not None
        body = await in_thread(partial(lookup, digest)) if known else None
        return immutable(None, BYTES) if body is None else self.documents.response(request, body, BYTES)

    async def release_page(self, request: Request) -> Response:
        """The release that closed a round."""
        number = number_of(request)
        return immutable(await in_thread(partial(self.store.release, number)) if number < self.current else None, BYTES)

    async def certificate_page(self, request: Request) -> Response:
        """The certificate of the service, once it is computed."""
        if not self.closer.certificate:
            raise Refused("starting", "certificate-not-ready", "The certificate is being computed.", RETRY)
        return Response(self.closer.certificate, media_type=JSON)

    async def report_endpoint(self, request: Request) -> Response:
        """Take one submission: 201 when it is counted and on disk, 200 if it was before."""
        check_rate(request, self.limit)
        assert self.intake is not None
        self._check_paused()
        body = await read_submission(request, MEDIA_TYPE, self.intake.longest)
        current = self.current
        arrival = self.intake.read(body, current)
        try:
            outcome = await self.counter.outcome(arrival)
        except Busy:
            raise Refused("busy", "collector-busy", "More submissions wait than can be counted soon.", RETRY) from None
        except Exception:
            raise Refused(
                "store",
                "report-not-stored",
                "The store does not respond. Send the same bytes again: they count once.",
                RETRY,
            ) from None
        if outcome == FORGED:
            forged = no_token()
            raise Refused("admission", forged.code, str(forged))
        if outcome == ENDED:
            raise Refused("ended", "service-ended", "The last round is closed. Drop this submission.")
        if outcome == COUNTED:
            self.metrics.counted.inc()
            return Response(_COUNTED, 201, media_type=JSON)
        self.metrics.repeated.inc()
        return Response(_REPEATED, 200, media_type=JSON)

    def _check_paused(self) -> None:
        if self._pause:
            raise Refused("paused", "service-paused", SENTENCE, WAIT)

    async def intermediary_page(self, request: Request) -> Response:
        """Where the shuffler or the curator is."""
        assert self.remote is not None
        answer = {"role": self.remote.role, "address": self.remote.url}
        return Response(json.dumps(answer), media_type=JSON, headers={"Cache-Control": "no-cache"})

    async def issuer_page(self, request: Request) -> Response:
        """Where the issuer of tokens is."""
        if self.issuer_address is None:
            raise Refused(
                "path", "issuer-address-elsewhere", "Where the issuer is says the application that offers this service."
            )
        answer = json.dumps({"address": self.issuer_address})
        return Response(answer, media_type=JSON, headers={"Cache-Control": "no-cache"})

    async def openapi_page(self, request: Request) -> Response:
        """The OpenAPI document."""
        return Response(self._openapi, media_type=JSON)

    async def metrics_page(self, request: Request) -> Response:
        """Counters, as Prometheus reads them."""
        current = self.publisher.current
        self.metrics.round.set(0 if current is None else current.head.round)
        self.metrics.waiting.set(self.counter.waiting)
        raised = await in_thread(self.store.alarm)
        self.metrics.alarm.set(0 if raised is None else raised[0])
        return Response(self.metrics.page(self.remote is None), media_type=METRICS)

    async def ready_page(self, request: Request) -> Response:
        """Answers when reports can be counted: a round is published, the store takes commits, and those who count and close are
        alive."""
        _ = self.current
        if not (self.counter.is_alive() and self.closer.is_alive()):
            raise Refused("starting", "collector-not-counting", "Nothing is being counted.", RETRY)
        if self.remote is not None and self.remote.trouble:
            raise Refused("starting", "intermediary-trouble", self.remote.trouble, RETRY)
        self._check_paused()
        await self._readiness.check()
        return PlainTextResponse("ready\n")

    async def operator_page(self, request: Request) -> Response:
        """How this process and its store are doing, for the operator only."""
        self.check_operator(request)
        standing = await in_thread(self.store.tally)
        answer = {
            "version": __version__,
            "trust": self.contract.design.trust,
            "database": self.store.kind,
            "seconds": round(time.time() - self._started, 1),
            "resident_bytes": resident(),
            "waiting": self.counter.waiting,
            "round": standing.round,
            "people": standing.people,
            "ids": await in_thread(self.store.known_ids),
        }
        return Response(json.dumps(answer), media_type=JSON, headers={"Cache-Control": "no-store"})

    def check_operator(self, request: Request) -> None:
        """Refuse a request that does not show the operator's token."""
        if not shows_token(request, self._folder.token()):
            raise Refused(
                "token", "token-missing", "Only the operator may see this: Authorization: Bearer, then the token."
            )

    def refused(self, error: Refused) -> Response:
        """The response to a refused request, which is counted by its reason."""
        self.metrics.refused.labels(error.reason).inc()
        return refusal_response(error, self.contract)


def application(collector: Collector, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """The web application of a collector, with further pages; it starts and stops with it."""
    return web_application(collector, [*routes(collector), *pages])


def routes(collector: Collector) -> list[Route]:
    """The routes of a collector: every address, and its handler."""
    reports = Route("/v1/reports", collector.report_endpoint, methods=["POST"])
    between = Route("/v1/intermediary", collector.intermediary_page, methods=["GET"])
    issuer = Route("/v1/issuer", collector.issuer_page, methods=["GET"])
    period = Route("/v1/period", collector.period_page, methods=["GET"])
    return [
        reports if collector.remote is None else between,
        *([] if collector.contract.period is None else [period]),
        *([] if collector.contract.issuer is None else [issuer]),
        Route("/v1/contract", collector.contract_page, methods=["GET"]),
        Route("/v1/rounds/current", collector.current_page, methods=["GET"]),
        Route("/v1/rounds/{number}", collector.head_page, methods=["GET"]),
        Route("/v1/policies/{digest}", collector.policy_page, methods=["GET"]),
        Route("/v1/questions/{digest}", collector.question_page, methods=["GET"]),
        Route("/v1/releases/{number}", collector.release_page, methods=["GET"]),
        Route("/v1/certificate", collector.certificate_page, methods=["GET"]),
        Route("/v1/openapi.json", collector.openapi_page, methods=["GET"]),
        Route("/v1/operator", collector.operator_page, methods=["GET"]),
        Route("/metrics", collector.metrics_page, methods=["GET"]),
        Route("/healthz", health_page, methods=["GET"]),
        Route("/readyz", collector.ready_page, methods=["GET"]),
    ]


def _remote(store: CollectorStore, address: str | None, private: bytes) -> IntermediaryClient | None:
    """The shuffler or the curator of a contract that has one."""
    about = store.contract.intermediary
    if about is None:
        if address is not None:
            raise InvalidInput(
                "intermediary-address-unused",
                "Under trust local reports come straight to the collector. Leave the address out.",
            )
        return None
    where = address or about.address
    if where is None:
        raise InvalidInput(
            "intermediary-address-missing",
            f"This contract has a {about.role}. Start it, and give its address with --{about.role}.",
        )
    return IntermediaryClient(store, where, private)


def resident() -> int | None:
    """Bytes of memory that this process holds, where that can be asked."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class Intake:
    """Reads and checks submissions of one contract."""

    def __init__(self, contract: Contract, question_digests: Mapping[int, bytes]) -> None:
        """question_digests: the fingerprint of each round's question, where that changes from round to round."""
        self._digest, self._question_digests = contract.digest, question_digests
        self._pile = Pile(contract.design)
        self._tokens = contract.tokens
        self.longest = upload_length(contract.design) + (0 if self._tokens is None else TOKEN_BYTES)

    def read(self, body: bytes, current: int) -> Arrival:
        """Accept a submission, whose sender followed a round up to the current one; or refuse it. Its token is checked when it is
        counted."""
        body, token = (body, b"") if self._tokens is None else (body[:-TOKEN_BYTES], body[-TOKEN_BYTES:])
        try:
            letter = Upload.from_bytes(body)
        except FormatError as error:
            raise Refused("garbage", error.code, str(error)) from error
        if letter.contract != self._digest:
            raise Refused(
                "contract", "report-of-other-contract", "This submission was made under another contract. Drop it."
            )
        if not 1 <= letter.round <= current:
            raise Refused(
                "round", "round-not-open", f"Rounds 1 to {current} were opened so far. This submission names another."
            )
        try:
            report = self._pile.check(letter.report, self._question_digests.get(letter.round))
        except FormatError as error:
            raise Refused("report", error.code, str(error).rstrip(".") + ".") from error
        if self._tokens is not None and token[:ID_BYTES] != letter.id:
            raise Refused(
                "admission",
                "token-of-other-upload",
                "The submission's id is not that of its token. Take the id from the token.",
            )
        return Arrival(letter.id, report, letter.round, token)
