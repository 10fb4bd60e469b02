"""Refusals of requests: each has a status, a reason, a code and a sentence, and is answered as application/problem+json."""

from __future__ import annotations

from ..contract.answers import PROBLEM
from ..contract.contract import Contract

RETRY = 2
"""Seconds after which a device may ask again."""

STATUSES = {
    "http": 400,
    "token": 401,
    "slow": 408,
    "login": 403,
    "issued": 403,
    "admission": 403,
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
    "paused": 503,
    "store": 503,
    "starting": 503,
    "path": 404,
    "method": 405,
}
"""Reasons for a refusal, by which they are counted, and their status."""

TITLES = {
    400: "not understood",
    401: "the operator's token is needed",
    403: "not admitted",
    404: "not here",
    405: "another verb is needed",
    408: "too slow",
    409: "another contract",
    410: "over",
    413: "too long",
    415: "another type",
    422: "cannot be counted",
    429: "too many",
    503: "not now",
}


class Refused(Exception):
    """A request is refused and changes nothing.

    reason: one of `STATUSES`. code: of the rule, as in every error. wait: seconds after which to try again, if at all.
    """

    def __init__(self, reason: str, code: str, sentence: str, wait: int | None = None) -> None:
        super().__init__(sentence)
        self.reason, self.code, self.sentence, self.wait = reason, code, sentence, wait

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUSES[self.reason]

    def problem(self, contract: Contract) -> dict[str, object]:
        """The refusal as application/problem+json. contract: the one that is served."""
        title = TITLES[self.status]
        return {
            "type": PROBLEM + self.reason,
            "title": title,
            "status": self.status,
            "code": self.code,
            "detail": self.sentence,
            "contract": contract.digest.hex(),
        }
