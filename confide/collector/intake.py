"""Checks letters before anything is counted; a refusal has a status, a reason and a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from ..contracts.contract import Contract
from ..contracts.letters import MEDIA_TYPE, Letter, longest
from ..errors import FormatError
from ..releases.groups import Pile
from .store import Arrival

STATUSES = {
    "http": 400,
    "token": 401,
    "garbage": 422,
    "report": 422,
    "round": 422,
    "ticket": 422,
    "contract": 409,
    "ended": 410,
    "closed": 410,
    "length": 413,
    "type": 415,
    "rate": 429,
    "busy": 503,
    "store": 503,
    "starting": 503,
    "path": 404,
    "method": 405,
}
"""Reasons for a refusal, by which they are counted, and their status."""

TITLES = {
    400: "not understood",
    401: "the operator's token is needed",
    404: "not here",
    405: "another verb is needed",
    409: "another contract",
    410: "over",
    413: "too long",
    415: "another type",
    422: "cannot be counted",
    429: "too many",
    503: "not now",
}


class Refused(Exception):
    """A request is refused and changes nothing. reason: one of `STATUSES`. wait: seconds after which to try again, if at all."""

    def __init__(self, reason: str, sentence: str, wait: int | None = None) -> None:
        super().__init__(sentence)
        self.reason, self.sentence, self.wait = reason, sentence, wait

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUSES[self.reason]

    def problem(self) -> dict[str, object]:
        """The refusal as application/problem+json."""
        title = TITLES[self.status]
        return {
            "type": f"urn:confide:problem:{self.reason}",
            "title": title,
            "status": self.status,
            "detail": self.sentence,
        }


class Intake:
    """Reads and checks letters of one contract."""

    def __init__(self, contract: Contract, question_digests: Mapping[int, bytes]) -> None:
        """question_digests: the fingerprint of each round's question, where that changes from round to round."""
        self._digest, self._question_digests = contract.digest, question_digests
        self._pile = Pile(contract.design)
        self.longest = longest(contract.design)

    def check_head(self, media_type: str, length: str | None) -> None:
        """Refuse by what a request says of itself, before its body is read."""
        if media_type.partition(";")[0].strip().lower() != MEDIA_TYPE:
            raise Refused("type", f"A report is sent as {MEDIA_TYPE}.")
        if length is not None and (not length.isdigit() or int(length) > self.longest):
            raise Refused("length", f"A letter of this contract has at most {self.longest} bytes.")

    def read(self, body: bytes, current: int) -> Arrival:
        """Accept a letter, whose sender followed a round up to the current one; or refuse it."""
        try:
            letter = Letter.from_bytes(body)
        except FormatError as error:
            raise Refused("garbage", str(error)) from error
        if letter.contract != self._digest:
            raise Refused("contract", "This letter was written under another contract. Drop it.")
        if not 1 <= letter.round <= current:
            raise Refused("round", f"Rounds 1 to {current} were opened so far. This letter names another.")
        try:
            return Arrival(
                letter.id, self._pile.check(letter.report, self._question_digests.get(letter.round)), letter.round
            )
        except FormatError as error:
            raise Refused("report", str(error).rstrip(".") + ".") from error
